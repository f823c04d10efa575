import { isDeepStrictEqual } from "node:util";
import { isUnchanged, storedUnsentInputs } from "../kinds/kind";
import { namesObject } from "../kinds/kinds";
import type { Account, ManagedObject } from "../run/run";
import type { Properties } from "../values/properties";
import type { Connection } from "../values/setting";
import { registerObject, verifyAccount } from "./account";
import type { Call } from "./call";
import { claim } from "./claim";
import { planWrite } from "./plan";

export interface ToCompare {
  id: string;
  state: Properties;
  inputs: Properties;
  /** The account that has the object. Default: that of the inputs. */
  connection?: Connection;
  /** The inputs that differ from those of the last deployment; undefined where the protocol does not tell. */
  changed?: readonly string[];
  /** Whether the state lacks what the protocol stores beside the object. An update writes it. */
  isStale: boolean;
  /** The option `import` of the program, and of the state. */
  imports?: { now: unknown; before: unknown };
}

/** What a deployment does with an object. */
export type Change = "none" | "update" | { replaces: string[] };

/** Compares a resource of the state with its inputs. A refresh diffs, too: then the run learns nothing. */
export async function diff(call: Call, compared: ToCompare): Promise<Change> {
  const { run, kind, urn } = call;
  const { id, state, inputs, connection = call.connection, changed, imports } = compared;
  const object = run.account(connection).object(kind, id);
  registerObject(object, state);
  const replaces = kind.replaces(state, inputs);
  if (connection !== call.connection) replaces.push("connection");
  if (imports) refuseImportOption(object, state, imports, replaces);
  const change = replaces.length > 0 ? { replaces } : changeInPlace(call, compared);
  if (!run.isOfProgram(urn)) return change;
  // With `replaceOnChanges`, the engine may replace an object for each changed input.
  const isKept = change === "none" || (change === "update" && !changed?.length);
  // What is replaced may be deleted first, by an old URN of the resource: so it is not claimed.
  if (isKept) claim(object, urn);
  if (change === "none") await proveBeside(run.account(call.connection));
  else await planChange(call, object, state, inputs);
  return change;
}

function changeInPlace(
  { kind }: Call,
  { state, inputs, changed, isStale }: ToCompare,
): "none" | "update" {
  if (isStale) return "update";
  // The state may differ all the same: the service may have rewritten a text (contract C25).
  if (changed?.length === 0) return "none";
  // A key stands in the inputs alone, so an update stores it.
  if (changed?.some((name) => kind.secrets?.includes(name))) return "update";
  const [stored, wanted] = [storedUnsentInputs(kind, state), storedUnsentInputs(kind, inputs)];
  const isSame = isDeepStrictEqual(stored, wanted) && isUnchanged(kind, state, inputs);
  return isSame ? "none" : "update";
}

/** Plans a change, and says what the diff does not show. */
async function planChange(
  call: Call,
  { title }: ManagedObject,
  state: Properties,
  inputs: Properties,
): Promise<void> {
  const warning = call.kind.planWarning?.(state, inputs);
  if (warning) call.run.log(warning.severity, `the ${title}: ${warning.text}`, "resource");
  await planWrite(call, inputs, false);
}

/** A resource without a change proves the account where another one changes, which may come first (contract C7). */
async function proveBeside(account: Account): Promise<void> {
  if (account.run.planned.length > 0 && !account.settings.offlinePlan) await verifyAccount(account);
}

/**
 * Checks a resource that is in state and still has the `import` option (contract C44). The option must name
 * the resource's own object, and no change may replace that object.
 *
 * @throws Error that says to remove the option, or to use another resource name.
 */
function refuseImportOption(
  { kind, id, title }: ManagedObject,
  state: Properties,
  { now, before }: { now: unknown; before: unknown },
  replaces: readonly string[],
): void {
  if (now === undefined) return;
  if (now !== before && !namesObject(kind, id, state, now)) {
    throw new Error(
      `the import option names ${now}, but this resource already manages the ${title}: ` +
        `adopt ${now} in a resource with another name, or remove the option. If that object is deleted, first take ` +
        "the resource out of the state with `pulumi state delete`",
    );
  }
  if (replaces.length === 0) return;
  throw new Error(
    `a change of ${replaces.join(" and ")} replaces the ${title}, but the import option would ` +
      "adopt the old object again: remove the option",
  );
}
