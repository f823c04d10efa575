import type { ObjectEntries, StrictObjectSchema } from "valibot";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";

/** The engine's marker of an unknown value. It may be anywhere in the inputs. */
export const unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Properties by name: inputs, or state. */
export type Properties = Record<string, unknown>;

/** Whether a value is unknown or has an unknown part. */
export function hasUnknown(value: unknown): boolean {
  if (value === unknownValue) return true;
  return isObject(value) && Object.values(value).some(hasUnknown);
}

/** Whether a value is an object or a list. */
export function isObject(value: unknown): value is Properties {
  return typeof value === "object" && value !== null;
}

/** An object without its undefined and null properties. */
export function defined<T extends object>(value: T): T {
  const parts = Object.entries(value).filter(([, part]) => part !== undefined && part !== null);
  return Object.fromEntries(parts) as T;
}

/** The named properties that are not undefined. */
export function pick(properties: Properties, names: readonly string[]): Properties {
  const there = names.filter((name) => properties[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, properties[name]]));
}

/** One value for each account in this process. All clients of the account share it. */
export function perAccount<T>(make: () => T): (client: Client) => T {
  const all = new Map<string, T>();
  return ({ fingerprint }) => {
    const own = all.get(fingerprint) ?? make();
    all.set(fingerprint, own);
    return own;
  };
}

/** A problem of the inputs. Never contains the value, which may be a secret. */
export interface Problem {
  /** The path of the property, such as `tlsTermination.minVersion`. */
  path: string;
  /** What is wrong and what to do. */
  reason: string;
}

/** The result of a check of inputs. */
export interface Checked {
  /** The inputs in canonical form, with the properties derived from them. */
  inputs: Properties;
  problems: Problem[];
  /** What the user should know of valid inputs. A dynamic provider's program warns itself. */
  warning?: string | undefined;
}

/** A property that differs from the inputs, in the form that messages show. */
export interface Difference {
  property: string;
  wanted: unknown;
  found: unknown;
}

/** The result of a create. */
export interface Created {
  id: string;
  state: Properties;
  /** Why a part of the service's answer can't be used. */
  problem?: string;
  /** What the user should check. */
  warning?: string;
}

/**
 * The operations of one kind of resource, for any protocol. `check`, `replaces`, `planned` and, in
 * the plan of an adoption, `differences` may get {@link unknownValue} for an unknown value.
 *
 * A state has every property of the object except a private key, with the service's value, or null
 * where the service has none. If a property is missing, an earlier version of this package did not
 * store it, and its value is unknown.
 */
export interface Lifecycle {
  /** The kind of resource, for messages: "TLS edge". */
  title: string;
  /** The inputs that a program may give. */
  schema: StrictObjectSchema<ObjectEntries, undefined>;
  /** The inputs that are not sent to the service. State stores them unchanged. */
  settings: readonly string[];
  /** The properties that a program can change and that the service returns. */
  properties: readonly string[];
  /** Checks what the schema can't express. `olds` are the inputs of the last deployment, if any. */
  check(news: Properties, olds: Properties | undefined, now: Date): Checked;
  /** Whether two values of a property mean the same to the service. */
  same(property: string, a: unknown, b: unknown): boolean;
  /** The inputs that a state corresponds to, without a private key. */
  inputsOf(state: Properties): Properties;
  /** The changed inputs that can't be updated in place. */
  replaces(state: Properties, inputs: Properties): string[];
  /** The properties that an update would change. */
  differences(state: Properties, inputs: Properties): Difference[];
  /** Called in each diff with the new inputs. */
  planned?(id: string, inputs: Properties): void;
  /**
   * Creates the object. Returns a `problem` if a part of the service's answer can't be used.
   *
   * @param urn The URN of the resource; undefined when it is not known. With a URN, the create takes
   * the object that an interrupted create of this URN has made.
   */
  create(client: Client, inputs: Properties, urn?: string): Promise<Created>;
  /**
   * Reads the state of an object.
   *
   * @param known The stored state, or the inputs. A list with the same elements as in `known` keeps
   * the order of `known`. Default: the service's order.
   * @param maxAgeMs How old the answer may be. Default: a few seconds.
   */
  read(client: Client, id: string, known?: Properties, maxAgeMs?: number): Promise<Properties>;
  update(client: Client, id: string, state: Properties, inputs: Properties): Promise<Properties>;
  delete(client: Client, id: string): Promise<void>;
  /** All objects of the account, newest first, page by page. */
  list(client: Client): AsyncGenerator<unknown, void, undefined>;
}

/**
 * The result of the work, or undefined when the object is gone. A wrong base URL and a proxy can
 * cause a 404 too, so a 404 means that the object is gone only if its list can be read.
 */
export async function ifExists<T>(
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
        // An unusable item still shows that the list can be read.
        if (cause instanceof ConnectionError && cause.field?.includes("[")) return;
        throw new Error(
          `${error.message}. The ${lifecycle.title}s can't be listed either, so this does not ` +
            "mean that the object is gone: check the base URL and its path " +
            `(${cause.message})`,
        );
      });
    return undefined;
  }
}
