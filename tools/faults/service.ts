import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  Client,
  type TLSCertificateWire,
  type TLSEdgeMutation,
  type TLSEdgeWire,
  tlsCertificates,
  tlsEdges,
} from "pulumi-tlsedge/client";
import type { Emulator } from "pulumi-tlsedge-emulator";
import type { Properties } from "./protocol.ts";
import type { Kind } from "./resource.ts";

/** What a program may say of an edge's modules. */
interface Modules {
  backend?: { enabled?: boolean; backendId: string };
  ipRestriction?: { enabled?: boolean; ipPolicyIds: string[] };
  mutualTls?: { enabled?: boolean; certificateAuthorityIds: string[] };
  tlsTermination?: { enabled?: boolean; terminateAt?: string; minVersion?: string };
}

/** Where the service has the objects of a kind. */
export const paths: Record<Kind, string> = {
  tlsEdge: "/edges/tls",
  tlsCertificate: "/tls_certificates",
};

/** The objects of a kind, as the service has them: newest first. */
export function objects(emulator: Emulator, kind: Kind): (TLSEdgeWire | TLSCertificateWire)[] {
  return kind === "tlsEdge" ? emulator.tlsEdges.list() : emulator.tlsCertificates.list();
}

/** What happens behind everybody's back. */
export function behind(emulator: Emulator, kind: Kind) {
  return kind === "tlsEdge" ? emulator.tlsEdges : emulator.tlsCertificates;
}

/** The client of someone else in the same account. */
export function stranger({ url, apiKey }: Emulator, caFile: string): Client {
  return new Client({ baseUrl: url, apiKey, caFile, requestsPerMinute: 0 });
}

/** Someone else makes, over the service's own API, what a program would make of these arguments. */
export async function makeLike(client: Client, kind: Kind, args: Properties): Promise<string> {
  const { description, metadata } = args as { description?: string; metadata?: string };
  if (kind === "tlsEdge") {
    const { hostports } = args as { hostports?: string[] };
    const labels = { description, metadata, hostports };
    const made = await tlsEdges.create(client, { ...labels, ...modulesOf(args) });
    return made.id;
  }
  const made = await tlsCertificates.create(client, {
    description,
    metadata,
    certificate_pem: args.certificatePem as string,
    private_key_pem: args.privateKeyPem as string,
  });
  return made.id;
}

function modulesOf(args: Properties): TLSEdgeMutation {
  const { backend, ipRestriction, mutualTls, tlsTermination } = args as Modules;
  return {
    backend: backend && { enabled: backend.enabled, backend_id: backend.backendId },
    ip_restriction: ipRestriction && {
      enabled: ipRestriction.enabled,
      ip_policy_ids: ipRestriction.ipPolicyIds,
    },
    mutual_tls: mutualTls && {
      enabled: mutualTls.enabled,
      certificate_authority_ids: mutualTls.certificateAuthorityIds,
    },
    tls_termination: tlsTermination && {
      enabled: tlsTermination.enabled,
      terminate_at: tlsTermination.terminateAt,
      min_version: tlsTermination.minVersion,
    },
  };
}

/** Whether an object is what a program's arguments make: judged here, not by the provider. */
export function isLike(
  kind: Kind,
  args: Properties,
  object: TLSEdgeWire | TLSCertificateWire,
): boolean {
  const labels = [args.description ?? "", args.metadata ?? ""];
  if (!isDeepStrictEqual(labels, [object.description ?? "", object.metadata ?? ""])) return false;
  return "certificate_pem" in object
    ? fingerprint(object.certificate_pem) === fingerprint(String(args.certificatePem))
    : kind === "tlsEdge" && isLikeEdge(args, object);
}

function fingerprint(pem: string): string {
  return new X509Certificate(pem).fingerprint256;
}

function isLikeEdge(args: Properties, edge: TLSEdgeWire): boolean {
  const { backend, ipRestriction, mutualTls, tlsTermination } = args as Modules;
  const { terminateAt, minVersion } = tlsTermination ?? {};
  const found = edge.tls_termination;
  const refs = (given: { id: string }[] | { id: string } | null | undefined) =>
    [given ?? []].flat().map(({ id }) => id);
  return (
    same(args.hostports, edge.hostports) &&
    alike(backend, [backend?.backendId], edge.backend, refs(edge.backend?.backend)) &&
    alike(
      ipRestriction,
      ipRestriction?.ipPolicyIds,
      edge.ip_restriction,
      refs(edge.ip_restriction?.ip_policies),
    ) &&
    alike(
      mutualTls,
      mutualTls?.certificateAuthorityIds,
      edge.mutual_tls,
      refs(edge.mutual_tls?.certificate_authorities),
    ) &&
    alike(
      tlsTermination,
      // What the program leaves out is the service's to decide.
      [terminateAt ?? found?.terminate_at, minVersion ?? found?.min_version],
      found,
      [found?.terminate_at, found?.min_version],
    )
  );
}

type Switch = { enabled?: boolean | null } | null | undefined;

/** Switched off means the same as not there; else both say the same, in any order. */
function alike(wanted: Switch, says: unknown, found: Switch, has: unknown): boolean {
  const isOn = (module: Switch) => Boolean(module) && module?.enabled !== false;
  return isOn(wanted) === isOn(found) && (!isOn(wanted) || same(says, has));
}

function same(a: unknown, b: unknown): boolean {
  const sorted = (list: unknown) => [...((list ?? []) as unknown[])].map(String).sort();
  return isDeepStrictEqual(sorted(a), sorted(b));
}
