import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plain, plainJson, withoutCommands } from "../client/plain";
import { defaultConnection } from "../client/settings";
import { differences, inputsOf, type Kind as Resource } from "../provider/kind";
import { isObject, type Properties, unknownValue } from "../provider/properties";
import { problemsOfShape } from "../provider/values/shape";
import type { AdoptableKind, Candidate, Lists, Wire } from "./kind";
import { adoptableKinds } from "./kinds";
import { cell, count, type Display, inWords, painted, section, wrapped } from "./table";

type Key = AdoptableKind["key"];

/** An object that a program can adopt. */
interface Adoptable {
  id: string;
  /** The name of its resource, unique among the resources of its type. */
  name: string;
  args: Properties;
}

/** An object that no program can adopt. */
export interface Skipped {
  /** The noun of its kind: `edge` or `certificate`. */
  type: string;
  id: string;
  /** Its hostports, or the names that it is valid for. */
  names: string[];
  /** Why it is skipped. A reason begins with the property at fault, if there is one. */
  reasons: string[];
}

/** The objects of each kind to adopt, by name, and the objects to skip. */
export interface Plan extends Record<Key, Adoptable[]> {
  /** In the order of the kinds, then by id. */
  skipped: Skipped[];
  /** How many objects the filter has left out. */
  unmatched: number;
}

/** What `adopt --json` prints; each kind has its objects in the files, by name. */
export interface Adoption
  extends Record<Key, Omit<Adoptable, "args">[]>,
    Pick<Plan, "skipped" | "unmatched"> {
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** The paths of the written files. */
  files: string[];
}

/** An object of the account, and the reasons why it can't be adopted. */
type Judged = Candidate & { kind: AdoptableKind; wire: Wire; reasons: string[] };

const longestName = 100;
const noProgram =
  "a program can't set this text: it holds an invalid character, or it is the text that Pulumi " +
  "uses for unknown values";

/** Calls `part` for each kind; gives the results by the key of the kind. */
function byKey<T>(part: (kind: AdoptableKind) => T): Record<Key, T> {
  const parts = adoptableKinds.map((kind) => [kind.key, part(kind)]);
  return Object.fromEntries(parts);
}

/**
 * Decides what to adopt and under which names. The order of the lists makes no difference.
 *
 * @param connection The account, as a config namespace.
 * @param filter A text that a name, the description or the id must contain, in any letter case.
 */
export function planOf(account: Lists, connection: string, filter = ""): Plan {
  const now = new Date();
  const settings = connection === defaultConnection ? {} : { connection };
  const all = adoptableKinds.flatMap((kind) =>
    distinct(account[kind.key] ?? []).map((wire): Judged => {
      const candidate = kind.candidate(wire);
      const adopted = { ...candidate, args: { ...settings, ...candidate.args } };
      const reasons = reasonsAgainst(kind.resource, candidate, now);
      return { ...adopted, kind, wire, reasons };
    }),
  );
  const text = filter.toLowerCase();
  const wanted = all.filter(({ wire: { id, description }, names }) =>
    [id, description ?? "", ...names].some((one) => one.toLowerCase().includes(text)),
  );
  return {
    ...byKey(({ key }) => named(wanted.filter(({ kind }) => kind.key === key))),
    skipped: wanted
      .filter(({ reasons }) => reasons.length > 0)
      .map(({ kind, wire, names, reasons }) => {
        return { type: kind.noun, id: wire.id, names, reasons };
      }),
    unmatched: all.length - wanted.length,
  };
}

/** Each object once, by id: a list that changes while it is read can contain an object twice. */
function distinct(wires: Wire[]): Wire[] {
  const byId = new Map(wires.map((wire) => [wire.id, wire]));
  return [...byId.values()].sort((a, b) => compare(a.id, b.id));
}

/** Why an adoption would fail: the provider's own check decides. */
function reasonsAgainst(resource: Resource, { args, state, reason }: Candidate, now: Date) {
  if (reason) return [reason];
  const lost = Object.keys(args).filter((property) => !survives(args[property]));
  if (lost.length > 0) return lost.map((property) => `${property}: ${noProgram}`);
  const { inputs, problems } = resource.check(args, inputsOf(resource, state), now);
  const found = [...problemsOfShape(resource, args), ...problems];
  if (found.length > 0) return found.map(({ path, reason }) => `${path}: ${reason}`);
  return differences(resource, state, inputs).map(
    ({ property }) => `${property}: no input gives this value, so an update would change it`,
  );
}

/** Whether the engine keeps a value unchanged. It changes a text that has half of a character. */
function survives(value: unknown): boolean {
  if (typeof value === "string") return value !== unknownValue && !/\p{Surrogate}/u.test(value);
  return !isObject(value) || Object.values(value).every(survives);
}

/**
 * Names the objects that can be adopted. If several have the same name, all but the oldest get a
 * number.
 */
function named(objects: Judged[]): Adoptable[] {
  const adoptable = objects
    .filter(({ reasons }) => reasons.length === 0)
    .sort((a, b) => madeAt(a) - madeAt(b) || compare(a.wire.id, b.wire.id));
  const names = unique(adoptable.map(resourceName), "-");
  return adoptable
    .map(({ wire, args }, index) => ({ id: wire.id, name: names[index] as string, args }))
    .sort((a, b) => compare(a.name, b.name));
}

/** The names, each once: to all but the first of equal ones, a number is added. */
function unique(names: string[], separator: string): string[] {
  const taken = new Set(names);
  const numbers = new Map<string, number>();
  return names.map((base) => {
    let number = numbers.get(base) ?? 0;
    do number += 1;
    while (number > 1 && taken.has(`${base}${separator}${number}`));
    numbers.set(base, number);
    return number === 1 ? base : `${base}${separator}${number}`;
  });
}

const madeAt = ({ wire }: Judged) => Date.parse(wire.created_at ?? "");

function resourceName({ kind, name }: Judged): string {
  const safe = slug(name);
  // The program looks up keys by this name in an object, which inherits names such as `constructor`.
  return safe === "" || safe in {} ? slug(`${kind.noun} ${safe}`) : safe;
}

/** A name that URNs and config allow: letters, digits and `.`, `-` and `_`. */
function slug(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/^\*\./, "wildcard.")
    .replace(/[^a-z0-9._-]+/g, "-")
    .slice(0, longestName)
    .replace(/^[.-]+|[.-]+$/g, "");
}

/** Orders texts by their characters, so that the language of the machine makes no difference. */
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

const json = (value: unknown) => `${plainJson(value, 2)}\n`;

/** The program, which loops over `adopted.json`. */
const program = `// Written by \`pulumi-tlsedge adopt\`. The first \`pulumi up\` adopts what adopted.json names, and changes
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

// Not adopted.ts: Node.js would take adopted.json for `./adopted`.
const namesOf = (isPlugin: boolean) =>
  isPlugin ? ["import.json"] : ["adopted.json", "adoption.ts"];

/** The files of a plan, by their names. */
export function filesOf(plan: Plan, isPlugin: boolean): Map<string, string> {
  if (isPlugin) return new Map([["import.json", importFile(plan)]]);
  const entry = ({ id, name, args }: Adoptable) => [name, { id, ...args }];
  const adopted = byKey(({ key }) => Object.fromEntries(plan[key].map(entry)));
  return new Map([
    ["adopted.json", json(adopted)],
    ["adoption.ts", program],
  ]);
}

/**
 * The file that `pulumi import --file` reads. `name` is that of the variable in the program that
 * Pulumi writes: unique, and a name in every language.
 */
function importFile(plan: Plan): string {
  const all = adoptableKinds.flatMap(({ key, noun, resource }) =>
    plan[key].map(({ id, name }) => ({
      type: `tlsedge:index:${resource.name}`,
      name: `${noun}_${name.replace(/\W/g, "_")}`,
      logicalName: name,
      id,
    })),
  );
  const variables = unique(
    all.map(({ name }) => name),
    "_",
  );
  return json({ resources: all.map((one, index) => ({ ...one, name: variables[index] })) });
}

/** Refuses to replace a file. */
export function refuseTaken(folder: string, isPlugin: boolean): void {
  const taken = namesOf(isPlugin).find((name) => existsSync(join(folder, name)));
  if (!taken) return;
  throw new Error(`${join(folder, taken)} is there already: move it, or give another --out`);
}

/** Writes the files of a plan into a folder, which is made. Gives their paths. */
export function writeFiles(folder: string, files: Map<string, string>): string[] {
  mkdirSync(folder, { recursive: true });
  return [...files].map(([name, text]) => {
    writeFileSync(join(folder, name), text, { flag: "wx" });
    return join(folder, name);
  });
}

/** What `adopt --json` prints. */
export function adoptionOf(
  { skipped, unmatched, ...plan }: Plan,
  service: string,
  files: string[],
) {
  const objects = byKey(({ key }) => plan[key].map(({ id, name }) => ({ id, name })));
  return { service, ...objects, skipped, unmatched, files } satisfies Adoption;
}

/** What `adopt` prints for people. */
export function adoptionText(adoption: Adoption, isPlugin: boolean, display: Display): string {
  const { skipped, unmatched, files } = adoption;
  const rows = skipped.map(({ id, names, reasons }) => ({
    id: plain(id),
    cells: [cell(names.join(", ") || "-"), reasons.flatMap((reason) => cell(reason))],
  }));
  const totals = [
    inWords(adoptableKinds.map(({ key, noun }) => count(adoption[key].length, noun))),
    skipped.length > 0 && `${skipped.length} skipped`,
    unmatched > 0 && `${unmatched} left out by the filter`,
  ];
  const sum = `${totals.filter(Boolean).join(", ")}.`;
  const next = isPlugin
    ? `In the folder of a Pulumi project that has the plugin, run
  pulumi import --file ${plain(files[0] ?? "")} --out FILE
It reads each object, changes nothing at the service, and writes the program into FILE.`
    : `Wrote ${inWords(files.map((file) => plain(file)))}. In index.ts of the Pulumi project, write
  import "./adoption";
and run \`pulumi up\`: it adopts the objects, and changes nothing.`;
  const parts = [
    `Service: ${plain(adoption.service)}`,
    rows.length > 0 && section("Skipped", ["ID", "NAMES", "WHY"], rows, display),
    painted(wrapped(sum, display.width), "bold", display),
    files.length > 0 && `${next}\n${otherStacks}`,
  ];
  return withoutCommands(parts.filter(Boolean).join("\n\n"));
}

const otherStacks =
  "An object belongs to one stack. `pulumi stack --show-ids` lists what a stack manages: remove\n" +
  "from the file what another stack has.";
