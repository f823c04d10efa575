import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mock } from "node:test";
import { failuresText, statusText } from "../../cli/report";
import { statusOf } from "../../cli/status";
import { tlsEdges } from "../../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../../emulator/server";
import { edgeAccess, hostportCertificate } from "../../policy/index";
import { tlsCertificate, tlsEdge } from "../../provider/dynamic/dynamic";
import { beginRun, currentRun } from "../../provider/dynamic/process";
import { endRun } from "../../provider/lifecycle/endRun";
import { environment, newFolder } from "../folders";
import type { ResourceProvider } from "../resource";

/** A host with an edge and a certificate: what a program gives, and what an account has. */
type Host = Awaited<ReturnType<typeof makeHost>>;

async function makeHost({ tlsEdges, tlsCertificates }: Emulator, n: number) {
  const name = `host-${n}.example.com`;
  const { certificatePem } = await makeCertificate({ commonName: name, dnsNames: [name] });
  const hostports = Array.from({ length: 10 }, (_, index) => `${name}:${index + 1}`);
  const made = { created_at: "2026-01-01T00:00:00Z" };
  const edge = { ...tlsEdges.ref(`edgtls_${n}`), ...made, hostports };
  const ref = tlsCertificates.ref(`cert_${n}`);
  const certificate = { ...ref, ...made, certificate_pem: certificatePem };
  return { hostports, certificatePem, edge, certificate };
}

/** Checks all resources, then creates those that are to be adopted: as the engine does. */
async function deploy<Args extends object>(
  provider: object,
  all: Args[],
  importOf = (_args: Args): string | undefined => undefined,
): Promise<void> {
  const { check, create } = provider as ResourceProvider;
  const checks = all.map((args) => check({}, { ...args, __import: importOf(args) }));
  for (const { inputs, failures } of await Promise.all(checks)) {
    assert.deepEqual(failures, []);
    if (inputs.__import) await create(inputs);
  }
}

/** Judges the edges and certificates of hosts one at a time, then all, as the engine asks a policy. */
function judge(policy: object, hosts: Host[], except = {}): void {
  const { validateResource, validateStack } = policy as Record<string, (...all: unknown[]) => void>;
  const getConfig = () => ({ except });
  const resourcesOf = (kind: string) => {
    const type = { __pulumiType: `tlsedge:index:${kind}` };
    const isType = ({ isInstance }: { isInstance(of: object): boolean }) => isInstance(type);
    return hosts.map((props, n) => ({ name: `${n}`, urn: `::::::${n}`, props, isType, getConfig }));
  };
  const edges = resourcesOf("TLSEdge");
  const resources = [...edges, ...resourcesOf("TLSCertificate")];
  // A policy prints its exceptions.
  const printed = mock.method(console, "error", () => {});
  // Once is too short to be measured.
  for (let run = 0; run < 20; run++) {
    for (const one of edges) validateResource?.(one, assert.fail);
    validateStack?.({ resources, getConfig }, assert.fail);
  }
  printed.mock.restore();
}

/** The features, each with how many hosts it is measured for first: so many that a square would show. */
const features: Record<string, [n: number, work: (hosts: Host[]) => unknown]> = {
  "adoption by fingerprint": [
    100,
    (hosts) => {
      const nameOf = (pem: string) => new X509Certificate(pem).fingerprint256;
      const certificates = hosts.map(({ certificatePem }) => ({ certificatePem }));
      return deploy(tlsCertificate, certificates, (one) => nameOf(one.certificatePem));
    },
  ],
  "adoption by hostport": [
    300,
    (hosts) => {
      const edges = hosts.map(({ hostports }) => ({ hostports }));
      return deploy(tlsEdge, edges, (one) => one.hostports[0]);
    },
  ],
  "the end of a plan": [
    25,
    async (hosts) => {
      // 100 hostports each, one of which the account has.
      const more = (of: string[]) => of.flatMap((one) => of.map((_, n) => one + n));
      await deploy(
        tlsEdge,
        hosts.map((one) => ({ hostports: more(one.hostports) })),
      );
      await endRun(currentRun());
    },
  ],
  "status, where all fails": [
    300,
    (hosts) => {
      const edges = hosts.map(({ edge }) => edge);
      const certificates = hosts.map(({ certificate }) => certificate);
      const account = { service: "", edges, certificates, tunnels: [] } as never;
      const status = statusOf(account, new Date(), 1000, ["open"]);
      return statusText(status, { width: 120, colour: false }) + failuresText(status);
    },
  ],
  "the policy hostport-certificate": [200, (hosts) => judge(hostportCertificate, hosts)],
  "a policy with an exception for each edge": [
    200,
    (hosts) => judge(edgeAccess, hosts, Object.fromEntries(hosts.map((_, n) => [n, "-"]))),
  ],
  "creates of edges at the emulator": [
    300,
    async (hosts) => {
      const { client } = currentRun().account();
      for (const { hostports } of hosts)
        await tlsEdges.create(client, { hostports: hostports.map((one) => `new-${one}`) });
    },
  ],
};

/**
 * Measures each feature for n hosts and for 4 n, by processor time with that of the emulator, and prints the ratio.
 *
 * @returns whether each is at most 5: in proportion it is 4, by the square 16.
 */
export async function measureGrowth(runs: number): Promise<boolean> {
  const emulator = await startEmulator();
  const variables = await environment(newFolder(), emulator);
  Object.assign(process.env, variables, { TLSEDGE_REQUESTS_PER_MINUTE: "0" });
  const all: Host[] = [];
  while (all.length < 1200) all.push(await makeHost(emulator, all.length));
  let isWithin = true;
  for (const [title, [n, work]] of Object.entries(features)) {
    let [one, four] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let run = 0; run < runs; run++) {
      one = Math.min(one, await secondsOf(emulator, all.slice(0, n), work));
      four = Math.min(four, await secondsOf(emulator, all.slice(0, 4 * n), work));
    }
    isWithin &&= four <= 5 * one;
    const times = `${n}: ${one.toFixed(3)} s, ${4 * n}: ${four.toFixed(3)} s`;
    const verdict = four > 5 * one ? "ABOVE" : "within";
    console.log(`${title} (${times}): ${(four / one).toFixed(2)}, ${verdict} the limit of 5`);
  }
  await emulator.close();
  return isWithin;
}

/** The processor time of work in a new run, with an account that has these hosts. */
async function secondsOf(emulator: Emulator, hosts: Host[], work: (hosts: Host[]) => unknown) {
  const { tlsEdges, tlsCertificates, apiKey } = emulator.addAccount();
  for (const { edge, certificate } of hosts) {
    tlsEdges.set(edge);
    tlsCertificates.set(certificate);
  }
  process.env.TLSEDGE_API_KEY = apiKey;
  beginRun().show = () => {};
  const start = process.cpuUsage();
  await work(hosts);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}
