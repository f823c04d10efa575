import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import type { ServiceObject } from "../client/fields";
import { escapeCiCommands, plain, plainJson } from "../client/plain";
import { differences, inputsOf, type Kind } from "../provider/kinds/kind";
import { problemsOfShape } from "../provider/kinds/shape";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { pluginToken } from "../provider/kinds/token";
import { isRecord, type Properties } from "../provider/values/properties";
import { defaultConnection } from "../provider/values/setting";
import type { Account } from "./account";
import { cell, count, type Display, painted, section, wrapped } from "./table";

/** The kinds that a program can adopt, in the order of reports. */
export const adoptable = {
  edges: { noun: "edge", kind: tlsEdge as Kind },
  certificates: { noun: "certificate", kind: tlsCertificate as Kind },
};

export const kinds = ["edges", "certificates"] as const;

/** An object that a program can adopt. */
interface Adoptable {
  id: string;
  /** The name of its resource, unique among the resources of its type. */
  name: string;
  args: Properties;
}

/** What to adopt and what to skip, the oldest first. */
export interface Plan {
  edges: Adoptable[];
  certificates: Adoptable[];
  skipped: {
    /** `edge` or `certificate`. */
    type: string;
    id: string;
    /** Its hostports, or the names that it is valid for. With `--pending-creates` that of the resource, and no id. */
    names: string[];
    /** Why no program can adopt it. A reason begins with the property at fault, if there is one. */
    reasons: string[];
  }[];
  /** How many objects the filter has left out. */
  unmatched: number;
  /** How many objects the stack of `--stack` has already. */
  managed: number;
}

/** What `adopt --format json` prints. */
export interface Adoption extends Plan {
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** With `--pending-creates`: whose creates were cut off. */
  stack?: string | undefined;
  /** The names of the written files. */
  files: string[];
}

/**
 * Decides what to adopt and under which names.
 *
 * @param connection The account, as a config namespace.
 * @param filter A text that a name, the description, the metadata or the id must contain, in any letter case.
 * @param managed The names of what the stack has, by its ids.
 */
export function planOf(
  account: Pick<Account, "edges" | "certificates">,
  connection: string,
  filter = "",
  managed = new Map<unknown, string>(),
): Plan {
  const now = new Date();
  const connectionArg = connection === defaultConnection ? {} : { connection };
  const plan: Plan = { edges: [], certificates: [], skipped: [], unmatched: 0, managed: 0 };
  for (const key of kinds) {
    const { noun, kind } = adoptable[key];
    const taken = new Map([...managed.values()].map((name) => [name, 1]));
    const unmanaged = account[key].filter(({ id }) => !managed.has(id));
    plan.managed += account[key].length - unmanaged.length;
    for (const wire of unmanaged.toReversed()) {
      const { id } = wire;
      const { names, args, reasons } = judge(kind, wire, now);
      const texts = [id, wire.description ?? "", wire.metadata ?? "", ...names];
      if (!texts.some((text) => text.toLowerCase().includes(filter.toLowerCase()))) {
        plan.unmatched += 1;
      } else if (reasons.length > 0) {
        plan.skipped.push({ type: noun, id, names, reasons });
      } else {
        const name = unique(slug(names[0] ?? "") || noun, taken);
        plan[key].push({ id, name, args: { ...connectionArg, ...args } });
      }
    }
  }
  return plan;
}

/** The names and the arguments of an object, and the reasons why no program can adopt it. */
function judge(kind: Kind, wire: ServiceObject, now: Date) {
  let state: Properties;
  try {
    state = kind.toState(wire);
  } catch (error) {
    return { names: [], args: {}, reasons: [(error as Error).message] };
  }
  const args = argsOf(kind, state);
  const reasons = reasonsAgainst(kind, args, kind.toState(wire, args), now);
  return { names: kind.names(state), args, reasons };
}

/** Why an adoption would fail: the provider's own check decides. */
function reasonsAgainst(kind: Kind, args: Properties, state: Properties, now: Date) {
  if (state.issuedAt) {
    return ["the service issued it, and renews it itself: read it with TLSCertificate.get"];
  }
  const { inputs, problems } = kind.check(args, inputsOf(kind, state), now);
  const found = [...problemsOfShape(kind, args), ...problems];
  if (found.length > 0) return found.map(({ path, reason }) => `${path}: ${reason}`);
  return differences(kind, state, inputs).map(
    ({ property }) => `${property}: no input gives this value, so an update would change it`,
  );
}

const isEmpty = (value: unknown) => value === "" || (Array.isArray(value) && value.length === 0);

/** The inputs of an object, without what is empty, and without `enabled: true`, the default. */
function argsOf(kind: Kind, state: Properties): Properties {
  const args = Object.entries(inputsOf(kind, state)).map(([name, value]) => {
    if (!isRecord(value)) return [name, value];
    const fields = Object.entries(value);
    // A disabled module with an empty field is the same as none, and the schema refuses it.
    if (value.enabled === false && fields.some(([, part]) => isEmpty(part))) return [name, ""];
    const set = fields.filter(([field, part]) => part !== "" && !(field === "enabled" && part));
    return [name, Object.fromEntries(set)];
  });
  return Object.fromEntries(args.filter(([, value]) => !isEmpty(value)));
}

/** A name that is not taken: all but the first of equal names get a number. */
function unique(name: string, taken: Map<string, number>): string {
  const number = (taken.get(name) ?? 0) + 1;
  taken.set(name, number);
  return number === 1 ? name : unique(`${name}-${number}`, taken);
}

/** A name that URNs and config allow: letters, digits and `.`, `-` and `_`. */
function slug(name: string): string {
  return name
    .replace(/:443$/, "")
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/^\*\./, "wildcard.")
    .replace(/[^a-z0-9._-]+/g, "-")
    .slice(0, 100)
    .replace(/^[.-]+|[.-]+$/g, "");
}

/** The program, which loops over `adopted.json`. Pulumi starts it in the folder of the project. */
const programThatReads = `// Written by \`pulumi-tlsedge adopt\`. The first \`pulumi up\` adopts what adopted.json names, and changes
// nothing. After it, remove \`import: id\` from both loops.
import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import * as tlsedge from "pulumi-tlsedge";

type Adopted<Args> = Record<string, Args & { id: string }>;
interface All {
  certificates: Adopted<Omit<tlsedge.TLSCertificateArgs, "privateKeyPem">>;
  edges: Adopted<tlsedge.TLSEdgeArgs>;
}
const all: All = JSON.parse(readFileSync("adopted.json", "utf8"));

// The service returns no private key, and none is needed until a chain changes. To give one:
// pulumi config set --secret --path 'keys["NAME"]' < key.pem
const keys = new pulumi.Config().getSecretObject<Record<string, string>>("keys");

for (const [name, { id, ...args }] of Object.entries(all.certificates)) {
  const privateKeyPem = keys?.apply((known) => known[name]);
  new tlsedge.TLSCertificate(name, { ...args, privateKeyPem }, { import: id, protect: true });
}
for (const [name, { id, ...args }] of Object.entries(all.edges)) {
  new tlsedge.TLSEdge(name, args, { import: id, protect: true });
}
`;

/** How a program in the current folder imports `adoption.ts`. */
function pathOfAdoption(): string {
  let path = "./adoption";
  try {
    if (JSON.parse(readFileSync("package.json", "utf8"))?.type !== "module") return path;
    // Pulumi runs an ES module with the project's ts-node. Without it, Node.js does, which knows no other extension.
    path = "./adoption.ts";
    createRequire(resolve("index.ts")).resolve("ts-node/esm");
    return "./adoption.js";
  } catch {
    return path;
  }
}

const json = (value: unknown) => `${plainJson(value, 2)}\n`;

/** The files of a plan, by their names. */
export function filesOf(plan: Plan, isPlugin: boolean): Map<string, string> {
  if (isPlugin) {
    const resources = kinds.flatMap((key) =>
      plan[key].map(({ id, name }) => ({
        type: pluginToken(adoptable[key].kind.name),
        // A variable in the program that Pulumi writes: a name in every language. Pulumi makes it unique.
        name: `${adoptable[key].noun}_${name.replace(/\W/g, "_")}`,
        logicalName: name,
        id,
      })),
    );
    return new Map([["import.json", json({ resources })]]);
  }
  const byName = (objects: Adoptable[]) =>
    Object.fromEntries(objects.map(({ id, name, args }) => [name, { id, ...args }]));
  const adopted = { edges: byName(plan.edges), certificates: byName(plan.certificates) };
  // Not adopted.ts: Node.js would take adopted.json for `./adopted`.
  return new Map([
    ["adopted.json", json(adopted)],
    ["adoption.ts", programThatReads],
  ]);
}

/** Writes files into the current folder: all or none. Replaces none, and follows no link. Gives their names. */
export function writeFiles(files: Map<string, string>): string[] {
  const written: string[] = [];
  try {
    for (const [name, text] of files) {
      written.push(name);
      writeFileSync(name, text, { flag: "wx" });
    }
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === "EEXIST" && written.pop();
    for (const name of written) rmSync(name, { force: true });
    throw taken ? new Error(`${taken} is there already: move it to another folder`) : error;
  }
  return written;
}

/** What `adopt` prints for people. */
export function adoptionText(adoption: Adoption, isPlugin: boolean, display: Display): string {
  const { stack, edges, certificates, skipped, unmatched, managed, files } = adoption;
  const rows = skipped.map(({ id, names, reasons }) => ({
    id: plain(id),
    cells: [cell(names.join(", ") || "-"), reasons.flatMap((reason) => cell(reason))],
  }));
  const totals = [
    `${count(edges.length, "edge")} and ${count(certificates.length, "certificate")}`,
    skipped.length > 0 && `${skipped.length} skipped`,
    unmatched > 0 && `${unmatched} left out by the filter`,
    managed > 0 && `${managed} left out, because the stack has them`,
  ];
  const sum = `${totals.filter(Boolean).join(", ")}.`;
  const next = isPlugin
    ? `In the folder of a Pulumi project that has the plugin, run
  pulumi import --file import.json --out FILE
It reads each object, changes nothing at the service, and writes the program into FILE.`
    : `Wrote adopted.json and adoption.ts. In index.ts, write
  import "${pathOfAdoption()}";
and run \`pulumi up\`: it adopts the objects, which the plan shows as \`create\`, and changes nothing.`;
  const parts = [
    `Service: ${plain(adoption.service)}`,
    rows.length > 0 && section("Skipped", ["ID", "NAMES", "WHY"], rows, display),
    painted(wrapped(sum, display.width), "bold", display),
    files.length > 0 && `${stack === undefined ? next : stepsOf(stack, files)}\n${otherStacks}`,
  ];
  return escapeCiCommands(parts.filter(Boolean).join("\n\n"));
}

/** What to do with the files of `adopt --pending-creates`. */
function stepsOf(stack: string, files: string[]): string {
  const steps = files.map((file) =>
    file.endsWith(".cjs")
      ? `Write as the first line of the program, for one \`pulumi up\`:\n  import "./${file}";\n`
      : `In the folder of the project, run
  pulumi import --file ${file} --stack "${plain(stack)}" --protect=false --generate-code=false\n`,
  );
  return `${steps.join("")}Then \`pulumi up\`, and at the end \`pulumi refresh --clear-pending-creates\`.`;
}

const otherStacks =
  "An object belongs to one stack. `pulumi stack --show-ids` lists what a stack manages: remove\n" +
  "from the file what another stack has.";
