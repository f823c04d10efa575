// What the stacks hold: the same inputs for whoever runs.
import { X509Certificate } from "node:crypto";
import { makeCertificate } from "pulumi-tlsedge-emulator";
import type { Kind } from "./results.ts";

/** A resource of a program. */
export interface Declared {
  name: string;
  args: Record<string, unknown>;
}

/** What the programs can be made to say. */
export interface Stacks {
  /** The first `n`; `changed` gives each another description, `renewed` the first another chain. */
  resources(kind: Kind, n: number, change?: { changed: boolean; renewed: boolean }): Declared[];
}

interface Pair {
  certificatePem: string;
  privateKeyPem: string;
}

/** Makes the certificates, one more than the largest stack has. */
export async function makeStacks(largest: number): Promise<Stacks> {
  const pairs = await makePairs(largest + 1);
  const renewed = pairs.pop() as Pair;
  return {
    resources: (kind, n, change) =>
      Array.from({ length: n }, (_, index) => {
        const number = numbered(index);
        const description = `${change?.changed ? "A later" : "The first"} text`.padEnd(16, ".");
        const pair = change?.renewed && index === 0 ? renewed : (pairs[index] as Pair);
        return kind === "certificates"
          ? { name: `certificate-${number}`, args: { description, ...pair } }
          : { name: `edge-${number}`, args: { description, ...edge(number) } };
      }),
  };
}

/** All four modules. */
function edge(number: string): Record<string, unknown> {
  return {
    hostports: [`app-${number}.example.com:443`],
    backend: { backendId: "bkdtg_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr" },
    ipRestriction: { ipPolicyIds: ["ipp_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
    mutualTls: { certificateAuthorityIds: ["ca_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
    tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
  };
}

/** Leaf and intermediate, as public authorities give them. */
async function makePairs(count: number): Promise<Pair[]> {
  const root = await makeCertificate({ commonName: "Benchmark Root CA", isCa: true });
  const issuer = await makeCertificate({ commonName: "Benchmark CA", isCa: true, issuer: root });
  const pairs: Pair[] = [];
  // The floor stores one serial number for all: only those of the usual length are taken.
  while (pairs.length < count) {
    const domain = `app-${numbered(pairs.length)}.example.com`;
    const made = await makeCertificate({ commonName: domain, dnsNames: [domain], issuer });
    const { serialNumber } = new X509Certificate(made.certificatePem);
    if (serialNumber.length === 32) pairs.push(inCanonicalForm(made));
  }
  return pairs;
}

/** What is stored is what was given, then: only so can the floor store the same. */
function inCanonicalForm({ certificatePem, privateKeyPem }: Pair): Pair {
  const blocks = certificatePem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  const chain = blocks.map((block) => new X509Certificate(block).toString());
  return { certificatePem: chain.join(""), privateKeyPem };
}

/** Of one width, so that all state is of one length. */
function numbered(index: number): string {
  return String(index).padStart(5, "0");
}
