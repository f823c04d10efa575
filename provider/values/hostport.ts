import { hasUnknown } from "./properties";

/** A hostport in the form in which equal ones are equal. */
export const plainHostport = (hostport: unknown) => String(hostport).toLowerCase();

/** {@link plainHostport} of a text that is a host, a colon and a port; undefined for any other text. */
export function hostportIn(text: string): string | undefined {
  return /^[^\s/]+:\d+$/.test(text) ? plainHostport(text) : undefined;
}

export const hostOf = (hostport: string) => hostport.replace(/:\d+$/, "");

/** The known ones of hostports, in the form in which equal ones are equal; none of what is no list. */
export function knownHostports(hostports: unknown): Set<string> {
  const known = Array.isArray(hostports) ? hostports.filter((one) => !hasUnknown(one)) : [];
  return new Set(known.map(plainHostport));
}
