import type { ObjectEntries, StrictObjectSchema } from "valibot";
import type { Client } from "../client/client";
import type { Page } from "../client/endpoints";
import { ConnectionError, ServiceError } from "../client/errors";
import type { Severity } from "./log";
import type { StateNames } from "./state";

/** The engine's marker of an unknown value. It may be anywhere in the inputs. */
export const unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Markers of unknown values that are no strings: an SDK may mark by type. */
const typedMarkers: unknown[] = [
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7", // a boolean
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421", // a number
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", // an array
  "030794c1-ac77-496b-92df-f27374a8bd58", // an asset
  "e48ece36-62e2-4504-bad9-02848725956a", // an archive
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff", // an object
];

/** Properties by name: inputs, or state. */
export type Properties = Record<string, unknown>;

/** Whether a value is unknown or has an unknown part. */
export function hasUnknown(value: unknown): boolean {
  if (value === unknownValue) return true;
  return isObject(value) && Object.values(value).some(hasUnknown);
}

/** A value with {@link unknownValue} in place of each marker of a type, at any depth. */
export function withOneMarker<T>(value: T): T {
  if (typedMarkers.includes(value)) return unknownValue as T;
  if (Array.isArray(value)) return value.map(withOneMarker) as T;
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, withOneMarker(part)]);
  return Object.fromEntries(parts) as T;
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

/** What {@link perAccount} keeps. */
const memories: Map<string, unknown>[] = [];

/** Forgets what this process knows of all accounts: a run begins. */
export function forgetAccounts(): void {
  for (const memory of memories) memory.clear();
}

/** One value for each account in this run. All clients of the account share it. */
export function perAccount<T>(make: () => T): (client: Client) => T {
  const all = new Map<string, T>();
  memories.push(all);
  return ({ fingerprint }) => {
    const own = all.get(fingerprint) ?? make();
    all.set(fingerprint, own);
    return own;
  };
}

/** A problem of the inputs. */
export interface Problem {
  /** The path of the property, such as `tlsTermination.minVersion`. */
  path: string;
  /** What is wrong and what to do. Never contains the value, which may be a secret. */
  reason: string;
  /** The reason with a value in it. It is shown if the property that has the value is no secret. */
  quoting?: { property: string; reason: string };
  /** The path of the missing property that this one was meant to be: its name is misspelt. */
  meant?: string;
}

/** The result of a check of inputs. */
export interface Checked {
  /** The inputs in canonical form. */
  inputs: Properties;
  problems: Problem[];
  /** What the user should know of valid inputs. A dynamic provider's program tells it: it can name the resource. */
  warnings?: string[];
}

/** A property that differs from the inputs, in the form that messages show. */
export interface Difference {
  property: string;
  wanted: unknown;
  found: unknown;
}

/** What a plan says of a change. */
export interface Remark {
  severity: Severity;
  /** One line, without the kind and the id of the object. */
  text: string;
}

/** The name of a resource, which ends its URN. */
export function nameInUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
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
 * The operations of one kind of resource, for any protocol. `check`, `derived`, `replaces`, `remark`, `planned`
 * and, in the plan of an adoption, `differences` may get {@link unknownValue} for an unknown value.
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
  /** The names of the state's properties. */
  stateNames: StateNames;
  /** The inputs that are always secret, and that state does not hold as outputs. */
  secrets?: readonly string[];
  /** The inputs that are not sent to the service. State stores them unchanged. */
  settings: readonly string[];
  /** The properties that a program can change and that the service returns. */
  properties: readonly string[];
  /** Checks what the schema can't express. `olds` are the inputs of the last deployment, if any. */
  check(news: Properties, olds: Properties | undefined, now: Date): Checked;
  /**
   * The properties of the state that follow from the inputs, so that a plan knows them. Default: none.
   *
   * @param olds The inputs of the last deployment. What has not changed keeps its value of then.
   */
  derived?(inputs: Properties, olds?: Properties): Properties;
  /** Whether two values of a property mean the same to the service. */
  same(property: string, a: unknown, b: unknown): boolean;
  /** The inputs that a state corresponds to, without a private key. */
  inputsOf(state: Properties): Properties;
  /** The changed inputs that can't be updated in place. */
  replaces(state: Properties, inputs: Properties): string[];
  /** The properties that an update would change. */
  differences(state: Properties, inputs: Properties): Difference[];
  /** What a plan says of a change in one line, besides the diff. Undefined when the diff is enough. */
  remark?(state: Properties, inputs: Properties): Remark | undefined;
  /** Called in each diff. */
  planned?(id: string, state: Properties, inputs: Properties): void;
  /**
   * Creates the object. Returns a `problem` if a part of the service's answer can't be used.
   *
   * @param urn The resource; undefined when the engine does not name it.
   */
  create(client: Client, inputs: Properties, urn?: string): Promise<Created>;
  /**
   * Reads the state of an object.
   *
   * @param known The stored state, or the inputs. A list with the same elements as in `known` keeps
   * the order of `known`. Default: the service's order.
   */
  read(client: Client, id: string, known?: Properties): Promise<Properties>;
  update(client: Client, id: string, state: Properties, inputs: Properties): Promise<Properties>;
  delete(client: Client, id: string): Promise<void>;
  /** All objects of the account, newest first, page by page. */
  list(client: Client): AsyncGenerator<unknown, void, undefined>;
  /** The same in pages, each requested when it is needed. */
  pages(client: Client): AsyncGenerator<Page<{ id: string }>, void, undefined>;
  /**
   * What the service answers unchanged of what was sent: equal for inputs and an object made from
   * them. Undefined for an object that can't be read.
   */
  contentOf(inputsOrWire: object): unknown;
  /** Whether an object of the service has all that the inputs say, by meaning. */
  isLike(wire: unknown, inputs: Properties): boolean;
}

/**
 * The inputs of a resource, each in its role. One that state does not have is a setting, which
 * is not sent to the service, unless it is a secret, which the service never returns.
 */
export function rolesOf({
  schema,
  stateNames,
  secrets = [],
}: Pick<Lifecycle, "schema" | "stateNames" | "secrets">): Pick<
  Lifecycle,
  "settings" | "properties"
> {
  const inputs = Object.keys(schema.entries);
  return {
    settings: inputs.filter((name) => !(name in stateNames || secrets.includes(name))),
    properties: inputs.filter((name) => name in stateNames),
  };
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
