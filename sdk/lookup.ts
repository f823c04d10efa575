import * as pulumi from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { plainMessage } from "../client/plain";
import * as lookups from "../provider/kinds/lookup";
import { Run } from "../provider/run/run";
import { defined } from "../provider/values/properties";
import { defaultConnection } from "../provider/values/setting";
import { type InputOf, pluginToken } from "./kind";
import { checkConnection } from "./resource";
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
 * @param isSecret Whether the arguments are secrets: then an error shows no value.
 */
export async function lookUp<Args, Result>(
  name: string,
  lookup: lookups.Lookup<Args, Result>,
  args: Args & LookupArgs,
  isSecret = false,
): Promise<Result> {
  // A JavaScript program may pass none.
  const { connection = defaultConnection, ...filter } = { ...args };
  try {
    return await lookup(() => connectTo(connection), filter as unknown as Args, {
      ...mockOf(name, args),
      isSecret,
    });
  } catch (error) {
    throw forPulumi(error);
  }
}

/**
 * {@link lookUp} for arguments that are outputs. As an invoke of Pulumi, it is unknown in a plan while a
 * resource that it needs has no id.
 */
export function lookUpOutput<Args, Result>(
  name: string,
  lookup: lookups.Lookup<Args, Result>,
  args: InputOf<Args & LookupArgs>,
  { dependsOn = [] }: LookupOutputOptions = {},
): pulumi.Output<Result> {
  const output = pulumi.output(args) as pulumi.Output<Args & LookupArgs>;
  const inputs = pulumi.all([output, dependsOn]);
  const ids = inputs.apply(async ([, needed]) => {
    const named = [needed].flat().filter(pulumi.Resource.isInstance);
    return pulumi.all(await idsOf([...named, ...(await pulumi.getAllResources(inputs))]));
  });
  return ids.apply(() =>
    output.apply(async (known) => lookUp(name, lookup, known, await pulumi.isSecret(output))),
  );
}

/** The ids of resources. In place of a component, those of its children. */
async function idsOf(resources: Iterable<pulumi.Resource>): Promise<unknown[]> {
  const ids = Array.from(resources, async (resource) =>
    pulumi.CustomResource.isInstance(resource) ? resource.id : idsOf(await childrenOf(resource)),
  );
  return (await Promise.all(ids)).flat();
}

/** What the lookups of this program know: its accounts. */
const program = new Run();

/** The mock of a lookup; nothing when a program really runs. */
function mockOf(name: string, args: object): lookups.LookupOptions {
  const mocked = mocks();
  if (!mocked) return {};
  const call = { token: pluginToken(name), inputs: defined({ ...args }) };
  return { instead: async () => mocked.call(call) };
}

/** The client of the account that a lookup reads. */
function connectTo(connection: string): Client {
  return program.accountOf(checkConnection(connection)).client;
}

/** Changes an error so that Pulumi shows only its message. */
function forPulumi(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const isOurs = cause instanceof lookups.LookupError;
  // The trace of an error in a mock says where it is.
  if (mocks() && !isOurs) return cause;
  const message = plainMessage(cause.message);
  return withMessageAlone(isOurs ? new LookupError(message) : cause, message);
}
