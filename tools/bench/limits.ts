import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { makeCertificate, startEmulator } from "../../emulator/server";
import { environment, newFolder } from "../folders";
import type { Properties, ResourceProvider } from "../resource";

/** A resource as a program declares it, and what the state has of it. */
interface Deployed {
  args: Properties;
  id: string;
  inputs: Properties;
  state: Properties;
}
/** What a process of its own does: a plan of deployed resources, checks, then creates. */
interface Work {
  kind: "tlsCertificate" | "tlsEdge";
  deployed?: Deployed[];
  checked?: Properties[];
  created?: Properties[];
}
interface Done {
  /** The processor time, without that of the process's start. */
  seconds: number;
  errors: string[];
  made: Deployed[];
}

async function work({ kind, deployed = [], checked = [], created = [] }: Work): Promise<Done> {
  const provider = (await import("pulumi-tlsedge/provider"))[kind] as ResourceProvider;
  const check = async (args: Properties, olds: Properties = {}) => {
    const { inputs, failures = [] } = await provider.check(olds, args);
    assert.deepEqual(failures, []);
    return inputs as Properties;
  };
  const plan = async () => {
    const news: Properties[] = [];
    for (const { args, inputs } of deployed) news.push(await check(args, inputs));
    for (const [index, { id, state, inputs }] of deployed.entries()) {
      const { changes } = await provider.diff(id, state, news[index] ?? {}, inputs);
      assert.ok(!changes);
    }
  };
  // As after a refresh in the same run: the process has seen each certificate before.
  await plan();
  const start = process.cpuUsage();
  await plan();
  for (const args of checked) await check(args);
  const done: Done = { seconds: 0, errors: [], made: [] };
  const rest = created.values();
  const create = async () => {
    for (const args of rest) {
      const inputs = await check(args);
      await provider.create(inputs).then(
        ({ id, outs: state }) => done.made.push({ args, inputs, id, state }),
        ({ message }: Error) => done.errors.push(message),
      );
    }
  };
  // As many calls at a time as the engine makes.
  await Promise.all(Array.from({ length: 16 }, create));
  const { user, system } = process.cpuUsage(start);
  return { ...done, seconds: (user + system) / 1e6 };
}

process.once("message", async (given: Work) => {
  process.send?.(await work(given));
});

/** Does the work in a new process, against a service in this one. */
async function inProcess(env: NodeJS.ProcessEnv, given: Work): Promise<Done> {
  const child = fork(__filename, { env, stdio: ["ignore", "ignore", "ignore", "ipc"] });
  child.send(given);
  const ended = once(child, "exit").then(() => assert.fail("the process ended without an answer"));
  const [done] = await Promise.race([once(child, "message"), ended]);
  ended.catch(() => undefined);
  child.disconnect();
  return done;
}

/** Edges with 2 kB of metadata. */
const edges = (n: number, __secrets: string[]): Properties[] =>
  Array.from({ length: n }, () => ({
    ...{ __provider: "bench", __secrets },
    metadata: JSON.stringify({ token: randomBytes(1500).toString("base64") }),
    hostports: [`${randomBytes(8).toString("hex")}.example.com:443`],
  }));

/** Creates certificates. */
async function deploy(env: NodeJS.ProcessEnv, n: number): Promise<Deployed[]> {
  const root = await makeCertificate({ commonName: "Benchmark root", isCa: true });
  const issuer = await makeCertificate({ commonName: "Benchmark CA", isCa: true, issuer: root });
  const created: Properties[] = [];
  while (created.length < n) {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a", issuer });
    created.push({ __provider: "bench", certificatePem, privateKeyPem });
  }
  const { errors, made } = await inProcess(env, { kind: "tlsCertificate", created });
  assert.deepEqual(errors, []);
  return made;
}

/**
 * Measures what must cost in proportion, and prints it with its limits.
 *
 * @returns whether all is within its limit.
 */
export async function measureLimits(runs: number): Promise<boolean> {
  const emulator = await startEmulator();
  const own = { TLSEDGE_REQUESTS_PER_MINUTE: "0", NODE_V8_COVERAGE: "" };
  const env = { ...process.env, ...(await environment(newFolder(), emulator)), ...own };
  let isWithin = true;
  const print = (text: string, found: number, limit: number) => {
    const isAbove = found > limit;
    isWithin &&= !isAbove;
    console.log(`${text}: ${found}, ${isAbove ? "ABOVE" : "within"} the limit of ${limit}`);
  };
  /** The ratio of the least processor times, measured in turns. */
  const compare = async (text: string, limit: number, works: [() => Work, () => Work]) => {
    const least = works.map(() => Number.POSITIVE_INFINITY);
    for (let run = 0; run < runs; run++)
      for (const [index, make] of works.entries()) {
        const { seconds, errors } = await inProcess(env, make());
        assert.deepEqual(errors, [], text);
        least[index] = Math.min(least[index] ?? 0, seconds);
      }
    const [a = 0, b = 0] = least;
    print(`${text} (${a.toFixed(2)} s, ${b.toFixed(2)} s)`, Number((a / b).toFixed(2)), limit);
  };
  try {
    const creates = (secrets: string[]) => (): Work => ({
      kind: "tlsEdge",
      created: edges(300, secrets),
    });
    const text = "300 creates with 2 kB of secret metadata, beside plain metadata";
    await compare(text, 1.5, [creates(["metadata"]), creates([])]);
    const deployed = await deploy(env, 800);
    const plan = (n: number) => (): Work => ({
      kind: "tlsCertificate",
      deployed: deployed.slice(0, n),
    });
    await compare("A second plan of 800 unchanged certificates, beside 400", 2.3, [
      plan(800),
      plan(400),
    ]);
    const [checked, created] = [400, 200].map((n) => edges(n, ["metadata"]));
    const { errors } = await inProcess(env, { kind: "tlsEdge", checked, created });
    const why = errors[0] ? ` (${errors[0]})` : "";
    print(`200 creates beside 400 edges with secret metadata, failed${why}`, errors.length, 0);
  } finally {
    await emulator.close();
  }
  return isWithin;
}
