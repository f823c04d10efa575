import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TLSCertificateWire } from "../../client/tlsCertificate";
import type { TLSEdgeWire } from "../../client/tlsEdge";
import type { Emulator } from "../../emulator/server";
import type { Properties } from "../protocol";
import type { Account } from "./account";
import type { Kind } from "./resource";
import type { Stack } from "./stack";

/** What every run must keep. */
export const promises = {
  duplicate: "No create makes two objects unless an error or a warning names the second",
  shared: "No two resources have one object",
  orphan: "No object is left that no state has and no error or warning names",
  misleading:
    "No error names an object that another resource or another user has, unless the object was created in the second before its provider was killed",
  gone: "No fault makes an object look deleted",
  stuck:
    "Once the objects that errors name are adopted or deleted, an `up` without faults succeeds",
  differs: "Then the service has what the program says, and another `up` has nothing to do",
  leak: "No output, answer or state holds a key",
  clear: "No error is one of JavaScript's own, and no process ends by itself",
} as const;

/** A promise that a run has broken, and how. */
export interface Broken {
  promise: keyof typeof promises;
  text: string;
}

/** An object as the service returns it. */
export type Wire = TLSEdgeWire | TLSCertificateWire;

/** The objects of a kind on the emulator; changes of them make no request. */
export function stored(emulator: Emulator, kind: Kind) {
  return kind === "tlsEdge" ? emulator.tlsEdges : emulator.tlsCertificates;
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

/** Objects in two states: the first resource that is destroyed breaks the other. */
export function shared(stacks: Stack[]): Broken[] {
  const ids = stacks.flatMap((stack) => stack.ids);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return [...twice].map((id) => ({ promise: "shared", text: `${id} is in two states: ${ids}` }));
}

/** Objects that no state has and no message names: duplicates if all creates have an object. */
export function unnamed(stacks: Stack[], left: Wire[], all: Wire[]): Broken[] {
  const messages = stacks.map((stack) => stack.messages).join("\n");
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
  heldBefore: Set<string>,
  others: string[],
  unsure: Set<string>,
): Broken[] {
  return stacks.flatMap(({ errors, resources, ids }) => {
    const held = [...heldBefore, ...ids, ...others].filter((id) => !unsure.has(id));
    return errors.flatMap((error, index) =>
      error && !resources[index]?.id && held.some((id) => error.message.includes(id))
        ? [{ promise: "misleading" as const, text: error.message }]
        : [],
    );
  });
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
