import type { ObjectEntries, StrictObjectSchema } from "valibot";
import type { Endpoints } from "../../client/endpoints";
import type { ServiceObject } from "../../client/fields";
import { knownHostports } from "../values/hostport";
import type { StateNames } from "../values/properties";
import { defined, hasUnknown, isObject, type Properties, pick } from "../values/properties";

/** A problem of the inputs. */
export interface Problem {
  /** The path of the property, such as `tlsTermination.minVersion`. */
  path: string;
  /** What is wrong and what to do. Never contains the value, which may be a secret. */
  reason: string;
  /** The property's value for people. It is shown before the reason if the property is no secret. */
  value?: string | undefined;
}

/**
 * The input that says which files the texts of a resource were read from, by the names of the properties: a
 * problem names the file. A check takes it away, so no state has it.
 */
export const filesKey = "__files";

/** The result of a check of inputs. */
export interface Checked {
  /** The inputs in canonical form. */
  inputs: Properties;
  problems: Problem[];
  /** What the user should know of valid inputs. A dynamic provider's program tells it: it can always name the resource. */
  warnings?: string[];
}

/** A property that differs from the inputs. */
export interface Difference {
  property: string;
  /** What an update sends. */
  sent: unknown;
  /** What the program says, and what the service has, in the form that messages show. */
  wanted: unknown;
  found: unknown;
}

/** How a message is shown: `warning` also counts as a warning in the engine's summary. */
export type Severity = "info" | "warning";

/** What a plan says of a change. */
export interface PlanWarning {
  severity: Severity;
  /** One line, without the kind and the id of the object. */
  text: string;
}

/**
 * A kind of resource: data, and pure functions. None makes a request, and none knows a protocol:
 * `lifecycle/` has what is the same for all kinds.
 *
 * `check`, `derived`, `replaces`, `wanted` and `planWarning` may get {@link unknownValue} for an unknown value. A
 * state has every property of the object except a private key, with the service's value, or null
 * where the service has none.
 */
export interface Kind<Wire extends ServiceObject = ServiceObject> {
  /** The name of the class: "TLSEdge". */
  name: string;
  /** The kind of resource, for messages: "TLS edge". */
  title: string;
  endpoints: Endpoints<Wire, object>;
  /** The inputs that a program may give. */
  schema: StrictObjectSchema<ObjectEntries, undefined>;
  /** The names of the state's properties. */
  stateNames: StateNames;
  /** The inputs that are always secret, and that state does not hold as outputs. */
  secrets?: readonly string[];
  /** The property whose values only one object can have at a time. */
  exclusive?: "hostports";

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
  /** The changed inputs that can't be updated in place. */
  replaces(state: Properties, inputs: Properties): string[];
  /** The values that the object should have. One that is undefined or missing stays as it is. */
  wanted(state: Properties, inputs: Properties): Properties;
  /** A state without the values that the service chose where the program sets none. Default: the state. */
  withoutDefaults?(state: Properties): Properties;
  /** What a change means, in one line, where the diff does not say it. */
  planWarning?(state: Properties, inputs: Properties): PlanWarning | undefined;
  /** A value of a property as messages show it. Default: as it is. */
  forPeople?(property: string, value: unknown): unknown;

  /** The body of a create, or of an update with some properties. */
  toBody(properties: Properties): object;
  /**
   * The state of an object of the service.
   *
   * @param known The inputs that were sent, or the stored state. A list with the same elements keeps
   * the order that it has there. Default: the service's order.
   * @throws Error when the answer can't be used.
   */
  toState(wire: Wire, known?: Properties): Properties;

  /**
   * What the service answers unchanged of what was sent: equal for inputs and an object made from
   * them. Undefined for an object that can't be read.
   */
  contentKey(inputsOrWire: object): unknown;
  /** The names that people know an object by, the best name first. */
  names(state: Properties): string[];
  /** What an import takes besides an id. Default: nothing. */
  importName?: {
    /** What it is: a filter of the kind's lookup. */
    filter: string;
    /** Those of an object, in the form that `parse` gives. */
    of(state: Properties): string[];
    /** The name that a text is; undefined for any other text, which may be an id. */
    parse(text: string): string | undefined;
  };
}

/** The properties that a program can change and that the service returns. */
export function propertiesOf({ schema, stateNames }: Kind): string[] {
  return Object.keys(schema.entries).filter((name) => name in stateNames);
}

/** The argument that is shown also where a program marks it as secret: every client that connects is sent the chain. */
export const openArgument = "certificatePem";

/** Those of the arguments marked as secrets that texts hide. A private key is cut from every text anyway. */
export function hiddenArguments({ secrets = [] }: Kind, marked: Iterable<string>): string[] {
  return [...marked].filter((name) => name !== openArgument && !secrets.includes(name));
}

/** The names of the inputs that only the provider uses, such as `onModuleRemoval`. State stores them unchanged. */
export function unsentInputsOf({ schema, stateNames, secrets = [] }: Kind): string[] {
  const inputs = Object.keys(schema.entries);
  return inputs.filter((name) => !(name in stateNames || secrets.includes(name)));
}

/** The unsent inputs as state has them; null when unset. */
export function storedUnsentInputs(kind: Kind, inputs: Properties): Properties {
  return Object.fromEntries(unsentInputsOf(kind).map((name) => [name, inputs[name] ?? null]));
}

/** What state has of an object besides what a protocol adds. */
export function storedState(
  kind: Kind,
  accountTag: string,
  state: Properties,
  inputs: Properties,
): Properties {
  return { ...state, ...storedUnsentInputs(kind, inputs), accountTag };
}

/** The inputs that a state corresponds to, without a private key. */
export function inputsOf(kind: Kind, state: Properties): Properties {
  return defined(pick(kind.withoutDefaults?.(state) ?? state, propertiesOf(kind)));
}

/** The properties that an update would change. */
export function differences(kind: Kind, state: Properties, inputs: Properties): Difference[] {
  const found = inputsOf(kind, state);
  const forPeople = (property: string, value: unknown) =>
    kind.forPeople?.(property, value) ?? value;
  const isSame = (name: string, sent: unknown) => {
    // A disabled module equals an absent one, but the service gets the module that the program has.
    const isModuleMissing = isObject(sent) && found[name] === undefined;
    return !isModuleMissing && kind.same(name, sent, found[name]);
  };
  return Object.entries(kind.wanted(state, inputs))
    .filter(([name, sent]) => sent !== undefined && !isSame(name, sent))
    .map(([property, sent]) => ({
      property,
      sent,
      wanted: forPeople(property, inputs[property]),
      found: forPeople(property, state[property]),
    }));
}

/** {@link knownHostports} of inputs, a state or an object of the service; none of another kind. */
export function hostportsOf({ exclusive }: Pick<Kind, "exclusive">, of: object): Set<string> {
  return knownHostports(exclusive && (of as Properties)[exclusive]);
}

/** Equal for inputs and an object that was made from them; undefined for one that can't be read. */
export function contentOf(kind: Kind, inputsOrWire: object): string | undefined {
  const key = kind.contentKey(inputsOrWire);
  return key === undefined ? undefined : JSON.stringify([kind.title, key]);
}

/** Gives a function that finds, among some objects, those that equal what a create with given inputs makes. */
export function finderOf<Wire extends ServiceObject>(
  kind: Kind,
  objects: Wire[],
): (inputs: Properties) => Wire[] {
  const byContent = Map.groupBy(objects, (wire) => contentOf(kind, wire));
  return (inputs) => {
    const content = contentOf(kind, inputs);
    const candidates = content === undefined ? [] : (byContent.get(content) ?? []);
    return candidates.filter(
      (wire) => differences(kind, kind.toState(wire, inputs), inputs).length === 0,
    );
  };
}

/** Whether an update would change nothing. */
export function isUnchanged(kind: Kind, state: Properties, inputs: Properties): boolean {
  return !hasUnknown(inputs) && differences(kind, state, inputs).length === 0;
}

/** Keeps the old value where the new one means the same, so that plans show no change. */
export function keepEqual(kind: Kind, olds: Properties, news: Properties): Properties {
  return Object.fromEntries(
    Object.entries(news).map(([property, value]) => {
      const old = olds[property];
      return [property, old !== undefined && kind.same(property, old, value) ? old : value];
    }),
  );
}

/** The properties that differ from state. One that the state lacks is no drift: a later version of the provider added it. */
export function driftOf(kind: Kind, stored: Properties, found: Properties): string[] {
  const [before, after] = [inputsOf(kind, stored), inputsOf(kind, found)];
  return propertiesOf(kind).filter(
    (name) => stored[name] !== undefined && !kind.same(name, before[name], after[name]),
  );
}

/** Says that no object of a kind has an id, which people see as a text. */
export function noneWithId(title: string, id: string, text = id): string {
  return `no ${title} has the id ${text}${/\s/.test(id) ? ", which has a space or a line break" : ""}`;
}

/** How many names a message lists. */
const mostListed = 5;

/** Some names for a message, and how many more there are. */
export function listed(names: string[]): string {
  const more = names.length - mostListed;
  return names.slice(0, mostListed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
