import { X509Certificate } from "node:crypto";
import { makeCertificate } from "../../emulator/server";
import { formatChain, parseChain } from "../../provider/values/pem";
import type { Pair } from "../policyCases";
import type { Kind, Phase } from "./results";

/** A resource of a program. */
export interface Declared {
  name: string;
  args: Record<string, unknown>;
}

/** The resources of the programs: all contestants declare the same. */
export class Stacks {
  private constructor(private readonly pairs: Pair[]) {}

  /** Makes certificates for stacks of up to `largest` resources. */
  static async make(largest: number): Promise<Stacks> {
    const root = await makeCertificate({ commonName: "Benchmark Root CA", isCa: true });
    const issuer = await makeCertificate({ commonName: "Benchmark CA", isCa: true, issuer: root });
    const pairs: Pair[] = [];
    while (pairs.length < largest) {
      const domain = `app-${numbered(pairs.length)}.example.com`;
      const made = await makeCertificate({ commonName: domain, dnsNames: [domain], issuer });
      // The floor stores one serial number for all, so all need the same length.
      if (new X509Certificate(made.certificatePem).serialNumber.length !== 32) continue;
      // In the stored form, so that the state holds what the program gave: the floor can't format.
      pairs.push({ ...made, certificatePem: formatChain(parseChain(made.certificatePem)) });
    }
    return new Stacks(pairs);
  }

  /** The first `n`, as they are declared in a phase. */
  resources(kind: Kind, n: number, phase: Phase): Declared[] {
    const description = phase === "update" ? "A later text...." : "The first text..";
    return Array.from({ length: n }, (_, index) => {
      const number = numbered(index);
      const { certificatePem, privateKeyPem } = this.pairs[index] as Pair;
      return kind === "certificates"
        ? { name: `certificate-${number}`, args: { description, certificatePem, privateKeyPem } }
        : { name: `edge-${number}`, args: { description, ...edge(number) } };
    });
  }
}

/** An edge with all four modules. */
function edge(number: string): Record<string, unknown> {
  return {
    hostports: [`app-${number}.example.com:443`],
    backend: { backendId: "bkdtg_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr" },
    ipRestriction: { ipPolicyIds: ["ipp_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
    mutualTls: { certificateAuthorityIds: ["ca_2Zz1Qy3Xx4Ww5Vv6Uu7Tt8Ss9Rr"] },
    tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
  };
}

/** All numbers have the same length, so all resources need the same number of bytes. */
function numbered(index: number): string {
  return String(index).padStart(5, "0");
}
