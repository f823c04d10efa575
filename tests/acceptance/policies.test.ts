import assert from "node:assert/strict";
import { join } from "node:path";
import { tlsEdges } from "../../client/tlsEdge";
import type { Project } from "../../tools/engine";
import { nameOf, type Run } from "../../tools/engineLog";
import { certificates } from "../policyCases";
import { clientOf } from "../support";
import { scenario, served } from "./scenario";

const pack = join(__dirname, "..", "..", "node_modules", "pulumi-tlsedge-policy");
const options = ["--policy-pack", pack, "--policy-pack-config", "policies.json"];

/** What the policies say: `mandatory edge-tls-version:app`. */
const violations = ({ events }: Run) =>
  events
    .flatMap(({ policyEvent }) => policyEvent ?? [])
    .map(
      ({ enforcementLevel, policyName, resourceUrn = "" }) =>
        `${enforcementLevel} ${policyName}:${nameOf(resourceUrn)}`,
    )
    .sort();

/** Writes the config of the pack, and the certificates that the programs upload. */
async function configure(project: Project, config: object) {
  await project.file("policies.json", JSON.stringify(config));
  for (const [name, pair] of Object.entries(await certificates())) {
    project.secrets.add(`the key of ${name}`, pair.privateKeyPem);
    await project.file(`${name}.pem`, pair.certificatePem);
    await project.file(`${name}.key`, pair.privateKeyPem);
  }
}

const program = (resources: string) => `
  const metadata = JSON.stringify({ owner: "payments" });
  const owned = (args) => ({ metadata, ...args });
  const pair = (file) => ({
    certificatePem: readFileSync(file + ".pem", "utf8"),
    privateKeyPem: readFileSync(file + ".key", "utf8"),
  });
  const upload = (name) => new tlsedge.TLSCertificate(name, owned(pair(name)));
  ${resources}`;

/** An edge that no stack has created. */
const existing = async (project: Project, args: object) =>
  (await tlsEdges.create(clientOf(project.emulator), args)).id;

/** tests/policy.test.ts has the policies one by one. */
scenario("policies on a stack of the plugin", ["plugin"], () => {
  let read = "";
  return {
    "C14 C70 C82: policies stop an update in its preview, and show what is advisory": {
      outside: async (project) => {
        project.secrets.add("the hostport", "unlisted-host.example.net:443");
        await configure(project, {
          "certificate-expiry": { days: 400 },
          "edge-modules": "mandatory",
          "edge-protected": "advisory",
          "hostport-certificate": "mandatory",
        });
      },
      // What is known is judged beside what is not. A certificate of another account covers no hostport.
      program: program(`
        upload("weak");
        upload("wildcard");
        const source = new tlsedge.TLSEdge("source", owned(), { protect: true });
        new tlsedge.TLSEdge("app", owned({
          hostports: ["a.example.com:443", "a.b.example.com:443", "example.com:443"],
        }), { protect: true });
        new tlsedge.TLSEdge("unknown", owned({
          mutualTls: { enabled: false, certificateAuthorityIds: [source.id] },
        }));
        const { TLSEDGE_API_KEY: apiKey } = process.env;
        const options = { provider: new tlsedge.Provider("other", { apiKey }), protect: true };
        const hostports = [pulumi.secret("unlisted-host.example.net:443")];
        new tlsedge.TLSEdge("there", owned({ hostports }), options);`),
      up: "fails",
      previewed: true,
      options,
      writes: [],
      says: [/has a key of 1024 bits/],
      neverSays: /hostports\[0\] of the TLS edge "app"/,
      check: (_, run) =>
        assert.deepEqual(violations(run), [
          "advisory certificate-expiry:weak",
          "advisory certificate-expiry:wildcard",
          "advisory edge-protected:unknown",
          "mandatory certificate-key:weak",
          "mandatory edge-modules:unknown",
          "mandatory hostport-certificate:app",
          "mandatory hostport-certificate:app",
          "mandatory hostport-certificate:there",
        ]),
    },
    "C70: policies stop nothing that is known only in the update, only read, corrected, or excepted":
      {
        outside: async (project) => {
          read = await existing(project, { hostports: ["other.example.com:443"] });
          await configure(project, {
            ...{ all: "mandatory", "edge-protected": "disabled" },
            "edge-tls-version": { enforcementLevel: "remediate" },
            "edge-access": { enforcementLevel: "mandatory", except: { "*": "public here" } },
          });
        },
        program: () =>
          program(`
            const source = new tlsedge.TLSEdge("source", owned({ tlsTermination: {} }));
            const later = (value) => source.id.apply(() => value);
            new tlsedge.TLSEdge("app", {
              hostports: [later("b.example.com:443")],
              metadata: later(metadata),
              tlsTermination: { minVersion: later("1.2") },
              mutualTls: { enabled: true, certificateAuthorityIds: [source.id] },
            });
            const { certificatePem, ...key } = pair("wildcard");
            new tlsedge.TLSCertificate("app", owned({ certificatePem: later(certificatePem), ...key }));
            upload("shop");
            tlsedge.TLSEdge.get("read", "${read}");
            new tlsedge.TLSEdge("corrected",
              owned({ hostports: ["c.example.com:443"], tlsTermination: { minVersion: "1.0" } }));`),
        up: "succeeds",
        options,
        says: [/edge-access has 1 exception: \* \(.*corrected.*\), public here/],
        check: async (project, run) => {
          const corrected = run.events.flatMap(
            ({ policyRemediationEvent }) => policyRemediationEvent?.policyName ?? [],
          );
          assert.deepEqual([violations(run), corrected], [[], ["edge-tls-version"]]);
          const { tls_termination } = await served(project, "corrected");
          assert.equal(tls_termination?.min_version, "1.2");
        },
      },
  };
});

scenario("policies on a stack of dynamic providers", ["dynamic"], () => {
  let adopted = "";
  return {
    "C70 C92: policies judge each resource, and what is deployed at the end of an update": {
      outside: async (project) => {
        const owned = { metadata: JSON.stringify({ owner: "payments" }) };
        adopted = await existing(project, { ...owned, tls_termination: { min_version: "1.0" } });
        await configure(project, {
          ...{ all: "mandatory", "edge-access": "disabled", "edge-protected": "disabled" },
          "certificate-expiry": { enforcementLevel: "advisory", days: 400 },
        });
      },
      program: () =>
        program(`
          upload("wildcard");
          new tlsedge.TLSEdge("late", owned({ hostports: ["a.b.example.com:443"] }));
          new tlsedge.TLSEdge("adopted", owned({ tlsTermination: {} }), { import: "${adopted}" });`),
      up: "fails",
      options,
      writes: ["POST /edges/tls", "POST /tls_certificates"],
      check: (_, run) =>
        assert.deepEqual(violations(run), [
          "advisory certificate-expiry:wildcard",
          "mandatory deployed-tls-version:adopted",
          "mandatory hostport-certificate:late",
        ]),
    },
  };
});
