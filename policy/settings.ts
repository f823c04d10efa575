import type { PolicyConfigSchema } from "@pulumi/policy";
import { closest, distance } from "fastest-levenshtein";

/** What the config says of a policy. The engine checks it against the policy's schema. */
export interface Settings {
  /** The reason of each exception, by the name of a resource, in which `*` is any text. */
  except?: Record<string, string>;
}

/** The setting that every policy has. */
export const exceptSchema: PolicyConfigSchema["properties"][string] = {
  type: "object",
  additionalProperties: { type: "string", minLength: 1 },
  description:
    "The resources that may violate the policy: names, in which `*` is any text, each with the reason.",
};

export function isExcepted({ except = {} }: Settings, name: string): boolean {
  const isMatched = (one: string) => isPattern(one) && matching(one, [name]).length > 0;
  return Object.hasOwn(except, name) || Object.keys(except).some(isMatched);
}

const isPattern = (exception: string) => exception.includes("*");

/** Those of some names that a pattern is about. */
function matching(pattern: string, names: readonly string[]): string[] {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  const expression = new RegExp(`^${parts.join(".*")}$`, "s");
  return names.filter((name) => expression.test(name));
}

/**
 * What a run prints of a policy's settings: its exceptions, and a warning of each that has no effect. The
 * engine ignores a setting that the policy does not have. An unknown policy can't be found so, because
 * Pulumi gives each policy its own config only.
 *
 * @param names The names of the resources that the policy judges.
 */
export function remarksOn(
  policy: string,
  known: readonly string[],
  settings: Settings,
  names: readonly string[],
): string[] {
  const used: string[] = [];
  const warnings: string[] = [];
  const all = new Set(names);
  for (const [exception, reason] of Object.entries(settings.except ?? {}).sort()) {
    const matched = isPattern(exception) ? matching(exception, names) : [];
    if (matched.length > 0) used.push(`${exception} (${matched.join(", ")}), ${reason}`);
    else if (all.has(exception)) used.push(`${exception}, ${reason}`);
    else {
      const what = `the exception ${exception} of ${policy} matches no resource that it judges`;
      warnings.push(`${what}${didYouMean(exception, names)}`);
    }
  }
  for (const name of Object.keys(settings)) {
    if (known.includes(name)) continue;
    warnings.push(noSetting(policy, name, ["enforcementLevel", ...known]));
  }
  const count = used.length === 1 ? "1 exception" : `${used.length} exceptions`;
  return [
    ...(used.length > 0 ? [`${policy} has ${count}: ${used.join("; ")}`] : []),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
}

/** What is wrong with a setting that a policy does not have. */
export const noSetting = (policy: string, name: string, known: readonly string[]): string =>
  `the policy ${policy} has no setting ${name}${instead(name, known)}`;

/** What to write instead of an unknown name: the nearest one, else one of all. */
export const instead = (name: string, known: readonly string[]): string =>
  didYouMean(name, known) || `: it has ${known.join(", ")}`;

/**
 * The end of a sentence about an unknown name: the known one that is nearest, if at most a third of the
 * letters differ. `provider/kinds/nearest.ts` has the same rule, but a policy may import only what a
 * program imports.
 */
export function didYouMean(name: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const near = closest(name, known);
  return distance(name, near) <= Math.max(1, name.length / 3) ? `: did you mean ${near}?` : "";
}
