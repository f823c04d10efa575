import * as pulumi from "@pulumi/pulumi";

/** What works around faults of Pulumi's SDK and of Node.js in a program, each with its fault. */

/**
 * Pulumi takes four stack traces for each output of a resource, 15 % of the processor time of a plan
 * (docs/performance.md). The lines of the program that state has do not depend on these.
 */
export class PausedTraces {
  readonly #limit = Error.stackTraceLimit;

  constructor() {
    Error.stackTraceLimit = 0;
  }

  /** Allows traces again. Returns the error that was thrown meanwhile, with a trace. */
  end<E>(error?: E): E | undefined {
    Error.stackTraceLimit = this.#limit;
    if (error instanceof Error) Error.captureStackTrace(error, this.end);
    return error;
  }
}

/**
 * The store that Pulumi keeps for this program, because its process may run several: inline programs of the
 * Automation API, and components. Undefined where the process has one program.
 */
export function ownStore(): object | undefined {
  const { asyncLocalStorage: stores } = globalThis as {
    asyncLocalStorage?: { getStore(): object | undefined };
  };
  return stores?.getStore();
}

/**
 * The mocks of a unit test (`pulumi.runtime.setMocks`); undefined when a program really runs. Pulumi has no
 * other sign of them: they stand in the monitor that takes the engine's place.
 */
export function mocks(): pulumi.runtime.Mocks | undefined {
  const monitor = pulumi.runtime.getMonitor() as { mocks?: pulumi.runtime.Mocks } | undefined;
  return monitor?.mocks;
}

/** Pulumi exports this function but not its type. */
export const { isConfigSecret } = pulumi.runtime as unknown as {
  isConfigSecret: (key: string) => boolean;
};

/** The children of a component, once it has them all. Pulumi has no public names for these. */
export async function childrenOf(component: pulumi.Resource): Promise<Iterable<pulumi.Resource>> {
  const known = component as { __data?: unknown; __childResources?: Set<pulumi.Resource> };
  await known.__data;
  return known.__childResources ?? [];
}

/**
 * Fails the program in an output. What an output throws fails every program of this process: two inline
 * programs of the Automation API each have a store of their own, where an error is counted.
 */
export function failLater(message: string): void {
  if (!ownStore()) throw new pulumi.RunError(message);
  void pulumi.log.error(message);
}

/** With an empty id, Pulumi would create a resource instead of reading one. */
export function idToGet(type: string, id: pulumi.Input<pulumi.ID>): pulumi.Input<pulumi.ID> {
  const checked = (known: pulumi.ID) => {
    if (known) return known;
    throw new pulumi.RunError(`${type}.get needs the id of the ${type} to read`);
  };
  return typeof id === "string" || !id ? checked(id) : pulumi.output(id).apply(checked);
}

/**
 * Pulumi prints only the message of an error with this mark. After the program's end it prints the stack
 * trace anyway, so the trace is the message.
 */
export function withMessageAlone(error: Error, message: string): Error {
  return Object.assign(error, { message, __pulumiRunError: true, stack: message });
}
