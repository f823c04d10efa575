import assert from "node:assert/strict";
import { join } from "node:path";
import { type Account, type Emulator, startEmulator } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import { bin, certificate, edge, lists, scenario } from "./scenario";

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

scenario("two accounts of a program, as connections", ["dynamic"], () => {
  const staging = anotherService();
  const lookups = `
    const connection = "tlsedge-staging";
    exports.tunnels = tlsedge.getTunnelsOutput({ connection }).length;`;

  return {
    "C1 C5: each resource and lookup is in the account of its connection": {
      outside: async (project) => {
        await project.certificate(".", { commonName: "app.example.com" });
        const { url, apiKey, ca } = staging.service;
        project.secrets.add("the API key of staging", apiKey);
        await project.file("staging.pem", ca);
        const settings = { baseUrl: url, caFile: join(project.folder, "staging.pem") };
        for (const [name, value] of Object.entries(settings))
          await project.succeedsQuietly("config", "set", `tlsedge-staging:${name}`, value);
        await project.setSecret("tlsedge-staging:apiKey", apiKey);
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
          await project.succeedsQuietly("config", "set", "tlsedge-none:baseurl", "x");
          await says(none, /^1 error: .*did you mean tlsedge-none:baseUrl.*\n$/);
          await project.succeedsQuietly("config", "rm", "tlsedge-none:baseurl");
        },
      },
  };
});

scenario("three accounts of a program, as the default and explicit providers", ["plugin"], () => {
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
    "C1 C4 C82: each resource is in the account of its provider, whose key is encrypted; config wins":
      {
        outside: async (project) => {
          third = project.emulator.addAccount();
          await project.setSecret("tlsedge:apiKey", project.emulator.apiKey);
          project.env.TLSEDGE_API_KEY = "of-the-environment";
          await project.file("staging-ca.pem", staging.service.ca);
          for (const [name, { apiKey }] of Object.entries({ staging: staging.service, third })) {
            project.secrets.add(`the API key of ${name}`, apiKey);
            await project.file(`${name}-key`, apiKey);
          }
        },
        program: (project) => program(project),
        up: "succeeds",
        check: async (project, run) => {
          assert.deepEqual(servedByEach(project), [["here"], ["moves", "there"], ["renamed"]]);
          assert.deepEqual(await project.output("there"), ["there.example.com:443"]);
          // None is a message about a resource.
          const [, diagnostics = ""] = run.output.split("Diagnostics:");
          const services = diagnostics.match(/(?<=^ *)\S.*the service.*?(?= is )/gm);
          assert.deepEqual(services?.sort(), [
            "tlsedge: the service",
            "tlsedge: the service of the provider default-third",
            "tlsedge: the service of the provider staging",
          ]);
        },
      },
    "C1 C82: another account replaces, another provider of the account does not": {
      outside: ({ emulator, env }) => {
        staging.service.requests.splice(0);
        env.TLSEDGE_API_KEY = emulator.apiKey;
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
  };
});
