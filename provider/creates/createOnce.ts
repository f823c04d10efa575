import type { Client } from "../../client/client";
import { ConnectionError, ServiceError } from "../../client/errors";
import type { ServiceObject } from "../../client/fields";
import { refuseWrite } from "../account";
import { isLike, type Kind } from "../kind";
import { inform, warn } from "../log";
import type { Properties } from "../properties";
import {
  CreateRecord,
  hashOf,
  type Intent,
  isClaimed,
  isNamed,
  noteNamed,
  records,
  recordsBefore,
} from "./journal";
import { type Listed, type Look, listOf, pause } from "./lists";

/** The result of a create. */
export interface Creation<Wire> {
  wire: Wire;
  /** Why a part of the service's answer can't be used. */
  problem?: string;
  /** What the user should check. */
  warning?: string;
}

/** The objects that a POST with an unknown result may have created. */
interface Finding {
  candidates: Listed[];
  /**
   * Whether this is known: no candidate means that nothing was created so far, and one candidate is
   * the created object. Several are never sure.
   */
  isSure: boolean;
  /** Why the list could not be read. */
  error?: Error;
}

/** When a create looks for its object, in seconds after it lost the answer. */
const looksAt = [0, 1, 3, 7, 15, 18];
/** The seconds between later looks, while the service may still be at work. */
const laterGap = 8;
/** For how many seconds after its POST the object of an interrupted create is awaited. */
const awaitedFor = 60;
/** For how many seconds the list must show one object alone before a create keeps it. */
const aloneFor = 2;

/** The ids in the states of this run. No lost request has created them. */
const managed = new Set<string>();
/** The creates of this run. */
const created: Intent[] = [];
/** By base URL and content: settles when the last create of this content has ended. */
const queues = new Map<string, Promise<unknown>>();

/** Notes that the engine has this id in a state. */
export function noteManaged(id: string): void {
  managed.add(id);
}

/** Whether the engine has this id in a state of this run. */
export function isManaged(id: string): boolean {
  return managed.has(id);
}

/**
 * Creates one object for one resource (contract C33, C36, C84).
 *
 * The answer to a POST is lost when the service may have created the object although the POST failed:
 * a timeout, a reset, 408, any 5xx. The create never sends a lost POST again. It looks for its object
 * in the list, and keeps an object that is known to be its own:
 *
 * - The object is new: it was not in the list before the POST (the mark).
 * - It has the content of the inputs, and for a while it is the only such object.
 * - No create of this machine was ever answered with its id or kept it (the claims), and no error
 *   has named it as the object of another create.
 * - No other POST of this content has an unknown result (the records).
 *
 * Otherwise the create fails, its error says what is known, and its record remains. When the next run
 * on this machine creates this content or this resource, it looks again. If there is an object,
 * that create fails too and names it, and the record ends. If there is none, it creates the object,
 * and later creates look again: the service may have been slow.
 *
 * Another machine has no claims and no records here. If it creates equal content in the same account
 * at the same time, a lost create may keep the other machine's object. The warning is about this.
 *
 * @param post Sends the request, and calls `onSend` just before. It may send another one when the
 * service has surely refused the first.
 * @param urn The resource; undefined when the engine does not name it.
 * @throws Error when it is not known what a POST has created. Other errors are thrown unchanged.
 */
export function createOnce<Wire extends Listed>(
  kind: Kind,
  client: Client,
  inputs: Properties,
  urn: string | undefined,
  post: (onSend: () => void) => Promise<Wire>,
): Promise<Creation<Wire>> {
  const create = new Create(kind, client, inputs, urn, post);
  const { service, content } = create.intent;
  const key = `${service} ${content}`;
  const result = (queues.get(key) ?? Promise.resolve()).then(() => create.run());
  queues.set(
    key,
    result.catch(() => {}),
  );
  return result;
}

/**
 * Ends the records of creates that the engine has stored, at the orderly end of a run. Warns of
 * objects whose process ended before the engine could store them, if this run has created
 * equal ones: they may be in no state (contract C84).
 */
export async function endCreates(): Promise<void> {
  const lost: string[] = [];
  for (const record of records() ?? []) {
    const { id } = record;
    if (id === undefined) continue;
    const isStored = record.isOwn || managed.has(id);
    const isLost = !isStored && created.some((one) => record.isLike(one));
    if (isLost && !(await record.isLive())) lost.push(id);
    if (isStored || lost.includes(id)) record.drop();
  }
  if (lost.length === 0) return;
  warn(
    `an interrupted update has created ${lost.join(", ")}, and no resource of this run has it. If ` +
      "no stack has it (`pulumi stack --show-ids`), delete it",
    "run",
  );
}

class Create<Wire extends Listed> {
  readonly intent: Intent;
  readonly #list: ReturnType<typeof listOf>;
  /** The second of the looks: shorter when the deadline is short. */
  readonly #secondMs: number;
  #record: CreateRecord | undefined;

  constructor(
    readonly kind: Kind,
    readonly client: Client,
    readonly inputs: Properties,
    urn: string | undefined,
    readonly post: (onSend: () => void) => Promise<Wire>,
  ) {
    this.#list = listOf(client, kind);
    this.#secondMs = Math.min(1000, client.deadlineMs / 120);
    this.intent = {
      service: client.baseUrl.href,
      account: client.fingerprint,
      content: this.#contentOf(inputs) ?? "",
      resource: urn === undefined ? "" : hashOf(urn),
    };
    created.push(this.intent);
  }

  async run(): Promise<Creation<Wire>> {
    await refuseWrite(this.client);
    for (const record of recordsBefore()) await this.#settle(record);
    // Without a mark the create goes on. Then the object of a lost answer can't be known.
    await this.#list.readMark().catch(() => {});
    const onSend = () => {
      this.#record?.drop();
      this.#record = CreateRecord.open({ ...this.intent, mark: this.#list.mark });
    };
    try {
      const creation = await this.post(onSend).then((wire) => ({ wire }), partlyAnswered<Wire>);
      this.#refuseClaimed(creation.wire);
      return creation;
    } catch (error) {
      if (isLost(error) && this.#record) return this.#find(error, this.#record);
      this.#record?.drop();
      throw error;
    }
  }

  #refuseClaimed({ id }: Wire): void {
    this.#list.noteAnswered(id);
    if (this.#record?.answer(this.intent.service, id) !== "another's") return;
    throw new Error(
      `the service answered the create of this ${this.kind.title} with ${id}, which belongs ` +
        "to another resource: find out with `pulumi stack --show-ids` which resource has it",
    );
  }

  /** Finds the object of the lost POST. */
  async #find(error: Error, record: CreateRecord): Promise<Creation<Wire>> {
    const doubt = `${error.message}. The service may have created this ${this.kind.title} nevertheless`;
    const again =
      "Run `pulumi up` again on this machine: it looks for the object before it creates one";
    const mayCome = () => isSlow(error) && this.client.leftMs > 0;
    const intent = record.intent as Intent;
    const found = await this.#lookRepeatedly(intent, looksAt, mayCome).catch((cause: Error) => {
      throw new Error(`${doubt}, and the list can't be read (${cause.message}). ${again}`);
    });
    const [wire] = found.candidates;
    if (wire && found.isSure && this.#take(wire, record)) {
      return { wire: wire as Wire, warning: warningOf(wire.id) };
    }
    throw new Error(`${doubt}. ${knownOf(found)}. ${again}`);
  }

  /** Keeps an object; false when it may be that of another create. */
  #take({ id }: Listed, record: CreateRecord): boolean {
    const others = records()?.filter(({ name }) => name !== record.name);
    const isAlone = others?.every(
      (other) => !other.isLike({ ...this.intent, resource: "" }) || other.id,
    );
    if (!isAlone || record.answer(this.intent.service, id) !== "own") return false;
    this.#list.noteAnswered(id);
    return true;
  }

  /**
   * Settles a record that a process has left which has died, if it is of this content or resource.
   *
   * @throws Error that names what its POST may have created.
   */
  async #settle(record: CreateRecord): Promise<void> {
    if (!record.isLike(this.intent) || record.id !== undefined) return;
    const { intent } = record;
    if (intent?.service !== this.intent.service || (await record.isLive())) return;
    const doubt = `an interrupted update may have created this ${this.kind.title} already`;
    // At most the whole time: the clock may have been set back.
    const leftMs = awaitedFor * this.#secondMs - Math.max(0, record.ageMs);
    const endsAt = performance.now() + (record.wasLookedFor ? 0 : leftMs);
    const mayCome = () => performance.now() < endsAt;
    if (mayCome()) inform(`${doubt}: looking for it`);
    const times = record.wasLookedFor ? looksAt.slice(0, 3) : looksAt;
    const found = await this.#lookRepeatedly(intent, times, mayCome).catch((cause: Error) => {
      throw new Error(`${doubt}, and the list can't be read (${cause.message}). Try again`);
    });
    // Its process has got the answer after its engine had died: the end of this run names the object.
    if (record.id !== undefined) return;
    // Another process has settled it.
    if (record.intent === undefined) return;
    const isNothing = found.candidates.length === 0;
    // The list of another account says nothing.
    if (isNothing && !found.isSure && intent.account !== this.intent.account) return;
    // The record remains: the service may create the object later, and then it is named.
    if (isNothing && found.isSure) {
      record.noteLook();
      return inform(
        `${doubt}, but the list does not show it: this run creates one. If the service makes the ` +
          "other one later, `npx --no pulumi-tlsedge status` lists both",
      );
    }
    noteNamed(found.candidates);
    const isEnded = record.drop();
    const key =
      intent.account === this.intent.account
        ? ""
        : " That update used another API key: if it was of another account, it created none of these.";
    const told =
      `${doubt}. ${knownOf(found)}.${key} If the resource was renamed and the stack has the object ` +
      "under the old name, put the old name into the resource option `aliases`. If no stack has " +
      "the object (`pulumi stack --show-ids`), delete it or, unless this is a replacement, adopt " +
      "it with the resource option `import`";
    if (isEnded) throw new Error(`${told}. The next \`pulumi up\` creates a new object`);
    warn(told);
  }

  /**
   * Looks until one object was alone for a while, or the time is over.
   *
   * @param mayCome Whether to go on after these times: the service may still be at work.
   * @throws Error when the last look could not read the list.
   */
  async #lookRepeatedly(intent: Intent, times: number[], mayCome: () => boolean): Promise<Finding> {
    let found: Finding = { candidates: [], isSure: false };
    let since = 0;
    let last = 0;
    let hasNew = false;
    let more = 1;
    // The claim of a new candidate may come: another process may have no answer yet.
    for (const at of timesWhile(times, () => mayCome() || (hasNew && more-- > 0))) {
      await pause((at - last) * this.#secondMs);
      last = at;
      const known = found.candidates.map(({ id }) => id);
      const before = found.isSure ? known[0] : undefined;
      found = await this.#look(intent);
      hasNew = found.candidates.some(({ id }) => !known.includes(id));
      const [wire] = found.candidates;
      if (!wire || !found.isSure || wire.id !== before) since = at;
      else if (at - since >= aloneFor) return found;
    }
    if (found.error) throw found.error;
    return found.candidates.length === 0 ? found : { ...found, isSure: false };
  }

  async #look(intent: Intent): Promise<Finding> {
    try {
      return await this.#lookOnce(intent);
    } catch (error) {
      return { candidates: [], isSure: false, error: error as Error };
    }
  }

  async #lookOnce({ mark, content, account }: Intent): Promise<Finding> {
    const isMarked = ({ id }: Listed) => mark?.ids.includes(id) === true;
    const isEnough = ({ wires }: Look) => mark?.isWhole !== true && wires.some(isMarked);
    const { wires, isWhole } = await this.#list.look(this.#secondMs, isEnough);
    const candidates = wires.filter(
      (wire) =>
        !isMarked(wire) &&
        !managed.has(wire.id) &&
        this.#contentOf(wire) === content &&
        !isClaimed(wire.id),
    );
    // With another key, the list may be that of another account.
    const isOwnList = isWhole && account === this.intent.account;
    if (isOwnList && mark?.isWhole) return this.#found(candidates, candidates);
    const last = wires.findLastIndex(isMarked);
    if (last < 0) return { candidates, isSure: candidates.length === 0 && isOwnList };
    // What stands between marked objects may be new too: a service may not keep the order.
    const isBefore = (place: number) => (wire: Listed) => wires.indexOf(wire) < place;
    const first = wires.findIndex(isMarked);
    return this.#found(candidates.filter(isBefore(last)), candidates.filter(isBefore(first)));
  }

  /** @param certain Those of the candidates that are certainly new. */
  #found(candidates: Listed[], certain: Listed[]): Finding {
    const isOne = candidates.length === 1 && certain.length === 1;
    // The user decides about an object that an error has named.
    const isFree = isOne && !candidates.some(({ id }) => isNamed(id));
    const isOwn = isFree && isLike(this.kind, candidates[0] as ServiceObject, this.inputs);
    return { candidates, isSure: candidates.length === 0 || isOwn };
  }

  #contentOf(object: object): string | undefined {
    const content = this.kind.key(object);
    return content === undefined ? undefined : hashOf(this.kind.title, content);
  }
}

/** The times, and later ones while the condition holds. */
function* timesWhile(times: number[], mayCome: () => boolean): Generator<number> {
  yield* times;
  for (let at = (times.at(-1) ?? 0) + laterGap; mayCome(); at += laterGap) yield at;
}

/** An answer with an id is enough: the rest of the object can be read later. */
function partlyAnswered<Wire extends Listed>(error: unknown): Creation<Wire> {
  const usable = error instanceof ConnectionError ? error.usable : undefined;
  if (!usable?.id) throw error;
  const wire = { uri: "", created_at: "", ...usable } as unknown as Wire;
  return { wire, problem: (error as ConnectionError).message };
}

/** Whether the service may have created the object although the POST failed. */
function isLost(error: unknown): error is Error {
  const isOfRequest = error instanceof ServiceError || error instanceof ConnectionError;
  return isOfRequest && error.method === "POST" && error.ambiguous;
}

/** Whether the service may still be at work on the request. */
function isSlow(error: Error): boolean {
  if (error instanceof ServiceError) return [408, 504, 524].includes(error.status);
  return error instanceof ConnectionError && error.code === "ETIMEDOUT";
}

function knownOf({ candidates, isSure }: Finding): string {
  const ids = candidates.map(({ id }) => id).join(", ");
  if (ids) return `It may be one of these objects with the same content, or none of them: ${ids}`;
  return isSure
    ? "So far the list shows no new object with this content"
    : "The list does not show what was there before";
}

const warningOf = (id: string) =>
  `the answer to this create was lost. ${id} is new and has the content of this resource, so this ` +
  "resource keeps it. If another machine creates equal objects in this account, check with " +
  `\`pulumi stack --show-ids\` that no other stack has ${id}`;
