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
    assert.deepEqual(run.requests.sort(), ["GET /tunnels?limit=100", "POST /edges/tls"]);
    assert.deepEqual(askedThere(), [
      "GET /edges/tls/:id",
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
    await project.program(`
      new tlsedge.TLSEdge("also-here", { hostports: ["also-here.example.com:443"] });
      new tlsedge.TLSEdge("nor-there", { connection: "tlsedge-staging" });`);
    const run = await project.fails(
      ...["up", "--yes", "--skip-preview", "--continue-on-error", "--target", "**-here"],
      ...["--target", "**nor-there"],
    );
    assert.match(run.output, /POST \/edges\/tls got no usable answer.*certificate/);
    assert.deepEqual(run.changes, { create: 1, same: 1 });
    assert.deepEqual(askedThere(), []);
    assert.deepEqual(served(project.emulator), [
      "also-here.example.com:443",
      "here.example.com:443",
    ]);
    await trust("staging-ca.pem");
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
    assert.deepEqual(run.requests, ["POST /edges/tls"]);
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
      ["the service", "the service of the provider staging"],
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

  it("C7 a resource that moves to the other is refused in the plan, and stays", async () => {
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
    assert.deepEqual([plan.changes.create, plan.requests], [3, []]);
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

  it("C1 C7 config wins, and a run says once what it overrules and which service it is", async () => {
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
      // A plain `up --refresh` makes requests in its refresh, and then none.
      assert.equal(services.length, 1, `${command}: ${run.output}`);
      assert.ok(services[0]?.includes(host));
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
      for (const text of [old, project.emulator.url, "TLSEDGE_MOVED_FROM"]) {
        assert.ok(run.output.includes(text), run.output);
      }
      assert.deepEqual(run.requests, []);
      assert.deepEqual(await stored(), before, command);
    }

    await other?.close();
    Object.assign(project.env, await serve());
    assert.notEqual(other?.url, old);
    await project.fails("refresh", "--yes", "--skip-preview");
    project.env.TLSEDGE_MOVED_FROM = old;
    assert.deepEqual((await project.refresh()).changes, { same: 3 });
    delete project.env.TLSEDGE_MOVED_FROM;
    assert.deepEqual((await project.refresh()).changes, { same: 3 });
    await project.destroy();
    assert.deepEqual(other?.tlsEdges.list(), []);
  });

  it("C7 a key of another account is asked about when everything is gone", async () => {
    await project.program('for (const n of ["a", "b"]) new tlsedge.TLSEdge(n, { metadata: n });');
    await project.up();
    project.emulator.reset();
    const run = await project.refresh();
    assert.deepEqual(run.changes, { delete: 2, same: 1 });
    assert.equal(told(run, "API key").length, 1, run.output);
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
