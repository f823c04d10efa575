import { isDeepStrictEqual } from "node:util";
import { PropertyDiff } from "@pulumi/pulumi/proto/provider_pb";
import { Struct } from "google-protobuf/google/protobuf/struct_pb";
import { differences, type Kind, propertiesOf, unsentInputsOf } from "../provider/kinds/kind";
import {
  isObject,
  type Properties,
  propertyOf,
  unknownValue,
  withOneUnknown,
} from "../provider/values/properties";

/** Marks a special value on the wire. The key and the kind are Pulumi's. */
const specialKey = "4dabf18193072939515e22adb298388d";
const secretKind = "1b47061264138c4ac30d75fd1eb44270";
const resourceKind = "5cf8f73096256a8f31e491e813e4eb8e";

/** Properties that came over the wire, in plain form. */
export interface Received {
  values: Properties;
  /** The properties that are secrets or have a secret part. */
  secrets: Set<string>;
}

/** Reads properties. A missing struct has none: an import has neither state nor inputs. */
export function fromWire(struct: Struct | undefined): Received {
  const raw = (struct?.toJavaScript() ?? {}) as Properties;
  const secrets = new Set(Object.keys(raw).filter((name) => hasSecret(raw[name])));
  return { values: withOneUnknown(withoutMarks(raw) as Properties), secrets };
}

/**
 * Writes properties. A property is marked as a secret as a whole, and once, however often it is
 * named: the engine encrypts it, and a program can use it only as a secret.
 */
export function toWire(values: Properties, secrets: Iterable<string> = []): Struct {
  const marked: Properties = JSON.parse(JSON.stringify(values));
  // In a secret within a secret, `pulumi stack export --show-secrets` shows no value.
  for (const name of new Set(secrets)) {
    if (name in marked) marked[name] = { [specialKey]: secretKind, value: marked[name] };
  }
  return Struct.fromJavaScript(marked as Parameters<typeof Struct.fromJavaScript>[0]);
}

function isSecret(value: unknown): value is Properties {
  return isObject(value) && value[specialKey] === secretKind;
}

function hasSecret(value: unknown): boolean {
  return isSecret(value) || (isObject(value) && Object.values(value).some(hasSecret));
}

/** A value without marks: of a secret its value, of a resource its id, which a plan may not know. */
function withoutMarks(value: unknown): unknown {
  if (isSecret(value)) return withoutMarks(value.value);
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  if (value[specialKey] === resourceKind)
    return "id" in value ? value.id || unknownValue : value.urn;
  const parts = Object.entries(value).map(([name, part]) => [name, withoutMarks(part)]);
  return Object.fromEntries(parts);
}

/** A path of the inputs, such as `tlsTermination.minVersion` or `hostports[0]`, and what happened to the value there. */
type Change = [path: string, what: "ADD" | "DELETE" | "UPDATE"];

/** The changes of the inputs. Values that mean the same to the service are none. */
export function changesIn(olds: Properties, news: Properties, prefix = ""): Change[] {
  const names = [...new Set([...Object.keys(olds), ...Object.keys(news)])];
  return names.flatMap((name) => changesOf(prefix + name, olds[name], news[name]));
}

/** The properties in which changes are. */
export function changedProperties(changes: Change[]): string[] {
  return [...new Set(changes.map(([path]) => propertyOf(path)))];
}

/**
 * Changes as the engine is told them, by their paths.
 *
 * @param replaces The properties that can't be updated in place. Each has a path in the result.
 */
export function detailedDiff(
  changes: Change[],
  replaces: readonly string[],
): Map<string, PropertyDiff> {
  const changed = changedProperties(changes);
  const forced = replaces.filter((name) => !changed.includes(name));
  const all = [...changes, ...forced.map((name): Change => [name, "UPDATE"])];
  return new Map(
    all.map(([path, change]) => {
      const kind = replaces.includes(propertyOf(path)) ? (`${change}_REPLACE` as const) : change;
      return [path, new PropertyDiff().setKind(PropertyDiff.Kind[kind]).setInputdiff(true)];
    }),
  );
}

function changesOf(path: string, old: unknown, now: unknown): Change[] {
  if (isDeepStrictEqual(old, now)) return [];
  if (old === undefined) return [[path, "ADD"]];
  if (now === undefined) return [[path, "DELETE"]];
  if (Array.isArray(old) && Array.isArray(now)) return changesOfList(path, old, now);
  if (!isObject(old) || !isObject(now)) return [[path, "UPDATE"]];
  return changesIn(old, now, `${path}.`);
}

/** The order of a list has no meaning. */
function changesOfList(path: string, old: unknown[], now: unknown[]): Change[] {
  const places = Array.from({ length: Math.max(old.length, now.length) }, (_, index) => index);
  return places.flatMap((index): Change[] => {
    const isRemoved = index < old.length && !now.includes(old[index]);
    const isAdded = index < now.length && !old.includes(now[index]);
    if (!isRemoved && !isAdded) return [];
    return [[`${path}[${index}]`, isRemoved ? (isAdded ? "UPDATE" : "DELETE") : "ADD"]];
  });
}

/** What is deployed of a resource. */
export interface Deployed {
  state: Properties;
  inputs: Properties;
}

/**
 * The outputs that a plan shows: those that follow from the inputs, and in an update those that
 * don't change. What the service chooses is unknown. A property that the program could set and does
 * not is left out: in a plan, a program takes a missing output for unknown, and a policy on the
 * stack, which can't judge what is unknown, takes it for unset. So is such a field of a module, as in
 * the plan of a dynamic provider: to be unset in the plan is less wrong than to pass a mandatory policy
 * there and to violate it after the write.
 *
 * @param names The names of all outputs.
 * @param deployed What is deployed; undefined when the object is created.
 */
export function plannedOutputs(
  kind: Kind,
  names: readonly string[],
  inputs: Properties,
  deployed?: Deployed,
): Properties {
  const changes = deployed ? differences(kind, deployed.state, inputs) : [];
  const planned = names.flatMap((name): [string, unknown][] => {
    const value = inputs[name];
    const isKept =
      deployed?.state[name] !== undefined &&
      // After an incomplete create, the state has empty texts for what the service chooses.
      deployed.state.uri !== "" &&
      !changes.some(({ property }) => property === name) &&
      isDeepStrictEqual(deployed.inputs[name], value);
    if (isKept) return [[name, deployed.state[name]]];
    if (unsentInputsOf(kind).includes(name)) return [[name, value ?? null]];
    if (value === undefined && propertiesOf(kind).includes(name)) return [];
    return [[name, value === undefined ? unknownValue : value]];
  });
  return Object.fromEntries(planned);
}
