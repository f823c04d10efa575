import { isDeepStrictEqual } from "node:util";

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

/** The names of a state's properties: whether each always has a value, or may be null. */
export type StateNames = Readonly<Record<string, "always" | "nullable">>;

/** Whether a value is unknown or has an unknown part. */
export function hasUnknown(value: unknown): boolean {
  if (value === unknownValue) return true;
  return isObject(value) && Object.values(value).some(hasUnknown);
}

/** A value with {@link unknownValue} in place of each marker of a type, at any depth. */
export function withOneUnknown<T>(value: T): T {
  if (typedMarkers.includes(value)) return unknownValue as T;
  if (Array.isArray(value)) return value.map(withOneUnknown) as T;
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, withOneUnknown(part)]);
  return Object.fromEntries(parts) as T;
}

/** Whether a value is an object or a list. */
export function isObject(value: unknown): value is Properties {
  return typeof value === "object" && value !== null;
}

/** Whether a value is an object, and no list. */
export function isRecord(value: unknown): value is Properties {
  return isObject(value) && !Array.isArray(value);
}

/** Whether two texts are the same JSON object or list. A number counts as it is written, because JSON.parse rounds it. */
export function isSameJson(...texts: unknown[]): boolean {
  // The third argument has the text of a number.
  const exact = (_name: string, value: unknown, written?: object) =>
    typeof value === "number" ? [written, value] : value;
  try {
    const [one, other] = texts.map((text) => JSON.parse(String(text), exact));
    return /^\s*[{[]/.test(String(texts[0])) && isDeepStrictEqual(one, other);
  } catch {
    return false;
  }
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

/** The property that a path begins with, such as `tlsTermination.minVersion` or `hostports[0]`. */
export function propertyOf(path: string): string {
  return path.split(/[.[]/, 1)[0] as string;
}

/** The name of a resource, which ends its URN. */
export function nameInUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}
