import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { type Metafile, transformSync } from "esbuild";
import { startEmulator } from "../emulator/server";
import { engines } from "../package.json";
import { environment, newFolder, repository } from "../tools/folders";

const isWindows = process.platform === "win32";
const launcher = `pulumi-resource-tlsedge${isWindows ? ".cmd" : ""}`;
const built = path.join(repository, "plugin", "dist");

it("the plugin's process does not load the HTTP client of Node.js beside axios", async () => {
  const script = `require("./dist/provider/run/workarounds").hideUndici();
    require("axios");
    console.log(process.moduleLoadList.filter((name) => name.includes("undici")).length);`;
  const child = spawn(process.execPath, ["--eval", script], { cwd: repository });
  assert.equal(await text(child.stdout), "0\n");
});

describe("the launcher of the plugin", () => {
  let engine: ReturnType<typeof createServer>;
  let address: string;
  let folder: string;

  before(async () => {
    engine = createServer().listen(0, "127.0.0.1");
    await once(engine, "listening");
    address = `127.0.0.1:${(engine.address() as AddressInfo).port}`;
    folder = path.join(newFolder(), "a folder (with spaces) & more");
    cpSync(built, folder, { recursive: true });
  });
  after(() => engine.close());

  const start = (file: string, args: string[], env: NodeJS.ProcessEnv, cwd?: string) =>
    isWindows
      ? spawn(`"${file}"`, args, { cwd, env, shell: true })
      : spawn(file, args, { cwd, env });

  /** All that a process prints, and how it ends. */
  async function ended(child: ReturnType<typeof start>) {
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    return { stdout, stderr, code, signal };
  }

  /** Starts it as the engine does, and ends it in order as soon as it has printed something. */
  function run(file: string, env = process.env, ...first: string[]) {
    const child = start(file, [...first, "--flag", "a b", address], env);
    child.stdout.once("data", () => {
      if (isWindows) spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"]);
      else child.kill("SIGINT");
    });
    return ended(child);
  }

  /** The engine's signal reaches the plugin itself, which ends in order. */
  async function assertStarts(file: string, env = process.env, ...first: string[]): Promise<void> {
    const { stdout, stderr, code, signal } = await run(file, env, ...first);
    assert.match(stdout, /^\d+\r?\n$/, stderr);
    if (!isWindows) assert.deepEqual([code, signal], [0, null]);
  }

  /** What it says when it ends at once. */
  async function refusal(env: NodeJS.ProcessEnv): Promise<string> {
    const { stdout, stderr, code } = await run(path.join(folder, launcher), env);
    assert.deepEqual([stdout, code], ["", 1]);
    return stderr;
  }

  it("starts the plugin, in a folder whose name has spaces", async () => {
    await assertStarts(path.join(folder, launcher));
  });

  it("C89 is not needed by `pulumi package add`, which runs the folder with Pulumi's SDK", async () => {
    const plugin = path.join(repository, "plugin");
    assert.match(
      readFileSync(path.join(plugin, "PulumiPlugin.yaml"), "utf8"),
      /^runtime: nodejs$/m,
    );
    const runner = require.resolve("@pulumi/pulumi/cmd/run-plugin");
    await assertStarts(process.execPath, process.env, runner, plugin);
  });

  it("starts the plugin through links, absolute and relative", async function () {
    if (isWindows) this.skip();
    const bin = path.join(newFolder(), "bin of mine");
    mkdirSync(bin);
    symlinkSync(path.join(folder, launcher), path.join(bin, "absolute"));
    symlinkSync("absolute", path.join(bin, launcher));
    await assertStarts(path.join(bin, launcher));
  });

  const withoutNode = () => {
    const { PATH, Path, ...others } = process.env;
    return { ...others, PATH: newFolder() };
  };

  /** The launcher in a folder as an archive makes it, with a Node.js. */
  const unpacked = () => {
    const whole = path.join(newFolder(), "an archive");
    cpSync(folder, whole, { recursive: true });
    cpSync(process.execPath, path.join(whole, isWindows ? "node.exe" : "node"));
    return path.join(whole, launcher);
  };

  it("C87 takes the Node.js beside it first, as an archive has it", async () => {
    const env = withoutNode();
    writeFileSync(path.join(env.PATH, "node"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    await assertStarts(unpacked(), env);
  });

  it("C87 runs the commands with the Node.js beside it, and names them without arguments", async () => {
    const file = unpacked();
    const emulator = await startEmulator();
    const env = { ...withoutNode(), ...(await environment(newFolder(), emulator)) };
    const command = (...args: string[]) => ended(start(file, args, env));
    try {
      const { stdout, stderr } = await command("status", "--format", "json");
      assert.deepEqual(JSON.parse(stdout).edges, [], stderr);
      const help = (await command("adopt", "--help")).stdout;
      assert.match(help, /^write import\.json/m);
      assert.doesNotMatch(help, /adoption\.ts|--plugin/);
      const alone = await command();
      assert.equal(alone.code, 1);
      assert.match(alone.stderr, /^Usage: pulumi-resource-tlsedge .*emulator/s);

      const policies = path.join(path.dirname(file), launcher.replace("resource", "analyzer"));
      const cwd = newFolder();
      writeFileSync(path.join(cwd, "policies.json"), '{ "edge-acces": "mandatory" }');
      const checked = await ended(start(policies, ["check", "policies.json"], env, cwd));
      assert.match(checked.stderr, /^error: policies\.json: .*did you mean edge-access\?\n$/);
      assert.equal(checked.code, 1);
    } finally {
      await emulator.close();
    }
  });

  it("C87 serves the API until the other end of its input closes, as Pulumi closes it at Ctrl-C", async function () {
    if (isWindows) this.skip();
    const cwd = newFolder();
    // In between, because the input that Node.js gives a process is no pipe.
    const written = ': | "$0" emulator certificate a.example.com --out . >/dev/null';
    const served = '/bin/cat | { "$0" emulator; echo "ended with $?"; }';
    const piped = ["-c", `${written} && ${served}`, unpacked()];
    const child = spawn("/bin/sh", piped, { cwd, env: withoutNode() });
    child.stdout.once("data", () => child.stdin.end());
    const { stdout, stderr } = await ended(child);
    assert.match(stdout, /^export TLSEDGE_BASE_URL=https:.*^ended with 0$/ms, stderr);
  });

  it("C87 takes the Node.js on PATH when the one beside it does not start, else says why", async function () {
    if (isWindows) this.skip();
    const whole = path.join(newFolder(), "an archive");
    cpSync(folder, whole, { recursive: true });
    const broken = "#!/bin/sh\necho 'libc.so.6: version GLIBC_2.28 not found' >&2\nexit 127\n";
    writeFileSync(path.join(whole, "node"), broken, { mode: 0o755 });
    await assertStarts(path.join(whole, launcher));
    const { stderr, code } = await run(path.join(whole, launcher), withoutNode());
    assert.equal(code, 1);
    assert.match(
      stderr,
      /no node on PATH.* glibc 2\.28 .*:\nlibc\.so\.6: version GLIBC_2\.28 not found\n$/,
    );
  });

  it("C87 says in one sentence that there is no Node.js", async () => {
    assertSentence(await refusal(withoutNode()), /no node on PATH/);
  });

  it("C87 says in one sentence that Node.js is too old, and which it is", async () => {
    const old = path.join(newFolder(), "old.cjs");
    for (const node of ["21.7.3", "9.11.2"]) {
      const value = `{ ...process.versions, node: "${node}" }`;
      writeFileSync(old, `Object.defineProperty(process, "versions", { value: ${value} });`);
      const env = { ...process.env, NODE_OPTIONS: `--require "${old.replaceAll("\\", "/")}"` };
      // The same file says it in a program and in the commands.
      const command = ended(
        start(process.execPath, [path.join("dist", "cli", "main.js")], env, repository),
      );
      for (const said of [await refusal(env), (await command).stderr]) {
        assertSentence(said, new RegExp(`is ${node}`));
        if (!isWindows) assert.ok(said.includes(process.execPath), said);
      }
    }
  });

  function assertSentence(said: string, reason: RegExp): void {
    const needed = engines.node.replace(">=", "");
    assert.match(
      said,
      new RegExp(
        `^(The tlsedge plugin|pulumi-tlsedge) needs Node\\.js ${needed} or newer.*\\.\\r?\\n$`,
      ),
    );
    assert.match(said, reason);
  }

  it("starts a bundle that loads Node.js's modules and its own files, and nothing else", () => {
    const meta = JSON.parse(readFileSync(path.join(built, "meta.json"), "utf8")) as Metafile;
    const loaded = Object.values(meta.outputs)
      .flatMap(({ imports }) => imports.filter(({ external }) => external))
      .filter(({ path }) => !isBuiltin(path));
    assert.deepEqual(
      [...new Set(loaded.map(({ path }) => path))],
      ["./commands.js", "./emulator.js"],
    );
  });

  it("C87 is a bundle that Node.js 10 can read, which then says that it is too old", () => {
    const bundle = readFileSync(path.join(built, "pulumi-resource-tlsedge.js"), "utf8");
    const lowered = (target: string) => transformSync(bundle, { target }).code;
    assert.equal(lowered("node10"), lowered("esnext"));
  });
});
