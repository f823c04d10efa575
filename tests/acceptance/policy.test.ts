import assert from "node:assert/strict";
import { join } from "node:path";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { writeCertificates } from "../../tools/policyCases";
import { throughBothDoors } from "./doors";

const pack = join(__dirname, "..", "..", "node_modules", "pulumi-tlsedge-policy");
const profile = (name: string) => join(pack, "profiles", `${name}.json`);
const withPack = ["--policy-pack", pack];

/** What the policies said: `mandatory edge-tls-version:app`. */
const said = ({ events }: Run) =>
  events
    .flatMap(({ policyEvent }) => policyEvent ?? [])
    .map(({ enforcementLevel, policyName, resourceUrn = "" }) => {
      return `${enforcementLevel} ${policyName}:${resourceUrn.split("::").at(-1)}`;
    })
    .sort();

throughBothDoors("policies on the engine", (door) => {
  let project: Project;

  before(async () => {
    project = await Project.create({}, {}, door);
    await writeCertificates(project);
  });
  afterEach(async () => {
    await project.succeedsQuietly("state", "unprotect", "--all", "--yes");
    await project.destroy();
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
    return [...withPack, "--policy-pack-config", "policies.json"];
  }

  it("C16 C70 a mandatory violation stops an update before any write, with a preview or without", async () => {
    const options = await given(`upload("weak", "rsa-1024");`);
    for (const skip of [[], ["--skip-preview"]]) {
      const run = await project.fails("up", "--yes", ...skip, ...options);
      assert.deepEqual(said(run), ["mandatory certificate-key:weak"]);
      assert.deepEqual(run.writes, []);
      assert.match(run.output, /has a key of 1024 bits/);
      const urns = run.events.flatMap(({ policyEvent }) => policyEvent?.resourceUrn ?? []);
      assert.equal(urns.at(-1), project.urn("TLSCertificate", "weak"));
    }
    assert.deepEqual(await project.exported(), {});
  });

  it("C70 a mandatory violation of a stack policy stops an update in its preview", async () => {
    const options = await given(
      `upload("wildcard");
      new tlsedge.TLSEdge("app", owned({
        hostports: ["a.example.com:443", "a.b.example.com:443", "example.com:443"],
      }));`,
      { "hostport-certificate": "mandatory" },
    );
    const run = await project.fails("up", "--yes", ...options);
    const violation = "mandatory hostport-certificate:app";
    assert.deepEqual(said(run), [violation, violation]);
    assert.deepEqual(run.writes, []);
    assert.doesNotMatch(run.output, /valid for a\.example\.com/);
    // Without a preview the whole stack is judged once, at the end: docs/policies.md says so.
    const late = await project.fails("up", "--yes", "--skip-preview", ...options);
    assert.deepEqual(said(late), [violation, violation]);
    assert.equal(late.writes.length, 2);
  });

  const all = { all: "mandatory", "edge-access": "disabled", "edge-protected": "disabled" };
  const violation = "mandatory deployed-tls-version:app";

  it("C92 an edge whose TLS version was lowered at the service is judged as deployed", async () => {
    const program = `new tlsedge.TLSEdge("app", owned({ tlsTermination: {} }));`;
    const options = await given(program, all);
    assert.deepEqual(said(await project.up(...options)), []);
    const { tlsEdges } = project.emulator;
    const lowered = { enabled: true, terminate_at: "edge", min_version: "1.0" };
    tlsEdges.patch(tlsEdges.list()[0]?.id as string, { tls_termination: lowered });
    await project.refresh();
    const run = await project.fails("up", "--yes", ...options);
    assert.deepEqual(said(run), [violation]);
    assert.deepEqual(run.writes, []);
    await given(
      `new tlsedge.TLSEdge("app", owned({ tlsTermination: { minVersion: "1.2" } }));`,
      all,
    );
    assert.deepEqual(said(await project.up(...options)), []);
  });

  if (door === "dynamic") {
    it("C92 an edge that was adopted with an old TLS version is judged as deployed", async () => {
      await given(
        `new tlsedge.TLSEdge("old", owned({ tlsTermination: { minVersion: "1.0" } }),
          { retainOnDelete: true });`,
      );
      await project.up();
      const [edge] = project.emulator.tlsEdges.list();
      const adopting = `new tlsedge.TLSEdge("app", owned({ tlsTermination: {} }),
        { import: "${edge?.id}", retainOnDelete: true });`;
      const options = await given(adopting, all);
      const run = await project.fails("up", "--yes", ...options);
      assert.deepEqual(said(run), [violation]);
      assert.deepEqual(run.writes, []);
      project.emulator.tlsEdges.delete(edge?.id as string);
    });
  }

  it("C70 a remediation changes what is deployed, and is stable", async () => {
    const options = await given(
      `new tlsedge.TLSEdge("app", owned({ tlsTermination: { minVersion: "1.0" } }));`,
      { "edge-tls-version": { enforcementLevel: "remediate", minVersion: "1.3" } },
    );
    const run = await project.up(...options);
    const remediated = run.events.flatMap(({ policyRemediationEvent }) => {
      return policyRemediationEvent?.policyName ?? [];
    });
    assert.deepEqual(remediated, ["edge-tls-version"]);
    assert.deepEqual(said(run), []);
    const [edge] = project.emulator.tlsEdges.list();
    assert.equal(edge?.tls_termination?.min_version, "1.3");
    const again = await project.up(...options);
    assert.deepEqual(again.changes, { same: 2 });
    assert.deepEqual(again.requests, []);
  });

  it("C70 config changes a threshold, and a setting that is not valid is refused", async () => {
    const program = `upload("app", "expires-in-a-week");`;
    const days = (days: number) => ({
      "certificate-expiry": { enforcementLevel: "mandatory", days },
    });
    await project.fails("preview", ...(await given(program, days(8))));
    await project.preview(...(await given(program, days(6))));
    const run = await project.fails("preview", ...(await given(program, days(0))));
    assert.match(run.output, /days/);
  });

  it("C70 the pack warns, once each, of settings that a policy does not have", async () => {
    const config = { "certificate-expiry": { day: 6 }, "key-reuse": { days: 6 } };
    const run = await project.preview(
      ...(await given(`upload("wildcard"); upload("shop");`, config)),
    );
    const warnings = run.events
      .flatMap(({ diagnosticEvent }) => diagnosticEvent?.message ?? [])
      .filter((message) => message.includes("warning: the policy"));
    assert.equal(warnings.length, 2);
    assert.match(warnings.join(), /certificate-expiry.* day:.*key-reuse.* days:/s);
  });

  it("C70 values that are not known yet stop nothing, and what is known beside them is judged", async () => {
    const program = (enabled: boolean) => `
      const source = new tlsedge.TLSEdge("source", owned({ tlsTermination: {} }));
      new tlsedge.TLSEdge("app", {
        hostports: [source.id.apply(() => "b.example.com:443")],
        metadata: source.id.apply((owner) => JSON.stringify({ owner })),
        tlsTermination: { minVersion: source.id.apply(() => "1.2") },
        mutualTls: { enabled: ${enabled}, certificateAuthorityIds: [source.id] },
      });
      new tlsedge.TLSCertificate("app", {
        certificatePem: source.id.apply(() => readFileSync("wildcard.pem", "utf8")),
        privateKeyPem: readFileSync("wildcard.key", "utf8"),
        metadata: JSON.stringify({ owner: "payments" }),
      });`;
    const all = { all: "mandatory", "edge-access": "disabled", "edge-protected": "disabled" };
    const off = await project.fails("preview", ...(await given(program(false), all)));
    const mandatory = said(off).filter((line) => line.startsWith("mandatory"));
    assert.deepEqual(mandatory, ["mandatory edge-modules:app"]);
    const run = await project.up(...(await given(program(true), all)));
    assert.deepEqual(said(run), []);
  });

  if (door === "plugin") {
    it("C70 C82 a certificate of another account covers no hostport", async () => {
      const options = await given(
        `const { TLSEDGE_API_KEY: apiKey } = process.env;
        const provider = new tlsedge.Provider("other", { apiKey });
        const edge = { hostports: ["a.example.com:443"] };
        upload("wildcard");
        new tlsedge.TLSEdge("here", owned(edge));
        new tlsedge.TLSEdge("there", owned(edge), { provider });`,
        { "hostport-certificate": "mandatory" },
      );
      const run = await project.fails("preview", ...options);
      assert.deepEqual(said(run), ["mandatory hostport-certificate:there"]);
    });
  }

  it("C70 sees the keys of what was deployed before", async () => {
    const options = await given(`upload("shop");`, { "key-reuse": "mandatory" });
    await project.up(...options);
    await given(`upload("shop"); upload("blog", "shop-again");`, { "key-reuse": "mandatory" });
    const run = await project.fails("up", "--yes", ...options);
    assert.deepEqual(said(run), ["mandatory key-reuse:shop"]);
    assert.deepEqual(run.writes, []);
  });

  it("C70 what a program only reads is not judged", async () => {
    const hostports = '{ hostports: ["other.example.com:443"] }';
    await given(`new tlsedge.TLSEdge("app", ${hostports}, { retainOnDelete: true });`);
    await project.up();
    const [edge] = project.emulator.tlsEdges.list();
    const id = edge?.id as string;
    await given(`tlsedge.TLSEdge.get("other", "${id}");`);
    const run = await project.up(...withPack, "--policy-pack-config", profile("production"));
    assert.deepEqual(said(run), []);
    project.emulator.tlsEdges.delete(id);
  });

  it("C70 baseline.json changes nothing, and production.json wants more", async () => {
    await given(`upload("wildcard");
      new tlsedge.TLSEdge("app", owned({ hostports: ["a.example.com:443"] }));`);
    const plain = await project.preview(...withPack);
    const baseline = [...withPack, "--policy-pack-config", profile("baseline")];
    assert.deepEqual(said(plain), []);
    assert.deepEqual(said(await project.preview(...baseline)), []);
    const production = [...withPack, "--policy-pack-config", profile("production")];
    assert.deepEqual(said(await project.fails("preview", ...production)), [
      "mandatory edge-access:app",
      "mandatory edge-protected:app",
    ]);
    await given(`upload("wildcard");
      new tlsedge.TLSEdge("app", owned({
        hostports: ["a.example.com:443"], ipRestriction: { ipPolicyIds: ["ipp_office"] },
      }), { protect: true });`);
    assert.deepEqual(said(await project.up(...production)), []);
  });
});
