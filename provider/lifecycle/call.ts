import { hiddenArguments, type Kind } from "../kinds/kind";
import type { Account, Run } from "../run/run";
import { isObject, type Properties, pick } from "../values/properties";
import type { Connection } from "../values/setting";

/** One call of the engine about a resource, without its protocol. */
export interface Call {
  run: Run;
  protocol: Protocol;
  kind: Kind;
  /** The account of the inputs or, in a read and a delete, of the state. */
  connection: Connection;
  /** The resource; empty where the protocol does not tell it. */
  urn: string;
  /** The name of the resource, where the program tells it. */
  name?: string | undefined;
  /** The properties that the program or the state marks as secrets. */
  secrets: ReadonlySet<string>;
  /** The deadline of its requests. Default: that of the settings. */
  deadlineMs?: number | undefined;
}

/** In what the protocols of the engine differ. */
export interface Protocol {
  /** Whether a plan calls `create`, too. Where it does not, the check of a new resource is its plan. */
  plansCreate: boolean;
  /** Whether the program itself warns of chains and compares the hostports of its edges. */
  programChecks: boolean;
}

/**
 * Begins the requests of a call: they share a deadline.
 *
 * @param from The inputs and the state: no message of the run shows a secret text in them.
 * @throws ConfigurationError that names every missing or malformed setting.
 */
export function begin(call: Call, ...from: Properties[]): Account {
  hideSecrets(call, ...from);
  const { run, kind, connection, secrets, deadlineMs } = call;
  const hidesTexts = hiddenArguments(kind, secrets).length > 0;
  return run.account(connection).operation(deadlineMs, hidesTexts);
}

/** From now on, no message of the run shows a text in the properties that are marked as secrets. */
export function hideSecrets({ run, kind, secrets }: Call, ...from: Properties[]): void {
  const hidden = hiddenArguments(kind, secrets);
  const texts = from.flatMap((properties) => textsIn(Object.values(pick(properties, hidden))));
  for (const text of texts) run.secrets.add(text);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}
