import type { Properties } from "../provider/lifecycle";
import { literal, properties, statement } from "./program";
import { joined, json, type ProjectOptions, packageJson, tsconfig } from "./project";

/** The languages of programs for the plugin. */
export const languages = ["typescript", "python", "go", "yaml"] as const;

/** A language of {@link languages}. */
export type Language = (typeof languages)[number];

/** The arguments of a resource: the values by property, and the path of the file of one. */
export interface Arguments {
  values: Properties;
  file?: { property: string; path: string };
}

/** How programs are written in a language. */
interface Syntax {
  /** A resource. `key` is unique in the program, `name` only in its class. */
  resource(className: string, name: string, args: Arguments, key: string): string;
  /** The files of the project with these resources, by their paths in it. */
  files(resources: string[], readsFiles: boolean, options: ProjectOptions): [string, string][];
  /** The paths that Git ignores. */
  ignored: string[];
  /** The commands that install what the program needs. */
  install: string[];
}

/** Where the generated SDK for Go is imported from: `importBasePath` in the schema. */
const goSdk = "github.com/example-owner/pulumi-tlsedge/sdk/go/tlsedge";
const goPulumi = "github.com/pulumi/pulumi/sdk/v3/go/pulumi";

/** How programs are written, by language. */
export const syntaxes: Record<Language, Syntax> = {
  typescript: {
    resource(className, name, { values, file }) {
      const read = file ? [`    ${file.property}: read(${literal(file.path)}),`] : [];
      const args = [...read, ...properties(values, "    ")];
      return statement(`tlsedge.${className}`, name, args, { protect: true });
    },
    files: (resources, readsFiles, { project, pulumi }) => [
      yamlFile(project, "nodejs"),
      ["package.json", packageJson(project, pulumi)],
      ["tsconfig.json", json(tsconfig)],
      [
        "index.ts",
        joined(
          `${readsFiles ? 'import { readFileSync } from "node:fs";\n' : ""}\
import * as tlsedge from "@pulumi/tlsedge";`,
          readsFiles && 'const read = (file: string) => readFileSync(file, "utf8");',
          ...resources,
        ),
      ],
    ],
    ignored: ["/bin/", "/node_modules/"],
    install: ["pulumi package add tlsedge", "npm install"],
  },

  python: {
    resource(className, name, { values, file }) {
      const read = file && `    ${snake(file.property)}=Path(${quoted(file.path)}).read_text(),\n`;
      const args = entries(values, ([key, value]) => `    ${snake(key)}=${pythonValue(value)},\n`);
      return `tlsedge.${className}(
    ${quoted(name)},
${[read, ...args].join("")}\
    opts=pulumi.ResourceOptions(protect=True),
)`;
    },
    files: (resources, readsFiles, { project }) => [
      yamlFile(project, "\n  name: python\n  options:\n    virtualenv: venv"),
      ["requirements.txt", "pulumi>=3,<4\n"],
      [
        "__main__.py",
        joined(
          readsFiles && "from pathlib import Path",
          "import pulumi\nimport pulumi_tlsedge as tlsedge",
          resources.join("\n"),
        ),
      ],
    ],
    ignored: ["/venv/", "__pycache__/"],
    install: ["pulumi install", "pulumi package add tlsedge"],
  },

  go: {
    resource(className, name, { values, file }) {
      const read: [string, string][] = file ? [[file.property, `read(${quoted(file.path)})`]] : [];
      const all = [
        ...read,
        ...Object.entries(values).map(([key, value]): [string, string] => [
          key,
          goValue(value, key),
        ]),
      ];
      const width = Math.max(...all.map(([key]) => key.length));
      const given = all.map(
        ([key, code]) => `\t\t\t${`${pascal(key)}:`.padEnd(width + 1)} ${code},\n`,
      );
      const args = `&tlsedge.${className}Args{${given.length > 0 ? `\n${given.join("")}\t\t` : ""}}`;
      return `\t\tif _, err := tlsedge.New${className}(ctx, ${quoted(name)}, ${args}, pulumi.Protect(true)); err != nil {
\t\t\treturn err
\t\t}`;
    },
    files: (resources, readsFiles, { project }) => [
      yamlFile(project, "go"),
      ["go.mod", `module ${project.toLowerCase()}\n\ngo 1.24\n`],
      [
        "main.go",
        `package main

import (
${readsFiles ? '\t"os"\n\n' : ""}${[goSdk, goPulumi]
  .sort()
  .map((path) => `\t"${path}"\n`)
  .join("")})
${readsFiles ? goRead : ""}
func main() {
\tpulumi.Run(func(ctx *pulumi.Context) error {
${resources.join("\n")}
\t\treturn nil
\t})
}
`,
      ],
    ],
    ignored: [],
    install: ["pulumi package add tlsedge", "go mod tidy"],
  },

  yaml: {
    resource(className, name, { values, file }, key) {
      const read = file && `      ${file.property}:\n        fn::readFile: ${quoted(file.path)}\n`;
      const args = entries(
        values,
        ([property, value]) => `      ${property}: ${yamlValue(value)}\n`,
      );
      const given = [read, ...args].join("");
      return `  ${key}:
    type: tlsedge:${className}
    name: ${quoted(name)}
${given ? `    properties:\n${given}` : ""}\
    options:
      protect: true
`;
    },
    files: (resources, _readsFiles, { project }) => {
      const [path, head] = yamlFile(project, "yaml");
      return [[path, `${head}resources:\n${resources.join("")}`]];
    },
    ignored: [],
    install: [],
  },
};

const goRead = `
func read(path string) pulumi.String {
\ttext, err := os.ReadFile(path)
\tif err != nil {
\t\tpanic(err)
\t}
\treturn pulumi.String(text)
}
`;

/** The project's file. */
const yamlFile = (project: string, runtime: string): [string, string] => [
  "Pulumi.yaml",
  `name: ${quoted(project)}\nruntime:${runtime.startsWith("\n") ? "" : " "}${runtime}\n`,
];

/** A text in double quotes, with escapes that Python, Go and YAML have in common. */
export function quoted(text: string): string {
  const short: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\\": "\\\\", '"': '\\"' };
  // YAML does not allow the last two.
  const escaped = text.replace(/["\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFE\uFFFF]/gu, (character) => {
    const code = character.codePointAt(0) as number;
    const digits = code.toString(16);
    const long = code > 0xffff ? `\\U${digits.padStart(8, "0")}` : `\\u${digits.padStart(4, "0")}`;
    return short[character] ?? long;
  });
  return `"${escaped}"`;
}

/** In a YAML program, `$$` is a dollar sign, and `${…}` a reference. */
const yamlText = (text: string) => quoted(text.replaceAll("$", "$$$$"));

const entries = <T>(values: object, part: (entry: [string, unknown]) => T): T[] =>
  Object.entries(values).map(part);

const snake = (name: string) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
const pascal = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1);

function pythonValue(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  const parts = entries(value as object, ([key, part]) => `"${snake(key)}": ${pythonValue(part)}`);
  return `{${parts.join(", ")}}`;
}

/** An object's type is called after its property: `BackendArgs` for `backend`. */
function goValue(value: unknown, property: string): string {
  if (typeof value === "string") return `pulumi.String(${quoted(value)})`;
  if (typeof value === "boolean") return `pulumi.Bool(${value})`;
  if (Array.isArray(value)) {
    return `pulumi.StringArray{${value.map((item) => goValue(item, property)).join(", ")}}`;
  }
  const parts = entries(value as object, ([key, part]) => `${pascal(key)}: ${goValue(part, key)}`);
  return `&tlsedge.${pascal(property)}Args{${parts.join(", ")}}`;
}

function yamlValue(value: unknown): string {
  if (typeof value === "string") return yamlText(value);
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(yamlValue).join(", ")}]`;
  const parts = entries(value as object, ([key, part]) => `${key}: ${yamlValue(part)}`);
  return `{ ${parts.join(", ")} }`;
}
