import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Adoption } from "../../cli/adopt";
import type { Fault } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import { certificate, edge, type Step, scenario } from "./scenario";

const bin = join(__dirname, "..", "..", "dist", "cli", "main.js");
const adopt = ({ folder, env }: Project, stack: string) =>
  promisify(execFile)(bin, ["adopt", "--format", "json", "--pending-creates", "--stack", stack], {
    cwd: folder,
    env,
  });

/** 16 creates start at once. One of the equals waits for the other, the site's edge for its certificate. */
const program = `
  const parent = new pulumi.ComponentResource("my:index:Group", "group");
  for (let n = 0; n < 7; n++) ${edge('edge" + n + "', 'hostports: ["app" + n + ".example.com:443"]')}
  for (let n = 0; n < 3; n++) ${edge('edge" + n + "', 'metadata: "child" + n', "parent")}
  for (let n = 0; n < 4; n++) ${certificate('certificate" + n + "', 'metadata: "m" + n')}
  for (let n = 0; n < 2; n++) ${edge('equal" + n + "', 'description: "equal"')}
  new tlsedge.TLSSite("site", { hostports: ["app.example.com:443"], chainFile: "fullchain.pem",
    keyFile: "privkey.pem", backendId: "bkdtg_1", access: { public: true } });`;

scenario("an update whose engine was killed in 16 creates", ["dynamic", "plugin"], (protocol) => {
  const writes = ["POST /edges/tls", "POST /edges/tls"];
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
    "C84: adopt --pending-creates finds the 16 objects, and they are adopted without a write": [
      {
        outside: async (project) => {
          await project.certificate(".", { commonName: "app.example.com" });
          await project.program(program);
          const held: Fault = { method: "POST", answer: "held", times: 16 };
          await project.onFault(held, ["up", "--parallel", "32"], (engine) => {
            process.kill(engine, "SIGKILL");
          });
          await project.succeedsQuietly("cancel", "--yes");
          await assert.rejects(adopt(project, "other"), /no stack named 'other' found/);
          const { stdout } = await adopt(project, "dev");
          const { edges, certificates, skipped }: Adoption = JSON.parse(stdout);
          assert.deepEqual([edges.length, certificates.length, skipped], [11, 5, []]);
        },
      },
      ...adoption[protocol],
      {
        refresh: "succeeds",
        options: ["--clear-pending-creates"],
        check: async (project) => {
          const { tlsEdges, tlsCertificates } = project.emulator;
          const all = [...tlsEdges.list(), ...tlsCertificates.list()];
          const { resources, pending } = await project.state();
          const stored = new Set(resources.map(({ id }) => id));
          const left = all.filter(({ id }) => !stored.has(id));
          assert.deepEqual([all.length, left, pending], [18, [], []]);
        },
      },
      { preview: { same: 21 } },
    ],
  };
});
