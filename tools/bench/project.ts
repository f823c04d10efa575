import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type ExportedResource, Project } from "../engine";
import { nameOf } from "../engineLog";
import { newFolder, repository } from "../folders";
import { buildGoTool } from "../languages";
import { descendants } from "../processes";
import type { Properties } from "../protocol";
import { Secrets } from "../secrets";
import type { Contestant, Kind, Measured, Phase } from "./results";
import type { Declared } from "./stacks";

const programs = path.join(__dirname, "programs");
/** Holds the plugin of the stand-in, which is built once. */
let standIn: string | undefined;
/** A name as long as `pulumi-tlsedge`, because the provider's text in each state contains it. */
const floorPackage = "tlsedge-floors";

/** The command of each phase, and what the engine prints when the phase has succeeded. */
const commands: Record<Phase, { args: string[]; result(n: number): string }> = {
  create: { args: ["up", "--yes", "--skip-preview"], result: (n) => `+ ${n + 1} created` },
  preview: { args: ["preview"], result: (n) => `${n + 1} unchanged` },
  refresh: { args: ["refresh", "--yes", "--skip-preview"], result: (n) => `${n + 1} unchanged` },
  previewRefresh: { args: ["preview", "--refresh"], result: (n) => `${n + 1} unchanged` },
  update: { args: ["up", "--yes", "--skip-preview"], result: (n) => `~ ${n} updated` },
  destroy: { args: ["destroy", "--yes", "--skip-preview"], result: (n) => `- ${n + 1} deleted` },
};

/** The project of one contestant, with an empty stack and a service of its own. */
export class Competitor {
  private constructor(
    readonly name: Contestant,
    readonly project: Project,
  ) {}

  static async open(name: Contestant, latencyMs: number, recordings: object): Promise<Competitor> {
    // All paths have the same length: the engine writes the program's path into the state.
    const folder = newFolder();
    const modules = path.join(folder, "node_modules");
    const floor = path.join(modules, floorPackage);
    await mkdir(floor, { recursive: true });
    for (const linked of ["@pulumi", "axios", "pulumi-tlsedge"]) {
      await symlink(path.join(repository, "node_modules", linked), path.join(modules, linked));
    }
    const sdk = path.join(repository, "tools", "pluginSdk.cjs");
    await mkdir(path.join(modules, "tlsedge-plugin"));
    const index = `module.exports = require(${JSON.stringify(sdk)});`;
    await writeFile(path.join(modules, "tlsedge-plugin", "index.js"), index);
    await copyFile(path.join(programs, "floorProvider.cjs"), path.join(floor, "provider.js"));
    await copyFile(path.join(programs, `${name}.cjs`), path.join(folder, "index.js"));
    const project = await Project.in(
      folder,
      { latencyMs },
      {
        NODE_COMPILE_CACHE: undefined,
        NODE_OPTIONS: `--require=${path.join(programs, "preload.cjs")}`,
        TLSEDGE_REQUESTS_PER_MINUTE: "0",
        // These have no setting for a CA.
        ...(name === "conventional" && { NODE_EXTRA_CA_CERTS: path.join(folder, "ca.pem") }),
        ...(name === "standIn" && { SSL_CERT_FILE: path.join(folder, "ca.pem") }),
      },
    );
    // Pulumi writes what the conventional provider captures into the state, the API key too.
    if (name === "conventional") project.secrets = new Secrets();
    const file = path.join("node_modules", floorPackage, "recordings.json");
    await project.file(file, JSON.stringify(recordings));
    project.door = name === "plugin" ? "plugin" : "dynamic";
    await project.manifest({ "@pulumi/pulumi": "*", axios: "*" });
    if (name === "standIn") {
      standIn ??= newFolder();
      await buildGoTool("stand-in", path.join(standIn, "pulumi-resource-standin"));
      const plugins = `plugins: { providers: [{ name: standin, path: ${standIn} }] }\n`;
      const file = path.join(folder, "Pulumi.yaml");
      await writeFile(file, readFileSync(file, "utf8") + plugins);
    }
    await project.select("dev");
    return new Competitor(name, project);
  }

  /** Changes what the program declares. */
  declare(kind: Kind, resources: Declared[]): Promise<void> {
    return this.project.file("resources.json", JSON.stringify({ kind, resources }));
  }

  /** Runs and measures a phase. */
  async run(phase: Phase, n: number): Promise<Omit<Measured, "kind" | "n" | "phase" | "name">> {
    const { args, result } = commands[phase];
    const started = performance.now();
    const { cli, stack } = this.project;
    const timed = ["-c", '"$@"; times', "sh", cli.command, ...args];
    const running = this.project.start([...timed, "--stack", stack, "--non-interactive"], "sh");
    const peak = phase === "create" ? watchMemory(running.pid) : () => 0;
    const { output } = await running.done.finally(peak);
    const seconds = (performance.now() - started) / 1000;
    const last = output.split("\n").slice(-40).join("\n");
    assert.ok(output.includes(result(n)), `${phase} did not end with "${result(n)}":\n${last}`);
    const bytes = phase === "create" ? bytesOf(await this.exported()) : 0;
    return { seconds, processorSeconds: processorSecondsOf(output), peakMiB: peak(), bytes };
  }

  /** The resources of the stack, without the engine's own. */
  async exported(): Promise<ExportedResource[]> {
    const { resources } = await this.project.state();
    return resources.filter(({ type }) => /^pulumi-nodejs:dynamic|^tlsedge:|^standin:/.test(type));
  }
}

/**
 * Looks twice a second for the peak of each process below `pid`. What it gives ends that, and says
 * the sum of the peaks in MiB: NaN where there is no /proc.
 */
function watchMemory(pid: number): () => number {
  const peaks = new Map<number, number>();
  const timer = setInterval(() => {
    for (const one of descendants(pid)) {
      try {
        const status = readFileSync(`/proc/${one.pid}/status`, "utf8");
        peaks.set(one.pid, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0));
      } catch {
        // It has ended since it was listed.
      }
    }
  }, 500);
  return () => {
    clearInterval(timer);
    return peaks.size > 0 ? [...peaks.values()].reduce((sum, one) => sum + one) / 1024 : Number.NaN;
  };
}

/** The sum of user and system time in what the shell's `times` prints last, of its children. */
function processorSecondsOf(output: string): number {
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const times = [...last.matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}

/** Bytes as `pulumi stack export` prints them, for each resource. */
function bytesOf(resources: ExportedResource[]): number {
  const text = JSON.stringify({ deployment: { resources } }, null, 4);
  return Buffer.byteLength(text) / resources.length;
}

/** Records how this package stores a resource of a kind, so that the floor can store the same. */
export function record(declared: Declared, stored: ExportedResource) {
  const isGiven = (properties: Properties) => (name: string) =>
    isDeepStrictEqual(properties[name], declared.args[name]);
  const added = (properties: Properties) =>
    Object.fromEntries(Object.entries(properties).filter(([name]) => !isGiven(properties)(name)));
  const { __provider, privateKeyPem, ...inputs } = stored.inputs;
  const { __provider: _, ...outputs } = stored.outputs;
  assert.ok(!("privateKeyPem" in outputs), "the floor stores no key among the outputs");
  return {
    token: stored.type,
    provider: String(__provider).replace("pulumi-tlsedge", "tlsedge-floors"),
    id: stored.id,
    inputs: { constant: added(inputs) },
    outputs: {
      given: Object.keys(outputs).filter(isGiven(outputs)),
      constant: added(outputs),
    },
  };
}

/** Throws unless the floor stores every resource in as many bytes as this package. */
export async function assertSameSize(competitors: Competitor[]): Promise<void> {
  const sizes = async (name: Contestant) => {
    const resources = await competitors.find((one) => one.name === name)?.exported();
    return resources?.map((one) => [nameOf(one.urn), sizeWithoutPlace(one)]).sort();
  };
  assert.deepEqual(await sizes("floor"), await sizes("ours"), "the floor stores other sizes");
}

/** The size of a resource without times, and without lines and columns of the program. */
function sizeWithoutPlace(resource: ExportedResource): number {
  const text = JSON.stringify(resource, (key, value) =>
    ["created", "modified"].includes(key) ? undefined : value,
  );
  return Buffer.byteLength(text.replaceAll(/#\d+,\d+"/g, '"'));
}
