import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { tlsEdges } from "../../client/tlsEdge";
import type { CertificateOptions } from "../../emulator/server";
import { upload } from "../support";
import { edge, scenario } from "./scenario";

const leaves: Record<string, CertificateOptions> = {
  rsa: { keyType: "rsa", commonName: "rsa.example", dnsNames: ["*.rsa.example"] },
  ed25519: { keyType: "ed25519", commonName: "" },
  expired: { commonName: "past", notBefore: new Date(0), notAfter: new Date(1000) },
};
const names = Object.keys(leaves);
const steps = (what: string, ...more: string[]) => [
  ...names.map((name) => `${what}:${name}`),
  ...["same:off", "same:hostport"],
  ...more,
];

scenario("an import by the engine", ["plugin"], () => {
  const ids: Record<string, string> = {};
  const program = (key = "", gone = "") => `
    new tlsedge.TLSEdge("off", {}, { protect: true });
    new tlsedge.TLSEdge("hostport", { hostports: ["a.example:443", "b.example:443"] }, { protect: true });
    for (const name of ${JSON.stringify(names)}) {
      const read = (type) => readFileSync(name + type, "utf8");
      new tlsedge.TLSCertificate(name, { certificatePem: read(".pem"), ${key} }, { protect: true });
    }
    ${edge("kept", 'hostports: ["kept:443"]', 'import: "kept:443"')}
    ${edge("gone", 'hostports: ["gone:443"]', gone)}`;

  return {
    "C81: import takes a file of ids, hostports and fingerprints, without keys": {
      outside: async (project) => {
        await project.program("");
        const client = project.newClient();
        const resources: { type: string; name: string; id: string }[] = [];
        for (const [name, options] of Object.entries(leaves)) {
          const { id, certificate_pem, private_key_pem } = await upload(client, options);
          project.keepSecret(`the key of ${name}`, private_key_pem);
          await project.file(`${name}.key`, private_key_pem);
          await project.file(`${name}.pem`, certificate_pem.replaceAll("\n", "\r\n"));
          ids[name] = id;
          const fingerprint = new X509Certificate(certificate_pem).fingerprint256;
          resources.push({
            ...{ type: "tlsedge:index:TLSCertificate", name },
            id: name === "rsa" ? fingerprint.replaceAll(":", "").toLowerCase() : id,
          });
        }
        // No program may give the empty list of a module that is switched off.
        const mutual_tls = { enabled: false, certificate_authority_ids: [] };
        const hostports = ["a.example:443", "b.example:443"];
        ids.off = (await tlsEdges.create(client, { mutual_tls })).id;
        ids.hostport = (await tlsEdges.create(client, { hostports })).id;
        for (const name of ["kept", "gone"])
          ids[name] = (await tlsEdges.create(client, { hostports: [`${name}:443`] })).id;
        const type = "tlsedge:index:TLSEdge";
        resources.push({ type, name: "off", id: ids.off });
        resources.push({ type, name: "hostport", id: "B.example:443" });
        await project.file("import.json", JSON.stringify({ resources }));
      },
      import: "succeeds",
      options: ["--file", "import.json", "--generate-code=false"],
      neverSays: /has a problem/,
      state: (found) => {
        for (const name of [...names, "off", "hostport"]) assert.equal(found[name]?.id, ids[name]);
      },
    },
    "C81: the program of an import has no diff; the option takes a hostport or an id": {
      program: () => program("", `import: "${ids.gone}"`),
      up: "succeeds",
      steps: steps("same", "import:kept", "import:gone"),
      writes: [],
      state: ({ kept, gone }) => assert.deepEqual([kept?.id, gone?.id], [ids.kept, ids.gone]),
    },
    "C42 C81: the keys come later with no write, and the option import may stay or go": {
      program: () => program('privateKeyPem: read(".key")'),
      up: "succeeds",
      steps: steps("update", "same:kept", "same:gone"),
      writes: [],
      state: (found) => {
        for (const name of names) assert.ok(found[name]?.inputs.privateKeyPem);
      },
    },
  };
});
