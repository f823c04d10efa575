import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TLSCertificateWire } from "../../client/tlsCertificate";
import type { TLSEdgeWire } from "../../client/tlsEdge";
import type { RecordedRequest } from "../../emulator/server";
import type { Properties } from "../resource";
import type { Resource, Stack } from "./stack";

/** What every sequence must keep, for users: `docs/contract.md`. */
const promises = {
  duplicate: "No create makes two objects, unless an error or a warning names the second.",
  shared:
    "No two resources get the same object, also one after the other. Where they are in two stacks, or in two providers of the plugin, a warning must name the object.",
  taken: "No create keeps an object of another user, or that was the answer to an earlier create.",
  resent: "No create sends its POST again after a lost answer.",
  orphan:
    "An error or a warning names each object that no state has, at the latest in the next plan. There are two exceptions: the inputs were edited since; and two stacks made equal objects at the same time, where a warning names the one that was kept.",
  misleading:
    "No error names an object that another resource of the stack or another user has. There are two exceptions: the object was created in the second before its provider was killed; and an equal create of the same command got it after an error had said that it may be the object, or none.",
  unstored: "The state has each object of which an error says so.",
  gone: "No fault makes an object look deleted, and no object of a resource that stays is deleted.",
  stuck:
    "When the objects that errors name are adopted or deleted, an `up` without faults succeeds, and a few of them create everything.",
  differs: "Then the service has what the program says, and another `up` has nothing to do.",
  leak: "No output, answer or state holds a key.",
  clear: "No error is one of JavaScript's own, and no process ends by itself.",
};

/** A promise that a sequence has broken: it ends there. */
export class Broken extends Error {
  constructor(promise: keyof typeof promises, text: string) {
    super(`${promise}: ${text}\n  ${promises[promise]}`);
  }
}

/** An object as the service has it. */
export type Wire = TLSEdgeWire & Partial<TLSCertificateWire>;

/** Whether an object has the content that a program's arguments ask for. Uses no provider code. */
export function isLike(args: Properties, object: Wire): boolean {
  const leaf = (pem: unknown) => pem && new X509Certificate(String(pem)).fingerprint256;
  const refs = [object.ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
  const { ipPolicyIds = [] } = (args.ipRestriction ?? {}) as { ipPolicyIds?: string[] };
  const { description, metadata = "", certificatePem, hostports = [] } = args;
  return isDeepStrictEqual(
    [description, metadata, leaf(certificatePem), ipPolicyIds, hostports],
    [
      object.description,
      object.metadata ?? "",
      leaf(object.certificate_pem),
      refs,
      object.hostports ?? [],
    ],
  );
}

/** A create sends one POST. A refused one may be sent again. */
export function judgeRequests(sent: RecordedRequest[], all: Resource[]): void {
  const isRefused = (status: number) => status >= 400 && status < 500 && status !== 408;
  const counts = new Map<unknown, number>();
  for (const { method, status, body } of sent) {
    if (method !== "POST" || isRefused(status)) continue;
    const { description } = body as Properties;
    counts.set(description, (counts.get(description) ?? 0) + 1);
  }
  for (const [description, count] of counts) {
    const of = all.filter(({ args }) => args?.description === description);
    const asked = of.reduce((sum, { creates }) => sum + creates, 0);
    if (count > asked) throw new Broken("resent", `${count} POSTs of ${asked} creates`);
  }
}

/** Messages explain something, and nothing holds a key. */
export function judgeTexts(stacks: Stack[], secretsIn: (text: string) => string[]): void {
  const nonsense =
    /.*(TypeError|Cannot read|is not a function|\[object |\bNaN\b|ended by itself).*|\n\s+at .+:\d+:\d+/;
  for (const { all, output, messages } of stacks) {
    const found = secretsIn(output + JSON.stringify(all.map(({ state }) => state)));
    if (found.length > 0) throw new Broken("leak", found.join());
    const [line] = nonsense.exec(messages) ?? [];
    if (line) throw new Broken("clear", line);
  }
}
