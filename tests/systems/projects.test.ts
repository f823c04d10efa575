import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Project } from "../../tools/engine";
import { makeIssuer } from "../policyCases";

const day = 86_400_000;

/** Those of `examples/`. `npm start` deploys the quickstart, and fleet.test.ts the fleet. */
describe("the examples, on the real engine", () => {
  let project: Project;
  afterEach(() => project?.close());

  const held = () => ({
    edges: project.emulator.tlsEdges.list(),
    certificates: project.emulator.tlsCertificates.list(),
  });

  it("site: two sites share a certificate", async () => {
    project = await Project.copyOf({ "examples/site": "." });
    await project.select("dev");
    await project.certificate("certificate", {
      commonName: "site.example",
      dnsNames: ["site.example", "*.site.example"],
    });
    assert.equal((await project.up()).changes.create, 6);
    const { edges, certificates } = held();
    assert.equal(edges.length, 2);
    assert.equal(certificates.length, 1);
    const internal = edges.find(({ hostports }) =>
      hostports?.includes("internal.site.example:443"),
    );
    assert.equal(internal?.tls_termination?.min_version, "1.3");
    assert.equal(internal?.ip_restriction?.enabled, true);
    const { owner, environment } = JSON.parse(internal?.metadata ?? "{}");
    assert.deepEqual([owner, environment], ["platform", "dev"]);
    // The names of a site's children are in every state, and stay.
    const urns = Object.values(await project.exported()).map(({ urn }) => urn);
    for (const name of ["web", "internal"]) {
      const site = "urn:pulumi:dev::tlsedge-site::tlsedge:index:TLSSite";
      assert.ok(urns.includes(`${site}$pulumi-nodejs:dynamic/tlsedge:TLSEdge::${name}`));
    }
  });

  describe("environments: one program, three stacks", () => {
    const pack = join("node_modules", "pulumi-tlsedge-policy");
    /** Deploys a stack, under the policies of a profile. */
    const policed = (profile: "baseline" | "production") => [
      ...["up", "--yes", "--policy-pack", pack],
      ...["--policy-pack-config", join(pack, "profiles", `${profile}.json`)],
    ];
    const hosts = { dev: "app.dev.acme.example", prod: "app.acme.example" };
    /** Goes on with a stack, with a certificate of its host. */
    const select = async (stack: keyof typeof hosts) => {
      const leaf = {
        commonName: hosts[stack],
        dnsNames: [hosts[stack]],
        issuer: await makeIssuer(),
      };
      await project.certificate(join("certificates", stack), leaf);
      await project.select(stack);
    };

    it("C70 a change is promoted, and a policy stops it before production", async () => {
      project = await Project.copyOf({ "examples/environments": "." });
      await select("prod");
      const first = await project.succeeds(...policed("production"), "--skip-preview");
      assert.equal(first.changes.create, 4);
      assert.deepEqual(await project.output("hostports"), [`${hosts.prod}:443`]);

      const program = await readFile(join(project.folder, "index.ts"), "utf8");
      const changed = program.replace(/access: .*/, "access: { public: true },");
      assert.notEqual(changed, program);
      await project.file("index.ts", changed);
      await select("dev");
      const open = await project.succeeds(...policed("baseline"), "--skip-preview");
      assert.equal(open.changes.create, 4);
      assert.deepEqual(await project.output("hostports"), [`${hosts.dev}:443`]);

      await project.select("prod");
      const stopped = await project.fails(...policed("production"));
      assert.deepEqual(stopped.diffs.app, ["ipRestriction"]);
      assert.match(stopped.output, /\[mandatory\].*edge-access/);
      assert.deepEqual(stopped.writes, []);
      const restricted = held().edges.filter((edge) => edge.ip_restriction?.enabled);
      assert.deepEqual(
        restricted.flatMap(({ hostports }) => hostports),
        [`${hosts.prod}:443`],
      );
    });
  });

  it("rotation: warns before, and uploads the renewed certificate first", async () => {
    project = await Project.copyOf({ "examples/rotation": "." });
    await project.select("dev");
    const leaf = { commonName: "rotation.example", dnsNames: ["rotation.example"] };
    const soon = new Date(Date.now() + 10 * day + day / 2);
    await project.certificate("certificate", { ...leaf, notBefore: new Date(0), notAfter: soon });
    const first = await project.up();
    assert.match(first.output, /expires on .*, in 10 days/);
    await project.certificate("certificate", leaf);
    const second = await project.up();
    assert.doesNotMatch(second.output, /expires on/);
    assert.deepEqual(second.writes, ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
  });

  it("C70 policies: five of the pack's and one beside them stop it; fixed, it is deployed", async () => {
    project = await Project.copyOf({ "examples/policies": "." });
    await project.select("dev");
    const names = { commonName: "shop.example.com", dnsNames: ["shop.example.com"] };
    const leaf = { ...names, issuer: await makeIssuer() };
    await project.certificate("certificate", leaf);
    const options = ["--policy-pack", "ours", "--policy-pack-config", "policies.json"];
    const stopped = await project.fails("up", "--yes", ...options);
    const violated = stopped.events.flatMap(({ policyEvent }) =>
      policyEvent?.enforcementLevel === "mandatory" ? policyEvent.policyName : [],
    );
    assert.deepEqual(violated.sort(), [
      "edge-access",
      "edge-modules",
      "edge-tls-version",
      "hostport-certificate",
      "owner",
      "shop-host",
    ]);
    assert.deepEqual(stopped.writes, []);
    await project.succeedsQuietly("config", "set", "fixed", "true");
    assert.equal((await project.up(...options)).changes.create, 3);
    assert.equal(held().edges.length, 1);
  });
});
