import stringWidth from "string-width";
import { plain, plainJson } from "../client/plain";
import { defaultConnection } from "../client/settings";
import type { Properties } from "../provider/lifecycle";
import { type AnyAdoptableKind, adoptableKinds } from "./kinds";
import { type Adoptable, compare, type Plan, type Skipped } from "./plan";
import { count, inWords, wrapped } from "./table";

/** The settings of a project for the Node.js package. */
export interface ProgramOptions {
  /** The name: letters, digits, `.`, `-` and `_`. */
  project: string;
  /** The supported version of Pulumi, by package. */
  pulumi: Record<string, string>;
  /** A text for the README, too. */
  warning: string | undefined;
  /** The account, as a config namespace. */
  connection: string;
  /** What its package.json says of this package: a version or a place. */
  dependency: string;
}

/** With more objects, `index.ts` would exceed about 500 lines, so JSON files hold their data. */
const mostInCode = 50;

/** A kind and its objects. */
type Group = AnyAdoptableKind["adoption"] & {
  key: string;
  objects: Adoptable[];
};

/** How many columns a line of a file has at most. */
const columns = 100;

/** The kinds, each with its objects. */
const groupsOf = (plan: Plan): Group[] =>
  adoptableKinds.map(({ key, adoption }) => ({ key, ...adoption, objects: plan[key] }));

/** The package.json of a program in TypeScript. */
const packageJson = (project: string, dependencies: Record<string, string>) =>
  json({
    name: project.toLowerCase(),
    private: true,
    main: "index.ts",
    dependencies,
    // The TypeScript inside Pulumi is too old for the types of this package.
    devDependencies: { "@types/node": "^22.0.0", typescript: "^5.0.0" },
  });

/** The settings of the compiler for a program in TypeScript. */
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

/** A JSON file. */
const json = (value: unknown) => `${plainJson(value, 2)}\n`;

/** Joins the parts of a file, and omits those that are missing. */
const joined = (...parts: (string | false | undefined)[]) =>
  `${parts.filter(Boolean).join("\n\n")}\n`;

/** The files of the objects of a kind, by their paths. */
function ownFiles({ file, objects }: Group): [string, string][] {
  if (!file) return [];
  return objects.map(({ name, args }) => [file.path(name), String(args[file.property])]);
}

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

/** The README of a project. */
function readmeOf(
  groups: Group[],
  skipped: Skipped[],
  { project, connection, warning }: ProgramOptions,
  isLong: boolean,
): string {
  const found = groups.map(({ lifecycle, objects }) => count(objects.length, lifecycle.title));
  const toRemove = isLong
    ? "`import.json`, and in `index.ts` what reads it and each `import: …`"
    : "each `import: …` in `index.ts`";
  return joined(
    `# ${project}`,
    `${inWords(found)}, as \`npx pulumi-tlsedge adopt\` found them.`,
    warning && wrapped(`**Warning:** ${warning}`, columns),
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
    "From now on the objects are changed here.",
    ...groups.flatMap(({ file, objects: [first] }) =>
      file && first ? file.readme(first.name) : [],
    ),
    protection,
    notAdopted(skipped),
  );
}

/** The section about the protection of the resources. */
const protection = `## Protection

Each resource is protected, as after Pulumi's own import: an update that would delete or replace it
fails, and so does \`pulumi destroy\`. A certificate is replaced when its chain changes.

- For good: remove the \`protect\` of the resource from the program, and run \`pulumi up\`. The same
  update can replace the resource.
- Until the next \`pulumi up\`: \`pulumi state unprotect\`, with the URN of one resource or with
  \`--all\`. After that, \`pulumi destroy\` deletes what is not protected, at the service too.`;

/** The section about the skipped objects; false if there are none. */
const notAdopted = (skipped: Skipped[]) =>
  skipped.length > 0 &&
  `## Not adopted

\`\`\`text
${skipped.map(lineOf).join("\n")}
\`\`\``;

/** A skipped object on one line. Its type comes first, so that no text can end the block. */
function lineOf({ type, id, names, reasons }: Skipped): string {
  const called = names.length > 0 ? ` (${names.join(", ")})` : "";
  return plain(`${type} ${id}${called}: ${reasons.join("; ")}`);
}
