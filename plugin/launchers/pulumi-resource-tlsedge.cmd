@echo off
rem Starts plugin.js, which checks the version, with the Node.js beside it, else with the one on PATH.
setlocal
set "found="
for %%i in (node.exe) do set "found=%%~$PATH:i"
if exist "%~dp0node.exe" set "found=%~dp0node.exe"
if not defined found (
  >&2 echo The tlsedge plugin needs Node.js 22 or newer, and there is no node on PATH: install it from https://nodejs.org, or add its folder to PATH.
  exit /b 1
)
"%found%" "%~dp0plugin.js" %*
