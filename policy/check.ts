#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import Ajv, { type ErrorObject } from "ajv";
import { policies } from "./index";
import { shown } from "./policy";
import { didYouMean, instead, noSetting } from "./settings";

const usage = `Usage: pulumi-tlsedge-policy FILE…
       pulumi-tlsedge-policy --schema

Checks files for \`pulumi up --policy-pack-config\`: whether this pack has each policy, level and
setting in them. Pulumi ignores a policy that the pack does not have, and then judges nothing.
--schema prints the JSON schema of such a file, for editors.

Exit codes: 0, 1 when a file is wrong or there is none
`;

/** Where the command writes: `process` is one. */
type IO = Record<"stdout" | "stderr", { write(text: string): unknown }>;

/** Checks the files, prints what is wrong with them, and gives the exit code. */
export function main(args: string[], { stdout, stderr }: IO): number {
  try {
    const options = { help: { type: "boolean" }, schema: { type: "boolean" } } as const;
    const { values, positionals: files } = parseArgs({ args, allowPositionals: true, options });
    if (values.help) stdout.write(usage);
    else if (values.schema) stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`);
    else if (files.length === 0) throw new Error("name a file, or --help");
    const problems = files.flatMap((file) => {
      const found = problemsOf(file).map((problem) => `${file}: ${problem}`);
      if (found.length === 0) stdout.write(`${shown(file)}: nothing is wrong\n`);
      return found;
    });
    for (const problem of problems) stderr.write(`error: ${shown(problem)}\n`);
    return problems.length > 0 ? 1 : 0;
  } catch (error) {
    stderr.write(`error: ${shown((error as Error).message)}\n`);
    return 1;
  }
}

/** The JSON schema of a file for `--policy-pack-config`: every policy, level and setting. */
function configSchema() {
  const levels = ["advisory", "disabled", "mandatory", "remediate"];
  const entry = (description: string, settings: object = {}) => ({
    description,
    type: ["string", "object"],
    if: { type: "string" },
    // biome-ignore lint/suspicious/noThenProperty: JSON schemas have it.
    then: { enum: levels },
    properties: { enforcementLevel: { enum: levels }, ...settings },
    additionalProperties: false,
  });
  const entries = policies.map(({ name, description, configSchema }) => [
    name,
    entry(description, configSchema?.properties),
  ]);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      all: entry("The level of all policies; a policy's own level overrides it."),
      ...Object.fromEntries(entries),
    },
    additionalProperties: false,
  };
}

function problemsOf(file: string): string[] {
  const isValid = new Ajv({ allErrors: true, allowUnionTypes: true, verbose: true }).compile(
    configSchema(),
  );
  try {
    if (isValid(JSON.parse(readFileSync(file, "utf8")))) return [];
  } catch (error) {
    return [(error as Error).message];
  }
  // What fails a "then" is an error of its own.
  return (isValid.errors ?? []).filter(({ keyword }) => keyword !== "if").map(inWords);
}

/** The types of JSON Schema, in words. */
const types: Record<string, string> = {
  object: "an object, in braces",
  string: "a text, in quotation marks",
  integer: "a whole number",
  array: "a list, in brackets",
};

function inWords({ keyword, instancePath, message, ...error }: ErrorObject): string {
  const { params, parentSchema, data } = error;
  const at = instancePath.slice(1).replaceAll("/", ".");
  if (keyword === "minLength") return `${at} is empty: write a text, such as the reason`;
  if (keyword === "type") {
    const wanted = [params.type].flat().map((type) => types[type] ?? type);
    return `${at || "the file"} must be ${wanted.join(" or ")}`;
  }
  const { additionalProperty: unknown, allowedValues = [] } = params;
  if (unknown === undefined) {
    const problem = `${at || "it"} ${message} ${allowedValues.join(", ")}`.trim();
    return `${problem}${didYouMean(String(data), allowedValues)}`;
  }
  const names = Object.keys(parentSchema?.properties);
  return at
    ? noSetting(at, unknown, names)
    : `the pack has no policy ${unknown}${instead(unknown, names)}`;
}

if (require.main === module) process.exitCode = main(process.argv.slice(2), process);
