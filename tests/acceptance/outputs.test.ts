import assert from "node:assert/strict";
import type { Run } from "../../tools/engineLog";
import { scenario, served } from "./scenario";

/** Each text that the program has printed of an output, in the plan and in the update: `show("name", output)`. */
const printed = ({ output }: Run, name: string) =>
  new Set(
    [...output.matchAll(new RegExp(`OUTPUT ${name} (.*?) END`, "g"))].map(([, text]) => text),
  );

/** Each edge shows one way to differ from its arguments, which `wished` changes. */
const program = (wished = false) => `
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
  const left = new tlsedge.TLSEdge("left", { description: "${wished ? "Wished" : "Deployed"}" });
  show("left", left.description);

  const transforms = [({ props: { hostports, ...rest }, opts }) =>
    ({ props: { ...rest, description: "Transformed" }, opts })];
  const transformed = new tlsedge.TLSEdge("transformed",
    { description: "Wished", hostports: ["t.example.com:443"] }, { transforms });
  show("transformed", pulumi.all([transformed.description, transformed.hostports]));
  exports.site = new tlsedge.TLSSite("site", {
    hostports: ["site.example.com:443"], backendId: "bkdtg_1", access: { public: true },
    chainFile: "fullchain.pem", keyFile: "privkey.pem",
  }, { protect: true });`;

/** What the plugin tells of an output is the engine's; the classes of the Node.js package settle it themselves. */
scenario("outputs of dynamic providers", ["dynamic"], {
  "C17 C50 C53 C88: an output is what a transform has made; an exported site is whole, without its key":
    {
      outside: (project) =>
        project.certificate(".", {
          commonName: "site.example.com",
          dnsNames: ["site.example.com"],
        }),
      program: program(),
      up: "succeeds",
      check: async (project, run) => {
        assert.deepEqual(printed(run, "transformed"), new Set(['["Transformed",[]]']));
        assert.equal((await served(project, "transformed")).description, "Transformed");
        // Fails by itself when the key stands there: every output of a command is searched for it.
        const { output } = await project.pulumi("stack", "output", "--json", "--show-secrets");
        assert.doesNotMatch(output, /privateKeyPem|PRIVATE KEY|__files/);
        const { certificate, edge } = JSON.parse(output).site;
        assert.equal(certificate.subjectCommonName, "site.example.com");
        assert.deepEqual(edge.hostports, ["site.example.com:443"]);
        const { resources } = await project.state();
        const stored = resources.find(({ type }) => type.endsWith(":TLSSite"));
        assert.equal(stored?.outputs.edgeId, edge.id);
      },
    },
  "C17 C31: an output shows what is deployed: drift that stays, not what is ignored or left out by --target":
    {
      outside: async (project) => {
        const { id } = await served(project, "drifted");
        project.emulator.tlsEdges.patch(id, { description: "By hand" });
      },
      program: program(true),
      up: "succeeds",
      previewed: true,
      options: ["--refresh", "--target", "**::ignored", "--target", "**::drifted"],
      writes: [],
      check: (_, run) => {
        for (const [name, text] of Object.entries({
          hostports: '["a.example.com:443"]',
          ...{ description: "undefined", backend: "undefined" },
          ...{ drifted: '"By hand"', left: '"Deployed"' },
        }))
          assert.deepEqual(printed(run, name), new Set([text]), run.output);
      },
    },
});
