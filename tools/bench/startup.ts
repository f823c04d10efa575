import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Project } from "../engine";
import { type Properties, Provider } from "../protocol";
import type { Contestant, Startup } from "./results";

/** A project with a certificate, and the provider's text in its state. */
interface Started {
  name: Contestant;
  project: Project;
  text: unknown;
}

/** Measures imports, and the first calls to each provider, in fresh processes that take turns. */
export async function measureStartup(
  started: Started[],
  declared: Properties,
  runs: number,
): Promise<Startup> {
  const results: Startup = {};
  const add = (what: string, name: string, ms: number) => {
    results[what] ??= {};
    results[what][name] = [...(results[what][name] ?? []), ms];
  };
  for (let run = 0; run < runs; run++) {
    for (const name of ["@pulumi/pulumi", "pulumi-tlsedge"]) {
      add("import", name, await importTime(name, started[0]?.project));
    }
    for (const one of started) {
      // A different certificate in each run: for an equal one, the provider would search the
      // account for the object of the killed process.
      const args = {
        ...declared,
        description: `run ${run}`,
        ...(one.text ? { __provider: one.text } : {}),
      };
      const { start, check, create } = await firstCalls(one.project, args);
      add("start to first plan", one.name, start + check);
      add("first plan", one.name, check);
      add("first create", one.name, create);
    }
  }
  return results;
}

async function importTime(name: string, project?: Project): Promise<number> {
  const code = `const began = performance.now();
    require("${name}");
    console.log(performance.now() - began);`;
  const options = { cwd: project?.folder, env: project?.env };
  return Number((await promisify(execFile)(process.execPath, ["-e", code], options)).stdout);
}

const type = "tlsedge:index:TLSCertificate";
const named = { urn: `urn:pulumi:dev::acceptance::${type}::started`, type };

/** Milliseconds of the engine's first calls: start with configure, check, create. */
async function firstCalls({ folder, env, door }: Project, news: Properties) {
  const times = [performance.now()];
  const provider = await Provider.start(folder, env, door);
  try {
    times.push(performance.now());
    const { inputs, failures } = await provider.check(named, {}, news);
    assert.deepEqual(failures, []);
    times.push(performance.now());
    await provider.create(named, inputs);
    times.push(performance.now());
  } finally {
    await provider.kill();
  }
  const [start, check, create] = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  return { start: start ?? 0, check: check ?? 0, create: create ?? 0 };
}
