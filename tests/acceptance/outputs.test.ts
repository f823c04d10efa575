import assert from "node:assert/strict";
import type { Run } from "../../tools/engineLog";
import { pair, scenario, served } from "./scenario";

/** What the program printed of an output: `show("name", output)`. */
function printed(run: Run, name: string): unknown {
  const [, value] = new RegExp(`OUTPUT ${name} (.*?) END`).exec(run.output) ?? [];
  assert.ok(value, `nothing was printed of ${name}:\n${run.output}`);
  return value === "undefined" ? undefined : JSON.parse(value);
}

/** Each edge shows one way to differ from its arguments, which \`wished\` and \`other\` change. */
const program = ({ wished = false, other = "Deployed" } = {}) => `
  const show = (name, output) =>
    output.apply((value) => console.log("OUTPUT " + name + " " + JSON.stringify(value) + " END"));
  const ignoreChanges = ["hostports", "description", "backend"];
  const ignored = new tlsedge.TLSEdge("ignored", ${
    wished
      ? '{ hostports: ["b.example.com:443"], description: "Wished", backend: { backendId: "b_1" } }'
      : '{ hostports: ["a.example.com:443"] }'
  }, { ignoreChanges });
  for (const name of ignoreChanges) show(name, ignored[name]);
  const drifted = new tlsedge.TLSEdge("drifted", { description: "Wished" },
    { ignoreChanges: ["description"] });
  show("drifted", drifted.description);
  show("left out", new tlsedge.TLSEdge("left", { description: "${other}" }).description);

  const transforms = [({ props, opts }) => {
    const { hostports: _, ...rest } = props;
    return { props: { ...rest, description: "Transformed" }, opts };
  }];
  const wish = { description: "Wished", hostports: ["t.example.com:443"] };
  const transformed = new tlsedge.TLSEdge("transformed", wish, { transforms });
  show("transformed", pulumi.all([transformed.description, transformed.hostports]));

  const pair = { ${pair()} };
  exports.certificate = new tlsedge.TLSCertificate("certificate", pair);
  exports.site = new tlsedge.TLSSite("site", {
    hostports: ["site.example.com:443"], backendId: "bkdtg_1", access: { public: true },
    chainFile: "fullchain.pem", keyFile: "privkey.pem", owner: "web",
  }, { protect: true });`;

/** What the plugin tells of an output is the engine's; the classes of the Node.js package settle it themselves. */
scenario("outputs of dynamic providers", ["dynamic"], {
  "C17 C50 C53 C88: an exported resource is whole, without its key": {
    outside: (project) =>
      project.certificate(".", {
        commonName: "site.example.com",
        dnsNames: ["site.example.com"],
      }),
    program: program(),
    up: "succeeds",
    check: async (project, run) => {
      assert.deepEqual(printed(run, "transformed"), ["Transformed", []]);
      assert.equal((await served(project, "transformed")).description, "Transformed");

      const flags = ["stack", "output", "--json", "--show-secrets"];
      // Fails by itself when the key stands there: every output of a command is searched for it.
      const { output } = await project.pulumi(...flags);
      assert.doesNotMatch(output, /privateKeyPem|PRIVATE KEY|__files/);
      const { certificate, site } = JSON.parse(output);
      assert.equal(certificate.subjectCommonName, "site.example.com");
      assert.match(JSON.stringify(site.edge), /"hostports":\["site\.example\.com:443"\]/);
      const stored = (await project.exported()).certificate?.outputs ?? {};
      assert.match(String(stored.certificatePem), /^-----BEGIN CERTIFICATE-----\n/);
      assert.equal(stored.notAfter, certificate.notAfter);

      const { resources } = await project.state();
      assert.doesNotMatch(JSON.stringify(resources), /privkey\.pem/);
      const { inputs, outputs = {} } = resources.find(({ type }) => /:TLSSite$/.test(type)) ?? {};
      const access = { public: true };
      const hostports = ["site.example.com:443"];
      assert.deepEqual(inputs, { hostports, backendId: "bkdtg_1", access, owner: "web" });
      const names = ["certificate", "certificateId", "edge", "edgeId", "expires", "hostports"];
      assert.deepEqual(Object.keys(outputs).sort(), names);
    },
  },
  "C17 C31 C88: an output shows drift that stays; a protected site renews": {
    outside: async (project) => {
      const { id } = await served(project, "drifted");
      project.emulator.tlsEdges.patch(id, { description: "By hand" });
      const names = { commonName: "site.example.com", dnsNames: ["site.example.com"] };
      await project.certificate(".", names);
    },
    up: "succeeds",
    options: ["--refresh"],
    writes: [
      ...["POST /tls_certificates", "POST /tls_certificates"],
      ...["DELETE /tls_certificates/:id", "DELETE /tls_certificates/:id"],
    ],
    check: async (project, run) => {
      assert.equal((await project.exported()).drifted?.outputs.description, "By hand");
      assert.equal(printed(run, "drifted"), "By hand");
    },
  },
  "C17: an output shows what is deployed, not what is ignored or left out by --target": {
    program: program({ wished: true, other: "Wished" }),
    up: "succeeds",
    previewed: true,
    options: ["--target", "**::ignored"],
    writes: [],
    check: (_, run) => {
      // In the plan and in the update.
      const all = (name: string) =>
        [...run.output.matchAll(new RegExp(`OUTPUT ${name} (.*?) END`, "g"))].map(
          ([, text]) => text,
        );
      for (const [name, text] of Object.entries({
        hostports: '["a.example.com:443"]',
        ...{ description: "undefined", backend: "undefined", "left out": '"Deployed"' },
      }))
        assert.deepEqual(new Set(all(name)), new Set([text]), run.output);
    },
  },
});
