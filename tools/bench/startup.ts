import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline/promises";
import { promisify } from "node:util";
import provider from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import { type Project, readIn } from "./project.ts";
import { type Contestant, contestants, type Startup } from "./results.ts";

const require = createRequire(`${process.cwd()}/package.json`);
const script = require.resolve("@pulumi/pulumi/cmd/dynamic-provider");
// The provider's own copy: its server is the other end.
const { credentials } = createRequire(script)("@grpc/grpc-js") as typeof import("@grpc/grpc-js");

/** A project with a certificate in its program, and the provider's text in its state. */
export interface Started {
  project: Project;
  text: unknown;
}

/** Measures start-up in fresh processes, one of each in turn. */
export async function measureStartup(
  started: Record<Contestant, Started>,
  runs: number,
): Promise<Startup> {
  const imports: Startup["imports"] = { "@pulumi/pulumi": [], "pulumi-tlsedge": [] };
  const none = () => ({ check: [], create: [], startToCheck: [] });
  const operations: Startup["operations"] = { ours: none(), floor: none(), conventional: none() };
  for (let run = 0; run < runs; run++) {
    for (const name of ["@pulumi/pulumi", "pulumi-tlsedge"] as const) {
      imports[name].push(await importTime(name, started.ours.project));
    }
    for (const name of contestants) {
      const { startToCheck, check, create } = await firstOperations(started[name], run);
      operations[name].startToCheck.push(startToCheck);
      operations[name].check.push(check);
      operations[name].create.push(create);
    }
  }
  return { imports, operations };
}

async function importTime(name: string, { folder, env }: Project): Promise<number> {
  const code = `const began = performance.now();
    require("${name}");
    console.log(performance.now() - began);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", code], {
    cwd: folder,
    env,
  });
  return Number(stdout);
}

/** What the engine does first: it starts the process, configures it, checks inputs, creates. */
async function firstOperations({ project, text }: Started, run: number) {
  const { resources } = JSON.parse(await readIn(project, "resources.json"));
  // Another one in each run: an equal one would be looked for, as its process was killed.
  const news = { ...resources[0].args, description: `run ${run}`, __provider: text };
  // Somebody who listens where the engine does: the provider looks whether it is heard.
  const engine = createServer().listen(0, "127.0.0.1");
  await once(engine, "listening");
  const { port: enginePort } = engine.address() as AddressInfo;
  const began = performance.now();
  const child = spawn(process.execPath, [script, `127.0.0.1:${enginePort}`], {
    cwd: project.folder,
    env: project.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const port = (await lines.next()).value;
    assert.match(String(port), /^\d+$/, "the provider's process says its port first");
    const client = new provider.ResourceProviderClient(
      `127.0.0.1:${port}`,
      credentials.createInsecure(),
    );
    const configure = new messages.ConfigureRequest();
    configure.setArgs(struct.Struct.fromJavaScript({}));
    await answered<unknown>((done) => client.configure(configure, done));
    const ready = performance.now();
    const check = new messages.CheckRequest();
    check.setOlds(struct.Struct.fromJavaScript({}));
    check.setNews(struct.Struct.fromJavaScript(news));
    const checked = await answered<InstanceType<typeof messages.CheckResponse>>((done) =>
      client.check(check, done),
    );
    assert.deepEqual(checked.getFailuresList(), []);
    const planned = performance.now();
    const create = new messages.CreateRequest();
    create.setProperties(checked.getInputs());
    await answered<unknown>((done) => client.create(create, done));
    const created = performance.now();
    client.close();
    return { startToCheck: planned - began, check: planned - ready, create: created - planned };
  } finally {
    child.kill("SIGKILL");
    engine.close();
  }
}

function answered<T>(call: (done: (error: Error | null, answer: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, answer) => (error ? reject(error) : resolve(answer)));
  });
}
