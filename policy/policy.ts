import type {
  PolicyResource,
  ResourceValidationArgs,
  ResourceValidationPolicy,
  StackValidationPolicy,
} from "@pulumi/policy";
import { TLSCertificate, TLSEdge } from "pulumi-tlsedge";

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
export type StackPolicy = StackValidationPolicy &
  Explained & {
    /** Notes what the program says of an edge or a certificate. */
    validateResource: typeof declare;
  };

/*
 * Pulumi shows a policy on a stack the outputs of what is deployed, and state keeps there only what
 * the service adds. What the program says is shown before, resource by resource: so it is noted.
 */

const declared = new Map<string, PolicyResource["props"]>();

/** What is noted: never a key. */
const noted = [
  "connection",
  "hostports",
  "tlsTermination",
  "certificatePem",
  "subjectAlternativeNames",
  "notBefore",
  "notAfter",
];

/** Notes what the program says of an edge or a certificate. */
export function declare({ urn, props, isType }: ResourceValidationArgs): void {
  if (!isType(TLSEdge) && !isType(TLSCertificate)) return;
  const known = {};
  for (const name of noted) Object.defineProperty(known, name, { get: read(() => props[name]) });
  declared.set(urn, known);
}

/** What is read once, here; what is not known yet throws when it is asked for, as in Pulumi. */
function read<T>(property: () => T): () => T {
  try {
    const value = property();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** What the program says of a resource of the stack; as it is deployed, when the run is of others. */
export function declaredOf({ urn, props }: PolicyResource): PolicyResource["props"] {
  return declared.get(urn) ?? props;
}

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

/** A module of an edge applies when it is configured and not switched off. */
export function isOn(module: { enabled?: boolean } | undefined): boolean {
  return module !== undefined && module.enabled !== false;
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
