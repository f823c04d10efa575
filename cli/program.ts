import stringWidth from "string-width";
import { defaultConnection } from "../client/settings";
import type { TLSCertificateInputs } from "../provider/tlsCertificate";
import type { TLSEdgeInputs } from "../provider/tlsEdge";
import type { Adoptable, Plan } from "./adopt";
import { count, inert, plain } from "./table";

/** What the project is called, where its account is, and what it depends on. */
export interface Frame {
  /** Letters, digits, `.`, `-` and `_`. */
  project: string;
  /** The account, as a config namespace. */
  connection: string;
  /** Versions by package. */
  packages: Record<"dependencies" | "devDependencies", Record<string, string>>;
}

/** Some five hundred lines, which a person still reads. With more, the data stand beside the code. */
const mostInCode = 50;
const columns = 100;

type Edge = Adoptable<TLSEdgeInputs>;
type Certificate = Adoptable<TLSCertificateInputs>;

/** Where the chain of a certificate stands. */
export const chainFile = (name: string) => `certificates/${name}.pem`;

/** The files of a Pulumi project that adopts what is planned, by their paths in it. */
export function projectOf(plan: Plan, frame: Frame): Map<string, string> {
  const { edges, certificates } = plan;
  const { project, connection, packages } = frame;
  const isLong = edges.length + certificates.length > mostInCode;
  const manifest = { name: project.toLowerCase(), private: true, main: "index.ts", ...packages };
  return new Map([
    ["Pulumi.yaml", `name: ${JSON.stringify(project)}\nruntime: nodejs\n`],
    ["package.json", json(manifest)],
    ["tsconfig.json", json(tsconfig)],
    [".gitignore", "/bin/\n/node_modules/\n"],
    ["README.md", readme(plan, frame, isLong)],
    ["index.ts", isLong ? loops(plan, connection) : statements(plan, connection)],
    ...(isLong ? dataOf(plan) : []),
    ...certificates.map(({ name, args }) => [chainFile(name), args.certificatePem] as const),
  ]);
}

const tsconfig = {
  compilerOptions: {
    target: "es2022",
    module: "node16",
    moduleResolution: "node16",
    types: ["node"],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["*.ts"],
};

const json = (value: unknown) => `${inert(value, 2)}\n`;

/** A file of TypeScript from its parts, those that are needed. */
const file = (...parts: (string | false)[]) => `${parts.filter(Boolean).join("\n\n")}\n`;
const lines = (...some: (string | false)[]) => some.filter(Boolean).join("\n");

const origin = "// Written by `npx pulumi-tlsedge adopt`; README.md says what to do next.";

const keysAndChains = `/** Private keys in PEM, by the name of the certificate: no service gives them back. */
const keys = new pulumi.Config().getSecretObject<Record<string, string>>("keys");
const key = (name: string) => keys?.apply((all) => all[name]);
const chain = (name: string) => read(\`certificates/\${name}.pem\`);`;

const reading = 'const read = (file: string) => readFileSync(join(__dirname, file), "utf8");';

const connecting = (connection: string) =>
  connection !== defaultConnection &&
  `/** The account. */\nconst connection = ${literal(connection)};`;

/** A program that says each object. */
function statements({ edges, certificates }: Plan, connection: string): string {
  const classes = [certificates.length > 0 && "TLSCertificate", edges.length > 0 && "TLSEdge"];
  return file(
    origin,
    lines(
      certificates.length > 0 && 'import { readFileSync } from "node:fs";',
      certificates.length > 0 && 'import { join } from "node:path";',
      certificates.length > 0 && 'import * as pulumi from "@pulumi/pulumi";',
      `import { ${classes.filter(Boolean).join(", ")} } from "pulumi-tlsedge";`,
    ),
    connecting(connection),
    certificates.length > 0 && `${reading}\n\n${keysAndChains}`,
    ...certificates.map(certificateStatement),
    ...edges.map(edgeStatement),
  );
}

function certificateStatement({ id, name, args }: Certificate): string {
  const { connection, certificatePem: _, ...rest } = args;
  const own = [
    ...(connection ? ["    connection,"] : []),
    `    certificatePem: chain(${literal(name)}),`,
    `    privateKeyPem: key(${literal(name)}),`,
  ];
  return statement("TLSCertificate", name, [...own, ...properties(rest, "    ")], id);
}

function edgeStatement({ id, name, args: { connection, ...rest } }: Edge): string {
  const own = connection ? ["    connection,"] : [];
  return statement("TLSEdge", name, [...own, ...properties(rest, "    ")], id);
}

function statement(type: string, name: string, args: string[], id: string): string {
  const short = `new ${type}(${literal(name)}, {}, ${inline({ import: id })});`;
  if (args.length === 0 && fits(short)) return short;
  return lines(
    `new ${type}(`,
    `  ${literal(name)},`,
    args.length === 0 ? "  {}," : lines("  {", ...args, "  },"),
    `  ${inline({ import: id })},`,
    ");",
  );
}

const fits = (line: string) => stringWidth(line) <= columns;

/** The properties of an object, each with what it takes of lines. */
function properties(values: object, indent: string): string[] {
  return Object.entries(values).map(([name, value]) => property(name, value, indent));
}

function property(name: string, value: unknown, indent: string): string {
  const whole = `${indent}${name}: ${inline(value)},`;
  if (fits(whole)) return whole;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => `${deeper}${inline(item)},`);
    return lines(`${indent}${name}: [`, ...items, `${indent}],`);
  }
  if (typeof value === "object" && value !== null) {
    return lines(`${indent}${name}: {`, ...properties(value, deeper), `${indent}},`);
  }
  return lines(`${indent}${name}:`, `${deeper}${inline(value)},`);
}

/** A value on one line, as TypeScript. */
function inline(value: unknown): string {
  if (typeof value === "string") return literal(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const parts = Object.entries(value).map(([name, part]) => `${name}: ${inline(part)}`);
  return `{ ${parts.join(", ")} }`;
}

/** A string in the quotes that leave it more readable: metadata are often JSON. */
function literal(text: string): string {
  const quoted = inert(text);
  const marks = (mark: string) => text.split(mark).length;
  if (marks('"') <= marks("'")) return quoted;
  const body = quoted.slice(1, -1).replace(/\\.|'/g, (part) => {
    if (part === '\\"') return '"';
    return part === "'" ? "\\'" : part;
  });
  return `'${body}'`;
}

/** A program that reads what the objects are. */
function loops({ edges, certificates }: Plan, connection: string): string {
  const more = connection === defaultConnection ? "" : "connection, ";
  const classes = [
    ...(certificates.length > 0 ? ["TLSCertificate", "type TLSCertificateArgs"] : []),
    ...(edges.length > 0 ? ["TLSEdge", "type TLSEdgeArgs"] : []),
  ];
  return file(
    origin,
    lines(
      'import { readFileSync } from "node:fs";',
      'import { join } from "node:path";',
      certificates.length > 0 && 'import * as pulumi from "@pulumi/pulumi";',
      `import { ${classes.join(", ")} } from "pulumi-tlsedge";`,
    ),
    connecting(connection),
    reading,
    certificates.length > 0 && keysAndChains,
    `/** What is there already: ids by the names of the resources. */
const ids: Record<string, Record<string, string>> = JSON.parse(read("import.json"));`,
    certificates.length > 0 &&
      `type Texts = Pick<TLSCertificateArgs, "description" | "metadata">;
const certificates: Record<string, Texts> = JSON.parse(read("certificates.json"));
for (const [name, texts] of Object.entries(certificates)) {
  const args = { ${more}certificatePem: chain(name), privateKeyPem: key(name), ...texts };
  new TLSCertificate(name, args, { import: ids.certificates[name] });
}`,
    edges.length > 0 &&
      `const edges: Record<string, TLSEdgeArgs> = JSON.parse(read("edges.json"));
for (const [name, args] of Object.entries(edges)) {
  new TLSEdge(name, ${more ? `{ ${more}...args }` : "args"}, { import: ids.edges[name] });
}`,
  );
}

/** What the loops read. */
function dataOf({ edges, certificates }: Plan): [string, string][] {
  const byName = <T>(all: Adoptable<T>[], what: (one: Adoptable<T>) => unknown) =>
    Object.fromEntries(all.map((one) => [one.name, what(one)]));
  const ids = {
    edges: byName(edges, ({ id }) => id),
    certificates: byName(certificates, ({ id }) => id),
  };
  const edgeArgs = byName(edges, ({ args: { connection: _, ...args } }) => args);
  const texts = byName(
    certificates,
    ({ args: { connection: _, certificatePem: __, ...args } }) => args,
  );
  return [
    ["import.json", json(ids)],
    ...(edges.length > 0 ? [["edges.json", json(edgeArgs)] as [string, string]] : []),
    ...(certificates.length > 0 ? [["certificates.json", json(texts)] as [string, string]] : []),
  ];
}

function readme(plan: Plan, { project, connection }: Frame, isLong: boolean): string {
  const { edges, certificates, skipped } = plan;
  const objects = [
    count(edges.length, "TLS edge"),
    count(certificates.length, "TLS certificate"),
  ].filter((text) => !text.startsWith("0"));
  const [certificate] = certificates;
  const toRemove = isLong
    ? "`import.json`, and in `index.ts` what reads it and each `{ import: … }`"
    : "each `{ import: … }` in `index.ts`";
  return file(
    `# ${project}`,
    `${objects.join(" and ")}, as \`npx pulumi-tlsedge adopt\` found them.`,
    `1. Install, make a stack, and say where the account is, here or in the environment:

   \`\`\`sh
   npm install
   pulumi stack init
   pulumi config set ${connection}:baseUrl https://…
   pulumi config set --secret ${connection}:apiKey
   \`\`\`

2. \`pulumi up\` takes the objects over. The plan shows each as a create and says that it is adopted
   as it is: it is read, and nothing is made or changed. An object that differs by then fails the
   plan, which says in what.
3. Remove ${toRemove}.
   \`pulumi preview\` shows no change.

From now on the objects are changed here, and \`pulumi destroy\` deletes them.`,
    certificate !== undefined &&
      `No service gives a private key back, and none is needed until a chain changes. To give one now,
which changes nothing:

\`\`\`sh
pulumi config set --secret --path 'keys["${certificate.name}"]' < key.pem
\`\`\``,
    skipped.length > 0 &&
      `## Not adopted

\`\`\`text
${skipped.map(({ type, id, names, reasons }) => line(type, id, names, reasons)).join("\n")}
\`\`\``,
  );
}

/** One object that is skipped. It begins with a word of ours, so that it ends no block. */
function line(type: string, id: string, names: string[], reasons: string[]): string {
  const called = names.length > 0 ? ` (${names.join(", ")})` : "";
  return plain(`${type} ${id}${called}: ${reasons.join("; ")}`);
}
