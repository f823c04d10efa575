import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { tlsEdges } from "../../client/tlsEdge";
import type { CertificateOptions } from "../../emulator/server";
import { upload } from "../support";
import { adopt, heldBy, withoutCode } from "./account";
import { edge, scenario } from "./scenario";

/** How the engine's import names an object: by its id, an edge also by a hostport. */
interface Imported {
  type: "TLSEdge" | "TLSCertificate";
  name: string;
  id: string;
}

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
    "C81: import takes one edge by its id, with one read and the whole state": {
      outside: async (project) => {
        await project.program("");
        const hostports = ["one.example:443"];
        const args = { hostports, description: "by hand" };
        ids.one = (await tlsEdges.create(project.newClient(), args)).id;
        const flags = ["tlsedge:index:TLSEdge", "one", ids.one, ...withoutCode];
        const { requests } = await project.succeeds("import", ...flags);
        assert.deepEqual(requests, ["GET /edges/tls/:id"]);
        const { one } = await project.exported();
        assert.deepEqual([one?.id, one?.inputs], [ids.one, args]);
        await project.succeedsQuietly("state", "delete", "--force", "--yes", String(one?.urn));
      },
    },
    "C81: import takes a file of ids, hostports and fingerprints, without keys": {
      outside: async (project) => {
        const client = project.newClient();
        const all: Imported[] = [];
        for (const [name, options] of Object.entries(leaves)) {
          const { id, certificate_pem, private_key_pem } = await upload(client, options);
          project.keepSecret(`the key of ${name}`, private_key_pem);
          await project.file(`${name}.key`, private_key_pem);
          await project.file(`${name}.pem`, certificate_pem.replaceAll("\n", "\r\n"));
          ids[name] = id;
          const fingerprint = new X509Certificate(certificate_pem).fingerprint256;
          const isNamed = name === "rsa";
          all.push({
            ...{ type: "TLSCertificate", name },
            id: isNamed ? fingerprint.replaceAll(":", "").toLowerCase() : id,
          });
        }
        // No program may give the empty list of a module that is switched off.
        const mutual_tls = { enabled: false, certificate_authority_ids: [] };
        const hostports = ["a.example:443", "b.example:443"];
        ids.off = (await tlsEdges.create(client, { mutual_tls })).id;
        ids.hostport = (await tlsEdges.create(client, { hostports })).id;
        for (const name of ["kept", "gone"])
          ids[name] = (await tlsEdges.create(client, { hostports: [`${name}:443`] })).id;
        all.push({ type: "TLSEdge", name: "off", id: ids.off });
        all.push({ type: "TLSEdge", name: "hostport", id: "B.example:443" });
        const resources = all.map((one) => ({ ...one, type: `tlsedge:index:${one.type}` }));
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

/** More with TLSEDGE_TEST_ADOPTED=300, for a minute. */
const many = Number(process.env.TLSEDGE_TEST_ADOPTED ?? 15);
const pages = Math.ceil(many / 100);

scenario("an import of what adopt has written", ["plugin"], {
  [`C81: ${many} edges and ${many} certificates are imported by the page`]: {
    outside: async (project) => {
      await project.program("");
      const client = project.newClient();
      for (let n = 0; n < many; n++) {
        const commonName = `app${n}.example.com`;
        await upload(client, { commonName, dnsNames: [commonName] });
        await tlsEdges.create(client, { hostports: [`${commonName}:443`] });
      }
      const before = heldBy(project);
      const taken = () =>
        project.emulator.requests
          .splice(0)
          .map(({ method, path }) => (path.includes("?") ? "page" : `${method} one`))
          .sort();
      taken();
      await adopt(project);
      assert.deepEqual(taken(), Array(2 * pages).fill("page"));
      const { changes } = await project.succeeds(
        "import",
        "--file",
        "out/import.json",
        ...withoutCode,
      );
      assert.equal(changes.import, 2 * many);
      // One of each kind is read by itself, before it is known that there are more.
      assert.deepEqual(taken(), ["GET one", "GET one", ...Array(2 * pages).fill("page")]);
      assert.equal(heldBy(project), before);
    },
  },
});
