import assert from "node:assert/strict";
import { join } from "node:path";
import { type Account, type Emulator, startEmulator } from "../../emulator/server";
import type { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { age, certificate, edge, lists, scenario, shownOf } from "./scenario";

const bin = join(__dirname, "..", "..", "dist", "cli", "main.js");

/** The hostports of an account's edges. */
const servedBy = ({ tlsEdges }: Account) =>
  tlsEdges
    .list()
    .flatMap(({ hostports }) => hostports ?? [])
    .map((hostport) => hostport.replace(".example.com:443", ""))
    .sort();

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
  const taken = () =>
    staging.service.requests
      .splice(0)
      .map(({ method, path }) => `${method} ${path.replace(/(?:edgtls|cert)_\w+/, ":id")}`)
      .sort();
  const serve = (here: string, there: string, certificates: number) => (project: Project) => {
    assert.deepEqual([project.emulator, staging.service].map(servedBy), [[here], [there]]);
    assert.equal(staging.service.tlsCertificates.list().length, certificates);
  };
  const lookups = `
    const connection = "tlsedge-staging";
    const shop = { labels: { app: "shop" } };
    exports.tunnels = [
      tlsedge.getTunnelOutput(shop).id, tlsedge.getTunnelOutput({ ...shop, connection }).id,
    ];`;
  return {
    "C1: a program with lookups alone, which has no provider, says once what config overrules": {
      outside: async (project) => {
        await project.certificate(".", { commonName: "app.example.com" });
        await configure(project, "tlsedge-staging", staging.service);
        project.env.TLSEDGE_STAGING_BASE_URL = "https://elsewhere.example.com";
        const labels = { app: "shop" };
        for (const { tunnels } of [project.emulator, staging.service]) tunnels.online({ labels });
      },
      program: lookups,
      up: "succeeds",
      check: (_, run) => assert.equal(shownOf(run, "differ").length, 1),
    },
    "C1 C5: each resource and lookup is in the account of its connection": {
      outside: () => taken(),
      program: `${lookups}
        ${edge("here", 'hostports: ["here.example.com:443"]')}
        const there = ${edge("there", 'hostports: ["there.example.com:443"], connection')}
        ${certificate("certificate", "connection")}
        exports.hostports = tlsedge.TLSEdge.get("read", there.id, { connection }).hostports;`,
      up: "succeeds",
      requests: [lists.edges, "GET /tunnels?limit=100", "POST /edges/tls"],
      check: async (project, run) => {
        assert.deepEqual(taken(), [
          ...["GET /edges/tls/:id", lists.edges, lists.certificates, "GET /tunnels?limit=100"],
          ...["POST /edges/tls", "POST /tls_certificates"],
        ]);
        assert.equal(shownOf(run, "differ").length, 1);
        const tunnels = [project.emulator, staging.service].map(
          ({ tunnels }) => tunnels.list().find(({ labels }) => labels?.app === "shop")?.id,
        );
        assert.deepEqual(await project.output("tunnels"), tunnels);
        assert.deepEqual(await project.output("hostports"), ["there.example.com:443"]);
        serve("here", "there", 1)(project);
      },
    },
    "C1 C50: a command reads the stack's config, which wins; an error says on one line what to do":
      {
        outside: async (project) => {
          const { env } = project;
          const run = async (line: string) => {
            const { code, output } = await project.start(line.split(" "), bin).done;
            return `${code} ${output}`;
          };
          const { host } = new URL(staging.service.url);
          for (const line of ["check", "status", "adopt --out adopted", "status --format html"]) {
            const said = await run(`${line} --connection tlsedge-staging --stack dev`);
            assert.ok(said.startsWith("0 ") && said.includes(host), said);
          }
          const wrong: [string, RegExp][] = [
            ["status --connection tlsedge-staging", /_STAGING_API_KEY .*, add --stack NAME$/],
            [
              "status --connection tlsedge-none --stack dev",
              /pulumi config set --secret tlsedge-none/,
            ],
            ["status --stack other", /read the stack other: no stack named.*`pulumi stack ls`/],
          ];
          for (const [line, reason] of wrong) {
            const [first = "", ...more] = (await run(line)).split("\n");
            assert.deepEqual([first.startsWith("1 error: "), more], [true, [""]], first);
            assert.match(first, reason);
          }
          const { PULUMI_CONFIG_PASSPHRASE: right } = env;
          env.PULUMI_CONFIG_PASSPHRASE = "wrong";
          const failed = await run("check --stack dev");
          env.PULUMI_CONFIG_PASSPHRASE = right;
          assert.match(
            failed.replace(/\s+/g, " "),
            /fail settings .*passphrase: run this in the folder/,
          );
          await project.succeedsQuietly("config", "set", "tlsedge-none:apiKey", "x", "--plaintext");
          assert.match(await run("status --connection tlsedge-none --stack dev"), /in plain text/);
          await project.succeedsQuietly("config", "rm", "tlsedge-none:apiKey");
        },
      },
    "C5: a resource that moves to another connection is deleted here and created there": {
      program:
        edge("here", 'hostports: ["here.example.com:443"], connection: "tlsedge-staging"') +
        edge("there", 'hostports: ["there.example.com:443"]'),
      up: { replace: 2, delete: 1, discard: 1, same: 1 },
      check: serve("there", "here", 0),
    },
  };
});

scenario("three accounts of a program, as providers", ["plugin"], () => {
  const staging = anotherService();
  let third: Account;
  const servedByEach = ({ emulator }: Project) => [emulator, staging.service, third].map(servedBy);

  /** One resource in each account, and two whose account is a matter of the test. */
  const program = (project: Project, { moves = "staging", renamed = "third", more = "" } = {}) => `
    const staging = new tlsedge.Provider("staging", {
      apiKey: readFileSync("staging-key", "utf8"), baseUrl: "${staging.service.url}",
      caFile: "${join(project.folder, "staging-ca.pem")}", requestsPerMinute: 600,
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
      program,
      up: "succeeds",
      check: async (project, run) => {
        assert.deepEqual(servedByEach(project), [["here"], ["moves", "there"], ["renamed"]]);
        assert.deepEqual(await project.output("there"), ["there.example.com:443"]);
        const { resources } = await project.state();
        const providers = resources.filter(({ type }) => type === "pulumi:providers:tlsedge");
        const keys = providers.map(({ inputs }) => Object.keys(inputs?.apiKey ?? {}).length);
        assert.deepEqual(keys.sort(), [0, 2, 2, 2], "encrypted, or none");
        // Neither is a message about a resource, nor a warning that the environment differs.
        const services = shownOf(run, "the service").map((line) => line.trim().split(" is ")[0]);
        assert.deepEqual(services.sort(), [
          "tlsedge: the service",
          "tlsedge: the service of the provider default-third",
          "tlsedge: the service of the provider staging",
        ]);
        assert.deepEqual(shownOf(run, "differ"), []);
      },
    },
    "C1 C25 C31 C82: another account replaces, another provider of the account does not": {
      outside: () => {
        const { tlsEdges, requests } = staging.service;
        const there = tlsEdges.list().find(({ hostports }) => /there/.test(`${hostports}`));
        tlsEdges.patch(there?.id ?? "", { description: "drifted" });
        requests.splice(0);
      },
      // Settings that are not known yet are no error in a plan.
      program: (project) =>
        program(project, {
          ...{ moves: "third", renamed: "other" },
          more: `const timeoutSeconds = edge("source").id.apply(() => "60");
              edge("last", new tlsedge.Provider("later", { timeoutSeconds }));`,
        }),
      up: "succeeds",
      previewed: true,
      options: ["--refresh"],
      check: (project, { changes, output }) => {
        const { create, replace, update } = changes;
        assert.deepEqual([create, replace, update], [3, 1, 1], output);
        const accounts = [["here", "last", "source"], ["there"], ["moves", "renamed"]];
        assert.deepEqual(servedByEach(project), accounts);
        const { requests, tlsEdges } = staging.service;
        const writes = requests.map(({ method }) => method).filter((method) => method !== "GET");
        assert.deepEqual(writes.sort(), ["DELETE", "PATCH"]);
        assert.equal(tlsEdges.list()[0]?.description, "");
      },
    },
  };
});

/** A run says once what config overrules; only a new stack has no state that shows the service. */
const overruled = (run: Run, isNew: boolean, { url }: Emulator) => {
  const [warning = "", ...more] = shownOf(run, "differ");
  assert.deepEqual(more, []);
  for (const name of ["baseUrl", "apiKey", "caFile"])
    assert.ok(warning.includes(`tlsedge:${name}`), warning);
  const services = shownOf(run, "the service is");
  assert.equal(services.length, isNew ? 1 : 0, run.output);
  assert.ok(services.every((line) => line.includes(new URL(url).host)));
};

scenario("config and environment that differ", ["plugin"], () => {
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
    "C1 C7: config wins, and a run says so once; a new stack says which service it is": {
      outside: (project) => configure(project, "tlsedge", other.service),
      up: { create: 1, same: 1 },
      requests: [],
      check: async (project, run) => {
        overruled(run, true, other.service);
        // What is about the run is no message of a resource.
        const ofRun = run.events.flatMap(({ diagnosticEvent: one }) =>
          /differ|the service is/.test(one?.message ?? "") ? [one?.urn ?? ""] : [],
        );
        assert.doesNotMatch(ofRun.join(), /TLSEdge/);
        assert.match(JSON.stringify(await project.state()), /"apiKey":\{[^}]*"ciphertext"/);
      },
    },
    "C1: a run with two processes of the plugin says once what config overrules": {
      // One for the state, and one for the program.
      up: { same: 2 },
      options: ["--refresh"],
      check: (_, run) => overruled(run, false, other.service),
    },
  };
});

scenario("a stack with another key", ["dynamic", "plugin"], () => {
  const program = (description: string) => `
    for (const n of ["a", "b", "c"])
      new tlsedge.TLSEdge(n, { metadata: n, description: "${description}" });
    ${certificate("certificate")}`;
  type Resources = Awaited<ReturnType<Project["exported"]>>;
  let deployed: Resources;
  const objects = (all: Resources) =>
    Object.entries(all).map(([name, { id, outputs }]) => [name, id, outputs]);
  const take = ({ env, secrets }: Project, key: string) => {
    env.TLSEDGE_API_KEY = key;
    secrets.add("the other key", key);
  };
  return {
    "C7 C50: a destroy with the key of another account deletes nothing, and one error explains": [
      {
        outside: (project) => project.certificate(".", { commonName: "a.example.com" }),
        program: program("first"),
        up: { create: 5 },
        state: (all) => {
          deployed = all;
        },
      },
      {
        outside: (project) => take(project, project.emulator.addAccount().apiKey),
        destroy: "fails",
        check: async (project, run) => {
          assert.deepEqual(objects(await project.exported()).sort(), objects(deployed).sort());
          assert.equal(project.emulator.tlsEdges.list().length, 3);
          const lines = shownOf(run, "TLSEDGE_SAME_ACCOUNT=1");
          assert.equal(lines.filter((line) => /error: /.test(line)).length, 1, run.output);
        },
      },
    ],
    "C7: a new key of the account goes on, and creates again what is gone": {
      outside: (project) => {
        take(project, project.emulator.addKey());
        age(project);
        project.emulator.tlsEdges.delete(deployed.a?.id ?? "");
      },
      program: program("second"),
      up: { create: 1, update: 2, same: 2 },
      options: ["--refresh"],
      state: ({ a, b, c }) => {
        assert.notEqual(a?.id, deployed.a?.id);
        assert.notEqual(b?.outputs.accountTag, deployed.b?.outputs.accountTag);
        assert.equal(b?.outputs.accountTag, c?.outputs.accountTag);
      },
    },
  };
});
