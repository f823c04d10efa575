import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Adoption } from "../../cli/adopt";
import type { Fault } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import { left } from "../../tools/processes";
import { age, bin, certificate, edge, type Step, scenario } from "./scenario";

const objects = ({ emulator }: Project) => [
  ...emulator.tlsEdges.list(),
  ...emulator.tlsCertificates.list(),
];
/** The state has each object, and no other. */
async function assertAllStored(project: Project): Promise<void> {
  const { resources, pending } = await project.state();
  const stored = resources.flatMap(({ type, id }) => (/tlsedge:.*TLS/.test(type) && id) || []);
  const ids = objects(project).map(({ id }) => id);
  assert.deepEqual([stored.toSorted(), pending], [ids.toSorted(), []]);
}

const adopt = (project: Project, stack: string) =>
  project.start(["adopt", "--format", "json", "--pending-creates", "--stack", stack], bin).done;

/** 16 creates start at once. The site's edge waits for its certificate. */
const program = `
  const parent = new pulumi.ComponentResource("my:index:Group", "group");
  for (let n = 0; n < 6; n++) ${edge('edge" + n + "', 'hostports: ["app" + n + ".example.com:443"]')}
  for (let n = 0; n < 3; n++) ${edge('edge" + n + "', 'metadata: "child" + n', "parent")}
  for (let n = 0; n < 4; n++) ${certificate('certificate" + n + "', 'metadata: "m" + n')}
  for (let n = 0; n < 2; n++) ${edge('equal" + n + "', 'description: "equal"')}
  new tlsedge.TLSSite("site", { hostports: ["app.example.com:443"], chainFile: "fullchain.pem",
    keyFile: "privkey.pem", backendId: "bkdtg_1", access: { public: true } });`;

scenario("an update whose engine was killed in 16 creates", ["dynamic", "plugin"], (protocol) => {
  const writes = ["POST /edges/tls"];
  const options = ["--file", "import.json", "--protect=false", "--generate-code=false"];
  const adoption: Record<typeof protocol, Step[]> = {
    dynamic: [
      { program: `require("./adopted.cjs");\n${program}`, up: "succeeds", writes },
      { program, up: "succeeds", writes: [] },
    ],
    plugin: [
      { import: "succeeds", options, writes: [] },
      { up: "succeeds", writes },
    ],
  };
  return {
    "C84: the provider hears the answers and exits, and the next plan names what it has made": {
      outside: async (project) => {
        await project.certificate(".", { commonName: "app.example.com" });
        await project.program(program);
        // Then an answer makes the provider write to the stderr that nobody reads any more.
        project.env.NODE_DEBUG = "tlsedge";
        const held: Fault = { method: "POST", answer: "held", times: 16 };
        await project.onFault(held, ["up", "--parallel", "32"], async (engine, started) => {
          const provider = /dynamic-provider|resource-pulumi-nodejs|resource-tlsedge\.js/;
          const providers = started.filter(({ command }) => provider.test(command));
          assert.ok(providers.length > 0);
          process.kill(engine, "SIGKILL");
          project.emulator.faults.clear();
          while (left(providers).length > 0) await setTimeout(200);
        });
        delete project.env.NODE_DEBUG;
        await project.succeedsQuietly("cancel", "--yes");
      },
      preview: "succeeds",
      // Each row names its resource, that of the first call of the process, too.
      says: [
        /warning: each TLS \w+ of this list equals one that this run creates:(\n +[a-z]\w*: (edgtls|cert)_\S+ \(.*\))+\n +If/,
      ],
      check: (project, { output }) => {
        assert.equal(objects(project).length, 16);
        for (const { id } of objects(project)) assert.ok(output.includes(id), output);
      },
    },
    "C84: adopt --pending-creates finds the 16 objects, and they are adopted without a write": [
      {
        outside: async (project) => {
          const other = await adopt(project, "other");
          assert.match(`${other.code} ${other.output}`, /^1 .*no stack named 'other' found/s);
          const { output } = await adopt(project, "dev");
          const { edges, certificates, skipped }: Adoption = JSON.parse(output);
          assert.deepEqual([edges.length, certificates.length, skipped], [11, 5, []]);
        },
      },
      ...adoption[protocol],
      { refresh: "succeeds", options: ["--clear-pending-creates"], check: assertAllStored },
    ],
  };
});

scenario("a command that is stopped", ["plugin"], {
  "C37: a crash of the engine in a replacement is made good by up --refresh": {
    outside: async (project) => {
      const issue = () => project.certificate(".", { commonName: "app.example.com" });
      await issue();
      await project.program(`const dependsOn = ${certificate("certificate")}
        ${edge("edge", 'hostports: ["app.example.com:443"]', "dependsOn")}`);
      await project.up();
      await issue();
      const path = "/tls_certificates/*";
      const lost: Fault = { method: "DELETE", path, answer: "silence", work: true };
      await project.onFault(lost, ["up"], (engine) => {
        process.kill(engine, "SIGKILL");
      });
      await project.succeedsQuietly("cancel", "--yes");
      age(project);
    },
    up: "succeeds",
    options: ["--refresh"],
    check: assertAllStored,
  },
  "the plugin ends when the user cancels while a request waits for its retry": {
    outside: async (project) => {
      const answer = { status: 503, headers: { "Retry-After": "100" } };
      const { output } = await project.onFault({ method: "GET", answer }, ["refresh"], (engine) => {
        process.kill(engine, "SIGINT");
      });
      assert.match(output, /the update was cancelled/);
    },
  },
});

scenario("a create that is cancelled", ["dynamic"], {
  "C33: the search for what it has made ends, and the error says what to do": {
    outside: async (project) => {
      await project.program(edge("lost", ""));
      const fault: Fault = { method: "POST", answer: { status: 504 } };
      const { output } = await project.onFault(fault, ["up"], async (engine) => {
        const { requests } = project.emulator;
        while (!requests.some(({ method, status }) => method === "POST" && status === 504))
          await setTimeout(50);
        process.kill(engine, "SIGINT");
      });
      assert.match(output, /the list can't be read \(the update was cancelled\)/);
    },
  },
});
