import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { onlyThrough, throughBothDoors } from "./doors";

throughBothDoors("a site", (door) => {
  let project: Project;
  before(async () => {
    project = await Project.create({}, {}, door);
  });
  after(() => project?.close());

  it("C88 C50 tells its certificate, its edge and what follows, and shows no secret hostport", async () => {
    project.keepSecret("the hostport", "a-hostname-that-is-secret.example.com");
    await project.file("hostport", "a-hostname-that-is-secret.example.com:443");
    for (const name of ["a", "c"]) {
      await project.certificate(name, {
        commonName: `${name}.example`,
        dnsNames: [`${name}.example`],
      });
    }
    await project.program(`
      const pem = (folder) => ({
        certificatePem: readFileSync(folder + "/fullchain.pem", "utf8"),
        privateKeyPem: readFileSync(folder + "/privkey.pem", "utf8"),
      });
      const ids = new tlsedge.TLSEdge("other", { hostports: ["b.example:443"] }).id;
      const hidden = pulumi.secret(readFileSync("hostport", "utf8"));
      const certificate = new tlsedge.TLSCertificate("shared", pem("a"));
      new tlsedge.TLSSite("own", {
        ...pem("c"), hostports: ["c.example:443", hidden], backendId: "bkdtg_1",
        access: { public: true },
      });
      const site = new tlsedge.TLSSite("app", {
        hostports: [pulumi.output("a.example:443")], certificate,
        backendId: pulumi.interpolate\`bkdtg_\${ids}\`,
        access: { ipPolicyIds: [pulumi.interpolate\`ipp_\${ids}\`] },
        metadata: { tier: ids }, owner: "web",
      });
      exports.ids = [ids, certificate.id, site.certificate.id];
      exports.site = [site.hostports, site.expires, certificate.notAfter];
      exports.edge = [site.edge.backend.backendId, site.edge.ipRestriction.ipPolicyIds[0]];
      exports.metadata = site.edge.metadata;`);
    const { output } = await project.up();
    assert.match(output, /is not valid for own\.hostports\[1\]: /);
    const [id, ...certificates] = (await project.output("ids")) as string[];
    assert.equal(certificates[0], certificates[1]);
    assert.deepEqual(await project.output("edge"), [`bkdtg_${id}`, `ipp_${id}`]);
    const [hostports, expires, notAfter] = (await project.output("site")) as string[];
    assert.deepEqual([hostports, expires], [["a.example:443"], notAfter]);
    const { environment, tier, owner } = JSON.parse((await project.output("metadata")) as string);
    assert.deepEqual([environment, tier, owner], [project.stack, id, "web"]);
    const { resources } = await project.state();
    assert.doesNotMatch(JSON.stringify(resources), /PRIVATE KEY/);
    const of = (type: string) => resources.find(({ urn }) => urn.endsWith(`:${type}::app`));
    const stored = of("TLSSite");
    assert.deepEqual(stored?.inputs, {
      ...{ hostports, backendId: `bkdtg_${id}`, access: { ipPolicyIds: [`ipp_${id}`] } },
      ...{ metadata: { tier: id }, owner: "web" },
    });
    const references = Object.entries(stored?.outputs ?? {}).map(([name, value]) => [
      name,
      (value as { id?: string }).id ?? value,
    ]);
    assert.deepEqual(Object.fromEntries(references), {
      ...{ certificate: certificates[0], edge: of("TLSEdge")?.id },
      ...{ expires, hostports },
    });
  });

  // tests/tlsSite.test.ts has each mistake, through dynamic providers.
  const onlyPlugin = onlyThrough("plugin", door);
  onlyPlugin("C88 C11 refuses wrong arguments in a sentence, before any request", async () => {
    await project.program(`
      new tlsedge.TLSSite("app", {
        hostports: ["a.example:443"], backendId: "bkdtg_1", access: {},
        chainFile: "a/fullchain.pem", keyFile: "a/privkey.pem",
      });`);
    const { output, requests } = await project.fails("preview");
    assert.match(output, /the site app: access must say who may connect/);
    assert.deepEqual(requests, []);
  });

  onlyPlugin(
    "C88 takes a certificate that is an output, also one that a plan does not know",
    async () => {
      await project.certificate("d", { commonName: "d.example", dnsNames: ["d.example"] });
      const program = (given: string) =>
        project.program(`
        const args = { backendId: "bkdtg_1", access: { public: true } };
        const { id } = new tlsedge.TLSEdge("first", { hostports: ["first.example:443"] });
        const site = (name, more) =>
          new tlsedge.TLSSite(name, { ...args, hostports: [name + ".example:443"], ...more });
        const own = site("d", { chainFile: "d/fullchain.pem", keyFile: "d/privkey.pem" });
        site("e", { certificate: own.certificate });
        const last = site("f", { certificate: id.apply(() => ${given}) });
        exports.ids = [own, last].map(({ certificate }) => certificate.id);`);
      await program("own.certificate");
      const { output: plan } = await project.preview();
      assert.match(plan, /TLSSite\$tlsedge:index:TLSEdge::f/);
      await project.up();
      const [own, ...others] = (await project.output("ids")) as string[];
      assert.deepEqual(others, [own]);
      await program("own.edge");
      const { output } = await project.fails("preview");
      assert.match(output, /the site f: certificate must be a TLSCertificate/);
    },
  );

  it("C50 C88 that is protected renews its certificate, whose key is a secret, and keeps its edge", async () => {
    project.keepSecret("the description", "a-description-that-is-secret");
    await project.program(`
      new tlsedge.TLSSite("kept", {
        description: pulumi.secret("a-" + "description-that-is-secret"),
        hostports: ["kept.example:443"],
        chainFile: "certs/fullchain.pem", keyFile: "certs/privkey.pem",
        backendId: "bkdtg_1", access: { public: true },
      }, {
        protect: true,
        transforms: [({ props: { privateKeyPem } }) => {
          if (typeof privateKeyPem === "string") throw new Error("the key is no secret");
        }],
      });`);
    const names = { commonName: "kept.example", dnsNames: ["kept.example"] };
    await project.certificate("certs", names);
    await project.up();
    const isProtected = async () => {
      const { resources } = await project.state();
      const found = resources.map(({ type, protect = false }) => [type.split(":").at(-1), protect]);
      return Object.fromEntries(found.filter(([type]) => String(type).startsWith("TLS")));
    };
    const edgeAlone = { TLSSite: true, TLSEdge: true, TLSCertificate: false };
    assert.deepEqual(await isProtected(), edgeAlone);

    await project.certificate("certs", names);
    const { writes } = await project.up();
    assert.deepEqual(writes, ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
    assert.deepEqual(await isProtected(), edgeAlone);
  });
});
