import type { RecordedRequest } from "pulumi-tlsedge-emulator";
import type { Scenario } from "./draw.ts";
import { Failure } from "./protocol.ts";
import type { Kind, Resource } from "./resource.ts";
import { isLike, type objects, paths } from "./service.ts";

/** What a run can have come to. It counts under the first of these that happened in it. */
export const outcomes = ["failed", "recorded", "adopted", "retried", "unharmed"] as const;

/** What was asked of the service while faults struck, and what came of it. */
export interface Asked {
  scenario: Scenario;
  requests: RecordedRequest[];
  errors: (Error | undefined)[];
}

type Objects = ReturnType<typeof objects>;

/** What the service has after the faults, against what the states hold. */
export interface Counts {
  objects: number;
  held: number;
  /** Left behind, and an error says so. */
  named: Objects;
  /** The ids of what is left behind with no word: orphans. */
  silent: string[];
  /** Objects beyond one for each resource. */
  duplicates: number;
}

export function count(
  { kind, operation, program }: Scenario,
  own: Objects,
  resources: Resource[],
  toAdopt: string[],
  errors: (Error | undefined)[],
): Counts {
  const held = new Set(resources.flatMap(({ id }) => id || []));
  const left = own.filter(({ id }) => !held.has(id) && !toAdopt.includes(id));
  const silent = unnamed(
    left,
    errors.map((error) => error?.message ?? ""),
  );
  const ofSame = program.map((args) => ({
    made: own.filter((object) => isLike(kind, args, object)).length,
    wanted: program.filter((other) => JSON.stringify(other) === JSON.stringify(args)).length,
  }));
  return {
    objects: own.length,
    held: held.size,
    named: left.filter(({ id }) => !silent.includes(id)),
    silent,
    // Each of those that are the same sees all the duplicates.
    duplicates:
      operation === "create" || operation === "adopt"
        ? Math.round(
            ofSame.reduce((sum, { made, wanted }) => sum + Math.max(0, made - wanted) / wanted, 0),
          )
        : 0,
  };
}

/** The ids of what is left that no error says anything of. */
export function unnamed(left: { id: string }[], errors: string[]): string[] {
  const ids = left.map(({ id }) => id).filter((id) => !errors.some((said) => said.includes(id)));
  // An error that can't know the id tells a person to look for the one object.
  return ids.slice(errors.filter((said) => said.includes("look for it")).length);
}

/** What a person can't make use of in an error. */
export function unclear(message: string, kind: Kind): string[] {
  const broken = /TypeError|Cannot read|is not a function|\[object |\bundefined\b|\bNaN\b|\n\s+at /;
  if (broken.test(message)) return [`an error that says nothing: ${message}`];
  return message.includes(paths[kind]) ? [] : [`an error that names no request: ${message}`];
}

export function outcomeOf(asked: Asked): (typeof outcomes)[number] {
  const { scenario, requests, errors } = asked;
  const recorded = (error: Error | undefined) => error instanceof Failure && error.recorded;
  if (errors.some((error) => error && !recorded(error))) return "failed";
  if (errors.some(recorded)) return "recorded";
  const { operation, program, kind } = scenario;
  if (operation === "create") {
    const isLook = ({ method, path }: RecordedRequest) =>
      method === "GET" && path.startsWith(`${paths[kind]}?`);
    const posts = requests.filter(({ method }) => method === "POST");
    if (posts.length > program.length) return "retried";
    return requests.some(isLook) ? "adopted" : "unharmed";
  }
  return isAgain(scenario, requests) ? "retried" : "unharmed";
}

/** Whether something was asked again, or in another way, because an answer was of no use. */
function isAgain({ answer }: Scenario, requests: RecordedRequest[]): boolean {
  const useless = ({ status }: RecordedRequest) =>
    status === 0 || (status >= 300 && status !== 404);
  const ofObjects = requests.flatMap(({ method, path }) =>
    path.includes("?") ? [] : `${method} ${path}`,
  );
  return (
    answer === "truncated" || requests.some(useless) || new Set(ofObjects).size < ofObjects.length
  );
}
