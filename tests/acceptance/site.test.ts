import assert from "node:assert/strict";
import type { Project } from "../../tools/engine";
import { scenario } from "./scenario";

/** Writes the files of a certificate of this name, in a folder of this name. */
const issue = (project: Project, name: string) =>
  project.certificate(name, { commonName: `${name}.example`, dnsNames: [`${name}.example`] });
const files = (name: string) =>
  `chainFile: "${name}/fullchain.pem", keyFile: "${name}/privkey.pem"`;
const kept = `
  new tlsedge.TLSSite("kept", {
    description: pulumi.secret(readFileSync("description", "utf8")),
    hostports: ["kept.example:443"], ${files("kept")},
    backendId: "bkdtg_1", access: { public: true },
  }, {
    protect: true,
    transforms: [({ props: { privateKeyPem } }) => {
      if (typeof privateKeyPem === "string") throw new Error("the key is no secret");
    }],
  });`;

const isProtected = async (project: Project) => {
  const { resources } = await project.state();
  const found = resources.map(({ type, protect = false }) => [type.split(":").at(-1), protect]);
  return Object.fromEntries(found.filter(([type]) => String(type).startsWith("TLS")));
};
const edgeAlone = { TLSSite: true, TLSEdge: true, TLSCertificate: false };

/** tests/tlsSite.test.ts has each argument; outputs.test.ts has a site of dynamic providers. */
scenario("a site of the plugin", ["plugin"], {
  "C11 C88: wrong arguments of a site are refused in a sentence, before any request": {
    program: `new tlsedge.TLSSite("app", {
      hostports: ["a.example:443"], backendId: "bkdtg_1", access: {}, ${files("a")},
    });`,
    preview: "fails",
    says: [/ has a problem: the site app: access must say who may connect/],
    // Where the component itself failed, programs print what they know of gRPC, in Python 40 lines.
    neverSays: /UNKNOWN|failed to register|\n +at /,
    requests: [],
  },
  "C50 C88: a protected site renews its certificate, whose key is a secret, and keeps its edge": [
    {
      outside: async (project) => {
        const description = "a-description-that-is-secret";
        project.keepSecret("the description", description);
        await project.file("description", description);
        await issue(project, "kept");
      },
      program: kept,
      up: { create: 4 },
      check: async (project) => assert.deepEqual(await isProtected(project), edgeAlone),
    },
    {
      outside: (project) => issue(project, "kept"),
      up: "succeeds",
      writes: ["POST /tls_certificates", "DELETE /tls_certificates/:id"],
      check: async (project) => assert.deepEqual(await isProtected(project), edgeAlone),
    },
  ],
  "C50 C88: a site has its parts in the state; its certificate may be an output": {
    outside: async (project) => {
      const hostport = "a-hostname-that-is-secret.example.com";
      project.keepSecret("the hostport", hostport);
      await project.file("hostport", `${hostport}:443`);
      for (const name of ["a", "c"]) await issue(project, name);
    },
    program: `${kept}
        const ids = new tlsedge.TLSEdge("other", { hostports: ["b.example:443"] }).id;
        const hidden = pulumi.secret(readFileSync("hostport", "utf8"));
        const certificate = new tlsedge.TLSCertificate("shared", {
          certificatePem: readFileSync("a/fullchain.pem", "utf8"),
          privateKeyPem: readFileSync("a/privkey.pem", "utf8"),
        });
        const own = new tlsedge.TLSSite("own", {
          ${files("c")}, hostports: ["c.example:443", hidden], backendId: "bkdtg_1",
          access: { public: true },
        });
        const site = new tlsedge.TLSSite("app", {
          hostports: [pulumi.output("a.example:443")], certificate,
          backendId: pulumi.interpolate\`bkdtg_\${ids}\`,
          access: { ipPolicyIds: [pulumi.interpolate\`ipp_\${ids}\`] },
          metadata: { tier: ids }, owner: "web",
        }, { pluginDownloadURL: "https://plugins.example" });
        const later = new tlsedge.TLSSite("later", {
          hostports: ["later.example:443"], backendId: "bkdtg_1", access: { public: true },
          certificate: ids.apply(() => own.certificate),
        });
        exports.ids = [ids, certificate.id, site.certificate.id];
        exports.shared = [own, later].map(({ certificate }) => certificate.id);
        exports.site = [site.hostports, site.expires, certificate.notAfter];
        exports.edge = [site.edge.backend.backendId, site.edge.ipRestriction.ipPolicyIds[0]];
        exports.metadata = site.edge.metadata;`,
    up: "succeeds",
    previewed: true,
    says: [/is not valid for own\.hostports\[1\]: /, /TLSEdge +later/],
    check: async (project) => {
      const outputs = JSON.parse(await project.succeedsQuietly("stack", "output", "--json"));
      const [id, ...certificates] = outputs.ids;
      assert.equal(certificates[0], certificates[1]);
      assert.equal(outputs.shared[0], outputs.shared[1]);
      assert.deepEqual(outputs.edge, [`bkdtg_${id}`, `ipp_${id}`]);
      const [hostports, expires, notAfter] = outputs.site;
      assert.deepEqual([hostports, expires], [["a.example:443"], notAfter]);
      const { environment, tier, owner } = JSON.parse(outputs.metadata);
      assert.deepEqual([environment, tier, owner], [project.stack, id, "web"]);
      const { resources } = await project.state();
      assert.doesNotMatch(JSON.stringify(resources), /PRIVATE KEY|privkey\.pem/);
      const of = (type: string) => resources.find(({ urn }) => urn.endsWith(`:${type}::app`));
      // The provider of the site, not the default one of the plugin's version.
      assert.match(String(of("TLSEdge")?.provider), /plugins\.example::/);
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
        ...{ certificate: certificates[0], edge: of("TLSEdge")?.id, expires, hostports },
        ...{ certificateId: certificates[0], edgeId: of("TLSEdge")?.id },
      });
    },
  },
  "C18 C88: a site and an edge with one hostport fail the plan, where the SDK names a download": {
    // As generated SDKs do: the children of the site have the provider of the site.
    program: `const options = { pluginDownloadURL: "https://plugins.example" };
      new tlsedge.TLSSite("site", {
        hostports: ["a.example:443"], ${files("a")}, backendId: "bkdtg_1", access: { public: true },
      }, options);
      new tlsedge.TLSEdge("edge", { hostports: ["a.example:443"] }, options);`,
    preview: "fails",
    says: [/the edges "\w+" and "\w+" have the same hostport/],
  },
  "C11 C15 C88: what is wrong with a file of a site is said of the file": {
    program: `${kept}
      new tlsedge.TLSSite("swapped", {
        hostports: ["b.example:443"], chainFile: "a/privkey.pem", keyFile: "a/fullchain.pem",
        backendId: "bkdtg_1", access: { public: true },
      });`,
    preview: "fails",
    says: [
      / has a problem: chainFile a\/privkey\.pem: holds a private key.* Are chainFile a\/privkey\.pem and keyFile a/,
      / has a problem: keyFile a\/fullchain\.pem: holds a certificate/,
    ],
    neverSays: /certificatePem|privateKeyPem/,
  },
  "C88: an output that is no certificate is refused": {
    program: `${kept}
      const other = new tlsedge.TLSEdge("other", { hostports: ["b.example:443"] });
      // One that the stack has already.
      new tlsedge.TLSSite("own", {
        hostports: ["own.example:443"], backendId: "bkdtg_1", access: { public: true },
        certificate: other.id.apply(() => other),
      });`,
    up: "fails",
    says: [/the site own: certificate must be a TLSCertificate/],
    writes: [],
  },
  "C15 C88: the id of a new certificate in place of the certificate is refused in the plan": {
    program: `${kept}
      const made = new tlsedge.TLSCertificate("made", {
        certificatePem: readFileSync("kept/fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("kept/privkey.pem", "utf8"),
      });
      new tlsedge.TLSSite("wrong", {
        hostports: ["wrong.example:443"], backendId: "bkdtg_1", access: { public: true },
        certificate: made.id,
      });`,
    preview: "fails",
    says: [
      /the site wrong: certificate must be a TLSCertificate, the resource itself and not its id/,
    ],
  },
});
