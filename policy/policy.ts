import type { ResourceValidationPolicy, StackValidationPolicy } from "@pulumi/policy";

/** What every policy of this package says of itself. Its page in `docs/policies` is made of it. */
export interface Explained {
  /** Kebab-case; the key of its config. */
  name: string;
  /** The name for people. */
  displayName: string;
  /** The rule, in one sentence. */
  description: string;
  /** Why it matters. */
  why: string;
  /** How to fix a violation. */
  remediationSteps: string;
  severity: "low" | "medium" | "high" | "critical";
  /** The level when no config says another: that of the profile `baseline`. */
  enforcementLevel: "advisory" | "mandatory" | "disabled";
  /** The shortest program that violates the policy, and the same put right. */
  example: { violation: string; fix: string };
}

/** A policy that judges one resource at a time, before any request is made for it. */
export type ResourcePolicy = ResourceValidationPolicy & Explained;

/** A policy that judges a stack as a whole, at the end of a preview and of an update. */
export type StackPolicy = StackValidationPolicy & Explained;

/*
 * Reading a value that the plan does not know yet throws an error of Pulumi's, which Pulumi reports
 * as "can't run policy … during preview". So that it doesn't hide what is known beside it, the two
 * functions below hold the error back until all else is judged.
 */

/** Whether any test is true. Throws what a test threw when none is: the answer is not known. */
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

/** Judges each item of a list, then throws the first error of any. */
export function each<T>(items: readonly T[], judge: (item: T) => void): void {
  // By index, as iterating over the list itself would stop at the first unknown item.
  any(
    Object.keys(items).map((index) => () => {
      judge(items[Number(index)] as T);
      return false;
    }),
  );
}

/** A module of an edge applies when it is configured and not disabled. In outputs, null is unset. */
export function isOn(module: { enabled?: boolean } | null | undefined): boolean {
  return module !== undefined && module !== null && module.enabled !== false;
}

/** For examples: a program that uploads a certificate. */
export function uploaded(file: string, name = "app"): string {
  return (
    `new TLSCertificate("${name}", {\n` +
    `  certificatePem: readFileSync("${file}.pem", "utf8"),\n` +
    `  privateKeyPem: readFileSync("${file}.key", "utf8"),\n` +
    "});"
  );
}
