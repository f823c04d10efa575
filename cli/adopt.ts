import { join, resolve } from "node:path";
import { plain, plainJson, withoutCommands } from "../client/plain";
import { type AnyAdoptableKind, adoptableKinds } from "./kinds";
import { byKey, type EachKind, type Plan, unique } from "./plan";
import { cell, count, type Display, inWords, painted, section, wrapped } from "./table";

/**
 * What `adopt --json` prints: these fields, those of the plan, and for each kind the objects in the
 * project, by name; `file` is the path of an object's own file, such as that of its chain. Every
 * field is always present; an unset one is null.
 */
export interface Adoption
  extends Record<EachKind["key"], { id: string; name: string; file?: string }[]>,
    Pick<Plan, "skipped" | "unmatched" | "environments"> {
  /** The folder as the user gave it. */
  out: string;
  /** The host of the service, with its port if that is not 443. */
  service: string;
  /** Whether the folder has a file for `pulumi import` in place of a project. */
  plugin: boolean;
  /** The text given with `--filter`. */
  filter: string | null;
  /** The files given with `--not-in`. */
  notIn: string[];
  /** The paths of the written files in the folder. */
  files: string[];
}

/** What `adopt --json` prints of a plan and the files that were written. */
export function adoptionOf(
  plan: Plan,
  read: Pick<Adoption, "service" | "out" | "plugin" | "notIn"> & {
    filter?: string;
    files: Map<string, string>;
  },
): Adoption {
  return {
    out: read.out,
    service: read.service,
    plugin: read.plugin,
    filter: read.filter ?? null,
    notIn: read.notIn,
    ...byKey(({ key, adoption: { file } }) =>
      plan[key].map(({ id, name }) => ({
        id,
        name,
        ...(file && !read.plugin && { file: file.path(name) }),
      })),
    ),
    skipped: plan.skipped,
    unmatched: plan.unmatched,
    environments: plan.environments,
    files: [...read.files.keys()],
  };
}

/** What `adopt` prints for people. */
export function adoptionText(adoption: Adoption, display: Display): string {
  const { out, skipped, unmatched, files } = adoption;
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
  const parts = [
    `Service: ${plain(adoption.service)}`,
    rows.length > 0 && section("Skipped", ["ID", "NAMES", "WHY"], rows, display),
    painted(wrapped(sum, display.width), "bold", display),
    files.length > 0 && (adoption.plugin ? importing(out) : readOn(out)),
  ];
  return withoutCommands(parts.filter(Boolean).join("\n\n"));
}

const readOn = (out: string) => `For the next steps, read ${plain(join(out, "README.md"))}.`;

const importing = (out: string) => `In the folder of a Pulumi project that has the plugin, run
  pulumi import --file ${plain(resolve(out, importFile))} --out FILE
It reads each object, changes nothing at the service, and writes the program into FILE.`;

const importFile = "import.json";

/**
 * The file that `pulumi import --file` reads, by its path in the folder. `name` is that of the variable
 * in the program that Pulumi writes: unique, and a name in every language.
 */
export function importFileOf(plan: Plan): Map<string, string> {
  const all = adoptableKinds.flatMap(({ key, noun, adoption }: AnyAdoptableKind) =>
    plan[key].map((one) => ({ ...one, noun, type: `tlsedge:index:${adoption.className}` })),
  );
  const bases = all.map(({ noun, name }) => `${noun}_${name.replace(/\W/g, "_")}`);
  const variables = unique(bases, "_");
  const resources = all.map(({ type, name, id }, index) => {
    return { type, name: variables[index], logicalName: name, id };
  });
  return new Map([[importFile, `${plainJson({ resources }, 2)}\n`]]);
}
