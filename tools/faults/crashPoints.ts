import { paths } from "./draw";
import type { Kind } from "./resource";

/** The process that is killed. */
type Victim = "engine" | "provider" | "emulator";

/**
 * When it is killed: before the service has done the work, after the work but before the answer is
 * sent, or after the answer is sent but before it is read.
 */
type When = "before" | "during" | "after";

/** The arguments in which the programs differ. */
interface Wanted {
  description: string;
  chain: "first" | "second";
  restricted: boolean;
}

/** A request of a command, during which a process is killed. */
export interface Point {
  /** What the command does: "the edge replaced". */
  title: string;
  command: "up" | "refresh" | "destroy";
  /** The program that is deployed before the command; undefined is a new stack. */
  from: Wanted | undefined;
  /** The program of the command. */
  to: Wanted;
  kind: Kind;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  when: When;
  victim: Victim;
}

const basis: Wanted = { description: "one", chain: "first", restricted: true };
const whens: When[] = ["before", "during", "after"];
const victims: Victim[] = ["engine", "provider", "emulator"];

type Command = Pick<Point, "title" | "command" | "from" | "to">;

const up = (title: string, to: Wanted, from?: Wanted): Command => {
  return { title, command: "up", from, to };
};
const create = up("a new stack", basis);
const update = up("both updated", { ...basis, description: "two" }, basis);
const certificate = up("the certificate replaced", { ...basis, chain: "second" }, basis);
const edge = up("the edge replaced", { ...basis, restricted: false }, basis);
const drift: Command = { title: "both drifted", command: "refresh", from: basis, to: basis };
const destroy: Command = { title: "all destroyed", command: "destroy", from: basis, to: basis };

/** The points of a request: with every victim, or with a different victim each time. */
function points(
  command: Command,
  method: Point["method"],
  kind: Kind,
  first: Victim | "each",
): Point[] {
  return whens.flatMap((when, turn) => {
    const start = victims.indexOf(first as Victim) + turn;
    const chosen = first === "each" ? victims : [victims[start % victims.length] as Victim];
    return chosen.map((victim) => ({ ...command, method, kind, when, victim }));
  });
}

/** All points, in the order of the table. */
export const killPoints: Point[] = [
  ...points(create, "POST", "tlsCertificate", "each"),
  ...points(create, "POST", "tlsEdge", "each"),
  ...points(update, "PATCH", "tlsCertificate", "engine"),
  ...points(update, "PATCH", "tlsEdge", "provider"),
  ...points(certificate, "POST", "tlsCertificate", "provider"),
  ...points(certificate, "DELETE", "tlsCertificate", "engine"),
  ...points(edge, "DELETE", "tlsEdge", "provider"),
  ...points(edge, "POST", "tlsEdge", "engine"),
  ...points(drift, "GET", "tlsCertificate", "provider"),
  ...points(drift, "GET", "tlsEdge", "emulator"),
  ...points(destroy, "DELETE", "tlsEdge", "engine"),
  ...points(destroy, "DELETE", "tlsCertificate", "provider"),
];

/** The path of a point's request, for a fault of the emulator. */
export function pathOf({ kind, method }: Point): string {
  return method === "POST" ? paths[kind] : `${paths[kind]}/*`;
}

/** The name of a point in messages. */
export function titleOf({ title, method, kind, when, victim }: Point): string {
  return `${title}: ${method} of the ${kind}, ${when}, ${victim} killed`;
}
