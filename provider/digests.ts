import { createHash } from "node:crypto";
import { type Lifecycle, only, type Properties } from "./lifecycle";

/**
 * Where the digests stand in state. The engine shows no such name, and gives diff and update no
 * inputs of before: so state has to say what the service was told, and a digest says it in little.
 */
const digestsKey = "__digests";

/** Before the digest of a module that is there and switched off. */
const off = "!";

/** A digest of a value, empty for none: 72 bits tell whether something has changed. */
export function digest(value: unknown, isOff = false): string {
  if (value === undefined || value === "") return "";
  const hash = createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 12);
  return isOff ? off + hash : hash;
}

/** Whether all of an object stands in state: where it is only read, or an old version stored it. */
export function isWhole(state: Properties): boolean {
  return !(digestsKey in state);
}

/**
 * What state keeps of an object: what the service adds, and digests of what the inputs hold.
 *
 * @param shown Properties to keep as they are, too.
 */
export function toStore(
  lifecycle: Lifecycle,
  state: Properties,
  shown: readonly string[] = [],
): Properties {
  const digests = digestsOf(lifecycle, state);
  return {
    ...only(state, [...lifecycle.outputs, ...shown]),
    [digestsKey]: lifecycle.digested.map((name) => digests[name]).join(","),
  };
}

/**
 * The digest of each property, from stored state or from an object itself, as the first versions
 * stored it; the empty text where there is none.
 */
export function digestsOf(lifecycle: Lifecycle, state: Properties): Record<string, string> {
  const stored = state[digestsKey];
  const digests = typeof stored === "string" ? stored.split(",") : undefined;
  const entries = lifecycle.digested.map((name, index) => [
    name,
    (digests ? digests[index] : lifecycle.digest(name, state[name])) ?? "",
  ]);
  return Object.fromEntries(entries);
}

/** The properties that differ from what was stored. */
export function drifted(lifecycle: Lifecycle, stored: Properties, now: Properties): string[] {
  const had = digestsOf(lifecycle, stored);
  const has = digestsOf(lifecycle, now);
  return lifecycle.digested.filter(
    (name) =>
      had[name] !== has[name] &&
      // What is switched off is as good as absent, but not as good as another that is.
      (isOn(had[name]) || isOn(has[name]) || (had[name] && has[name])),
  );
}

/** Whether the property is there and not switched off. */
export function isOn(digest: string | undefined): boolean {
  return digest !== undefined && digest !== "" && !digest.startsWith(off);
}
