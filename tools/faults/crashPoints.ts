import { paths } from "./draw.ts";
import type { Kind } from "./resource.ts";

/** Who is killed. */
export type Victim = "engine" | "provider" | "emulator";

/**
 * When: as the request comes in and before its work, with the work done and no answer given, or with
 * the answer on its way and before whoever waits for it can make anything of it.
 */
export type When = "before" | "during" | "after";

/** What a program makes: the parts that differ between programs. */
export interface Wanted {
  description: string;
  chain: "first" | "second";
  restricted: boolean;
}

/** Where a process is killed. */
export interface Point {
  /** What is done: "the edge replaced". */
  title: string;
  command: "up" | "refresh" | "destroy";
  /** What there is when the command starts. */
  from: Wanted | undefined;
  /** What the program says when the command runs. */
  to: Wanted;
  kind: Kind;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  when: When;
  victim: Victim;
}

const basis: Wanted = { description: "one", chain: "first", restricted: true };
const whens: When[] = ["before", "during", "after"];
const victims: Victim[] = ["engine", "provider", "emulator"];

type Done = Pick<Point, "title" | "command" | "from" | "to">;

const up = (title: string, to: Wanted, from?: Wanted): Done => ({ title, command: "up", from, to });
const create = up("a new stack", basis);
const update = up("both updated", { ...basis, description: "two" }, basis);
const chain = up("the certificate replaced", { ...basis, chain: "second" }, basis);
const module = up("the edge replaced", { ...basis, restricted: false }, basis);
const drift: Done = { title: "both drifted", command: "refresh", from: basis, to: basis };
const destroy: Done = { title: "all destroyed", command: "destroy", from: basis, to: basis };

/** Each way to die at a request: every victim each time, or each time another. */
function points(done: Done, method: Point["method"], kind: Kind, first: Victim | "each"): Point[] {
  return whens.flatMap((when, turn) => {
    const start = victims.indexOf(first as Victim) + turn;
    const chosen = first === "each" ? victims : [victims[start % victims.length] as Victim];
    return chosen.map((victim) => ({ ...done, method, kind, when, victim }));
  });
}

/** The kill points, in the order of the table. */
export const killPoints: Point[] = [
  ...points(create, "POST", "tlsCertificate", "each"),
  ...points(create, "POST", "tlsEdge", "each"),
  ...points(update, "PATCH", "tlsCertificate", "engine"),
  ...points(update, "PATCH", "tlsEdge", "provider"),
  ...points(chain, "POST", "tlsCertificate", "provider"),
  ...points(chain, "DELETE", "tlsCertificate", "engine"),
  ...points(module, "DELETE", "tlsEdge", "provider"),
  ...points(module, "POST", "tlsEdge", "engine"),
  ...points(drift, "GET", "tlsCertificate", "provider"),
  ...points(drift, "GET", "tlsEdge", "emulator"),
  ...points(destroy, "DELETE", "tlsEdge", "engine"),
  ...points(destroy, "DELETE", "tlsCertificate", "provider"),
];

/** The path of the request, as the emulator's faults take it. */
export function pathOf({ kind, method }: Point): string {
  return method === "POST" ? paths[kind] : `${paths[kind]}/*`;
}

/** For the table and for progress. */
export function nameOf({ title, method, kind, when, victim }: Point): string {
  return `${title}: ${method} of the ${kind}, ${when}, ${victim} killed`;
}
