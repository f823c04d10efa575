import assert from "node:assert/strict";
import type { Project } from "../../tools/engine";
import { edge, pair, scenario } from "./scenario";

/** Writes the files of a certificate of this name, in a folder of this name. */
const issue = (project: Project, name: string) =>
  project.certificate(name, { commonName: `${name}.example`, dnsNames: [`${name}.example`] });
const files = (name: string) =>
  `chainFile: "${name}/fullchain.pem", keyFile: "${name}/privkey.pem"`;
const site = (name: string, args: string, options = "{}") => `new tlsedge.TLSSite("${name}", {
  hostports: ["${name}.example:443"], backendId: "bkdtg_1", access: { public: true }, ${args}
}, ${options});`;
const kept = site(
  "kept",
  `${files("kept")}, description: pulumi.secret(readFileSync("description", "utf8"))`,
  `{ protect: true, transforms: [({ props: { privateKeyPem } }) => {
    if (typeof privateKeyPem === "string") throw new Error("the key is no secret");
  }] }`,
);

/** Which parts of a site are protected. */
const isProtected = async (project: Project, name: string) => {
  const { resources } = await project.state();
  const own = resources.filter(({ urn }) => urn.endsWith(`::${name}`));
  return Object.fromEntries(
    own.map(({ type, protect = false }) => [type.split(":").at(-1), protect]),
  );
};
const edgeAlone = { TLSSite: true, TLSEdge: true, TLSCertificate: false };

/** tests/tlsSite.test.ts has each argument; outputs.test.ts has a site of dynamic providers. */
scenario("a site of the plugin", ["plugin"], {
  "C50 C88: a site has its parts in the state; its certificate may be an output, or the Node.js package's":
    {
      outside: async (project) => {
        const secrets = {
          description: "a-description-that-is-secret",
          hostport: "hidden.example:443",
        };
        for (const [name, text] of Object.entries(secrets)) {
          project.secrets.add(`the ${name}`, text);
          await project.file(name, text);
        }
        for (const name of ["kept", "own", "mixed"]) await issue(project, name);
      },
      program: `${kept}
      const { id } = ${edge("other", 'hostports: ["b.example:443"]')}
      const hidden = pulumi.secret(readFileSync("hostport", "utf8"));
      const own = new tlsedge.TLSSite("own", {
        hostports: ["own.example:443", hidden], ${files("own")}, access: { public: true },
        backendId: pulumi.interpolate\`bkdtg_\${id}\`, metadata: { tier: id }, owner: "web",
      }, { pluginDownloadURL: "https://plugins.example" });
      ${site("app", "certificate: own.certificate")}
      ${site("later", "certificate: id.apply(() => own.certificate)")}
      const node = require("pulumi-tlsedge");
      const made = new node.TLSCertificate("made", { ${pair("mixed")} });
      ${site("mixed", "certificate: made")}`,
      up: "succeeds",
      previewed: true,
      says: [/is not valid for own\.hostports\[1\]: /, /is not valid for later\.example:443/],
      check: async (project) => {
        assert.deepEqual(await isProtected(project, "kept"), edgeAlone);
        const { resources } = await project.state();
        assert.doesNotMatch(JSON.stringify(resources), /PRIVATE KEY|privkey\.pem/);
        const of = (type: string, name: string) =>
          resources.find(({ urn }) => urn.endsWith(`:${type}::${name}`));
        const [edge, certificate] = [of("TLSEdge", "own"), of("TLSCertificate", "own")];
        const [id] = resources.flatMap(({ urn, id = "" }) => (urn.endsWith("::other") ? id : []));
        // The provider of the site, not the default one of the plugin's version.
        assert.match(String(edge?.provider), /plugins\.example::/);
        assert.deepEqual(edge?.inputs.backend, { backendId: `bkdtg_${id}`, enabled: true });
        const metadata = JSON.parse(String(edge?.inputs.metadata));
        assert.deepEqual(metadata, { environment: project.stack, tier: id, owner: "web" });
        const { inputs = {}, outputs = {} } = of("TLSSite", "own") ?? {};
        const names = ["access", "backendId", "hostports", "metadata", "owner"];
        assert.deepEqual(Object.keys(inputs).sort(), names);
        const { hostports, expires, edgeId, certificateId, ...parts } = outputs;
        assert.equal(expires, certificate?.outputs.notAfter);
        assert.deepEqual([edgeId, certificateId], [edge?.id, certificate?.id]);
        assert.deepEqual(Object.keys(parts).sort(), ["certificate", "edge"]);
        const made = of("TLSCertificate", "made");
        for (const [name, given] of Object.entries({
          app: certificate,
          later: certificate,
          mixed: made,
        }))
          assert.equal(of("TLSSite", name)?.outputs.certificateId, given?.id);
      },
    },
  "C88: a protected site renews its certificate, and keeps its edge": {
    outside: (project) => issue(project, "kept"),
    up: "succeeds",
    writes: ["POST /tls_certificates", "DELETE /tls_certificates/:id"],
    check: async (project) => assert.deepEqual(await isProtected(project, "kept"), edgeAlone),
  },
  "C18 C88: a site and an edge with one hostport fail the plan, where the SDK names a download": {
    // As generated SDKs do: the children of the site have the provider of the site.
    program: `${kept}
      const options = { pluginDownloadURL: "https://plugins.example" };
      ${site("own", files("own"), "options")}
      new tlsedge.TLSEdge("edge", { hostports: ["own.example:443"] }, options);`,
    preview: "fails",
    says: [/the edges "\w+" and "\w+" have the same hostport/],
  },
  "C11 C15 C88: what is wrong with a file of a site is said of the file": {
    program: kept + site("swapped", 'chainFile: "own/privkey.pem", keyFile: "own/fullchain.pem"'),
    preview: "fails",
    says: [
      / has a problem: chainFile own\/privkey\.pem: holds a private key.* Are chainFile own/,
      / has a problem: keyFile own\/fullchain\.pem: holds a certificate/,
    ],
    neverSays: /certificatePem|privateKeyPem/,
  },
  "C88: an output that is no certificate is refused in a sentence": [
    {
      // An edge that the stack has already.
      program: `${kept}
        const other = ${edge("other", 'hostports: ["b.example:443"]')}
        ${site("wrong", "certificate: other.id.apply(() => other)")}`,
      preview: "fails",
      says: [/ has a problem: the site wrong: certificate must be a TLSCertificate/],
      // Where the component itself failed, programs print what they know of gRPC, in Python 40 lines.
      neverSays: /UNKNOWN|failed to register/,
    },
    {
      program: `${kept}
        const made = new tlsedge.TLSCertificate("made", { ${pair("own")} });
        ${site("wrong", "certificate: made.id")}`,
      preview: "fails",
      says: [/certificate must be a TLSCertificate itself, not its id or another resource/],
    },
  ],
});
