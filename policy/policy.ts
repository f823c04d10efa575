import type {
  PolicyResource,
  ReportViolation,
  ResourceValidation,
  ResourceValidationPolicy,
  StackValidationPolicy,
} from "@pulumi/policy";
import { exceptSchema, isExcepted, remarksOn } from "./settings";

/*
 * The policies are made by the two functions below, because names, and what a certificate says, are
 * texts of others, and because each policy has exceptions. Messages quote no argument, because Pulumi does not
 * tell a policy which are secrets. A message says how to fix the violation; docs/policies.md says why it matters.
 */

/** A class of resources that a policy judges. */
type Judged = Parameters<PolicyResource["isType"]>[0];

/** A policy that judges one resource at a time, before the provider sends its change. */
export function resourcePolicy(
  kinds: Judged[],
  policy: ResourceValidationPolicy & { validateResource: ResourceValidation },
): ResourceValidationPolicy & StackValidationPolicy {
  const { validateResource, remediateResource: remediate } = policy;
  return {
    ...stackPolicy(kinds, { ...policy, validateStack() {} }),
    validateResource: reporting(validateResource),
    ...(remediate && {
      remediateResource: (args) =>
        isExcepted(args.getConfig(), args.name) ? undefined : remediate(args),
    }),
  };
}

/**
 * A policy that judges a stack as a whole, at the end of a preview and of an update. `validateResource`
 * sees each resource of the program before. Every policy prints there what its settings do.
 */
export function stackPolicy(
  kinds: Judged[],
  policy: StackValidationPolicy & { validateResource?: ResourceValidation },
): StackValidationPolicy {
  const validateStack = reporting(policy.validateStack);
  const properties = { ...policy.configSchema?.properties, except: exceptSchema };
  return {
    ...policy,
    configSchema: { properties },
    validateStack(args, report) {
      const judged = args.resources.filter((one) => kinds.some((kind) => one.isType(kind)));
      const names = judged.map(({ name }) => name).sort();
      const known = Object.keys(properties);
      for (const remark of remarksOn(policy.name, known, args.getConfig(), names)) {
        console.error(shown(remark));
      }
      return validateStack(args, report);
    },
  };
}

interface Asked {
  /** Of a resource, where a policy judges one. */
  urn?: string;
  getConfig<T extends object>(): T;
}

type Judge<Args> = (args: Args, report: ReportViolation) => Promise<void> | void;

/** The same judgement, without the exceptions, in messages that nothing obeys. */
function reporting<Args extends Asked>(judge: Judge<Args>): Judge<Args> {
  return (args, report) =>
    judge(args, (message, urn = args.urn ?? "") => {
      // A name may have the mark that divides the parts of a URN.
      const name = urn.split("::").slice(3).join("::");
      if (!isExcepted(args.getConfig(), name)) report(shown(message), urn);
    });
}

/*
 * Reading an unknown value in a plan throws an error, which Pulumi reports as "can't run policy …
 * during preview". The two functions below throw this error only after all known values are judged,
 * so that the error hides no violation.
 */

/** Whether any test is true. If none is, throws a test's error, because the result is unknown. */
export function someTrue(tests: (() => boolean)[]): boolean {
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
export function judgeEach<T>(items: readonly T[], judge: (item: T, index: number) => void): void {
  // By index, because iterating over the list would stop at the first unknown item.
  someTrue(
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

/** A text of others as a terminal, Pulumi and CI systems can't obey it: with escapes in their signs. */
export const shown = (text: string) =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?<=<)\{(?=%)|(?<=#)#(?=\w*\[)/gu, escaped)
    .replace(/(?<=^\s*):(?=:)/, escaped);

/** Each UTF-16 unit as JSON escapes it: `\u001b`. */
const escaped = (characters: string) =>
  characters.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
