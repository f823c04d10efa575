import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../../emulator/server";
import { Project } from "./engine";

const example = join(__dirname, "..", "..", "examples", "policies");

describe("examples/policies", () => {
  let project: Project;

  before(async () => {
    project = await Project.create();
    for (const file of ["index.ts", "package.json", "policies.json", "tsconfig.json"]) {
      await copyFile(join(example, file), join(project.folder, file));
    }
    await project.file("Pulumi.yaml", "name: acceptance\nruntime: nodejs\n");
    const { certificatePem, privateKeyPem } = await makeCertificate({
      commonName: "shop.example.com",
      dnsNames: ["shop.example.com"],
    });
    project.keepSecret("the private key", privateKeyPem);
    await project.file("shop.pem", certificatePem);
    await project.file("shop.key", privateKeyPem);
  });
  after(() => project?.close());

  it("is stopped by five policies, then fixed, deployed, left alone and destroyed", async () => {
    const pack = join("node_modules", "pulumi-tlsedge-policy");
    const options = ["--policy-pack", pack, "--policy-pack-config", "policies.json"];
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
    ]);
    assert.deepEqual(stopped.requests, []);

    await project.succeedsQuietly("config", "set", "fixed", "true");
    const fixed = await project.succeeds("up", "--yes", ...options);
    assert.deepEqual(fixed.requests.sort(), ["POST /edges/tls", "POST /tls_certificates"]);
    const again = await project.succeeds("up", "--yes", ...options);
    assert.deepEqual(again.changes, { same: 3 });
    assert.deepEqual(again.requests, []);
    await project.destroy();
    assert.deepEqual(project.emulator.tlsEdges.list(), []);
  });
});
