@echo off
rem Starts the bundle of its own name, which checks the version, with the Node.js beside it, else with the one on PATH.
setlocal
set "found="
for %%i in (node.exe) do set "found=%%~$PATH:i"
if exist "%~dp0node.exe" set "found=%~dp0node.exe"
if not defined found (
  >&2 echo The tlsedge plugin needs Node.js 22 or newer, and there is no node on PATH: install it from https://nodejs.org, or add its folder to PATH.
  exit /b 1
)
rem The engine ends a plugin with CTRL_BREAK. In a batch file, cmd.exe then asks "Terminate batch job (Y/N)?", and the
rem engine waits 5 seconds. A goto to no label ends the batch file, but not its line: nothing is asked. npm's own
rem launchers have the same line. It is known to work at Ctrl-C; with Pulumi nobody has tried it.
endlocal & goto #_undefined_# 2>nul || title %COMSPEC% & "%found%" "%~dpn0.js" %*
