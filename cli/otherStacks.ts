import { readFileSync } from "node:fs";
import * as v from "valibot";
import type { Properties } from "../provider/lifecycle";
import { adoptableKinds } from "./kinds";
import { inWords } from "./table";

/** The state of a stack, as far as this file reads it. A component has no id. */
const stackExport = v.object({
  deployment: v.object({
    resources: v.nullish(
      v.array(
        v.object({
          urn: v.string(),
          type: v.string(),
          id: v.optional(v.string()),
          /** Whether the stack only reads the object. */
          external: v.optional(v.boolean()),
        }),
      ),
      [],
    ),
  }),
});

const stackName = /^[\w.-]{1,100}$/;
/** How many environments a warning names. */
const mostNamed = 5;

/** The types of this package's resources, and of the plugin's. */
const types = adoptableKinds.flatMap(({ adoption: { className } }) => [
  `pulumi-nodejs:dynamic/tlsedge:${className}`,
  `tlsedge:index:${className}`,
]);

/**
 * The objects that stacks manage: for each id the stack, as `project/stack`.
 *
 * @param files What `pulumi stack export` has written, a file for each stack.
 * @throws Error when a file can't be read, or is something else.
 * @example managedIn(["prod.json"]).get("edgtls_…") // "shop/prod"
 */
export function managedIn(files: string[]): Map<string, string> {
  const managed = new Map<string, string>();
  for (const { urn, type, id, external } of files.flatMap(resourcesOf)) {
    if (id && types.includes(type) && !external) managed.set(id, stackOf(urn));
  }
  return managed;
}

function resourcesOf(file: string) {
  const { output, success } = v.safeParse(stackExport, parsed(textOf(file)));
  if (success) return output.deployment.resources;
  throw new Error(
    `${file} is not the export of a stack, which \`pulumi stack export --file\` writes`,
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${file} can't be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Undefined when the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The stack in a URN, which is `urn:pulumi:STACK::PROJECT::TYPE::NAME`. */
function stackOf(urn: string): string {
  const [stack = "", project] = urn.split("::");
  return `${project}/${stack.replace("urn:pulumi:", "")}`;
}

/**
 * In how many of the objects the metadata name an environment, by its name. `TLSSite` writes such
 * metadata, with the name of its stack as the environment.
 */
export function environmentsOf(objects: { args: Properties }[]): Record<string, number> {
  const numbers = new Map<string, number>();
  for (const { args } of objects) {
    const metadata = parsed(String(args.metadata)) as { environment?: unknown } | null | undefined;
    const name = metadata?.environment;
    if (typeof name !== "string" || !stackName.test(name)) continue;
    numbers.set(name, (numbers.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(numbers);
}

/**
 * Says that other stacks may manage objects of a plan, and what to do. Undefined when the user has
 * named stacks and no metadata name an environment.
 */
export function warningOf(
  { environments }: { environments: Record<string, number> },
  notIn: string[],
): string | undefined {
  const found = Object.entries(environments).sort(([, a], [, b]) => b - a);
  if (notIn.length > 0 && found.length === 0) return undefined;
  const some = found.slice(0, mostNamed).map(([name, number]) => `${name} (${number})`);
  const more = found.length > mostNamed ? [`${found.length - mostNamed} more`] : [];
  const sentences = [
    "another stack may already manage some of these objects: the service does not say which stack " +
      "manages an object.",
    found.length > 0 &&
      "At least these have an environment in their metadata, as TLSSite writes it: " +
        `${inWords([...some, ...more])}.`,
    "To leave out what a stack manages, run `pulumi stack export --file FILE` for that stack, and " +
      "give FILE with --not-in.",
  ];
  return sentences.filter(Boolean).join(" ");
}
