import assert from "node:assert/strict";
import { join } from "node:path";
import { tlsEdges } from "../../client/tlsEdge";
import type { Project } from "../../tools/engine";
import { nameOf, type Run } from "../../tools/engineLog";
import { certificates } from "../policyCases";
import { type Step, scenario, served } from "./scenario";

const pack = join(__dirname, "..", "..", "node_modules", "pulumi-tlsedge-policy");
/** Each policy stops an update, but those that no program here obeys. */
const all = { all: "mandatory", "edge-access": "disabled", "edge-protected": "disabled" };
const correcting = {
  ...all,
  "edge-tls-version": { enforcementLevel: "remediate" },
  "edge-access": { enforcementLevel: "mandatory", except: { "*": "public here" } },
};

/** What the policies say: `mandatory edge-tls-version:app`. */
const violations = ({ events }: Run) =>
  events
    .flatMap(({ policyEvent }) => policyEvent ?? [])
    .map(
      ({ enforcementLevel, policyName, resourceUrn = "" }) =>
        `${enforcementLevel} ${policyName}:${nameOf(resourceUrn)}`,
    )
    .sort();

/** The certificates that the programs upload. */
async function writeCertificates(project: Project) {
  for (const [name, pair] of Object.entries(await certificates())) {
    project.keepSecret(`the key of ${name}`, pair.privateKeyPem);
    await project.file(`${name}.pem`, pair.certificatePem);
    await project.file(`${name}.key`, pair.privateKeyPem);
  }
}

/** A step with a program, and a config for the pack. */
const judged = (
  program: string | ((project: Project) => string),
  config: Record<string, unknown>,
  step: Step,
): Step => ({
  ...step,
  outside: async (project) => {
    await project.file("policies.json", JSON.stringify(config));
    await step.outside?.(project);
  },
  program: (project) => `
    const upload = (name, file = name) => new tlsedge.TLSCertificate(name, {
      certificatePem: readFileSync(file + ".pem", "utf8"),
      privateKeyPem: readFileSync(file + ".key", "utf8"),
      metadata: JSON.stringify({ owner: "payments" }),
    });
    const owned = (args) => ({ metadata: JSON.stringify({ owner: "payments" }), ...args });
    ${typeof program === "function" ? program(project) : program}`,
  options: [
    ...((step.options as string[] | undefined) ?? []),
    ...["--policy-pack", pack, "--policy-pack-config", "policies.json"],
  ],
});

/** An edge that no stack has created. */
const existing = async (project: Project, args: object) =>
  (await tlsEdges.create(project.newClient(), args)).id;

/** What is known is judged beside what is not; `more` is what only one protocol can say. */
const violating = (more = "") => `
  upload("weak");
  upload("wildcard");
  const source = new tlsedge.TLSEdge("source", owned(), { protect: true });
  new tlsedge.TLSEdge("app", owned({
    hostports: ["a.example.com:443", "a.b.example.com:443", "example.com:443"],
  }), { protect: true });
  new tlsedge.TLSEdge("unknown", owned({
    mutualTls: { enabled: false, certificateAuthorityIds: [source.id] },
  }));
  ${more}`;
const levels = {
  "certificate-expiry": { days: 400 },
  "edge-modules": "mandatory",
  "edge-protected": "advisory",
  "hostport-certificate": "mandatory",
};
const violated = [
  "advisory certificate-expiry:weak",
  "advisory certificate-expiry:wildcard",
  "advisory edge-protected:unknown",
  "mandatory certificate-key:weak",
  "mandatory edge-modules:unknown",
  "mandatory hostport-certificate:app",
  "mandatory hostport-certificate:app",
];

/** tests/policy.test.ts has the policies one by one. */
scenario("policies on a stack of the plugin", ["plugin"], () => {
  let read = "";
  /** What may stop nothing; the program leaves the version of `source` open. */
  const harmless = () => `
    const source = new tlsedge.TLSEdge("source", owned({ tlsTermination: {} }));
    new tlsedge.TLSEdge("app", {
      hostports: [source.id.apply(() => "b.example.com:443")],
      metadata: source.id.apply((owner) => JSON.stringify({ owner })),
      tlsTermination: { minVersion: source.id.apply(() => "1.2") },
      mutualTls: { enabled: true, certificateAuthorityIds: [source.id] },
    });
    new tlsedge.TLSCertificate("app", {
      certificatePem: source.id.apply(() => readFileSync("wildcard.pem", "utf8")),
      privateKeyPem: readFileSync("wildcard.key", "utf8"),
      metadata: JSON.stringify({ owner: "payments" }),
    });
    upload("shop");
    tlsedge.TLSEdge.get("read", "${read}");
    new tlsedge.TLSEdge("corrected",
      owned({ hostports: ["c.example.com:443"], tlsTermination: { minVersion: "1.0" } }));`;

  return {
    "C16 C70 C82: policies stop an update in its preview, and show what is advisory": judged(
      // A certificate of another account covers no hostport.
      violating(`
        const { TLSEDGE_API_KEY: apiKey } = process.env;
        const options = { provider: new tlsedge.Provider("other", { apiKey }), protect: true };
        const hostports = [pulumi.secret("unlisted-host.example.net:443")];
        new tlsedge.TLSEdge("there", owned({ hostports }), options);`),
      levels,
      {
        outside: async (project) => {
          await writeCertificates(project);
          project.keepSecret("the hostport", "unlisted-host.example.net:443");
        },
        up: "fails",
        previewed: true,
        writes: [],
        says: [/has a key of 1024 bits/],
        neverSays: /hostports\[0\] of the TLS edge "app"/,
        check: (_, run) =>
          assert.deepEqual(violations(run), [...violated, "mandatory hostport-certificate:there"]),
      },
    ),
    "C16 C70: policies stop an update without a preview before the write that violates one": judged(
      'upload("weak");',
      {},
      {
        up: "fails",
        writes: [],
        check: (_, run) => assert.deepEqual(violations(run), ["mandatory certificate-key:weak"]),
      },
    ),
    "C70: policies stop nothing that is known only in the update, only read, corrected, or excepted":
      judged(harmless, correcting, {
        outside: async (project) => {
          read = await existing(project, { hostports: ["other.example.com:443"] });
        },
        up: "succeeds",
        says: [/edge-access has 1 exception: \* \(.*corrected.*\), public here/],
        check: async (project, run) => {
          const corrected = run.events.flatMap(
            ({ policyRemediationEvent }) => policyRemediationEvent?.policyName ?? [],
          );
          assert.deepEqual([violations(run), corrected], [[], ["edge-tls-version"]]);
          const { tls_termination } = await served(project, "corrected");
          assert.equal(tls_termination?.min_version, "1.2");
        },
      }),
    "C70 C92: policies judge what is deployed: a key, and a version that was lowered": judged(
      () => `${harmless()} upload("blog", "shop-again");`,
      correcting,
      {
        outside: async (project) => {
          const tls_termination = { enabled: true, terminate_at: "edge", min_version: "1.0" };
          const { id } = await served(project, "source");
          project.emulator.tlsEdges.patch(id, { tls_termination });
        },
        up: "fails",
        previewed: true,
        options: ["--refresh"],
        writes: [],
        check: (_, run) => {
          assert.deepEqual(violations(run), [
            "mandatory deployed-tls-version:source",
            "mandatory key-reuse:shop",
          ]);
          // What a policy has corrected is no change.
          assert.ok(run.steps.includes("same:corrected"), run.output);
        },
      },
    ),
  };
});

scenario("policies on a stack of dynamic providers", ["dynamic"], () => {
  let adopted = "";
  return {
    "C16 C70: policies know the types of dynamic providers, and what a plan of them knows": judged(
      violating(),
      levels,
      {
        outside: writeCertificates,
        preview: "fails",
        check: (_, run) => assert.deepEqual(violations(run), violated),
      },
    ),
    "C70 C92: policies judge the stack at the end of an update without a preview": judged(
      () => `upload("wildcard");
          new tlsedge.TLSEdge("late", owned({ hostports: ["a.b.example.com:443"] }));
          new tlsedge.TLSEdge("adopted", owned({ tlsTermination: {} }), { import: "${adopted}" });`,
      all,
      {
        outside: async (project) => {
          adopted = await existing(project, {
            metadata: JSON.stringify({ owner: "payments" }),
            tls_termination: { min_version: "1.0" },
          });
        },
        up: "fails",
        writes: ["POST /edges/tls", "POST /tls_certificates"],
        check: (_, run) =>
          assert.deepEqual(violations(run), [
            "mandatory deployed-tls-version:adopted",
            "mandatory hostport-certificate:late",
          ]),
      },
    ),
  };
});
