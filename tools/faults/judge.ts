import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TLSCertificateWire } from "../../client/tlsCertificate";
import type { TLSEdgeWire } from "../../client/tlsEdge";
import type { Collection, Emulator, RecordedRequest } from "../../emulator/server";
import type { Properties } from "../resource";
import type { Account } from "./account";
import type { Kind, Resource } from "./resource";
import type { Stack } from "./stack";

/** What every run must keep, for users: `docs/contract.md`. */
export const promises = {
  duplicate: "No create makes two objects, unless an error or a warning names the second.",
  shared:
    "No two resources get the same object, also one after the other. Where they are in two stacks, or in two providers of the plugin, a warning must name the object.",
  taken: "No create keeps an object that was the answer to an earlier create.",
  resent: "No create sends its POST again after a lost answer.",
  orphan:
    "An error or a warning names each object that no state has, at the latest in the next plan. There are two exceptions: the inputs were edited since; and two stacks made equal objects at the same time, where a warning names the one that was kept.",
  misleading:
    "No error names an object that another resource of the stack or another user has. There is one exception: the object was created in the second before its provider was killed.",
  gone: "No fault makes an object look deleted, and no object of a resource that stays is deleted.",
  stuck:
    "When the objects that errors name are adopted or deleted, an `up` without faults succeeds, and a few of them create everything.",
  differs: "Then the service has what the program says, and another `up` has nothing to do.",
  leak: "No output, answer or state holds a key.",
  clear: "No error is one of JavaScript's own, and no process ends by itself.",
} as const;

/** A promise that a run has broken, and how. */
export interface Broken {
  promise: keyof typeof promises;
  text: string;
}

/** An object as the service returns it. */
export type Wire = TLSEdgeWire | TLSCertificateWire;

/** The objects of a kind on the emulator; changes of them make no request. */
export function stored(
  emulator: Pick<Emulator, "tlsEdges" | "tlsCertificates">,
  kind: Kind,
): Pick<Collection<Wire>, "list" | "get" | "patch" | "delete"> {
  return (kind === "tlsEdge"
    ? emulator.tlsEdges
    : emulator.tlsCertificates) as unknown as Collection<Wire>;
}

/** Whether an object has the content that a program's arguments ask for. Uses no provider code. */
export function isLike(args: Properties, object: Wire): boolean {
  const labels = [args.description ?? "", args.metadata ?? ""];
  if (!isDeepStrictEqual(labels, [object.description ?? "", object.metadata ?? ""])) return false;
  if ("certificate_pem" in object) {
    return fingerprint(object.certificate_pem) === fingerprint(String(args.certificatePem));
  }
  const { ip_restriction, hostports } = object as TLSEdgeWire;
  const refs = [ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
  const { ipPolicyIds = [] } = (args.ipRestriction ?? {}) as { ipPolicyIds?: string[] };
  return (
    isDeepStrictEqual(refs, ipPolicyIds) && isDeepStrictEqual(hostports ?? [], args.hostports ?? [])
  );
}

function fingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256;
}

type Having = Pick<Resource, "id" | "name" | "home">;

/** Which resource has had which object, in all the commands of a run. */
export class Owners {
  /** Ids that were answered to a create, and that no state has because the engine was killed. */
  readonly unstored = new Set<string>();
  /** Whether two processes share an object, which a message names: neither can know. */
  isExcused = false;
  readonly #owners = new Map<string, Having>();

  /** The user gives the object to another resource. */
  release(id: string): void {
    this.#owners.delete(id);
    this.unstored.delete(id);
  }

  /** Whether the resource that had the object has it no more. */
  hasLost(id: string): boolean {
    const owner = this.#owners.get(id);
    return owner !== undefined && owner.id !== id;
  }

  /** Objects that two resources have had: the first one that is destroyed breaks the other. */
  judge(resources: Having[], messages: string): Broken[] {
    const broken: Broken[] = [];
    for (const resource of resources.filter(({ id }) => id)) {
      const { id, name, home } = resource;
      const owner = this.#owners.get(id) ?? resource;
      this.#owners.set(id, owner);
      const text = `${name} has ${id}`;
      if (this.unstored.has(id)) broken.push({ promise: "taken", text });
      // A replaced resource may have adopted its own old object.
      if (owner === resource || owner.name === name) continue;
      if (owner.home !== home && messages.includes(id)) this.isExcused = true;
      else broken.push({ promise: "shared", text: `${text}, as ${owner.name}` });
    }
    return broken;
  }
}

/** How many creates the resources have been asked for, by the description of the object. */
export function countCreates(stacks: Stack[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { resources, program } of stacks) {
    for (const [index, { creates }] of resources.entries()) {
      const description = String(program[index]?.description);
      counts.set(description, (counts.get(description) ?? 0) + creates);
    }
  }
  return counts;
}

/** Creates that were sent again after a lost answer. A refused one may be sent again. */
export function resent(
  sent: RecordedRequest[],
  before: Map<string, number>,
  after: Map<string, number>,
): Broken[] {
  const isRefused = (status: number) => status >= 400 && status < 500 && status !== 408;
  const posts = sent.filter(({ method, status }) => method === "POST" && !isRefused(status));
  return [...after].flatMap(([description, count]) => {
    const asked = count - (before.get(description) ?? 0);
    const of = posts.filter(({ body }) => (body as Properties).description === description);
    if (of.length <= asked) return [];
    const statuses = of.map(({ status }) => status).join(", ");
    return [{ promise: "resent", text: `${asked} creates, and POSTs that got ${statuses}` }];
  });
}

/** What the user has read. */
export const messagesOf = (stacks: Stack[]): string =>
  stacks.map(({ messages }) => messages).join("\n");

/** Objects that no state has and no message names: duplicates if all creates have an object. */
export function unnamed(stacks: Stack[], left: Wire[], all: Wire[]): Broken[] {
  const messages = messagesOf(stacks);
  const programs = stacks.flatMap((stack) => stack.program);
  return left
    .filter(({ id }) => !messages.includes(id))
    .map((object) => {
      const equal = programs.filter((args) => isLike(args, object));
      const made = all.filter((one) => isLike(equal[0] ?? {}, one)).length;
      const isDuplicate = equal.length > 0 && made > equal.length;
      const text = `${object.id} is in no state, and nothing names it`;
      return { promise: isDuplicate ? "duplicate" : "orphan", text };
    });
}

/** Errors of creates that name an object of another resource or user, as if it could be deleted. */
export function misleading(
  stacks: Stack[],
  held: Map<string, Resource>,
  others: string[],
  unsure: Set<string>,
): Broken[] {
  return stacks.flatMap(({ errors, resources, program }) =>
    errors.flatMap((error, index) => {
      const resource = resources[index];
      // The option `import` names an object that a state may have.
      if (!error || !resource || resource.id || program[index]?.__import) return [];
      const inProcess = [...held].flatMap(([id, { home }]) => (home === resource.home ? id : []));
      // Where the old object is deleted first, the error may be that of its delete.
      const { old, deletesFirst } = resource.replacement ?? {};
      const own = deletesFirst ? old?.id : undefined;
      const known = [...inProcess, ...others].filter((id) => !unsure.has(id) && id !== own);
      if (!known.some((id) => error.message.includes(id))) return [];
      return [{ promise: "misleading" as const, text: error.message }];
    }),
  );
}

/** Messages that explain nothing, and keys in what is printed, answered or stored. */
export function unclear(stacks: Stack[], { secrets }: Account): Broken[] {
  const nonsense = /TypeError|Cannot read|is not a function|\[object |\bNaN\b|\n\s+at .+:\d+:\d+/;
  return stacks.flatMap((stack): Broken[] => {
    const states = JSON.stringify(stack.resources.map(({ state }) => state));
    const keys = secrets.in(stack.output + states);
    const lines = stack.messages.split("\n").filter((line) => nonsense.test(line));
    return [
      ...keys.map((name) => ({ promise: "leak" as const, text: `${name} was found` })),
      ...lines.map((text) => ({ promise: "clear" as const, text })),
      ...(stack.hasCrashed ? [{ promise: "clear" as const, text: "a process ended" }] : []),
    ];
  });
}
