import * as pulumi from "@pulumi/pulumi";
import { plainMessage } from "../client/plain";
import * as kinds from "../provider/kinds/lookup";
import { pluginToken } from "../provider/kinds/token";
import { type Lookup, type LookupOptions, lookups } from "../provider/lifecycle/lookup";
import { defined } from "../provider/values/properties";
import { defaultConnection } from "../provider/values/setting";
import { checkConnection } from "./connection";
import type { InputOf } from "./kind";
import { program } from "./program";
import { childrenOf, mocks, withMessageAlone } from "./workarounds";

/** The arguments that every lookup takes. */
export interface LookupArgs {
  /** The config namespace of the account. Default `tlsedge`. */
  connection?: string | undefined;
}

/** The options of a lookup's Output form. A `parent` changes nothing: `connection` names the account. */
export type LookupOutputOptions = Pick<pulumi.InvokeOutputOptions, "dependsOn" | "parent">;

/** A lookup of one object has found none or several, or the arguments of a lookup are invalid. */
export class LookupError extends pulumi.RunError {}

/**
 * Calls a lookup, or the mock of it in a unit test.
 *
 * @param name The name of the plugin's function, by which mocks know the lookup.
 * @param options `isSecret`: whether the arguments are secrets: then an error shows no value. `since`: when the reading
 * begins at the earliest. Default: when the engine was last done with a resource of the program.
 */
export async function lookUp<Result>(
  name: string,
  args: LookupArgs,
  { isSecret = false, since = program().changedAt }: LookupOptions = {},
): Promise<Result> {
  // A JavaScript program may pass none.
  const { connection = defaultConnection, ...filter } = { ...args };
  const account = () => program().run.accountOf(checkConnection(connection));
  const lookup = lookups[name] as Lookup;
  const mocked = mocks();
  const call = { token: pluginToken(name), inputs: defined({ ...args }) };
  const mockAnswer = mocked && (async () => mocked.call(call));
  try {
    return (await lookup(account, filter, { mockAnswer, isSecret, since })) as Result;
  } catch (error) {
    throw forPulumi(error);
  }
}

/**
 * {@link lookUp} for arguments that are outputs. As an invoke of Pulumi, it is unknown in a plan while a
 * resource that it needs has no id.
 */
export function lookUpOutput<Result>(
  name: string,
  args: InputOf<LookupArgs>,
  { dependsOn = [] }: LookupOutputOptions = {},
): pulumi.Output<Result> {
  const output = pulumi.output(args);
  const inputs = pulumi.all([output, dependsOn]);
  const idsOfNeeded = inputs.apply(async ([, dependencies]) => {
    const named = [dependencies].flat().filter(pulumi.Resource.isInstance);
    return pulumi.all(await idsOf([...named, ...(await pulumi.getAllResources(inputs))]));
  });
  return idsOfNeeded.apply((ids) =>
    output.apply(async (known) => {
      const isSecret = await pulumi.isSecret(output);
      // What it needs may be of another package, whose changes the list of before does not show.
      const since = Object.keys(ids).length > 0 ? performance.now() : undefined;
      return lookUp<Result>(name, known, { isSecret, since });
    }),
  );
}

/** The ids of resources. In place of a component, those of its children. */
async function idsOf(resources: Iterable<pulumi.Resource>): Promise<unknown[]> {
  const ids = Array.from(resources, async (resource) =>
    pulumi.CustomResource.isInstance(resource) ? resource.id : idsOf(await childrenOf(resource)),
  );
  return (await Promise.all(ids)).flat();
}

/** Changes an error so that Pulumi shows only its message. */
function forPulumi(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const isOurs = cause instanceof kinds.LookupError;
  // The trace of an error in a mock says where it is.
  if (mocks() && !isOurs) return cause;
  const message = plainMessage(cause.message);
  return withMessageAlone(isOurs ? new LookupError(message) : cause, message);
}
