import stringWidth from "string-width";
import { plainJson } from "../client/plain";
import { defaultConnection } from "../client/settings";
import type { Properties } from "../provider/lifecycle";
import { type Adoptable, compare, type Plan, type Skipped } from "./plan";
import {
  columns,
  type Group,
  groupsOf,
  joined,
  json,
  ownFiles,
  type ProjectOptions,
  packageJson,
  readme,
  tsconfig,
} from "./project";

/** The settings of a project for the Node.js package. */
export interface ProgramOptions extends ProjectOptions {
  /** The account, as a config namespace. */
  connection: string;
  /** What its package.json says of this package: a version or a place. */
  dependency: string;
}

/** With more objects, `index.ts` would exceed about 500 lines, so JSON files hold their data. */
const mostInCode = 50;
/** The files of a Pulumi project that adopts what is planned, by their paths in it. */
export function projectOf(plan: Plan, options: ProgramOptions): Map<string, string> {
  const { project, connection, dependency, pulumi } = options;
  const all = groupsOf(plan);
  const groups = all.filter(({ objects }) => objects.length > 0);
  const isLong = groups.flatMap(({ objects }) => objects).length > mostInCode;
  return new Map([
    ["Pulumi.yaml", `name: ${JSON.stringify(project)}\nruntime: nodejs\n`],
    ["package.json", packageJson(project, { ...pulumi, "pulumi-tlsedge": dependency })],
    ["tsconfig.json", json(tsconfig)],
    [".gitignore", "/bin/\n/node_modules/\n"],
    ["README.md", readmeOf(groups, plan.skipped, options, isLong)],
    ["index.ts", program(groups, connection, isLong)],
    ...(isLong ? dataFiles(all) : []),
    ...groups.flatMap(ownFiles),
  ]);
}

const lines = (...some: (string | false)[]) => some.filter(Boolean).join("\n");

/** The program: one statement for each object, or one loop for each kind that reads the data. */
function program(groups: Group[], connection: string, isLong: boolean): string {
  // An import sorts its names, and the statements have the same order.
  const sorted = groups.toSorted((a, b) => compare(a.className, b.className));
  const ownCode = sorted.flatMap(({ file }) => file?.code ?? []);
  const readsFiles = isLong || ownCode.length > 0;
  const names = sorted.flatMap(({ className }) =>
    isLong ? [className, `type ${className}Args`] : className,
  );
  return joined(
    "// Written by `npx pulumi-tlsedge adopt`; README.md says what to do next.",
    lines(
      readsFiles && 'import { readFileSync } from "node:fs";',
      readsFiles && 'import { join } from "node:path";',
      ownCode.length > 0 && 'import * as pulumi from "@pulumi/pulumi";',
      importOf(names),
    ),
    connection !== defaultConnection &&
      `/** The account. */\nconst connection = ${literal(connection)};`,
    readsFiles && 'const read = (file: string) => readFileSync(join(__dirname, file), "utf8");',
    ...ownCode,
    isLong &&
      `/** The ids of the existing objects, by the names of their resources. */
const ids: Record<string, Record<string, string>> = JSON.parse(read("import.json"));`,
    ...sorted.flatMap((group) =>
      isLong ? loop(group, connection) : group.objects.map((one) => adopting(group, one)),
    ),
  );
}

function importOf(names: string[]): string {
  const short = `import { ${names.join(", ")} } from "pulumi-tlsedge";`;
  return fits(short) ? short : `import {\n  ${names.join(",\n  ")},\n} from "pulumi-tlsedge";`;
}

/** The statement of an object. */
function adopting({ className, file }: Group, one: Adoptable): string {
  const own = Object.entries(file?.args(literal(one.name)) ?? {});
  const args = [
    ...("connection" in one.args ? ["    connection,"] : []),
    ...own.map(([property, code]) => `    ${property}: ${code},`),
    ...properties(dataOf(one, file), "    "),
  ];
  return statement(className, one.name, args, { import: one.id, protect: true });
}

/** A statement that makes a resource. The arguments are lines with an indent of four. */
function statement(className: string, name: string, args: string[], options: object): string {
  const short = `new ${className}(${literal(name)}, {}, ${inline(options)});`;
  if (args.length === 0 && fits(short)) return short;
  const given = args.length === 0 ? "  {}," : lines("  {", ...args, "  },");
  return lines(`new ${className}(`, `  ${literal(name)},`, given, `  ${inline(options)},`, ");");
}

/** The arguments that are data. For the others the program has code. */
function dataOf({ args }: Adoptable, file: Group["file"]): Properties {
  const { connection: _, ...data } = args;
  if (file) delete data[file.property];
  return data;
}

const fits = (line: string) => stringWidth(line) <= columns;

/** The properties of an object as TypeScript, each on one line or, if it is too long, on more. */
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

/** A string in the quotes that need fewer escapes: metadata are often JSON. */
function literal(text: string): string {
  const quoted = plainJson(text);
  const marks = (mark: string) => text.split(mark).length;
  if (marks('"') <= marks("'")) return quoted;
  const body = quoted.slice(1, -1).replace(/\\.|'/g, (part) => {
    if (part === '\\"') return '"';
    return part === "'" ? "\\'" : part;
  });
  return `'${body}'`;
}

/** A loop over the data of a kind. */
function loop({ key, className, lifecycle, file }: Group, connection: string): string {
  const given = connection === defaultConnection ? "" : "connection, ";
  const data = `JSON.parse(read("${key}.json"))`;
  const options = `{ import: ids.${key}[name], protect: true }`;
  if (!file) {
    return `const ${key}: Record<string, ${className}Args> = ${data};
for (const [name, args] of Object.entries(${key})) {
  new ${className}(name, ${given ? `{ ${given}...args }` : "args"}, ${options});
}`;
  }
  const own = Object.entries(file.args("name")).map(([name, code]) => `${name}: ${code}`);
  const others = lifecycle.properties.filter((name) => name !== file.property);
  return `type Texts = Pick<${className}Args, ${others.map((name) => `"${name}"`).join(" | ")}>;
const ${key}: Record<string, Texts> = ${data};
for (const [name, texts] of Object.entries(${key})) {
  const args = { ${given}${own.join(", ")}, ...texts };
  new ${className}(name, args, ${options});
}`;
}

/** The JSON files that the loops read. */
function dataFiles(all: Group[]): [string, string][] {
  const byName = ({ objects }: Group, part: (one: Adoptable) => unknown) =>
    Object.fromEntries(objects.map((one) => [one.name, part(one)]));
  const ids = all.map((group) => [group.key, byName(group, ({ id }) => id)]);
  return [
    ["import.json", json(Object.fromEntries(ids))],
    ...all.flatMap((group): [string, string][] => {
      const data = byName(group, (one) => dataOf(one, group.file));
      return group.objects.length > 0 ? [[`${group.key}.json`, json(data)]] : [];
    }),
  ];
}

function readmeOf(
  groups: Group[],
  skipped: Skipped[],
  options: ProgramOptions,
  isLong: boolean,
): string {
  const { connection } = options;
  const toRemove = isLong
    ? "`import.json`, and in `index.ts` what reads it and each `import: …`"
    : "each `import: …` in `index.ts`";
  return readme(options, groups, skipped, {
    steps: [
      `1. Install, create a stack, and set the account, in stack config as here or in the environment:

   \`\`\`sh
   npm install
   pulumi stack init
   pulumi config set ${connection}:baseUrl https://…
   pulumi config set --secret ${connection}:apiKey
   \`\`\`

2. \`pulumi up\` adopts the objects: it reads them, and creates and changes nothing. The plan shows
   each as a create, and says at the end how many will be adopted without changes. If an object has
   changed by then, the plan fails and lists the differences.
3. Remove ${toRemove}.
   \`pulumi preview\` shows no change.`,
    ],
    sections: groups.flatMap(({ file, objects: [first] }) =>
      file && first ? file.readme(first.name) : [],
    ),
  });
}
