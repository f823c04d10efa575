import assert from "node:assert/strict";
import { join } from "node:path";
import { tlsEdges } from "../../client/tlsEdge";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { certificates } from "../policyCases";
import { throughBothDoors } from "./doors";

const pack = join(__dirname, "..", "..", "node_modules", "pulumi-tlsedge-policy");
/** Each policy stops an update, but those that no program here obeys. */
const all = { all: "mandatory", "edge-access": "disabled", "edge-protected": "disabled" };

/** What the policies said: `mandatory edge-tls-version:app`. */
const said = ({ events }: Run) =>
  events
    .flatMap(({ policyEvent }) => policyEvent ?? [])
    .map(({ enforcementLevel, policyName, resourceUrn = "" }) => {
      return `${enforcementLevel} ${policyName}:${resourceUrn.split("::").at(-1)}`;
    })
    .sort();

/** The pack's policies one by one are the matter of tests/policy.test.ts. */
throughBothDoors("policies on the engine", (door) => {
  let project: Project;

  before(async () => {
    project = await Project.create({}, {}, door);
    for (const [name, pair] of Object.entries(await certificates())) {
      project.keepSecret(`the key of ${name}`, pair.privateKeyPem);
      await project.file(`${name}.pem`, pair.certificatePem);
      await project.file(`${name}.key`, pair.privateKeyPem);
    }
  });
  after(() => project?.close());

  /** Writes a program, and a config for the pack beside it. */
  async function given(program: string, config: Record<string, unknown> = {}): Promise<string[]> {
    await project.program(
      `const upload = (name, file = name) => new tlsedge.TLSCertificate(name, {
        certificatePem: readFileSync(file + ".pem", "utf8"),
        privateKeyPem: readFileSync(file + ".key", "utf8"),
        metadata: JSON.stringify({ owner: "payments" }),
      });
      const owned = (args) => ({ metadata: JSON.stringify({ owner: "payments" }), ...args });
      ${program}`,
    );
    await project.file("policies.json", JSON.stringify(config));
    return ["--policy-pack", pack, "--policy-pack-config", "policies.json"];
  }

  /** An edge that no stack has made. */
  async function existing(args: object): Promise<string> {
    return (await tlsEdges.create(project.newClient(), args)).id;
  }

  it(`C16 C70${door === "plugin" ? " C82" : ""} stop an update in its preview, and tell what is advisory`, async () => {
    const options = await given(
      `upload("weak");
      upload("wildcard");
      const source = new tlsedge.TLSEdge("source", owned(), { protect: true });
      new tlsedge.TLSEdge("app", owned({
        hostports: ["a.example.com:443", "a.b.example.com:443", "example.com:443"],
      }), { protect: true });
      // What is known is judged beside what is not.
      new tlsedge.TLSEdge("unknown", owned({
        mutualTls: { enabled: false, certificateAuthorityIds: [source.id] },
      }));
      // A certificate of another account covers no hostport.
      ${
        door === "plugin"
          ? `const { TLSEDGE_API_KEY: apiKey } = process.env;
            const options = { provider: new tlsedge.Provider("other", { apiKey }), protect: true };
            new tlsedge.TLSEdge("there", owned({ hostports: ["c.example.com:443"] }), options);`
          : ""
      }`,
      {
        "certificate-expiry": { days: 400 },
        "edge-modules": "mandatory",
        "edge-protected": "advisory",
        "hostport-certificate": "mandatory",
      },
    );
    const run = await project.fails("up", "--yes", ...options);
    assert.deepEqual(said(run), [
      "advisory certificate-expiry:weak",
      "advisory certificate-expiry:wildcard",
      "advisory edge-protected:unknown",
      "mandatory certificate-key:weak",
      "mandatory edge-modules:unknown",
      "mandatory hostport-certificate:app",
      "mandatory hostport-certificate:app",
      ...(door === "plugin" ? ["mandatory hostport-certificate:there"] : []),
    ]);
    assert.deepEqual(run.writes, []);
    assert.deepEqual(await project.exported(), {});
    assert.match(run.output, /has a key of 1024 bits/);
    assert.doesNotMatch(run.output, /hostports\[0\] of the TLS edge "app"/);
    const urns = run.events.flatMap(({ policyEvent }) => policyEvent?.resourceUrn ?? []);
    assert.ok(urns.includes(project.urn("TLSCertificate", "weak")));
  });

  if (door === "plugin") {
    it("C16 C70 stop an update without a preview before the write that violates one", async () => {
      const options = await given(`upload("weak");`);
      const run = await project.fails("up", "--yes", "--skip-preview", ...options);
      assert.deepEqual(said(run), ["mandatory certificate-key:weak"]);
      assert.deepEqual(run.writes, []);
    });
  }

  /** What may stop nothing; `source` is an edge, whose version the program may leave open. */
  const harmless = (id: string, version = "") => `
    const source = new tlsedge.TLSEdge("source", owned({ tlsTermination: { ${version} } }));
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
    tlsedge.TLSEdge.get("read", "${id}");
    new tlsedge.TLSEdge("corrected", owned({ tlsTermination: { minVersion: "1.0" } }));`;
  const correcting = { ...all, "edge-tls-version": { enforcementLevel: "remediate" } };
  let read: string;

  it("C70 stop nothing that is known only in the update, is only read, or is corrected", async () => {
    read = await existing({ hostports: ["other.example.com:443"] });
    const options = await given(harmless(read), correcting);
    const run = await project.up(...options);
    assert.deepEqual(said(run), []);
    const remediated = run.events.flatMap(({ policyRemediationEvent }) => {
      return policyRemediationEvent?.policyName ?? [];
    });
    assert.deepEqual(remediated, ["edge-tls-version"]);
    const { corrected } = await project.exported();
    const edge = project.emulator.tlsEdges.get(corrected?.id as string);
    assert.equal(edge?.tls_termination?.min_version, "1.2");
  });

  it("C70 C92 judge what is deployed: a key, and a version that was lowered at the service", async () => {
    const lowered = { enabled: true, terminate_at: "edge", min_version: "1.0" };
    const { source } = await project.exported();
    project.emulator.tlsEdges.patch(source?.id as string, { tls_termination: lowered });
    const options = await given(`${harmless(read)} upload("blog", "shop-again");`, correcting);
    const run = await project.fails("up", "--yes", "--refresh", ...options);
    assert.deepEqual(said(run), [
      "mandatory deployed-tls-version:source",
      "mandatory key-reuse:shop",
    ]);
    assert.deepEqual(run.writes, []);
    await given(harmless(read, 'minVersion: "1.2"'), correcting);
    const fixed = await project.up("--refresh", ...options);
    assert.deepEqual(said(fixed), []);
    // What a policy has corrected is no change.
    assert.deepEqual(fixed.writes, ["PATCH /edges/tls/:id"]);
  });

  if (door === "dynamic") {
    it("C70 C92 without a preview judge the stack at the end: docs/policies.md says so", async () => {
      const id = await existing({
        metadata: JSON.stringify({ owner: "payments" }),
        tls_termination: { min_version: "1.0" },
      });
      const options = await given(
        `upload("wildcard");
        new tlsedge.TLSEdge("late", owned({ hostports: ["a.b.example.com:443"] }));
        new tlsedge.TLSEdge("adopted", owned({ tlsTermination: {} }), { import: "${id}" });`,
        all,
      );
      const run = await project.fails("up", "--yes", "--skip-preview", ...options);
      assert.deepEqual(said(run), [
        "mandatory deployed-tls-version:adopted",
        "mandatory hostport-certificate:late",
      ]);
      // The engine may delete what earlier tests left before it hears of the violations.
      const made = run.writes.filter((one) => !one.startsWith("DELETE"));
      assert.deepEqual(made.toSorted(), ["POST /edges/tls", "POST /tls_certificates"]);
    });
  }
});
