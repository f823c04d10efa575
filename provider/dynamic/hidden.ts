/**
 * The inputs that have a resource's option `import`, and the names of the arguments that the program has
 * marked as secrets: the engine takes the marks off before it calls a dynamic provider. State has both, without
 * the names that always are secrets. Pulumi hides names that start with `__`.
 */
export const importKey = "__import";
export const secretsKey = "__secrets";

/**
 * The input that has a resource's option `customTimeouts`, in milliseconds. The engine tells a
 * provider its timeouts, but Pulumi's server of dynamic providers does not pass them on. State has
 * them, too, for read and delete.
 */
export const timeoutsKey = "__timeouts";

/**
 * The input that has the name of a new resource: the first calls of a process have no URN. A check takes it away, so no
 * state has it.
 */
export const nameKey = "__resourceName";

/** The operations that may have a deadline of their own. */
export type Timed = "create" | "read" | "update" | "delete";
/** The deadlines of a resource's operations, in milliseconds. */
export type Timeouts = Partial<Record<Timed, number>>;

const unitMs: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** The milliseconds of a duration as the engine reads it, such as `1h30m`; undefined for another text. */
export function millisecondsOf(duration: string): number | undefined {
  if (!/^(?:[\d.]+(?:h|ms|m|s))+$/.test(duration)) return undefined;
  const parts = [...duration.matchAll(/([\d.]+)(h|ms|m|s)/g)];
  const ms = parts.reduce((sum, [, n, unit = ""]) => sum + Number(n) * (unitMs[unit] ?? 0), 0);
  return ms > 0 ? Math.ceil(ms) : undefined;
}
