import { plain, plainJson } from "../client/plain";
import { type AnyAdoptableKind, adoptableKinds } from "./kinds";
import type { Adoptable, Plan, Skipped } from "./plan";
import { count, inWords, wrapped } from "./table";

/** The settings of a project. */
export interface ProjectOptions {
  /** The name: letters, digits, `.`, `-` and `_`. */
  project: string;
  /** The supported version of Pulumi, by package. */
  pulumi: Record<string, string>;
  /** A text for the README, too. */
  warning: string | undefined;
}

/** A kind and its objects. */
export type Group = AnyAdoptableKind["adoption"] & {
  key: string;
  objects: Adoptable[];
};

/** How many columns a line of a file has at most. */
export const columns = 100;

/** The kinds, each with its objects. */
export const groupsOf = (plan: Plan): Group[] =>
  adoptableKinds.map(({ key, adoption }) => ({ key, ...adoption, objects: plan[key] }));

/** The package.json of a program in TypeScript. */
export const packageJson = (project: string, dependencies: Record<string, string>) =>
  json({
    name: project.toLowerCase(),
    private: true,
    main: "index.ts",
    dependencies,
    // The TypeScript inside Pulumi is too old for the types of this package.
    devDependencies: { "@types/node": "^22.0.0", typescript: "^5.0.0" },
  });

/** The settings of the compiler for a program in TypeScript. */
export const tsconfig = {
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
export const json = (value: unknown) => `${plainJson(value, 2)}\n`;

/** Joins the parts of a file, and omits those that are missing. */
export const joined = (...parts: (string | false | undefined)[]) =>
  `${parts.filter(Boolean).join("\n\n")}\n`;

/** The files of the objects of a kind, by their paths. */
export function ownFiles({ file, objects }: Group): [string, string][] {
  if (!file) return [];
  return objects.map(({ name, args }) => [file.path(name), String(args[file.property])]);
}

/**
 * The README of a project.
 *
 * @param steps The paragraphs of the next steps.
 * @param sections What is to say of kinds of objects.
 */
export function readme(
  { project, warning }: ProjectOptions,
  groups: Group[],
  skipped: Skipped[],
  { steps, sections }: { steps: string[]; sections: string[] },
): string {
  const found = groups.map(({ lifecycle, objects }) => count(objects.length, lifecycle.title));
  return joined(
    `# ${project}`,
    `${inWords(found)}, as \`npx pulumi-tlsedge adopt\` found them.`,
    warning && wrapped(`**Warning:** ${warning}`, columns),
    ...steps,
    "From now on the objects are changed here.",
    ...sections,
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
