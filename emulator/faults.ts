import { setTimeout } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import * as v from "valibot";
import { readBody, strictObject } from "./requests";

/** The path that sets and lists faults. The service has no such path. */
const control = "/_emulator/faults";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const fault = strictObject({
  method: v.optional(v.picklist(["GET", "POST", "PATCH", "DELETE"])),
  path: v.optional(v.string()),
  skip: v.optional(count),
  times: v.optional(count),
  work: v.optional(v.union([v.boolean(), v.literal("cleared"), strictObject({ afterMs: count })])),
  answer: v.union([
    v.picklist(["reset", "silence", "truncated", "stale", "held"]),
    strictObject({ afterMs: count }),
    strictObject({ fields: v.record(v.string(), v.unknown()) }),
    strictObject({
      status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
      headers: v.optional(v.record(v.string(), v.string())),
      body: v.optional(v.string()),
    }),
  ]),
});

/** A fault and the requests that meet it. A request meets the first fault that matches it. */
export interface Fault {
  /** Default: any. */
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path without its query; `*` stands for one segment. Default: any. */
  path?: string;
  /** How many matching requests pass before the first one meets the fault. Default 0. */
  skip?: number;
  /** How many requests meet the fault. Default 1. */
  times?: number;
  /**
   * Whether the service still does the request. Default: only if the answer needs it. After an
   * answer that needs no work, the service may do it late: when the faults are `cleared`, or
   * `afterMs` milliseconds later.
   */
  work?: boolean | "cleared" | { afterMs: number };
  /**
   * The answer. `reset` cuts the connection. `silence` leaves it open without an answer. The next
   * five change the service's own answer: `held` delays it until the faults are cleared, `afterMs`
   * delays it by this many milliseconds, `truncated` sends half of its JSON, `stale` is a list
   * without the objects that were made after the fault was set, `fields` replace fields of its
   * JSON. `status` with `headers` and `body` is another answer, by default HTML.
   */
  answer:
    | "reset"
    | "silence"
    | "truncated"
    | "stale"
    | "held"
    | { afterMs: number }
    | { fields: Record<string, unknown> }
    | { status: number; headers?: Record<string, string>; body?: string };
}

/** A fault that is set, and how many requests have met it. */
export type SetFault = Fault & { struck: number };

/** Sets faults while the emulator runs. */
export interface Faults {
  /** Adds faults after the existing ones. */
  add(...faults: Fault[]): void;
  /** The faults that are set, including those that are used up. */
  list(): SetFault[];
  /** Removes all faults, and sends the held answers. */
  clear(): void;
}

type Bindings = { Bindings: HttpBindings };

/** What a fault needs to know when it strikes. */
interface Armed extends SetFault {
  passed: number;
  /** The ids of the objects that a stale list may have. */
  known: Set<unknown>;
}

/**
 * The faults of an emulator: the handle, the middleware that applies them, and their routes.
 *
 * @param ids The ids of all objects.
 */
export function makeFaults(initial: Fault[] = [], ids: () => Set<unknown> = () => new Set()) {
  let all: Armed[] = [];
  let held: (() => void)[] = [];
  const handle: Faults = {
    add: (...faults) =>
      void all.push(...faults.map((one) => ({ ...one, struck: 0, passed: 0, known: ids() }))),
    list: () => all.map(({ passed: _, known: __, ...one }) => one),
    clear: () => {
      all = [];
      for (const release of held) release();
      held = [];
    },
  };
  const next = ({ req }: Context): Armed | undefined => {
    for (const one of all) {
      if (!matches(one, req.method, req.path) || one.struck >= (one.times ?? 1)) continue;
      if (one.passed++ < (one.skip ?? 0)) continue;
      one.struck += 1;
      return one;
    }
    return undefined;
  };
  handle.add(...initial);
  const cleared = () => new Promise<void>((resolve) => void held.push(resolve));
  return { handle, strike: strike(next, cleared), routes: routes(handle) };
}

function matches({ method, path }: Fault, asked: string, target: string): boolean {
  if (target.startsWith("/_emulator/") || (method && method !== asked)) return false;
  if (!path) return true;
  const parts = path.split("/");
  const given = target.split("/");
  return parts.length === given.length && parts.every((one, n) => one === "*" || one === given[n]);
}

function strike(
  next: (c: Context) => Armed | undefined,
  cleared: () => Promise<void>,
): MiddlewareHandler<Bindings> {
  return async (c, proceed) => {
    const struck = next(c);
    if (!struck) return proceed();
    const { answer } = struck;
    // Unreferenced, so that a closed emulator does not keep its process alive.
    const wait = (until: "held" | "cleared" | { afterMs: number }) =>
      typeof until === "string" ? cleared() : setTimeout(until.afterMs, undefined, { ref: false });
    if (isLate(answer)) {
      if (struck.work === false) await wait(answer).then(proceed);
      else await proceed().then(() => wait(answer));
      return undefined;
    }
    const work = struck.work ?? needsWork(answer);
    if (typeof work !== "boolean") void wait(work).then(proceed);
    else if (work) await proceed();
    if (answer === "reset") c.env.incoming.socket.destroy();
    const ends = answer === "reset" || answer === "silence";
    const other = ends ? RESPONSE_ALREADY_SENT : await replacementOf(c.res, answer, struck.known);
    // Set undefined first: otherwise Hono adds the headers of the service's own answer.
    c.res = undefined;
    c.res = other;
    return undefined;
  };
}

/** Whether the answer is made from the service's own answer. */
function needsWork(answer: Fault["answer"]): boolean {
  if (typeof answer === "object") return "fields" in answer;
  return answer === "truncated" || answer === "stale";
}

type Late = "held" | { afterMs: number };

/** Whether the service's own answer comes late. */
function isLate(answer: Fault["answer"]): answer is Late {
  return answer === "held" || (typeof answer === "object" && "afterMs" in answer);
}

/** The answer that replaces the service's own answer. */
async function replacementOf(
  own: Response,
  answer: Exclude<Fault["answer"], "reset" | "silence" | Late>,
  known: Set<unknown>,
): Promise<Response> {
  if (typeof answer === "object" && "status" in answer) {
    const headers = { "Content-Type": "text/html", ...answer.headers };
    // Answers with these statuses never have a body.
    const body = [204, 205, 304].includes(answer.status) ? null : (answer.body ?? "");
    return new Response(body, { status: answer.status, headers });
  }
  const text = await own.text();
  const { status, headers } = own;
  // An empty answer can't be truncated or changed.
  if (text === "") return new Response(null, { status, headers });
  headers.delete("Content-Length");
  if (answer === "truncated") {
    return new Response(text.slice(0, text.length / 2), { status, headers });
  }
  const body = JSON.parse(text);
  if (answer !== "stale") Object.assign(body, answer.fields);
  else for (const [name, part] of Object.entries(body)) body[name] = knownParts(part, known);
  return new Response(JSON.stringify(body), { status, headers });
}

/** The known objects of a list; any other value as it is. */
function knownParts(part: unknown, known: Set<unknown>): unknown {
  return Array.isArray(part) ? part.filter(({ id }) => !id || known.has(id)) : part;
}

function routes(handle: Faults): Hono {
  const app = new Hono();
  app.get(control, (c) => c.json({ faults: handle.list() }));
  app.post(control, async (c) => {
    handle.add((await readBody(c, fault)) as Fault);
    return c.json({ faults: handle.list() }, 201);
  });
  app.delete(control, (c) => {
    handle.clear();
    return c.body(null, 204);
  });
  return app;
}
