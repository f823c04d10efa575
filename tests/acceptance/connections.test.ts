import assert from "node:assert/strict";
import { join } from "node:path";
import { type Account, type Emulator, startEmulator } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";
import { certificate, edge, lists, scenario, shownOf, warned } from "./scenario";

/** The first hostport of each account's edges. */
const served = (...accounts: Account[]) =>
  accounts.map(({ tlsEdges }) =>
    tlsEdges
      .list()
      .map(({ hostports }) => hostports?.[0]?.replace(".example.com:443", ""))
      .sort(),
  );

/** A second service, for the tests of a scenario. */
function anotherService(): { service: Emulator } {
  const other = {} as { service: Emulator };
  before(async () => {
    other.service = await startEmulator();
  });
  after(() => other.service?.close());
  return other;
}

/** Sets a service in a namespace of the stack's config. */
async function configure(project: Project, namespace: string, { url, apiKey, ca }: Emulator) {
  project.keepSecret(`the API key of ${namespace}`, apiKey);
  await project.file(`${namespace}.pem`, ca);
  const caFile = join(project.folder, `${namespace}.pem`);
  await project.succeedsQuietly("config", "set", `${namespace}:baseUrl`, url);
  await project.succeedsQuietly("config", "set", `${namespace}:caFile`, caFile);
  await project.setSecret(`${namespace}:apiKey`, apiKey);
}

scenario("two accounts of a program, as connections", ["dynamic"], () => {
  const staging = anotherService();
  const lookups = `
    const connection = "tlsedge-staging";
    exports.tunnels = tlsedge.getTunnelsOutput({ connection }).length;`;

  return {
    "C1 C5: each resource and lookup is in the account of its connection": {
      outside: async (project) => {
        await project.certificate(".", { commonName: "app.example.com" });
        await configure(project, "tlsedge-staging", staging.service);
        project.env.TLSEDGE_STAGING_BASE_URL = "https://elsewhere.example.com";
      },
      program: `${lookups}
        ${edge("here", 'hostports: ["here.example.com:443"]')}
        const there = ${edge("there", 'hostports: ["there.example.com:443"], connection')}
        ${certificate("certificate", "connection")}
        exports.read = tlsedge.TLSEdge.get("read", there.id, { connection }).hostports;`,
      up: "succeeds",
      requests: [lists.edges, "POST /edges/tls"],
      check: async (project) => {
        assert.deepEqual(await project.output("read"), ["there.example.com:443"]);
        assert.deepEqual(served(project.emulator, staging.service), [["here"], ["there"]]);
        assert.equal(staging.service.tlsCertificates.list().length, 1);
      },
    },
    "C1 C50: a command reads the stack's config, which wins; an error says on one line what to do":
      {
        outside: async (project) => {
          const bin = join(repository, "dist", "cli", "main.js");
          const says = async (line: string, text: RegExp | string) => {
            const { code, output } = await project.start(line.split(" "), bin).done;
            assert.match(`${code} ${output}`, new RegExp(text));
          };
          const { host } = new URL(staging.service.url);
          await says("status --connection tlsedge-staging --stack dev", `^0 [^]*${host}`);
          await says("status --stack other", /^1 error: .*read the stack other: no stack.*\n$/);
          const none = "status --connection tlsedge-none --stack dev";
          await says(none, /^1 error: .*pulumi config set --secret tlsedge-none.*\n$/);
          await project.succeedsQuietly("config", "set", "tlsedge-none:apiKey", "x", "--plaintext");
          await says(none, /^1 error: .*in plain text.*\n$/);
          await project.succeedsQuietly("config", "rm", "tlsedge-none:apiKey");
        },
      },
    "C5: a resource that moves to another connection is deleted here and created there": {
      program:
        edge("here", 'hostports: ["here.example.com:443"], connection: "tlsedge-staging"') +
        edge("there", 'hostports: ["there.example.com:443"]'),
      up: { replace: 2, delete: 1, discard: 1, same: 1 },
      check: ({ emulator }) =>
        assert.deepEqual(served(emulator, staging.service), [["there"], ["here"]]),
    },
  };
});

scenario("three accounts of a program, as providers", ["plugin"], () => {
  const staging = anotherService();
  let third: Account;
  const servedByEach = ({ emulator }: Project) => served(emulator, staging.service, third);

  /** One resource in each account, and two whose provider is a matter of the test. */
  const program = ({ folder }: Project, moves = "staging", renamed = "third", more = "") => `
    const staging = new tlsedge.Provider("staging", {
      apiKey: readFileSync("staging-key", "utf8"), baseUrl: "${staging.service.url}",
      caFile: "${join(folder, "staging-ca.pem")}", requestsPerMinute: 600,
    });
    const apiKey = readFileSync("third-key", "utf8");
    const third = new tlsedge.Provider("default-third", { apiKey });
    const other = new tlsedge.Provider("other", { apiKey, timeoutSeconds: 60 });
    const edge = (name, provider) =>
      new tlsedge.TLSEdge(name, { hostports: [name + ".example.com:443"] }, { provider });
    edge("here");
    const { id } = edge("there", staging);
    exports.there = tlsedge.TLSEdge.get("read", id, {}, { provider: staging }).hostports;
    edge("moves", ${moves});
    edge("renamed", ${renamed});
    ${more}`;

  return {
    "C4 C82: each resource is in the account of its provider, whose key is encrypted": {
      outside: async (project) => {
        third = project.emulator.addAccount();
        await project.file("staging-ca.pem", staging.service.ca);
        for (const [name, { apiKey }] of Object.entries({ staging: staging.service, third })) {
          project.keepSecret(`the API key of ${name}`, apiKey);
          await project.file(`${name}-key`, apiKey);
        }
      },
      program: (project) => program(project),
      up: "succeeds",
      check: async (project, run) => {
        assert.deepEqual(servedByEach(project), [["here"], ["moves", "there"], ["renamed"]]);
        assert.deepEqual(await project.output("there"), ["there.example.com:443"]);
        // None is a message about a resource.
        const services = shownOf(run, "the service").map((line) => line.trim().split(" is ")[0]);
        assert.deepEqual(services.sort(), [
          "tlsedge: the service",
          "tlsedge: the service of the provider default-third",
          "tlsedge: the service of the provider staging",
        ]);
      },
    },
    "C1 C82: another account replaces, another provider of the account does not": {
      outside: () => {
        staging.service.requests.splice(0);
      },
      // Settings that are not known yet are no error in a plan.
      program: (project) =>
        program(
          project,
          "third",
          "other",
          `const timeoutSeconds = edge("source").id.apply(() => "60");
           edge("last", new tlsedge.Provider("later", { timeoutSeconds }));`,
        ),
      up: "succeeds",
      previewed: true,
      options: ["--refresh"],
      check: (project, { changes, output }) => {
        const { create, replace, update } = changes;
        assert.deepEqual([create, replace, update], [3, 1, undefined], output);
        assert.deepEqual(servedByEach(project), [
          ["here", "last", "source"],
          ["there"],
          ["moves", "renamed"],
        ]);
        const methods = staging.service.requests.map(({ method }) => method);
        assert.deepEqual(
          methods.filter((method) => method !== "GET"),
          ["DELETE"],
        );
      },
    },
    "C7: a destroy with the key of another account deletes nothing, and says what to do": {
      outside: (project) => {
        project.env.TLSEDGE_API_KEY = third.apiKey;
      },
      destroy: "fails",
      says: [/TLSEDGE_SAME_ACCOUNT=1/],
      check: async (project) => {
        assert.deepEqual(servedByEach(project)[0], ["here", "last", "source"]);
        assert.ok((await project.exported()).here);
      },
    },
  };
});

scenario("settings in config and in the environment", ["plugin"], () => {
  const other = anotherService();
  return {
    "C4 C82: an API key in plain text is refused, and no request is made": {
      outside: async (project) => {
        await configure(project, "tlsedge", other.service);
        // Not the real key: the engine shows what is plain text.
        const plain = ["tlsedge:apiKey", "in-plain-text", "--plaintext"];
        await project.succeedsQuietly("config", "set", ...plain);
      },
      program: edge("e", ""),
      // With --skip-preview, the engine writes the provider's record before the provider can refuse.
      up: "fails",
      says: [/tlsedge:apiKey is in plain text in the config/, /set --secret tlsedge:apiKey/],
      requests: [],
      check: () => assert.deepEqual(other.service.requests, []),
    },
    "C1 C4: config wins, with an encrypted key, and a misspelt variable is named": {
      outside: async (project) => {
        await configure(project, "tlsedge", other.service);
        project.env.TLSEDGE_OFFLINEPLAN = "1";
      },
      // One process for the state, and one for the program.
      options: ["--refresh"],
      up: { create: 1, same: 1 },
      requests: [],
      check: async (project, run) => {
        const warnings = warned(run).map(([, message]) => message);
        const unknown = warnings.filter((text) => text.includes("TLSEDGE_OFFLINEPLAN"));
        assert.equal(unknown.length, 1, unknown.join());
        assert.match(JSON.stringify(await project.state()), /"apiKey":\{[^}]*"ciphertext"/);
        assert.equal(other.service.tlsEdges.list().length, 1);
      },
    },
  };
});
