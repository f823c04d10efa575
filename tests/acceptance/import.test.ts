import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { tlsEdges } from "../../client/tlsEdge";
import type { CertificateOptions } from "../../emulator/server";
import { clientOf, upload } from "../support";
import { edge, scenario } from "./scenario";

const leaves: Record<string, CertificateOptions> = {
  rsa: { keyType: "rsa", commonName: "rsa.example", dnsNames: ["*.rsa.example"] },
  ed25519: { keyType: "ed25519", commonName: "" },
  expired: { commonName: "past", notBefore: new Date(0), notAfter: new Date(1000) },
};
const names = Object.keys(leaves);

scenario("an import by the engine", ["plugin"], () => {
  const ids: Record<string, string> = {};
  return {
    "C89: import takes a file of ids, hostports and fingerprints, without keys": {
      outside: async (project) => {
        await project.program("");
        const client = clientOf(project.emulator);
        const resources: { type: string; name: string; id: string }[] = [];
        for (const [name, options] of Object.entries(leaves)) {
          const { id, certificate_pem, private_key_pem } = await upload(client, options);
          project.secrets.add(`the key of ${name}`, private_key_pem);
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
        for (const name of ["one", "two"])
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
    "C40 C89: the program of an import writes nothing: keys come later, the option takes a hostport or an id":
      {
        program: () => `
        new tlsedge.TLSEdge("off", {}, { protect: true });
        new tlsedge.TLSEdge("hostport", { hostports: ["a.example:443", "b.example:443"] }, { protect: true });
        for (const name of ${JSON.stringify(names)}) {
          const read = (type) => readFileSync(name + type, "utf8");
          const key = name === "rsa" && { privateKeyPem: read(".key") };
          new tlsedge.TLSCertificate(name, { certificatePem: read(".pem"), ...key }, { protect: true });
        }
        ${edge("one", 'hostports: ["one:443"]', 'import: "one:443"')}
        ${edge("two", 'hostports: ["two:443"]', `import: "${ids.two}"`)}`,
        up: "succeeds",
        steps: [
          ...["update:rsa", "same:ed25519", "same:expired", "same:off", "same:hostport"],
          ...["import:one", "import:two"],
        ],
        writes: [],
        state: ({ one, two, rsa }) => {
          assert.deepEqual([one?.id, two?.id], [ids.one, ids.two]);
          assert.ok(rsa?.inputs.privateKeyPem);
        },
      },
  };
});
