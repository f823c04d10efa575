import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { linkModules, newFolder, repository, sharedFolder } from "./folders";
import {
  cacheFolder,
  fillOnce,
  findGo,
  findOrBuildPulumi,
  findProgram,
  goEnv,
  pathFolders,
  run,
} from "./pulumi";

/** A language that a program of the tests is written in. */
export type Language = "nodejs" | "python" | "go" | "java" | "yaml";

/** A language whose SDK the CLI generates, with the host that is published. No program is run in C#. */
type Generated = "java" | "dotnet";

/** What a program needs besides Pulumi. */
interface Needs {
  /** The folder that `generateSdks` gave. */
  sdks?: string;
  /** The folder that holds the program `pulumi-resource-tlsedge`; else the engine looks for it. */
  plugin?: string;
}

/** Writes a program and Pulumi.yaml into a folder; gives the variables for its commands. */
export type WriteProgram = (
  folder: string,
  text: string,
  needs?: Needs,
) => Promise<NodeJS.ProcessEnv>;

const sources = path.join(__dirname, "pulumi-cli");
const engine = path.join(sources, "engine");

/** The newest version of Pulumi's package that PyPI has: it has not every version of the CLI. */
export const pythonVersion = "3.272.0";
/** The virtual environment that has it. */
const python = cacheFolder(process.env, `python-${pythonVersion}`);
const interpreter = path.join(python, "bin", "python3");
/** Where the Python package of an SDK is installed. */
const pythonPath = (sdks: string) => path.join(sdks, "python-installed");

const prepared = new Map<Language | Generated, Promise<string | undefined>>();

/**
 * Why programs in a language can't run here, or why the SDK for C# can't be generated; undefined when
 * they can. What they need is found, or built once for all processes: the first call takes up to
 * minutes.
 *
 * @example
 * before(async function () {
 *   if (await missing("python")) this.skip();
 * });
 */
export function missing(language: Language | Generated): Promise<string | undefined> {
  const known =
    prepared.get(language) ??
    prepare(language).catch(({ message }: Error) => {
      if (isWeekly) throw new Error(`No programs in ${language} can run here: ${message}`);
      console.error(`No programs in ${language} can run here: ${message}`);
      return message;
    });
  prepared.set(language, known);
  return known;
}

/** Compilers of these take minutes: only a run with `TLSEDGE_TEST_WEEKLY=1` has them, and must. */
const weekly: readonly string[] = ["java", "dotnet"];
export const isWeekly = process.env.TLSEDGE_TEST_WEEKLY === "1";

async function prepare(language: Language | Generated): Promise<undefined> {
  if (weekly.includes(language) && !isWeekly)
    throw new Error("it runs weekly, with TLSEDGE_TEST_WEEKLY=1");
  await findOrBuildHost(language);
  if (language === "python") await makePythonOnce();
  if (language === "go") await findGo("A Go program");
  if (language === "java" && !(await findProgram("mvn", pathFolders(process.env))))
    throw new Error("mvn is not on PATH");
}

/** A CLI on PATH has its own hosts. Those that are built stand beside the CLI in the cache. */
async function findOrBuildHost(language: string): Promise<void> {
  const { command, env, origin } = await findOrBuildPulumi();
  const host = `pulumi-language-${language}`;
  const folder = path.dirname(await fs.realpath(command));
  if (await findProgram(host, [folder, ...(origin === "PATH" ? pathFolders(env) : [])])) return;
  if (origin === "PATH") throw new Error(`${command} has no ${host}`);
  console.error(`Building ${host}`);
  const script = path.join(sources, "build-language-host.sh");
  await run("sh", [script, await findGo(`Building ${host}`), folder, language], { env: goEnv() });
}

function makePythonOnce(): Promise<void> {
  return fillOnce(python, async (staging) => {
    console.error(`Installing the Python package of Pulumi ${pythonVersion}`);
    await run("python3", ["-m", "venv", staging]);
    // Those besides `pulumi` are for generated SDKs: their dependency, and what builds them.
    const packages = [`pulumi==${pythonVersion}`, "parver", "setuptools", "wheel"];
    await pip(path.join(staging, "bin", "python3"), "install", ...packages);
  });
}

/** Runs pip. Not the command `pip`, which knows the folder that it was made in. */
async function pip(interpreter: string, command: string, ...args: string[]): Promise<void> {
  const quiet = ["--quiet", "--disable-pip-version-check"];
  await run(interpreter, ["-m", "pip", command, ...quiet, ...args]);
}

/** As in pulumi.ts, and what programs in Go and Python need. */
export async function mochaGlobalSetup(): Promise<void> {
  process.env.TLSEDGE_TEST_SHARED = newFolder();
  await findOrBuildPulumi();
  if (!(await missing("go"))) await codegen();
  await missing("python");
  // Two processes would build the host at a time, within the time of a test.
  await missing("yaml");
}

/**
 * Generates the SDKs of a schema and makes them ready for the programs of all languages that can
 * run here, once in a run. The schema has `meta.supportPack`: else the SDK for Go has no go.mod.
 *
 * @returns a folder with `nodejs`, `python`, `go`, and `java` in a weekly run.
 * @throws when the schema or an SDK is not valid; and where Go programs can't run (`missing`).
 * @example const sdks = await generateSdks("plugin/schema.json");
 */
export async function generateSdks(schema: string): Promise<string> {
  const hash = createHash("sha256").update(await fs.readFile(schema));
  const sdks = sharedFolder(hash.digest("hex"));
  await fillOnce(sdks, async (folder) => {
    await writeSdks(schema, folder);
    await compileNodeSdk(path.join(folder, "nodejs"));
    if (!(await missing("python"))) await installPythonSdk(path.join(folder, "python"), folder);
    if (!(await missing("java"))) await writeSdk(schema, folder, "java", "--local");
  });
  return sdks;
}

/** The program `pulumi-cli/engine/codegen`, built once in a run. */
async function codegen(): Promise<string> {
  const folder = sharedFolder("codegen");
  await fillOnce(folder, async (staging) => {
    const args = ["build", "-o", staging, "./codegen"];
    await run(await findGo("Generating code"), args, { cwd: engine, env: goEnv() });
  });
  return path.join(folder, "codegen");
}

/** Generates the SDKs for Node.js, Python and Go, as `pulumi package gen-sdk` does. */
export async function writeSdks(schema: string, folder = newFolder()): Promise<string> {
  await run(await codegen(), [path.resolve(schema), "sdks", folder]);
  return folder;
}

/** Generates the SDK of one more language into such a folder. With `--local`, for a program beside it. */
export async function writeSdk(
  schema: string,
  folder: string,
  language: Generated,
  ...how: string[]
): Promise<void> {
  const { command, env } = await findOrBuildPulumi();
  const args = ["--language", language, "--out", folder, ...how];
  await run(command, ["package", "gen-sdk", path.resolve(schema), ...args], { env });
}

/**
 * The program that `pulumi import` prints on a machine whose language hosts can print one.
 *
 * @param exported What `pulumi stack export` printed after an import.
 * @param imported The file that `pulumi import` read.
 */
export async function printProgram(
  schema: string,
  language: "nodejs" | "python" | "go",
  exported: string,
  imported: string,
): Promise<string> {
  const printing = run(await codegen(), [path.resolve(schema), language, imported]);
  printing.child.stdin?.end(exported);
  const { stdout } = await printing;
  return language === "nodejs" ? commonJs(stdout) : stdout;
}

/** A program in TypeScript as the JavaScript that {@link programs} runs. */
export function commonJs(text: string): string {
  const { CommonJS: module } = ts.ModuleKind;
  return ts.transpile(text, { module, target: ts.ScriptTarget.ES2022, esModuleInterop: true });
}

/** Compiles a generated SDK. What is published is its folder `bin`. */
async function compileNodeSdk(sdk: string): Promise<void> {
  await linkModules(sdk);
  await run(process.execPath, [require.resolve("typescript/bin/tsc"), "--project", sdk]);
  await fs.copyFile(path.join(sdk, "package.json"), path.join(sdk, "bin", "package.json"));
}

/** Installs a wheel, or the folder of a generated SDK, for the programs that are given these SDKs. */
export async function installPythonSdk(from: string, sdks: string): Promise<void> {
  const offline = ["--no-index", "--no-deps", "--no-build-isolation"];
  await pip(interpreter, "install", ...offline, "--target", pythonPath(sdks), from);
}

/**
 * Writes a program and its Pulumi.yaml into a project's folder, as often as the program changes.
 * `missing` says first whether its language can be run.
 *
 * @example
 * const project = await Project.create();
 * Object.assign(project.env, await programs.python(project.folder, text, { sdks, plugin }));
 * await project.up();
 */
export const programs: Record<Language, WriteProgram> = {
  /** CommonJS: `require` finds the generated package and all that the repository has. */
  async nodejs(folder, text, needs = {}) {
    await writeProject(folder, "nodejs, options: { typescript: false }", needs);
    await fs.writeFile(path.join(folder, "package.json"), '{ "main": "index.js" }');
    await fs.writeFile(path.join(folder, "index.js"), text);
    if (needs.sdks) await linkModulesAnd(path.join(needs.sdks, "nodejs", "bin"), folder);
    return {};
  },

  async python(folder, text, needs = {}) {
    await writeProject(folder, "python", needs);
    await fs.writeFile(path.join(folder, "__main__.py"), text);
    const bin = path.dirname(interpreter);
    const { env } = await findOrBuildPulumi();
    return {
      PATH: [bin, ...pathFolders(env)].join(path.delimiter),
      ...(needs.sdks && { PYTHONPATH: pythonPath(needs.sdks) }),
    };
  },

  /** It is compiled at once; throws what the compiler says. */
  async go(folder, text, needs = {}) {
    await writeProject(folder, "go, options: { binary: program }", needs);
    await fs.writeFile(path.join(folder, "main.go"), text);
    await writeGoModule(folder, needs.sdks && path.join(needs.sdks, "go"));
    const go = await findGo("A Go program");
    await run(go, ["build", "-o", "program", "."], { cwd: folder, env: goEnv() });
    return {};
  },

  /** Maven compiles it at each command, as a user's, together with the sources of the SDK. */
  async java(folder, text, needs = {}) {
    await writeProject(folder, "java", needs);
    await fs.copyFile(path.join(sources, "language-hosts", "pom.xml"), `${folder}/pom.xml`);
    const from = needs.sdks && path.join(needs.sdks, "java", "src");
    if (from) await fs.cp(from, path.join(folder, "src"), { recursive: true });
    await fs.mkdir(path.join(folder, "src", "main", "java"), { recursive: true });
    await fs.writeFile(path.join(folder, "src", "main", "java", "App.java"), text);
    // The JVM's second compiler and parallel collector pay off only in a program that runs longer.
    const { MAVEN_OPTS = "" } = process.env;
    return { MAVEN_OPTS: `${MAVEN_OPTS} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC` };
  },

  /** The text is the part of Pulumi.yaml from `resources` on. */
  async yaml(folder, text, needs = {}) {
    await writeProject(folder, "yaml", needs, text);
    return {};
  },
};

function writeProject(
  folder: string,
  runtime: string,
  { plugin }: Needs,
  ...more: string[]
): Promise<void> {
  const lines = ["name: acceptance", `runtime: { name: ${runtime} }`, ...more];
  if (plugin) lines.push(`plugins: { providers: [{ name: tlsedge, path: ${plugin} }] }`);
  return fs.writeFile(path.join(folder, "Pulumi.yaml"), `${lines.join("\n")}\n`);
}

/** Makes the repository's modules visible in a folder, and one more package. */
async function linkModulesAnd(added: string, folder: string): Promise<void> {
  const { name } = JSON.parse(await fs.readFile(path.join(added, "package.json"), "utf8"));
  const from = path.join(repository, "node_modules");
  const modules = path.join(folder, "node_modules");
  await fs.rm(modules, { recursive: true, force: true });
  await fs.mkdir(modules);
  const link = (each: string) => fs.symlink(path.join(from, each), path.join(modules, each));
  await Promise.all((await fs.readdir(from)).map(link));
  await fs.symlink(added, path.join(modules, name));
}

/** The engine's module requires Pulumi's SDK for Go, and has the sums of all that it needs. */
async function writeGoModule(folder: string, sdk?: string): Promise<void> {
  const lines = (await fs.readFile(path.join(engine, "go.mod"), "utf8")).split("\n");
  lines[0] = "module program";
  if (sdk) {
    const [first = ""] = (await fs.readFile(path.join(sdk, "go.mod"), "utf8")).split("\n");
    const name = first.replace("module ", "");
    lines.push(`require ${name} v0.0.0`, `replace ${name} => ${sdk}`);
  }
  await fs.writeFile(path.join(folder, "go.mod"), `${lines.join("\n")}\n`);
  await fs.copyFile(path.join(engine, "go.sum"), path.join(folder, "go.sum"));
}
