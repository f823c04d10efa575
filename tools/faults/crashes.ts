import path from "node:path";
import { tlsCertificates, tlsEdges } from "pulumi-tlsedge/client";
import { makeCertificate } from "pulumi-tlsedge-emulator";
import { findOrBuildPulumi, type PulumiCli } from "../pulumi.ts";
import { Account } from "./account.ts";
import { basis, killPoints, nameOf, type Point, type Scenario } from "./crashPoints.ts";
import { crash, type Outcome, type Start } from "./crashRun.ts";
import { Engine } from "./engine.ts";

/** A project and an account that points start from, each from a copy of its own. */
interface Base {
  engine: Engine;
  start: Start;
}

const accountFile = "account.sqlite";
/** Of a point that was not reached. */
const nothing = { commands: [], left: [] };
/** An engine with a program and a provider keeps about one core busy. */
const atATime = 2;

const program = `const { readFileSync } = require("node:fs");
const { TLSCertificate, TLSEdge } = require("pulumi-tlsedge");
const read = (name) => readFileSync(name, "utf8");
const { description, chain, restricted, adopted = {} } = JSON.parse(read("wanted.json"));
const certificate = new TLSCertificate("certificate", {
  description,
  certificatePem: read(chain + ".pem"),
  privateKeyPem: read(chain + ".key"),
}, { import: adopted.certificate });
// One after the other, so that the requests come in the same order each time.
new TLSEdge("edge", {
  description,
  hostports: ["app.example:443"],
  backend: { backendId: "bkdtg_1" },
  ipRestriction: restricted ? { ipPolicyIds: ["ipp_1"] } : undefined,
  onModuleRemoval: "replace",
}, { dependsOn: certificate, import: adopted.edge });
`;

/**
 * Kills the engine, the provider or the service at each of the kill points, and writes what it took
 * to come back. `broken` names the points that did not, or that left something that nobody names.
 */
export async function crashes(
  chosen: Point[] = killPoints,
): Promise<{ markdown: string; broken: string[] }> {
  const cli = await findOrBuildPulumi();
  const bases: Partial<Record<Scenario["from"], Base>> = {};
  try {
    bases.nothing = await makeBase(cli);
    bases.basis = await deployed(bases.nothing);
    const outcomes = await runAll(chosen, bases as Required<typeof bases>);
    const broken = outcomes.flatMap(({ point, wrong }) =>
      wrong.map((what) => `${nameOf(point)}: ${what}`),
    );
    return { markdown: report(outcomes, cli), broken };
  } finally {
    await Promise.all(Object.values(bases).map(({ engine }) => engine.remove()));
  }
}

/** An empty stack, and an account that has something of other people's. */
async function makeBase(cli: PulumiCli): Promise<Base> {
  const engine = await Engine.create(cli);
  try {
    const chains: Record<string, string> = {};
    for (const name of ["first", "second"]) {
      const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: name });
      engine.keepSecret(`the key of ${name}`, privateKeyPem);
      chains[name] = certificatePem;
      await engine.file(`${name}.pem`, certificatePem);
      await engine.file(`${name}.key`, privateKeyPem);
    }
    await engine.file("index.js", program);
    const bystanders = await settle(engine);
    await engine.pulumi("stack", "init");
    const { first = "", second = "" } = chains;
    return { engine, start: { chains: { first, second }, bystanders } };
  } catch (error) {
    await engine.remove();
    throw error;
  }
}

/** Other people's objects, in an account whose data then lies in the project's folder. */
async function settle(engine: Engine): Promise<Start["bystanders"]> {
  const account = await Account.start(path.join(engine.folder, accountFile));
  try {
    engine.use(account);
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "other" });
    await tlsCertificates.create(account.client, {
      certificate_pem: certificatePem,
      private_key_pem: privateKeyPem,
    });
    await tlsEdges.create(account.client, { hostports: ["other.example:443"] });
    return await account.holds();
  } finally {
    await account.close();
  }
}

/** The same with the program's own objects there. */
async function deployed(base: Base): Promise<Base> {
  return await onCopy(base, async (engine, account) => {
    await engine.file("wanted.json", JSON.stringify(basis));
    const { code, output } = await engine.pulumi("up", "--yes", "--skip-preview");
    if (code !== 0) throw new Error(output);
    await account.close();
    return { engine: await engine.copy(), start: base.start };
  });
}

/** Works on a copy of a project and of its account, which are taken away again. */
async function onCopy<T>(
  base: Base,
  work: (engine: Engine, account: Account) => Promise<T>,
): Promise<T> {
  const engine = await base.engine.copy();
  try {
    const account = await Account.start(path.join(engine.folder, accountFile));
    try {
      engine.use(account);
      return await work(engine, account);
    } finally {
      await account.kill();
    }
  } finally {
    await engine.remove();
  }
}

async function runAll(chosen: Point[], bases: Record<Scenario["from"], Base>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const rest = [...chosen.entries()];
  const work = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) {
      const [index, point] = next;
      const base = bases[point.scenario.from];
      const outcome: Outcome = await onCopy(base, (engine, account) =>
        crash(point, engine, account, base.start),
      ).catch(({ message }) => ({ point, itself: "failed", ...nothing, wrong: [message] }));
      outcomes[index] = outcome;
      const said = outcome.wrong[0] ?? outcome.commands.join(", ");
      console.error(`${index + 1} of ${chosen.length}: ${nameOf(point)}: ${said}`);
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return outcomes;
}

function report(outcomes: Outcome[], { version }: PulumiCli): string {
  const rows = outcomes.map(({ point, itself, commands, left, wrong }) => {
    const { scenario, kind, method, when, victim } = point;
    const converged = wrong.length === 0 ? "yes" : "**no**";
    const cells = [
      ...[scenario.title, `\`${method}\` of the ${kind}`, when, victim],
      ...[`\`${scenario.command}\` ${itself}`, commands.join(", "), converged],
      left.join("; ") || "nothing",
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const head = [
    "What is done",
    "Request",
    "When",
    "Killed",
    "It",
    "Then",
    "Converged",
    "Left over",
  ];
  return [
    `${outcomes.length} kill points, on Pulumi ${version}.`,
    "",
    `| ${head.join(" | ")} |`,
    `|${" --- |".repeat(head.length)}`,
    ...rows,
  ].join("\n");
}

/** Some points by their numbers, or all. */
async function main(): Promise<void> {
  const chosen = process.argv.slice(2).map((number) => {
    const point = killPoints[Number(number) - 1];
    if (!point) throw new Error(`there is no kill point ${number}`);
    return point;
  });
  const { markdown, broken } = await crashes(chosen.length > 0 ? chosen : killPoints);
  console.log(markdown);
  for (const line of broken) console.error(line);
  process.exitCode = broken.length > 0 ? 1 : 0;
}

if (process.argv[1]?.endsWith("crashes.ts")) {
  main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
