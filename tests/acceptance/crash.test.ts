import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Fault } from "../../emulator/server";
import { isEngineAlive } from "../../provider/run/engine";
import type { Project } from "../../tools/engine";
import { left, type Process } from "../../tools/processes";
import { age, certificate, edge, pair, type Step, scenario } from "./scenario";

const ids = ({ emulator }: Project) =>
  [emulator.tlsEdges, emulator.tlsCertificates].flatMap((all) => all.list().map(({ id }) => id));
const stored = async (project: Project) =>
  Object.values(await project.exported()).map(({ id }) => id);
/** The state has each object, as the service has it. */
async function assertAllStored(project: Project): Promise<void> {
  const { tlsEdges, tlsCertificates } = project.emulator;
  const objects = [...tlsEdges.list(), ...tlsCertificates.list()];
  const known = Object.values(await project.exported());
  assert.deepEqual(
    known.map(({ id, outputs }) => [id, outputs.description ?? ""]).toSorted(),
    objects.map(({ id, description }) => [id, description ?? ""]).toSorted(),
  );
}
/** The object that no resource has. */
async function orphanOf(project: Project): Promise<string> {
  const known = await stored(project);
  const [orphan = "", ...more] = ids(project).filter((id) => !known.includes(id));
  assert.deepEqual(more, []);
  return orphan;
}

/** The service does its work, and the answer never comes. */
const lost = (method: Fault["method"], path: string): Fault => ({
  ...{ method, path, answer: "silence", work: true },
});
type Victim = "engine" | "provider";
/** Kills a process of an `up` when a request meets the fault; a killed engine leaves the stack locked. */
const kill = async (victim: Victim, project: Project, fault: Fault, ...options: string[]) => {
  await project.killed(victim, fault, "up", ...options);
  if (victim === "engine") await project.succeedsQuietly("cancel", "--yes");
};

const providers = (started: Process[]) =>
  started.filter(({ command }) =>
    /dynamic-provider|resource-pulumi-nodejs|resource-tlsedge\.js/.test(command),
  );

/** Settles when the providers that an engine started have exited. */
async function gone(started: Process[]): Promise<void> {
  const ours = providers(started);
  assert.ok(ours.length > 0);
  for (let turn = 0; turn < 300; turn++) {
    if (left(ours).length === 0) return;
    await setTimeout(200);
  }
  assert.fail(`still there: ${left(ours).map(({ command }) => command)}`);
}

/** A plan names the object that a crash has left, and an update adopts it. */
const namedAndAdopted = (
  crash: (project: Project) => Promise<unknown>,
  program: (options: string) => string,
  writes: string[],
): Step[] => {
  let orphan: string;
  return [
    {
      outside: async (project) => {
        await crash(project);
        orphan = await orphanOf(project);
      },
      preview: "succeeds",
      says: [/warning: each TLS \w+ of this list equals one that this run creates/],
      check: (_, { output }) => assert.ok(output.includes(orphan), output),
    },
    {
      program: () => program(`import: "${orphan}"`),
      up: "succeeds",
      writes,
      check: assertAllStored,
    },
    { program: program(""), up: "succeeds", writes: [], check: assertAllStored },
  ];
};

scenario("a crash, through dynamic providers", ["dynamic"], () => {
  let orphan: string;
  const issue = (project: Project) => project.certificate(".", { commonName: "app.example.com" });
  const program = (more = "", options = "", args = "") => `
    const dependsOn = ${certificate("certificate", args, options)}
    ${edge("edge", `hostports: ["app.example.com:443"], ${args}`, "dependsOn")} ${more}`;
  const update = (description: string) => (project: Project) =>
    project.program(program("", "", `description: "${description}"`));
  const urn = "**::edge";
  /** A change, the request whose answer never comes, and what is killed then. */
  const kills: [string, (project: Project) => Promise<unknown>, Fault, Victim, string[]?][] = [
    ["a replacement", issue, lost("DELETE", "/tls_certificates/*"), "engine"],
    [
      "a replacement that deletes first",
      async () => {},
      lost("DELETE", "/edges/tls/*"),
      "provider",
      ["--replace", urn],
    ],
    ["an update", update("one"), lost("PATCH", "/edges/tls/*"), "engine"],
    ["another update", update("two"), lost("PATCH", "/tls_certificates/*"), "provider"],
  ];
  const madeGood = kills.map(([title, change, fault, victim, options = []]): [string, Step] => [
    `C37: a crash of the ${victim} in ${title} is made good by up --refresh`,
    {
      outside: async (project) => {
        await change(project);
        await kill(victim, project, fault, ...options);
        age(project);
      },
      up: "succeeds",
      options: ["--refresh"],
      check: assertAllStored,
    },
  ]);
  return {
    "C84: the plan after a crash in a create names the object, and the option import adopts it":
      namedAndAdopted(
        async (project) => {
          age(project);
          await issue(project);
          await project.program(program());
          await kill("provider", project, lost("POST", "/tls_certificates"));
        },
        (options) => program("", options),
        ["POST /edges/tls"],
      ),
    ...Object.fromEntries(madeGood),
    "C37: then another up changes nothing": { up: { same: 3 }, writes: [] },
    "C84: the error after a crash of the engine in a create names the edge that has the hostport": {
      outside: async (project) => {
        await project.program(program(edge("more", 'hostports: ["more.example.com:443"]')));
        await kill("engine", project, lost("POST", "/edges/tls"));
        orphan = await orphanOf(project);
      },
      up: "fails",
      check: (_, { output }) => assert.ok(output.includes(orphan), output),
    },
    "C32: a crash of the provider in a destroy is made good by another destroy": {
      outside: (project) => project.killed("provider", lost("DELETE", "/edges/tls/*"), "destroy"),
      destroy: "succeeds",
      check: (project) => assert.deepEqual(ids(project), [orphan]),
    },
  };
});

scenario("a crash, through the plugin", ["plugin"], () => {
  // One after another: of an answer that the engine could not store any more, the object is only named.
  const program = (options = "") => `const dependsOn = ${certificate("first", "", options)}
    new tlsedge.TLSCertificate("second", { ${pair()}, metadata: "m" }, { dependsOn });`;
  return {
    "C84: the plan after a crash in a create names the object, and the option import adopts it":
      namedAndAdopted(
        async (project) => {
          await project.certificate(".", { commonName: "app.example.com" });
          await project.program(program());
          await kill("engine", project, { ...lost("POST", "/tls_certificates"), times: 1 });
        },
        program,
        ["POST /tls_certificates"],
      ),
    "C84: a plugin that makes a site exits after its engine was killed": {
      outside: async (project) => {
        await project.certificate(".", { commonName: "app.example.com" });
        await project.program(`new tlsedge.TLSSite("site", { hostports: ["app.example.com:443"],
        chainFile: "fullchain.pem", keyFile: "privkey.pem", backendId: "bkdtg_1", access: { public: true } });`);
        const held: Fault = { method: "POST", path: "/tls_certificates", answer: "held", times: 1 };
        await project.onFault(held, ["up"], async (engine, started) => {
          process.kill(engine, "SIGKILL");
          project.emulator.faults.clear();
          await gone(started);
        });
        await project.succeedsQuietly("cancel", "--yes");
      },
    },
    "the plugin ends when the user cancels while a request waits for its retry": {
      outside: async (project) => {
        const slow: Fault = {
          method: "GET",
          answer: { status: 503, headers: { "Retry-After": "100" } },
        };
        const { output } = await project.onFault(slow, ["refresh"], (engine) => {
          process.kill(engine, "SIGINT");
        });
        assert.match(output, /the update was cancelled/);
      },
    },
  };
});

scenario("a provider whose engine was killed with ten creates under way", ["dynamic"], () => {
  const posts = ({ emulator }: Project) =>
    emulator.requests.filter(({ method }) => method === "POST").length;
  const portOf = (started: Process[]) =>
    Number(/:(\d+)$/.exec(providers(started)[0]?.command ?? "")?.[1]);

  return {
    "C84: a provider without an engine hears the answers, sends no more, and exits": {
      outside: async (project) => {
        // One list and ten creates start at once; the other two creates wait for the limit.
        project.env.TLSEDGE_REQUESTS_PER_MINUTE = "11";
        // Then an answer makes the provider write to the stderr that nobody reads any more.
        project.env.NODE_DEBUG = "tlsedge";
        await project.program(`
            for (let n = 0; n < 12; n++)
              new tlsedge.TLSEdge("edge" + n, { hostports: ["app" + n + ".example.com:443"] });`);
        const held: Fault = { method: "POST", answer: "held", times: 10 };
        await project.onFault(held, ["up", "--parallel", "12"], async (engine, started) => {
          process.kill(engine, "SIGKILL");
          // A create that is answered before the port is closed takes the engine for alive.
          while (await isEngineAlive(portOf(started)));
          project.emulator.faults.clear();
          await gone(started);
        });
        assert.equal(posts(project), 10);
        assert.equal(project.emulator.tlsEdges.list().length, 10);
        await project.succeedsQuietly("cancel", "--yes");
        project.env.TLSEDGE_REQUESTS_PER_MINUTE = "0";
      },
      preview: "succeeds",
      check: (project, { output }) => {
        for (const id of ids(project)) assert.ok(output.includes(id), output);
      },
    },
  };
});
