import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TLSCertificateWire } from "pulumi-tlsedge/client/tlsCertificate";
import type { TLSEdgeWire } from "pulumi-tlsedge/client/tlsEdge";
import type { Emulator } from "pulumi-tlsedge-emulator";
import type { Properties } from "./protocol.ts";
import type { Kind } from "./resource.ts";
import type { Stack } from "./stack.ts";
import type { Stage } from "./stage.ts";

/** What every run is judged by. */
export const promises = {
  duplicate: "No create makes two objects of which nothing is said",
  shared: "No two resources have one object",
  orphan: "No object is left that no state has and nothing names",
  accused:
    "No error names an object that another resource, or someone else, has, unless it was made in the second before its process was killed",
  gone: "No fault makes an object look deleted",
  stuck: "An `up` without faults succeeds, once what an error names is adopted or deleted",
  differs: "Then the service has what the program says, and another `up` has nothing to do",
  leak: "No key stands in what is printed, answered or stored",
  clear: "No error is one of JavaScript's own, and no process ends by itself",
} as const;

export interface Broken {
  promise: keyof typeof promises;
  text: string;
}

export type Wire = TLSEdgeWire | TLSCertificateWire;

/** The objects of a kind, as the service has them: newest first. */
export function objects(emulator: Emulator, kind: Kind): Wire[] {
  return kind === "tlsEdge" ? emulator.tlsEdges.list() : emulator.tlsCertificates.list();
}

/** What happens behind everybody's back. */
export function behind(emulator: Emulator, kind: Kind) {
  return kind === "tlsEdge" ? emulator.tlsEdges : emulator.tlsCertificates;
}

/** Whether an object is what a program's arguments make: judged here, not by the provider. */
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

/** Two resources with one object: whichever is destroyed first breaks the other. */
export function shared(stacks: Stack[]): Broken[] {
  const ids = stacks.flatMap((stack) => stack.ids);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return [...twice].map((id) => ({ promise: "shared", text: `${id} is in two states: ${ids}` }));
}

/** What no state has and nothing names; it is made twice when all creates have their object. */
export function unnamed(stacks: Stack[], left: Wire[], all: Wire[]): Broken[] {
  const said = stacks.map((stack) => stack.said).join("\n");
  const programs = stacks.flatMap((stack) => stack.program);
  return left
    .filter(({ id }) => !said.includes(id))
    .map((object) => {
      const wanted = programs.filter((args) => isLike(args, object)).length;
      const made = all.filter((one) => isLike(programs.find(is(object)) ?? {}, one)).length;
      const promise = wanted > 0 && made > wanted ? "duplicate" : "orphan";
      return { promise, text: `${object.id} is in no state, and nothing names it` };
    });
}

const is = (object: Wire) => (args: Properties) => isLike(args, object);

/** What a create's error offers for deletion though another resource has it, or someone else. */
export function accused(
  stacks: Stack[],
  heldBefore: Set<string>,
  others: string[],
  unsure: Set<string>,
): Broken[] {
  return stacks.flatMap((stack) =>
    stack.errors.flatMap((error, index) => {
      const own = stack.resources[index];
      if (!error || own?.id) return [];
      const held = [...heldBefore, ...stack.ids, ...others].filter((id) => !unsure.has(id));
      const ids = held.filter((id) => said(error, id));
      return ids.length === 0 ? [] : [{ promise: "accused" as const, text: error.message }];
    }),
  );
}

const said = (error: Error, id: string) => error.message.includes(id);

/** Errors that say nothing, and keys where none may stand (contract C4, C50). */
export function unclear(stacks: Stack[], { secrets }: Stage): Broken[] {
  const nonsense = /TypeError|Cannot read|is not a function|\[object |\bNaN\b|\n\s+at .+:\d+:\d+/;
  return stacks.flatMap((stack): Broken[] => {
    const states = JSON.stringify(stack.resources.map(({ state }) => state));
    const keys = secrets.in(stack.heard + states);
    const lines = stack.said.split("\n").filter((line) => nonsense.test(line));
    return [
      ...keys.map((name) => ({ promise: "leak" as const, text: `${name} was found` })),
      ...lines.map((text) => ({ promise: "clear" as const, text })),
      ...(stack.hasCrashed ? [{ promise: "clear" as const, text: "a process ended" }] : []),
    ];
  });
}
