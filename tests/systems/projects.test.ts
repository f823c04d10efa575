// The examples of `examples/`. `npm start` deploys the quickstart, and fleet.test.ts the fleet.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CertificateOptions } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { makeIssuer } from "../policyCases";

const day = 86_400_000;

describe("the examples, on the real engine", () => {
  let project: Project;
  afterEach(() => project?.close());

  async function start(example: string): Promise<void> {
    project = await Project.copyOf({ [`examples/${example}`]: "." });
    await project.select("dev");
  }
  const certify = (
    domain: string,
    more: Partial<CertificateOptions> = {},
    folder = "certificate",
  ) => project.certificate(folder, { commonName: domain, dnsNames: [domain], ...more });

  it("site: two sites share a certificate", async () => {
    await start("site");
    await certify("site.example", { dnsNames: ["site.example", "*.site.example"] });
    assert.equal((await project.up()).changes.create, 6);
    const { tlsCertificates, tlsEdges } = project.emulator;
    assert.deepEqual([tlsCertificates.list().length, tlsEdges.list().length], [1, 2]);
    const [internal] = tlsEdges.list().filter((edge) => edge.hostports?.length === 1);
    assert.equal(internal?.tls_termination?.min_version, "1.3");
    assert.equal(internal?.ip_restriction?.enabled, true);
    const about = { environment: "dev", owner: "platform" };
    assert.deepEqual(JSON.parse(internal?.metadata ?? "{}"), about);
    // The type and name of a child are in every state, and stay.
    const { resources } = await project.state();
    const children = resources.flatMap(({ urn }) => urn.split(":TLSSite$")[1] ?? []);
    assert.deepEqual(children.sort(), [
      "pulumi-nodejs:dynamic/tlsedge:TLSCertificate::web",
      "pulumi-nodejs:dynamic/tlsedge:TLSEdge::internal",
      "pulumi-nodejs:dynamic/tlsedge:TLSEdge::web",
    ]);
  });

  it("C70 environments: a change is promoted, and a policy stops it before production", async () => {
    await start("environments");
    const pack = join("node_modules", "pulumi-tlsedge-policy");
    /** Deploys a stack, under the policies of a profile. */
    const policed = (profile: "baseline" | "production") => [
      ...["up", "--yes", "--policy-pack", pack],
      ...["--policy-pack-config", join(pack, "profiles", `${profile}.json`)],
    ];
    const issuer = await makeIssuer();
    await certify("app.dev.acme.example", { issuer }, "certificates/dev");
    await certify("app.acme.example", { issuer }, "certificates/prod");
    await project.select("prod");
    await project.succeeds(...policed("production"), "--skip-preview");
    assert.deepEqual(await project.output("hostports"), ["app.acme.example:443"]);

    const program = await readFile(join(project.folder, "index.ts"), "utf8");
    const changed = program.replace(/access: .*/, "access: { public: true },");
    await project.file("index.ts", changed);
    await project.select("dev");
    await project.succeeds(...policed("baseline"), "--skip-preview");
    assert.deepEqual(await project.output("hostports"), ["app.dev.acme.example:443"]);
    await project.select("prod");
    const stopped = await project.fails(...policed("production"));
    assert.match(stopped.output, /\[mandatory\].*edge-access/);
    assert.deepEqual(stopped.writes, []);
  });

  it("rotation: warns before, and uploads the renewed certificate first", async () => {
    const notAfter = new Date(Date.now() + 10.5 * day);
    await start("rotation");
    await certify("rotation.example", { notBefore: new Date(0), notAfter });
    assert.match((await project.up()).output, /expires on .*, in 10 days/);
    await certify("rotation.example");
    const second = await project.up();
    assert.doesNotMatch(second.output, /expires on/);
    assert.deepEqual(second.writes, ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
  });

  it("C70 policies: five of the pack's and one beside them stop it; fixed, it is deployed", async () => {
    await start("policies");
    await certify("shop.example.com", { issuer: await makeIssuer() });
    const options = ["--policy-pack", "ours", "--policy-pack-config", "policies.json"];
    const stopped = await project.fails("up", "--yes", ...options);
    const violated = stopped.events.flatMap(({ policyEvent }) =>
      policyEvent?.enforcementLevel === "mandatory" ? policyEvent.policyName : [],
    );
    assert.deepEqual(violated.sort(), [
      ...["edge-access", "edge-modules", "edge-tls-version", "hostport-certificate"],
      ...["owner", "shop-host"],
    ]);
    assert.deepEqual(stopped.writes, []);
    await project.succeedsQuietly("config", "set", "fixed", "true");
    assert.equal((await project.up(...options)).changes.create, 3);
  });
});
