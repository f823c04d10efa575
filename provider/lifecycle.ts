import type { ObjectEntries, StrictObjectSchema } from "valibot";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";

/** How the engine writes a value that is not known yet. It may stand anywhere in inputs. */
export const unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Properties by name: inputs, or state. */
export type Properties = Record<string, unknown>;

/** Whether a value is not known yet, or has a part that is not. */
export function hasUnknown(value: unknown): boolean {
  if (value === unknownValue) return true;
  return isObject(value) && Object.values(value).some(hasUnknown);
}

/** Whether a value has properties of its own. */
export function isObject(value: unknown): value is Properties {
  return typeof value === "object" && value !== null;
}

/** Without what is undefined or null. */
export function defined<T extends object>(value: T): T {
  const parts = Object.entries(value).filter(([, part]) => part !== undefined && part !== null);
  return Object.fromEntries(parts) as T;
}

/** The named properties, as far as they are there. */
export function pick(properties: Properties, names: readonly string[]): Properties {
  const there = names.filter((name) => properties[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, properties[name]]));
}

/** One value for each account, for as long as the process lives: several clients may share it. */
export function perAccount<T>(make: () => T): (client: Client) => T {
  const all = new Map<string, T>();
  return ({ fingerprint }) => {
    const own = all.get(fingerprint) ?? make();
    all.set(fingerprint, own);
    return own;
  };
}

/** What is wrong with inputs: never the value itself, which may be a secret. */
export interface Problem {
  /** The path of the property, such as `tlsTermination.minVersion`. */
  path: string;
  /** What is wrong and what to do. */
  reason: string;
}

/** What a check of inputs found. */
export interface Checked {
  /** The inputs in their canonical form, with what follows from them added. */
  inputs: Properties;
  problems: Problem[];
}

/** A property that is not what it should be, in a form that a person may see. */
export interface Difference {
  property: string;
  wanted: unknown;
  found: unknown;
}

/** What a create has made. */
export interface Created {
  id: string;
  state: Properties;
  problem?: string;
  /** What else a person should look at. */
  warning?: string;
}

/**
 * What one kind of resource does, told to whatever protocol calls it. Values that are not known
 * yet come as {@link unknownValue} to `check` and `replaces`, and, in the plan of an adoption, to
 * `differences`.
 *
 * A state is whole: every property of the object but a private key, as the service holds it, null
 * where the service has none. A property that is missing was not stored by an earlier version of
 * this package: nothing is known of it.
 */
export interface Lifecycle {
  /** The field's own name for the resource, for messages: "TLS edge". */
  title: string;
  /** The inputs that a program may give. */
  schema: StrictObjectSchema<ObjectEntries, undefined>;
  /** The inputs that the service is not told: state keeps them as they are. */
  settings: readonly string[];
  /** The properties that a program can change and that the service returns. */
  properties: readonly string[];
  /** What the schema can't say. `olds` are the inputs of the last deployment, if there was one. */
  check(news: Properties, olds: Properties | undefined, now: Date): Checked;
  /** Whether two values of a property mean the same to the service. */
  same(property: string, a: unknown, b: unknown): boolean;
  /** The inputs that would make what a state describes, without a private key. */
  inputsOf(state: Properties): Properties;
  /** The inputs whose change can't be made in place. */
  replaces(state: Properties, inputs: Properties): string[];
  /** What an update would change. */
  differences(state: Properties, inputs: Properties): Difference[];
  /** Told in each diff what a resource is to become; values may be unknown. */
  planned?(id: string, inputs: Properties): void;
  /** With a `problem` when it was made, but the service's answer can't be used whole. */
  create(client: Client, inputs: Properties): Promise<Created>;
  /**
   * The state of an object now.
   *
   * @param known The stored state, or the inputs: sets that mean the same keep its order. Default:
   * everything as the service says it.
   * @param oldestMs How old the answer may be. Default: a few seconds.
   */
  read(client: Client, id: string, known?: Properties, oldestMs?: number): Promise<Properties>;
  update(client: Client, id: string, state: Properties, inputs: Properties): Promise<Properties>;
  delete(client: Client, id: string): Promise<void>;
  /** All objects of the account, newest first, page by page. */
  list(client: Client): AsyncGenerator<unknown, void, undefined>;
}

/**
 * What the work gives, or undefined when the service has no such thing. As a wrong base URL is
 * answered 404 too, and a proxy may answer it for everything, the list is asked: it must be there.
 */
export async function ifThere<T>(
  lifecycle: Lifecycle,
  client: Client,
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError && error.status === 404)) throw error;
    await lifecycle
      .list(client)
      .next()
      .catch((cause: Error) => {
        // A list is there, too, when one of what is in it can't be used.
        if (cause instanceof ConnectionError && cause.field?.includes("[")) return;
        throw new Error(
          `${error.message}. Nor can the ${lifecycle.title}s be listed, so it is not taken for ` +
            `gone: check the base URL and its path (${cause.message})`,
        );
      });
    return undefined;
  }
}
