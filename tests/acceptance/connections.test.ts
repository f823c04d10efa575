import assert from "node:assert/strict";
import { join } from "node:path";
import { type Emulator, startEmulator } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { throughBothDoors } from "./doors";

const tunnel = (id: string) => ({ id, labels: { app: "web" } });

/** The hostports of an account's edges, oldest first. */
const served = ({ tlsEdges }: Emulator) =>
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
    await trust("staging-ca.pem");
    await project.certificate(".", { commonName: "app.example.com" });
  });
  after(async () => {
    await project?.close();
    await staging?.close();
  });

  const trust = (file: string) =>
    project.succeedsQuietly("config", "set", "tlsedge-staging:caFile", join(project.folder, file));

  /** What staging was asked since the last time. */
  const askedThere = () =>
    staging.requests
      .splice(0)
      .map(({ method, path }) => `${method} ${path.replace(/(?:edgtls|cert)_\w+/, ":id")}`)
      .sort();

  /** An edge in each account, in staging a certificate too, and lookups in both. */
  const program = (more = "") =>
    project.program(`
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
      exports.hostports = tlsedge.TLSEdge.get("read", there.id, { connection }).hostports;
      ${more}`);

  it("each resource and lookup is made, looked up and read in its own", async () => {
    await program();
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

  it("a refresh asks each account for what is there", async () => {
    staging.tlsEdges.patch(staging.tlsEdges.list()[0]?.id as string, { description: "drifted" });
    const run = await project.refresh();
    assert.deepEqual(run.requests, ["GET /edges/tls/:id"]);
    // Of two reads the second is worth a page.
    const reads = ["GET /edges/tls/:id", "GET /edges/tls?limit=100", "GET /tls_certificates/:id"];
    assert.deepEqual(askedThere(), reads);
    const update = await project.up();
    assert.deepEqual(update.changes, { update: 1, same: 3, read: 1 });
    assert.equal(staging.tlsEdges.list()[0]?.description, "");
    askedThere();
  });

  it("the limit of one is not that of the other", async () => {
    const setting = "tlsedge-staging:requestsPerMinute";
    await project.succeedsQuietly("config", "set", setting, "2");
    // A third lookup in staging would wait for a minute: the program ends while it does.
    await program(
      `
      module.exports = (async () => {
        const look = (args) => tlsedge.getTLSEdges(args);
        const done = [];
        const there = [1, 2, 3].map((n) => look({ connection }).then(() => done.push(n)));
        await Promise.all([...there.slice(0, 2), look(), look(), look(), look()]);
        console.log("looked up in staging: " + done.sort().join(" and "));
        process.exit(1);
      })();`.replace(/exports\.\w+ = .*\n/g, ""),
    );
    const run = await project.fails("preview");
    assert.match(run.output, /looked up in staging: 1 and 2$/m);
    assert.match(run.output, /the limit of 2 requests a minute is reached/);
    assert.doesNotMatch(run.output, /the limit of 120 requests/);
    await project.succeedsQuietly("config", "rm", setting);
    askedThere();
  });

  it("an authority that one does not have fails there alone", async () => {
    await trust("ca.pem");
    // A failed check ends the update, with --continue-on-error too: so it comes second.
    await project.program(`
      const dependsOn = [
        new tlsedge.TLSEdge("also-here", { hostports: ["also-here.example.com:443"] }),
      ];
      new tlsedge.TLSEdge("nor-there", { connection: "tlsedge-staging" }, { dependsOn });`);
    const run = await project.fails(
      ...["up", "--yes", "--skip-preview", "--target", "**-here", "--target", "**nor-there"],
    );
    await trust("staging-ca.pem");
    // The question of C19, before the create.
    assert.match(run.output, /GET \/edges\/tls\?limit=100 got no usable answer.*certificate/);
    assert.deepEqual(run.changes, { create: 1, same: 1 });
    assert.deepEqual(askedThere(), []);
    assert.deepEqual(served(project.emulator), [
      "also-here.example.com:443",
      "here.example.com:443",
    ]);
  });

  it("a resource that moves to the other is deleted here and made there", async () => {
    await project.program(`
      new tlsedge.TLSEdge("here", {
        hostports: ["here.example.com:443"], connection: "tlsedge-staging",
      });
      new tlsedge.TLSEdge("there", { hostports: ["there.example.com:443"] });`);
    const run = await project.up();
    assert.deepEqual(run.changes, { replace: 2, delete: 2, discard: 1, same: 1 });
    assert.deepEqual(served(project.emulator), ["there.example.com:443"]);
    assert.deepEqual(served(staging), ["here.example.com:443"]);
    assert.deepEqual(staging.tlsCertificates.list(), []);
    await project.destroy();
    assert.deepEqual([served(project.emulator), served(staging)], [[], []]);
  });
});

describe("C82 two accounts in one program, through the plugin", () => {
  let project: Project;
  let staging: Emulator;

  before(async () => {
    project = await Project.create({}, {}, "plugin");
    staging = await startEmulator();
    project.keepSecret("the staging API key", staging.apiKey);
    await project.file("staging-ca.pem", staging.ca);
    await project.file("staging-key", staging.apiKey);
  });
  after(async () => {
    await project?.close();
    await staging?.close();
  });

  /** Resources here, with the settings of the environment, and there, with those of a provider. */
  const program = (here: string, there: string, more = "") =>
    project.program(`
      const staging = new tlsedge.Provider("staging", {
        apiKey: readFileSync("staging-key", "utf8"),
        baseUrl: "${staging.url}",
        caFile: "${join(project.folder, "staging-ca.pem")}",
        requestsPerMinute: 600,
        ${more}
      });
      for (const name of ${here}) {
        new tlsedge.TLSEdge(name, { hostports: [name + ".example.com:443"] });
      }
      for (const name of ${there}) {
        const edge = new tlsedge.TLSEdge(
          name, { hostports: [name + ".example.com:443"] }, { provider: staging });
        exports[name] = tlsedge.TLSEdge.get("read-" + name, edge.id, {}, { provider: staging }).hostports;
      }`);

  it("C4 each resource is made and read in its own, and no key stands in the state in clear", async () => {
    await program('["here"]', '["there"]');
    const run = await project.up();
    assert.deepEqual(run.requests, ["GET /edges/tls?limit=100", "POST /edges/tls"]);
    assert.deepEqual(served(project.emulator), ["here.example.com:443"]);
    assert.deepEqual(served(staging), ["there.example.com:443"]);
    assert.deepEqual(await project.output("there"), ["there.example.com:443"]);
    const { resources } = await project.state();
    const providers = resources.filter(({ type }) => type === "pulumi:providers:tlsedge");
    const keys = providers.map(({ inputs }) => Object.keys(inputs?.apiKey ?? {}).length);
    assert.deepEqual(keys.sort(), [0, 2], "encrypted, or none");
    // Neither is a message about a resource, nor a warning that the environment differs.
    assert.deepEqual(
      told(run, "the service")
        .map((line) => line.trim().split(" is ")[0])
        .sort(),
      ["tlsedge: the service", "tlsedge: the service of the provider staging"],
    );
    assert.deepEqual(told(run, "differ"), []);
  });

  it("C25 C31 a refresh asks each account for what is there, and nothing changes after it", async () => {
    staging.tlsEdges.patch(staging.tlsEdges.list()[0]?.id ?? "", { description: "drifted" });
    staging.requests.splice(0);
    const run = await project.refresh();
    assert.deepEqual(run.requests, ["GET /edges/tls/:id"]);
    assert.equal(staging.requests.filter(({ method }) => method === "GET").length, 2);
    assert.equal((await project.up()).changes.update, 1);
    assert.equal(staging.tlsEdges.list()[0]?.description, "");
    assert.deepEqual((await project.up()).changes, { same: 4 });
  });

  it("C82 a resource that moves to another explicit provider is made there and deleted here", async () => {
    const third = project.emulator.addAccount();
    project.keepSecret("the key of a third account", third.apiKey);
    await project.file("third-key", third.apiKey);
    const hostports = `hostports: ["moves.example.com:443"]`;
    const write = (provider: string) =>
      project.program(`
        const staging = new tlsedge.Provider("staging", {
          apiKey: readFileSync("staging-key", "utf8"), baseUrl: "${staging.url}",
          caFile: "${join(project.folder, "staging-ca.pem")}",
        });
        const third = new tlsedge.Provider("default-third", {
          apiKey: readFileSync("third-key", "utf8"),
        });
        const renamed = new tlsedge.Provider("renamed", {
          apiKey: readFileSync("third-key", "utf8"), timeoutSeconds: 60,
        });
        new tlsedge.TLSEdge("here", { hostports: ["here.example.com:443"] });
        new tlsedge.TLSEdge("moves", { ${hostports} }, { provider: ${provider} });`);
    await write("staging");
    await project.up();
    await write("third");
    const plan = await project.preview();
    assert.equal(plan.changes.replace, 1, plan.output);
    await project.up();
    assert.deepEqual([served(staging), served(third as Emulator)], [[], ["moves.example.com:443"]]);
    // The same key in a provider of another name: nothing is replaced.
    await write("renamed");
    assert.equal((await project.up()).changes.replace, undefined);
    await write("staging");
    await project.up();
    assert.deepEqual([served(staging), served(third as Emulator)], [["moves.example.com:443"], []]);
  });

  it("C7 a resource that moves to the default provider is refused in the plan, and stays", async () => {
    await program('["here"]', '["there"]');
    await project.up();
    await program('["here", "there"]', "[]");
    const run = await project.fails("preview");
    assert.ok(run.output.includes(staging.url) && run.output.includes(project.emulator.url));
    assert.match(run.output, /the TLS edge edgtls_\w+ belongs to the service at/);
    assert.deepEqual(run.requests, []);
  });

  it("C1 C15 unknown settings are no error in a plan, and a misspelt one is", async () => {
    await program('["here"]', '["there"]', 'baseURL: "https://x.example"');
    const misspelt = await project.fails("preview");
    assert.match(misspelt.output, /unknown: baseURL \(did you mean baseUrl\?\)/);
    await project.program(`
      const { id } = new tlsedge.TLSEdge("source", {});
      const provider = new tlsedge.Provider("later", { timeoutSeconds: id.apply(() => "60") });
      new tlsedge.TLSEdge("e", { hostports: ["e.example.com:443"] }, { provider });`);
    const plan = await project.preview();
    // The default provider asks; the other one is not known yet.
    assert.deepEqual([plan.changes.create, plan.requests], [3, ["GET /edges/tls?limit=100"]]);
    await project.up();
    await project.destroy();
    assert.deepEqual([served(project.emulator), served(staging)], [[], []]);
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
    for (const command of ["up", "refresh", "up --refresh", "destroy"]) {
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

  it("C7 a stack is not emptied by another service, and follows its own to another host", async () => {
    const dataFile = join(project.folder, "service.sqlite");
    const serve = async () => {
      other = await startEmulator({ dataFile, port: 0 });
      project.keepSecret("the API key of the service", other.apiKey);
      await project.file("other-ca.pem", other.ca);
      const caFile = join(project.folder, "other-ca.pem");
      return {
        TLSEDGE_BASE_URL: other.url,
        TLSEDGE_API_KEY: other.apiKey,
        TLSEDGE_CA_FILE: caFile,
      };
    };
    const elsewhere = { ...project.env };
    Object.assign(project.env, await serve());
    const old = other?.url ?? "";
    await project.program(
      'for (const n of ["a", "b"]) new tlsedge.TLSEdge(n, { hostports: [n + ".example.com:443"] });',
    );
    await project.up();
    const stored = async () =>
      Object.values(await project.exported()).map(({ id, outputs }) => ({ id, outputs }));
    const before = await stored();

    Object.assign(project.env, elsewhere);
    await project.program('new tlsedge.TLSEdge("a", { description: "changed" });');
    for (const command of ["refresh", "up", "destroy"]) {
      const run = await project.fails(command, "--yes", "--skip-preview");
      for (const text of [old, project.emulator.url, "TLSEDGE_ACCEPTED_ORIGINS"]) {
        assert.ok(run.output.includes(text), run.output);
      }
      assert.deepEqual(run.requests, []);
      assert.deepEqual(await stored(), before, command);
    }

    await other?.close();
    Object.assign(project.env, await serve());
    assert.notEqual(other?.url, old);
    await project.fails("refresh", "--yes", "--skip-preview");
    project.env.TLSEDGE_ACCEPTED_ORIGINS = old;
    assert.deepEqual((await project.refresh()).changes, { same: 3 });
    delete project.env.TLSEDGE_ACCEPTED_ORIGINS;
    assert.deepEqual((await project.refresh()).changes, { same: 3 });
    await project.destroy();
    assert.deepEqual(other?.tlsEdges.list(), []);
  });

  it("C7 a stack is not emptied by a key of another account, and goes on with a new key", async () => {
    const { emulator, env } = project;
    const write = (description: string) =>
      project.program(`for (const n of ["a", "b", "c"]) {
        new tlsedge.TLSEdge(n, { metadata: n, description: "${description}" });
      }`);
    await write("first");
    await project.up();
    const stored = async () =>
      Object.values(await project.exported()).map(({ id, outputs }) => ({ id, outputs }));
    const before = await project.exported();
    const all = await stored();
    const key = env.TLSEDGE_API_KEY;
    const other = emulator.addAccount();
    project.keepSecret("the key of another account", other.apiKey);
    env.TLSEDGE_API_KEY = other.apiKey;
    await write("second");
    for (const command of ["refresh", "up", "destroy"]) {
      const run = await project.fails(command, "--yes", "--skip-preview");
      const explained = told(run, "TLSEDGE_SAME_ACCOUNT=1").filter((line) => /error: /.test(line));
      assert.equal(explained.length, 1, run.output);
      assert.deepEqual(await stored(), all, command);
    }
    assert.equal(emulator.tlsEdges.list().length, 3);

    env.TLSEDGE_API_KEY = emulator.addKey();
    project.keepSecret("the new key", env.TLSEDGE_API_KEY);
    emulator.tlsEdges.delete(before.a?.id ?? "");
    assert.deepEqual((await project.refresh()).changes, { delete: 1, same: 3 });
    const { b, c } = await project.exported();
    assert.notEqual(b?.outputs.accountTag, before.b?.outputs.accountTag);
    assert.equal(b?.outputs.accountTag, c?.outputs.accountTag);
    assert.deepEqual((await project.up()).changes, { create: 1, update: 2, same: 1 });
    env.TLSEDGE_API_KEY = key;
    const again = await project.up();
    assert.deepEqual([again.changes, again.requests], [{ same: 4 }, []]);
    await project.destroy();
    assert.deepEqual(emulator.tlsEdges.list(), []);
  });

  it("C7 C50 a wrong base URL is refused in the plan of a renewed chain", async () => {
    await project.certificate(".", { commonName: "a.example.com" });
    await project.program(`
      new tlsedge.TLSCertificate("c", {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
      });`);
    await project.up();
    other = await startEmulator({ apiKey: project.emulator.apiKey });
    await project.file("other-ca.pem", other.ca);
    Object.assign(project.env, {
      TLSEDGE_BASE_URL: other.url,
      TLSEDGE_CA_FILE: join(project.folder, "other-ca.pem"),
    });
    await project.certificate(".", { commonName: "a.example.com" });
    for (const command of ["preview", "up --yes --skip-preview"]) {
      const run = await project.fails(...command.split(" "));
      assert.match(run.output, /belongs to the service at/);
    }
    assert.deepEqual(other.requests, []);
  });

  it("C4 an API key in plain text is refused in the plan, and taken once it is a secret", async () => {
    delete project.env.TLSEDGE_API_KEY;
    const { apiKey } = project.emulator;
    await project.program('new tlsedge.TLSEdge("e", {});');
    // Not the real key: the engine shows what is plain text.
    await project.succeedsQuietly(
      "config",
      "set",
      "tlsedge:apiKey",
      "in-plain-text",
      "--plaintext",
    );
    const run = await project.fails("preview");
    assert.match(run.output, /tlsedge:apiKey is in the stack's config in plain text/);
    assert.match(run.output, /pulumi config set --secret tlsedge:apiKey/);
    assert.deepEqual(run.requests, []);
    // With --skip-preview, the engine writes the provider's record before the provider can refuse.
    await project.fails("up", "--yes", "--skip-preview");
    assert.deepEqual(project.emulator.tlsEdges.list(), []);
    await project.setSecret("tlsedge:apiKey", apiKey);
    await project.up();
    await project.refresh();
    await project.up();
    await project.destroy();
    assert.deepEqual(project.emulator.tlsEdges.list(), []);
  });

  it("C1 a misspelt key is refused in the plan, with the nearest name", async () => {
    await project.succeedsQuietly("config", "set", "tlsedge:baseurl", "https://other.example");
    await project.program('new tlsedge.TLSEdge("e", {});');
    const run = await project.fails("preview");
    assert.match(run.output, /tlsedge:baseurl .*tlsedge:baseUrl\?/);
    assert.deepEqual(run.requests, []);
  });

  const onlyDynamic = door === "dynamic" ? it : () => undefined;
  onlyDynamic("C5 a connection that is an output is refused with a sentence", async () => {
    await project.program(
      'new tlsedge.TLSEdge("e", { connection: pulumi.output("tlsedge-staging") });',
    );
    const run = await project.fails("preview");
    assert.match(run.output, /error: connection must be a string/);
    assert.doesNotMatch(run.output, /TypeError/);
  });
});
