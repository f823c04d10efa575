import { hasUnknown } from "./properties";

/** The known ones of hostports, in the form in which equal ones are equal; none of what is no list. */
export function knownHostports(hostports: unknown): Set<string> {
  const known = Array.isArray(hostports) ? hostports.filter((one) => !hasUnknown(one)) : [];
  return new Set(known.map((one) => String(one).toLowerCase()));
}
