import assert from "node:assert/strict";
import { join } from "node:path";
import { type Account, type Emulator, startEmulator } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { later } from "../support";
import { throughBothDoors } from "./doors";

const tunnel = (id: string) => ({ id, labels: { app: "web" } });

/** The hostports of an account's edges, oldest first. */
const served = ({ tlsEdges }: Account) =>
  tlsEdges
    .list()
    .flatMap(({ hostports }) => hostports ?? [])
    .sort();

describe("C5 two accounts in one program, through dynamic providers", () => {
  let project: Project;
  let staging: Emulator;

  before(async () => {
    project = await Project.create({ tunnels: [tunnel("tn_here")] });
    staging = await startEmulator({ tunnels: [tunnel("tn_there")] });
    project.keepSecret("the staging API key", staging.apiKey);
    await project.file("staging-ca.pem", staging.ca);
    await project.succeedsQuietly("config", "set", "tlsedge-staging:baseUrl", staging.url);
    await project.setSecret("tlsedge-staging:apiKey", staging.apiKey);
    const caFile = join(project.folder, "staging-ca.pem");
    await project.succeedsQuietly("config", "set", "tlsedge-staging:caFile", caFile);
    await project.certificate(".", { commonName: "app.example.com" });
  });
  after(async () => {
    await project?.close();
    await staging?.close();
  });

  /** What staging was asked since the last time. */
  const askedThere = () =>
    staging.requests
      .splice(0)
      .map(({ method, path }) => `${method} ${path.replace(/(?:edgtls|cert)_\w+/, ":id")}`)
      .sort();

  it("each resource and lookup is made, looked up and read in its own", async () => {
    await project.program(`
      const connection = "tlsedge-staging";
      new tlsedge.TLSEdge("here", { hostports: ["here.example.com:443"] });
      const there = new tlsedge.TLSEdge("there", {
        hostports: ["there.example.com:443"], connection,
      });
      const certificate = new tlsedge.TLSCertificate("certificate", {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
        connection,
      });
      const web = { labels: { app: "web" } };
      exports.here = tlsedge.getTunnelOutput(web).id;
      exports.there = tlsedge.getTunnelOutput({ ...web, connection }).id;
      exports.hostports = tlsedge.TLSEdge.get("read", there.id, { connection }).hostports;`);
    const run = await project.up();
    assert.deepEqual(run.requests.sort(), [
      "GET /edges/tls?limit=100",
      "GET /tunnels?limit=100",
      "POST /edges/tls",
    ]);
    assert.deepEqual(askedThere(), [
      "GET /edges/tls/:id",
      "GET /edges/tls?limit=100",
      "GET /tls_certificates?limit=100",
      "GET /tunnels?limit=100",
      "POST /edges/tls",
      "POST /tls_certificates",
    ]);
    assert.equal(await project.output("here"), "tn_here");
    assert.equal(await project.output("there"), "tn_there");
    assert.deepEqual(await project.output("hostports"), ["there.example.com:443"]);
    assert.deepEqual(served(project.emulator), ["here.example.com:443"]);
    assert.deepEqual(served(staging), ["there.example.com:443"]);
    assert.equal(staging.tlsCertificates.list().length, 1);
    assert.equal(project.emulator.tlsCertificates.list().length, 0);
  });

  it("a resource that moves to the other is deleted here and made there", async () => {
    await project.program(`
      new tlsedge.TLSEdge("here", {
        hostports: ["here.example.com:443"], connection: "tlsedge-staging",
      });
      new tlsedge.TLSEdge("there", { hostports: ["there.example.com:443"] });`);
    const run = await project.up();
    assert.deepEqual(run.changes, { replace: 2, delete: 1, discard: 1, same: 1 });
    assert.deepEqual(served(project.emulator), ["there.example.com:443"]);
    assert.deepEqual(served(staging), ["here.example.com:443"]);
    assert.deepEqual(staging.tlsCertificates.list(), []);
  });
});

describe("C82 accounts in one program, through the plugin", () => {
  let project: Project;
  let staging: Emulator;
  let third: Account;

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    staging = await startEmulator();
    third = project.emulator.addAccount();
    await project.file("staging-ca.pem", staging.ca);
    for (const [name, { apiKey }] of Object.entries({ staging, third })) {
      project.keepSecret(`the API key of ${name}`, apiKey);
      await project.file(`${name}-key`, apiKey);
    }
  });
  after(async () => {
    await project?.close();
    await staging?.close();
  });

  /** One resource in each account, and two whose account is a matter of the test. */
  const program = ({ moves = "staging", renamed = "third", more = "", setting = "" } = {}) =>
    project.program(`
      const staging = new tlsedge.Provider("staging", {
        apiKey: readFileSync("staging-key", "utf8"), baseUrl: "${staging.url}",
        caFile: "${join(project.folder, "staging-ca.pem")}", requestsPerMinute: 600, ${setting}
      });
      const apiKey = readFileSync("third-key", "utf8");
      const third = new tlsedge.Provider("default-third", { apiKey });
      const other = new tlsedge.Provider("other", { apiKey, timeoutSeconds: 60 });
      const edge = (name, provider) =>
        new tlsedge.TLSEdge(name, { hostports: [name + ".example.com:443"] }, { provider });
      const here = edge("here");
      const { id } = edge("there", staging);
      exports.there = tlsedge.TLSEdge.get("read", id, {}, { provider: staging }).hostports;
      edge("moves", ${moves});
      edge("renamed", ${renamed});
      ${more}`);

  it("C4 each resource is made and read in its own, and no key stands in the state in clear", async () => {
    await program();
    const run = await project.up();
    assert.deepEqual(
      [served(project.emulator), served(staging), served(third)],
      [
        ["here.example.com:443"],
        ["moves.example.com:443", "there.example.com:443"],
        ["renamed.example.com:443"],
      ],
    );
    assert.deepEqual(await project.output("there"), ["there.example.com:443"]);
    const { resources } = await project.state();
    const providers = resources.filter(({ type }) => type === "pulumi:providers:tlsedge");
    const keys = providers.map(({ inputs }) => Object.keys(inputs?.apiKey ?? {}).length);
    assert.deepEqual(keys.sort(), [0, 2, 2, 2], "encrypted, or none");
    // Neither is a message about a resource, nor a warning that the environment differs.
    const services = told(run, "the service").map((line) => line.trim().split(" is ")[0]);
    assert.deepEqual(services.sort(), [
      "tlsedge: the service",
      "tlsedge: the service of the provider default-third",
      "tlsedge: the service of the provider staging",
    ]);
    assert.deepEqual(told(run, "differ"), []);
  });

  it("C31 a refresh asks each account for what is there, and drift is put right there", async () => {
    const there = staging.tlsEdges.list().find(({ hostports }) => /there/.test(`${hostports}`));
    staging.tlsEdges.patch(there?.id ?? "", { description: "drifted" });
    staging.requests.splice(0);
    const run = await project.up("--refresh");
    assert.equal(run.changes.update, 1);
    assert.deepEqual(run.writes, []);
    assert.deepEqual(
      staging.requests.flatMap(({ method }) => (method === "GET" ? [] : method)),
      ["PATCH"],
    );
    assert.equal(staging.tlsEdges.get(there?.id ?? "")?.description, "");
  });

  it("C1 C25 one that moves to another account is replaced, to a provider of the same key is not", async () => {
    // Settings that are not known yet are no error in a plan.
    await program({
      moves: "third",
      renamed: "other",
      more: `const timeoutSeconds = edge("source").id.apply(() => "60");
        edge("last", new tlsedge.Provider("later", { timeoutSeconds }));`,
    });
    const plan = await project.preview();
    assert.deepEqual([plan.changes.create, plan.changes.replace], [3, 1], plan.output);
    await project.up();
    assert.deepEqual(
      [served(project.emulator), served(staging), served(third)],
      [
        ["here.example.com:443", "last.example.com:443", "source.example.com:443"],
        ["there.example.com:443"],
        ["moves.example.com:443", "renamed.example.com:443"],
      ],
    );
  });
});

/** The lines of a run that have the text: the engine shows each once at the end. */
const told = ({ output }: Run, text: string) =>
  (output.split("Diagnostics:")[1] ?? "").split("\n").filter((line) => line.includes(text));

throughBothDoors("the right account, on the real engine", (door) => {
  let project: Project;
  let other: Emulator | undefined;

  beforeEach(async () => {
    project = await Project.create({}, {}, door);
  });
  afterEach(async () => {
    await project?.close();
    await other?.close();
    other = undefined;
  });

  it("C1 C7 config wins, and a run says once what it overrules, a new stack which service it is", async () => {
    other = await startEmulator();
    project.keepSecret("the key in config", other.apiKey);
    await project.file("other-ca.pem", other.ca);
    await project.succeedsQuietly("config", "set", "tlsedge:baseUrl", other.url);
    await project.setSecret("tlsedge:apiKey", other.apiKey);
    const caFile = join(project.folder, "other-ca.pem");
    await project.succeedsQuietly("config", "set", "tlsedge:caFile", caFile);
    const count = "exports.count = tlsedge.getTunnels().then((all) => all.length);";
    const edge = 'new tlsedge.TLSEdge("e", {});';
    await project.program(door === "plugin" ? edge : count + edge);
    const { host } = new URL(other.url);
    // A plugin may be started twice in a run with --refresh: for the state, and for the program.
    for (const command of ["up", "up --refresh", "destroy"]) {
      const run = await project.succeeds(...command.split(" "), "--yes", "--skip-preview");
      assert.deepEqual(run.requests, [], command);
      const [warning = "", ...more] = told(run, "differ");
      assert.deepEqual(more, [], command);
      for (const name of ["baseUrl", "apiKey", "caFile"]) {
        assert.ok(warning.includes(`tlsedge:${name}`), warning);
      }
      const services = told(run, "the service is");
      // Only a new stack has no state that shows it.
      assert.equal(services.length, command === "up" ? 1 : 0, `${command}: ${run.output}`);
      assert.ok(services.every((line) => line.includes(host)));
      // What is about the run is no message of some resource.
      const ofRun = run.events.flatMap(({ diagnosticEvent: one }) =>
        /differ|the service is/.test(one?.message ?? "") ? [one?.urn ?? ""] : [],
      );
      if (door === "plugin") assert.doesNotMatch(ofRun.join(), /TLSEdge/);
    }
    assert.deepEqual(served(other), []);
    if (door === "plugin") return;
    // With lookups alone there is no process of a provider: the program warns.
    await project.program(count);
    assert.equal(told(await project.up(), "differ").length, 1);
  });

  it("C7 C50 a stack is not emptied by another service, nor by a key of another account", async () => {
    const { emulator, env } = project;
    const dataFile = join(project.folder, "service.jsonl");
    const serve = async () => {
      const service = await startEmulator({ dataFile, port: 0 });
      other = service;
      project.keepSecret("the API key of the service", service.apiKey);
      await project.file("other-ca.pem", service.ca);
      Object.assign(env, {
        TLSEDGE_BASE_URL: service.url,
        TLSEDGE_API_KEY: service.apiKey,
        TLSEDGE_CA_FILE: join(project.folder, "other-ca.pem"),
      });
      return service;
    };
    const write = (description: string) =>
      project.program(`
        for (const n of ["a", "b", "c"]) {
          new tlsedge.TLSEdge(n, { metadata: n, description: "${description}" });
        }
        new tlsedge.TLSCertificate("certificate", {
          certificatePem: readFileSync("fullchain.pem", "utf8"),
          privateKeyPem: readFileSync("privkey.pem", "utf8"),
        });`);
    /** What is there, in any order: the name and the outputs of each, by id. */
    const stored = async () =>
      Object.fromEntries(
        Object.entries(await project.exported()).map(([name, { id, outputs }]) => {
          return [id, { name, outputs }];
        }),
      );
    const unchanged = async (...command: string[]) => {
      const before = await stored();
      const run = await project.fails(...command);
      assert.deepEqual(await stored(), before, command.join(" "));
      return run;
    };
    const elsewhere = { ...env };
    const old = (await serve()).url;
    await project.certificate(".", { commonName: "a.example.com" });
    await write("first");
    await project.up();
    const before = await project.exported();

    // Another service.
    Object.assign(env, elsewhere);
    const refused = await unchanged("refresh", "--yes", "--skip-preview");
    for (const text of [emulator.url, "TLSEDGE_SAME_ACCOUNT=1"]) {
      assert.ok(refused.output.includes(text), refused.output);
    }
    assert.deepEqual(refused.writes, []);

    // The service on another host.
    await other?.close();
    const moved = await serve();
    assert.notEqual(moved.url, old);
    assert.deepEqual((await project.refresh()).changes, { same: 5 });

    // A key of another account.
    const { apiKey } = moved.addAccount();
    project.keepSecret("the key of another account", apiKey);
    env.TLSEDGE_API_KEY = apiKey;
    await write("second");
    for (const command of ["up", "destroy"]) {
      const run = await unchanged(command, "--yes", "--skip-preview");
      const explained = told(run, "TLSEDGE_SAME_ACCOUNT=1").filter((line) => /error: /.test(line));
      assert.equal(explained.length, 1, run.output);
    }
    assert.equal(moved.tlsEdges.list().length, 3);

    // A new key of its own account.
    env.TLSEDGE_API_KEY = moved.addKey();
    project.keepSecret("the new key", env.TLSEDGE_API_KEY);
    later(moved);
    moved.tlsEdges.delete(before.a?.id ?? "");
    const run = await project.up("--refresh");
    assert.deepEqual(run.changes, { create: 1, update: 2, same: 2 });
    const { a, b, c } = await project.exported();
    assert.notEqual(a?.id, before.a?.id);
    assert.notEqual(b?.outputs.accountTag, before.b?.outputs.accountTag);
    assert.equal(b?.outputs.accountTag, c?.outputs.accountTag);
  });

  it("C4 C82 an API key in plain text is refused in the plan, and taken once it is a secret", async () => {
    delete project.env.TLSEDGE_API_KEY;
    const { apiKey } = project.emulator;
    await project.program('new tlsedge.TLSEdge("e", {});');
    // Not the real key: the engine shows what is plain text.
    const plain = ["tlsedge:apiKey", "in-plain-text", "--plaintext"];
    await project.succeedsQuietly("config", "set", ...plain);
    // With --skip-preview, the engine writes the provider's record before the provider can refuse.
    const run = await project.fails("up", "--yes", "--skip-preview");
    assert.match(run.output, /tlsedge:apiKey is in the stack's config in plain text/);
    assert.match(run.output, /pulumi config set --secret tlsedge:apiKey/);
    assert.deepEqual(run.requests, []);
    await project.setSecret("tlsedge:apiKey", apiKey);
    await project.up();
    assert.equal(project.emulator.tlsEdges.list().length, 1);
    if (door === "plugin") {
      assert.match(JSON.stringify(await project.state()), /"apiKey":\{[^}]*"ciphertext"/);
    }
  });
});
