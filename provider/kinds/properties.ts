import { isDeepStrictEqual } from "node:util";

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

/** The name of a resource, which ends its URN. */
export function nameInUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}
