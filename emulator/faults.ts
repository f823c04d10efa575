import { setTimeout } from "node:timers/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { type Env, readBody, refuseOtherMethods, refuseParameters, strictObject } from "./requests";

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

const advice =
  'A fault is such as {"method": "POST", "path": "/edges/tls", "answer": {"status": 503}}. Its fields are method, path, ' +
  'skip, times, work and answer. The answer is "reset", "silence", "truncated", "stale", "held", {"afterMs": 2000}, ' +
  '{"fields": {…}} or {"status": 503, "headers": {…}, "body": "…"}; work is true, false, "cleared" or {"afterMs": 2000}.';

/**
 * A fault and the requests that meet it. A request meets the first fault that matches it.
 *
 * - `method` and `path` choose the requests; in a path without its query `*` stands for one
 *   segment. Default: all requests. `skip` of them pass before the first one meets the fault
 *   (default 0), and `times` meet it (default 1).
 * - `answer`: `reset` cuts the connection, `silence` leaves it open without an answer. The next five
 *   change the service's own answer: `held` delays it until the faults are cleared, `afterMs` delays
 *   it by this many milliseconds, `truncated` sends half of its JSON, `stale` is a list without the
 *   objects that were made after the fault was set, `fields` replace fields of its JSON. `status`
 *   with `headers` and `body` is another answer, by default HTML.
 * - `work`: whether the service still does the request. Default: only if the answer needs it. After
 *   an answer that needs no work, the service may do it late: when the faults are `cleared`, or
 *   `afterMs` milliseconds later.
 */
export type Fault = v.InferOutput<typeof fault>;

/** A fault that is set, and how many requests have met it. */
export type SetFault = Fault & { hits: number };

/** What a fault needs to know when it hits a request. */
interface Armed extends SetFault {
  passed: number;
  /** The ids of the objects that a stale list may have. */
  known: Set<unknown>;
}

type Late = "held" | { afterMs: number };

/** The faults of an emulator. */
export class Faults {
  #armed: Armed[] = [];
  #held: (() => void)[] = [];

  /** @internal `ids` has the ids of all objects. */
  constructor(private readonly ids: Set<string>) {}

  /** Adds faults after the existing ones. */
  add(...faults: Fault[]): void {
    const known = new Set<unknown>(this.ids);
    this.#armed.push(...faults.map((one) => ({ ...one, hits: 0, passed: 0, known })));
  }

  /** The faults that are set, including those that are used up. */
  list(): SetFault[] {
    return this.#armed.map(({ passed: _, known: __, ...one }) => one);
  }

  /** Removes all faults, and sends the held answers. */
  clear(): void {
    this.#armed = [];
    for (const release of this.#held.splice(0)) release();
  }

  /** @internal Applies the first fault that a request meets. */
  readonly apply: MiddlewareHandler<Env> = async (c, proceed) => {
    const met = this.#next(c);
    if (!met) return proceed();
    const { answer, known, work = needsWork(answer) } = met;
    if (isLate(answer)) {
      if (met.work === false) await this.#wait(answer).then(proceed);
      else await proceed().then(() => this.#wait(answer));
      return undefined;
    }
    if (typeof work !== "boolean") {
      void this.#wait(work === "cleared" ? "held" : work).then(proceed);
    } else if (work) await proceed();
    if (answer === "reset") c.env.incoming.socket.destroy();
    const ends = answer === "reset" || answer === "silence";
    const other = ends ? RESPONSE_ALREADY_SENT : await replacementOf(c.res, answer, known);
    // Set undefined first: otherwise Hono adds the headers of the service's own answer.
    c.res = undefined;
    c.res = other;
    return undefined;
  };

  #next({ req }: Context): Armed | undefined {
    for (const one of this.#armed) {
      if (!matches(one, req.method, req.path) || one.hits >= (one.times ?? 1)) continue;
      if (one.passed++ < (one.skip ?? 0)) continue;
      one.hits += 1;
      return one;
    }
    return undefined;
  }

  #wait(until: Late): Promise<void> {
    if (until === "held") return new Promise((resolve) => void this.#held.push(resolve));
    // Unreferenced, so that a closed emulator does not keep its process alive.
    return setTimeout(until.afterMs, undefined, { ref: false });
  }
}

function matches({ method, path }: Fault, asked: string, target: string): boolean {
  if (target.startsWith(control) || (method && method !== asked)) return false;
  if (!path) return true;
  const parts = path.split("/");
  const given = target.split("/");
  return parts.length === given.length && parts.every((one, n) => one === "*" || one === given[n]);
}

/** Whether the answer is made from the service's own answer. */
function needsWork(answer: Fault["answer"]): boolean {
  if (typeof answer === "object") return "fields" in answer;
  return answer === "truncated" || answer === "stale";
}

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

/** Serves the control of the faults. */
export function serveFaults(routes: Hono<Env>, faults: Faults): void {
  routes.use(control, refuseParameters());
  routes.get(control, (c) => c.json({ faults: faults.list() }));
  routes.post(control, (c) => {
    faults.add(readBody(c, fault, advice));
    return c.json({ faults: faults.list() }, 201);
  });
  routes.delete(control, (c) => {
    faults.clear();
    return c.body(null, 204);
  });
  refuseOtherMethods(routes, control, "GET, POST, DELETE");
}
