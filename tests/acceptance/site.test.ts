import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";

describe("a site", () => {
  let project: Project;
  before(async () => {
    project = await Project.create();
  });
  after(() => project?.close());

  it("C50 that warns of a hostport shows none that is a secret", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    project.keepSecret("the private key", privateKeyPem);
    project.keepSecret("the hostport", "a-hostname-that-is-secret.example.com");
    await project.file("hostport", "a-hostname-that-is-secret.example.com:443");
    await project.file("chain.pem", certificatePem);
    await project.file("key.pem", privateKeyPem);
    await project.program(`
      const site = (name, hostport) => new tlsedge.TLSSite(name, {
        hostports: [hostport],
        certificate: { chainFile: "chain.pem", keyFile: "key.pem" },
        backendId: "bkdtg_1", access: "anyone",
      });
      site("secret", pulumi.secret(readFileSync("hostport", "utf8")));
      site("plain", "b.example.com:443");`);
    const { output } = await project.preview();
    assert.match(output, /is not valid for secret\.hostports\[0\]:/);
    assert.match(output, /is not valid for b\.example\.com:443:/);
  });
});
