// The examples of `examples/`. `npm start` deploys the quickstart, and fleet.test.ts the fleet.
import assert from "node:assert/strict";
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
  const certify = (domain: string, more: Partial<CertificateOptions> = {}) =>
    project.certificate("certificate", { commonName: domain, dnsNames: [domain], ...more });

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
