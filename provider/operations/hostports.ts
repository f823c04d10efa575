import { ServiceError } from "../../client/errors";
import type { ServiceObject } from "../../client/fields";
import { hostportsOf } from "../kinds/hostport";
import type { Kind } from "../kinds/kind";
import type { Properties } from "../kinds/properties";
import { idAndTime } from "../kinds/state";
import { type ListItem, pause } from "../run/objects";
import type { Account, ManagedObject, Move } from "../run/run";

/** The pauses before a refused write is sent again, in seconds: together 20. */
const pauses = [0.3, 0.7, 1, 2, 4, 6, 6];

/**
 * Plans the hostports of an edge, from the diff of a resource of the program.
 *
 * @throws Error when edges wait for each other: each takes a hostport that the next one has. No order of
 * updates can do that. An edge that is replaced waits for none, because it is deleted first.
 */
export function planHostports(
  object: ManagedObject,
  state: Properties,
  inputs: Properties,
  isReplaced: boolean,
): void {
  const { kind, account, title, known } = object;
  const { moves, secrets } = account.run;
  const key = (hostport: string) => `${account.client.baseUrl.href} ${hostport}`;
  // An edge may have several diffs.
  for (const one of known.move?.from ?? []) moves.delete(key(one));
  delete known.move;
  const [from, to] = [hostportsOf(kind, state), hostportsOf(kind, inputs)];
  const move = { title, from, takes: to.difference(from) };
  if (move.takes.size === 0 || isReplaced) return;
  known.move = move;
  for (const one of from) moves.set(key(one), move);
  const next = ({ takes }: Move) => [...takes].flatMap((one) => moves.get(key(one)) ?? []);
  const circle = wayBack(move, next);
  if (!circle) return;
  const isSecret = (hostport = "") => [...secrets].some((one) => one.toLowerCase() === hostport);
  const parts = circle.map(({ title, takes }) => {
    const taken = [...takes].find((one) => moves.has(key(one)));
    return `${title} takes ${isSecret(taken) ? "[secret]" : taken}`;
  });
  throw new Error(
    `these edges exchange hostports, which one update can't do: ${parts.join(", ")}. Make two updates: in the first, one ` +
      "of them gives up the hostport and takes no other; or replace one of them in an update of its own",
  );
}

/** The moves from one back to itself; undefined where no way leads back. */
function wayBack(start: Move, next: (move: Move) => Move[]): Move[] | undefined {
  const seen = new Set<Move>();
  const from = (move: Move): Move[] | undefined => {
    for (const one of next(move)) {
      if (one === start) return [move];
      if (seen.has(one)) continue;
      seen.add(one);
      const way = from(one);
      if (way) return [move, ...way];
    }
    return undefined;
  };
  return from(start);
}

/**
 * Creates or updates an object. If the service refuses a hostport that another edge has, the write is sent
 * again for 20 seconds: this run, or another provider of it, may take the hostport from that edge (contract
 * C38). It never writes to that edge.
 *
 * @param id The edge that is updated; undefined for a create.
 * @throws Error that names the edge and says what to do. Other errors are thrown unchanged.
 */
export async function setHostports<Wire extends ServiceObject>(
  kind: Kind,
  account: Account,
  { id, body }: { id?: string; body: object },
  send: () => Promise<Wire>,
): Promise<Wire> {
  const hostports = hostportsOf(kind, body);
  const isHolder = (wire: ListItem) =>
    wire.id !== id && !hostportsOf(kind, wire).isDisjointFrom(hostports);
  const trySend = (): Promise<Wire | ServiceError> =>
    send().catch((error) => {
      const isRefused = error instanceof ServiceError && [400, 409].includes(error.status);
      if (isRefused && hostports.size > 0) return error;
      throw error;
    });
  let answer = await trySend();
  let holder: ListItem | undefined;
  for (const seconds of pauses) {
    if (!(answer instanceof ServiceError)) return answer;
    await pause(seconds * account.waitUnitMs);
    if (!holder) {
      const reading = account.objects(kind).list(performance.now());
      holder = (await reading.catch(() => Promise.reject(answer))).items.find(isHolder);
    }
    answer = await trySend();
    // Either the hostport has become free meanwhile, or the service refuses something else.
    if (!holder) break;
  }
  if (!(answer instanceof ServiceError)) return answer;
  if (!holder) throw answer;
  const option = id
    ? ""
    : ". If this resource replaces that edge, set its resource option `deleteBeforeReplace`";
  throw new Error(
    `${answer.message}. The edge ${idAndTime(holder)} serves it. If it gives it up in this update, run ` +
      `\`pulumi up\` again. ${remediesFor(holder)}${option}`,
  );
}

/** What to do about an edge that has a wanted hostport, the likeliest case first. */
export function remediesFor({ id }: ListItem): string {
  return (
    "If a resource was renamed, set its option `aliases`. If that edge leaves this program, make two updates: first " +
    "give it no hostports, then remove it. If another stack has it, remove the hostport there. If no stack has it, " +
    `adopt it: set the resource option \`import\` to ${id}`
  );
}
