import type {
  ReportViolation,
  ResourceValidation,
  ResourceValidationPolicy,
  StackValidationPolicy,
} from "@pulumi/policy";

/** The description of a policy. `npm run docs:policies` writes docs/policies.md from these texts. */
export interface Explained {
  /** Kebab-case; the key of its config. */
  name: string;
  /** The name for people. */
  displayName: string;
  /** The rule, in one sentence. */
  description: string;
  /** Why the rule matters. */
  why: string;
  /** How to fix a violation. */
  remediationSteps: string;
  severity: "low" | "medium" | "high" | "critical";
  /** The default level, which is that of the profile `baseline`. */
  enforcementLevel: "advisory" | "mandatory" | "disabled";
  /** The shortest program that violates the policy, and the same program without the violation. */
  example: { violation: string; fix: string };
}

/** A policy that judges one resource at a time, before the provider sends its change. */
export type ResourcePolicy = ResourceValidationPolicy & Explained;

/** A policy that judges a stack as a whole, at the end of a preview and of an update. */
export type StackPolicy = StackValidationPolicy & Explained;

/*
 * The policies are made by the two functions below, because names, and what a certificate says, are
 * texts of others. Messages have no other values: Pulumi does not tell a policy which are secrets.
 */

/** A {@link ResourcePolicy} whose messages nothing obeys. */
export function resourcePolicy(
  policy: ResourcePolicy & { validateResource: ResourceValidation },
): ResourcePolicy {
  return { ...policy, validateResource: plainly(policy.validateResource) };
}

/** A {@link StackPolicy} whose messages nothing obeys. */
export function stackPolicy(policy: StackPolicy): StackPolicy {
  return { ...policy, validateStack: plainly(policy.validateStack) };
}

type Judge<Args> = (args: Args, report: ReportViolation) => Promise<void> | void;

function plainly<Args>(judge: Judge<Args>): Judge<Args> {
  return (args, report) => judge(args, (message, urn) => report(shown(message), urn));
}

/*
 * Reading an unknown value in a plan throws an error, which Pulumi reports as "can't run policy …
 * during preview". The two functions below throw this error only after all known values are judged,
 * so that the error hides no violation.
 */

/** Whether any test is true. If none is, throws a test's error, because the result is unknown. */
export function any(tests: (() => boolean)[]): boolean {
  const errors: unknown[] = [];
  for (const test of tests) {
    try {
      if (test()) return true;
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return false;
}

/** Judges every item of a list, then throws the first error, if any. */
export function each<T>(items: readonly T[], judge: (item: T, index: number) => void): void {
  // By index, because iterating over the list would stop at the first unknown item.
  any(
    Object.keys(items).map((index) => () => {
      judge(items[Number(index)] as T, Number(index));
      return false;
    }),
  );
}

/** Whether a module of an edge is configured and not disabled. In outputs, null means unset. */
export function isOn(module: { enabled?: boolean } | null | undefined): boolean {
  return module !== undefined && module !== null && module.enabled !== false;
}

/** A program that uploads a certificate, for the examples. */
export function uploaded(file: string, name = "app"): string {
  return (
    `new TLSCertificate("${name}", {\n` +
    `  certificatePem: readFileSync("${file}.pem", "utf8"),\n` +
    `  privateKeyPem: readFileSync("${file}.key", "utf8"),\n` +
    "});"
  );
}

/** A text of others as a terminal, Pulumi and CI systems can't obey it: with escapes in their signs. */
export const shown = (text: string) =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?<=<)\{(?=%)|(?<=#)#(?=\w*\[)/gu, escaped)
    .replace(/(?<=^\s*):(?=:)/, escaped);

/** Each UTF-16 unit as JSON escapes it: `\u001b`. */
const escaped = (characters: string) =>
  characters.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
