/** Who is killed. */
export type Victim = "engine" | "provider" | "emulator";

/**
 * When: as the request comes in and before its work, with the work done and no answer given, or with
 * the answer on its way and before whoever waits for it can make anything of it.
 */
export type When = "before" | "during" | "after";

type Kind = "edge" | "certificate";

/** What a project is to become, and by which command. */
export interface Scenario {
  /** For the table: "an update of both". */
  title: string;
  command: "up" | "refresh" | "destroy";
  /** What there is when the command starts: nothing, or what `basis` makes. */
  from: "nothing" | "basis";
  /** What the program says when the command runs. */
  program: Wanted;
  /** Whether someone has changed the descriptions on the service. */
  drifted?: boolean;
}

/** What a program makes: the parts that differ between programs. */
export interface Wanted {
  description: string;
  chain: "first" | "second";
  restricted: boolean;
}

/** Where a process is killed. */
export interface Point {
  scenario: Scenario;
  kind: Kind;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  when: When;
  victim: Victim;
}

/** What there is in the stacks that are not new. */
export const basis: Wanted = { description: "one", chain: "first", restricted: true };

const scenarios = {
  create: { title: "a new stack", command: "up", from: "nothing", program: basis },
  update: {
    title: "both updated",
    command: "up",
    from: "basis",
    program: { ...basis, description: "two" },
  },
  chain: {
    title: "the certificate replaced",
    command: "up",
    from: "basis",
    program: { ...basis, chain: "second" },
  },
  module: {
    title: "the edge replaced",
    command: "up",
    from: "basis",
    program: { ...basis, restricted: false },
  },
  drift: {
    title: "both drifted",
    command: "refresh",
    from: "basis",
    program: basis,
    drifted: true,
  },
  destroy: { title: "all destroyed", command: "destroy", from: "basis", program: basis },
} as const satisfies Record<string, Scenario>;

const whens: When[] = ["before", "during", "after"];
const victims: Victim[] = ["engine", "provider", "emulator"];

/** Each way to die at a request: every create and every delete, and each time another victim. */
function points(
  scenario: Scenario,
  method: Point["method"],
  kind: Kind,
  first: Victim | "each",
): Point[] {
  return whens.flatMap((when, turn) => {
    const start = victims.indexOf(first as Victim) + turn;
    const chosen = first === "each" ? victims : [victims[start % victims.length] as Victim];
    return chosen.map((victim) => ({ scenario, method, kind, when, victim }));
  });
}

/** The kill points, in the order of the table. */
export const killPoints: Point[] = [
  ...points(scenarios.create, "POST", "certificate", "each"),
  ...points(scenarios.create, "POST", "edge", "each"),
  ...points(scenarios.update, "PATCH", "certificate", "engine"),
  ...points(scenarios.update, "PATCH", "edge", "provider"),
  ...points(scenarios.chain, "POST", "certificate", "provider"),
  ...points(scenarios.chain, "DELETE", "certificate", "engine"),
  ...points(scenarios.module, "DELETE", "edge", "provider"),
  ...points(scenarios.module, "POST", "edge", "engine"),
  ...points(scenarios.drift, "GET", "certificate", "provider"),
  ...points(scenarios.drift, "GET", "edge", "emulator"),
  ...points(scenarios.destroy, "DELETE", "edge", "engine"),
  ...points(scenarios.destroy, "DELETE", "certificate", "provider"),
];

/** The path of the request, as the emulator's faults take it. */
export function pathOf({ kind, method }: Point): string {
  const list = { edge: "/edges/tls", certificate: "/tls_certificates" }[kind];
  return method === "POST" ? list : `${list}/*`;
}

/** For the table and for progress. */
export function nameOf({ scenario, method, kind, when, victim }: Point): string {
  return `${scenario.title}: ${method} of the ${kind}, ${when}, ${victim} killed`;
}
