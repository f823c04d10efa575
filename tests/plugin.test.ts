import assert from "node:assert/strict";
import { mock } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { type JavaScriptValue, Struct } from "google-protobuf/google/protobuf/struct_pb";
import { Client } from "../client/client";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { servePlugin } from "../plugin/plugin";
import schema from "../plugin/schema.json";
import { isClaimed } from "../provider/creates/journal";
import { unknownValue } from "../provider/lifecycle";
import { warnOfPlan } from "../provider/plan";
import { type Properties, setEnv, setEnvFor, until } from "./support";

describe("the plugin, called over gRPC", () => {
  let emulator: Emulator;
  let restore: () => void;
  let close: () => void;
  let plugin: ResourceProviderClient;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    const served = await servePlugin(schema);
    close = served.close;
    plugin = new ResourceProviderClient(`127.0.0.1:${served.port}`, credentials.createInsecure());
    const { url: baseUrl, apiKey } = emulator;
    const client = new Client({ baseUrl, apiKey, caFile: process.env.TLSEDGE_CA_FILE });
    for (const description of ["one", "two", "three"])
      await tlsEdges.create(client, { description });
  });
  after(() => {
    plugin.close();
    close();
    restore();
    return emulator.close();
  });

  const list = async (token: string, limit = 0) => {
    const request = new messages.ListRequest().setToken(token).setLimit(limit);
    const names: unknown[] = [];
    for await (const response of plugin.list(request)) {
      const result = (response as messages.ListResponse).getResult();
      names.push([result?.getId(), result?.getName()]);
    }
    return names;
  };

  it("lists the objects of a kind, newest first, as many as are asked for", async () => {
    const all = emulator.tlsEdges.list().map(({ id, description }) => [id, description]);
    assert.deepEqual(await list("tlsedge:index:TLSEdge"), all);
    assert.deepEqual(await list("tlsedge:index:TLSEdge", 2), all.slice(0, 2));
    assert.deepEqual(await list("tlsedge:index:TLSCertificate"), []);
  });

  it("says why it can't list", async () => {
    await assert.rejects(list("tlsedge:index:Nothing"), /there is no resource/);
    emulator.faults.add({ method: "GET", answer: { status: 401 } });
    await assert.rejects(list("tlsedge:index:TLSEdge"), /401/);
  });

  const struct = (values: object) =>
    Struct.fromJavaScript(values as Record<string, JavaScriptValue>);
  const checkConfig = (project: string, settings: object) =>
    new Promise<string[]>((resolve, reject) => {
      const urn = `urn:pulumi:dev::${project}::pulumi:providers:tlsedge::default`;
      const request = new messages.CheckRequest().setUrn(urn).setNews(struct(settings));
      plugin.checkConfig(request, (error, response) =>
        error
          ? reject(error)
          : resolve(response.getFailuresList().map((failure) => failure.getReason())),
      );
    });

  it("C1 takes the program's own settings in the namespace of a project with its name", async () => {
    assert.deepEqual(await checkConfig("tlsedge", { size: "3" }), []);
    assert.match((await checkConfig("other", { size: "3" })).join(), /unknown/);
  });

  /** A value as the wire marks a secret. */
  const secret = (value: unknown) => ({
    "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
    value,
  });
  const edgeUrn = (name: string) => `urn:pulumi:dev::p::tlsedge:index:TLSEdge::${name}`;
  const ofEdge = { type: "tlsedge:index:TLSEdge" };
  const checkEdge = (news: object, name = "e") =>
    new Promise<messages.CheckResponse>((resolve, reject) => {
      const request = new messages.CheckRequest().setUrn(edgeUrn(name)).setType(ofEdge.type);
      request.setOlds(struct({})).setNews(struct(news));
      plugin.check(request, (error, answer) => (error ? reject(error) : resolve(answer)));
    });

  it("takes the id of a resource that a program gives in place of a text", async () => {
    const resource = (id: string) => ({
      "4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e",
      ...{ urn: edgeUrn("other"), id },
    });
    const given = { metadata: resource("edgtls_1"), description: resource("") };
    const inputs = (await checkEdge(given)).getInputs()?.toJavaScript();
    assert.deepEqual(inputs, { metadata: "edgtls_1", description: unknownValue });
  });

  it("C50 keeps a property a secret of which a part is one, two levels deep", async () => {
    const given = { ipRestriction: { ipPolicyIds: [secret("ipp_1"), "ipp_2"] } };
    const restriction = { ipPolicyIds: ["ipp_1", "ipp_2"], enabled: true };
    const inputs = (await checkEdge(given)).getInputs()?.toJavaScript();
    assert.deepEqual(inputs, { ipRestriction: secret(restriction) });
    const request = new messages.CreateRequest().setUrn(edgeUrn("e")).setType(ofEdge.type);
    request.setProperties(struct(given));
    const created = await new Promise<messages.CreateResponse>((resolve, reject) =>
      plugin.create(request, (error, answer) => (error ? reject(error) : resolve(answer))),
    );
    const { ipRestriction, hostports } = created.getProperties()?.toJavaScript() ?? {};
    assert.deepEqual([ipRestriction, hostports], [secret(restriction), []]);
    emulator.tlsEdges.delete(created.getId());
  });

  it("C50 marks a key as a secret that a program gives in plain text", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "c" });
    const type = "tlsedge:index:TLSCertificate";
    const request = new messages.CheckRequest().setUrn(`urn:pulumi:dev::p::${type}::c`);
    request.setType(type).setOlds(struct({})).setNews(struct({ certificatePem, privateKeyPem }));
    const checked = await new Promise<messages.CheckResponse>((resolve, reject) =>
      plugin.check(request, (error, answer) => (error ? reject(error) : resolve(answer))),
    );
    const inputs = checked.getInputs()?.toJavaScript();
    assert.ok(isDeepStrictEqual(inputs?.privateKeyPem, secret(privateKeyPem)));
  });

  it("C50 refuses a private key in a text and in a name, and does not quote it", async () => {
    const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n";
    for (const news of [{ metadata: key }, { backend: { backendId: secret(key) } }, { [key]: 1 }]) {
      const reasons = (await checkEdge(news)).getFailuresList().map((one) => one.getReason());
      assert.match(reasons.join(), /private key/);
      assert.doesNotMatch(reasons.join(), /MIGH/);
    }
  });

  it("C90 shows texts of the service escaped", async () => {
    const body = JSON.stringify({ msg: "a\u001b[31m <{%reset%}>\n::add-mask::b" });
    const headers = { "Content-Type": "application/json" };
    emulator.faults.add({ method: "GET", answer: { status: 400, headers, body } });
    await assert.rejects(list("tlsedge:index:TLSEdge"), ({ details }: ServiceError) =>
      details.includes("a\\u001b[31m <\\u007b%reset%}>\\n::add-mask::b"),
    );
    const request = new messages.UpdateRequest()
      .setId("edgtls_\u001b[31m")
      .setUrn(edgeUrn("e"))
      .setType(ofEdge.type)
      .setOlds(struct({ uri: `${emulator.url}/edges/tls/x` }))
      .setNews(struct({ description: "e" }));
    const update = new Promise((resolve, reject) =>
      plugin.update(request, (error, answer) => (error ? reject(error) : resolve(answer))),
    );
    await assert.rejects(update, ({ details }: ServiceError) =>
      details.includes("edgtls_\\u001b[31m was not found"),
    );
  });

  it("C24 C37 deletes an edge before it replaces it, by replaceOnChanges too", async () => {
    const state = { uri: `${emulator.url}/x`, description: "d", metadata: null, hostports: [] };
    const request = new messages.DiffRequest()
      .setId("edgtls_1")
      .setUrn(edgeUrn("e"))
      .setType(ofEdge.type)
      .setOlds(struct(state))
      .setNews(struct({ description: "e" }))
      .setOldInputs(struct({ description: "d" }));
    const diff = await new Promise<messages.DiffResponse>((resolve, reject) =>
      plugin.diff(request, (error, response) => (error ? reject(error) : resolve(response))),
    );
    // The engine itself makes a replacement of this change.
    assert.deepEqual([diff.getReplacesList(), diff.getDiffsList()], [[], ["description"]]);
    assert.equal(diff.getDeletebeforereplace(), true);
  });

  it("C22 C83 names what a list gains and loses, not what has another place in it", async () => {
    const [before, after] = [{ hostports: ["a:1", "b:1", "c:1"] }, { hostports: ["c:1", "a:1"] }];
    const request = new messages.DiffRequest()
      .setId("edgtls_1")
      .setUrn(edgeUrn("e"))
      .setType(ofEdge.type)
      .setOlds(struct({ uri: `${emulator.url}/x`, ...before }))
      .setOldInputs(struct(before))
      .setNews(struct(after));
    const diff = await new Promise<messages.DiffResponse>((resolve, reject) =>
      plugin.diff(request, (error, response) => (error ? reject(error) : resolve(response))),
    );
    const changes = diff.getDetaileddiffMap().toArray();
    assert.deepEqual(
      changes.map(([path]) => path),
      ["hostports[1]"],
    );
    assert.equal(
      diff.getDetaileddiffMap().get("hostports[1]")?.getKind(),
      messages.PropertyDiff.Kind.DELETE,
    );
  });

  it("C19 C25 asks before a change, not for a refresh, nor when a policy undoes the change", async () => {
    type Call = (request: object, done: (error: Error | null) => void) => void;
    const call = (method: "configure" | "check" | "diff" | "create", request: object) =>
      new Promise<void>((resolve, reject) => {
        const send = plugin[method].bind(plugin) as Call;
        send(request, (error) => (error ? reject(error) : resolve()));
      });
    const begin = () => call("configure", new messages.ConfigureRequest().setArgs(struct({})));
    const about = { urn: edgeUrn("asked"), uri: `${emulator.url}/x`, metadata: null };
    const [olds, news] = [struct({ description: "d" }), struct({ description: "e" })];
    const check = new messages.CheckRequest().setUrn(about.urn).setType(ofEdge.type);
    const diff = (inputs: Struct) =>
      new messages.DiffRequest()
        .setId("edgtls_1")
        .setUrn(about.urn)
        .setType(ofEdge.type)
        .setOlds(struct({ ...about, description: "d", hostports: [] }))
        .setOldInputs(olds)
        .setNews(inputs);
    const create = new messages.CreateRequest().setUrn(about.urn).setType(ofEdge.type);
    const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    try {
      const asked = () => emulator.requests.splice(0).length;
      await begin();
      asked();
      await call("diff", diff(news));
      assert.equal(asked(), 0, "the diff of a refresh");
      await call("check", check.setOlds(olds).setNews(news));
      await call("diff", diff(olds));
      assert.equal(asked(), 0, "a change that a policy has undone");
      await call("diff", diff(news));
      assert.equal(asked(), 1, "an update");
      await begin();
      await call("create", create.setProperties(news).setPreview(true));
      assert.equal(asked(), 1, "a create");
    } finally {
      undo();
    }
  });

  it("C50 shows a secret id in no form, where a lookup fails", async () => {
    const id = "edgtls/secret id";
    const answer = { status: 400, body: JSON.stringify({ msg: `no such edge: ${id}` }) };
    emulator.faults.add({ method: "GET", answer });
    const request = new messages.InvokeRequest()
      .setTok("tlsedge:index:getTLSEdge")
      .setArgs(struct({ id: secret(id) }));
    const asked = new Promise((resolve, reject) =>
      plugin.invoke(request, (error, response) => (error ? reject(error) : resolve(response))),
    );
    await assert.rejects(asked, ({ message }: Error) => {
      assert.equal(message.split("[secret]").length, 3, "in the path, and in the service's words");
      for (const shown of [id, encodeURIComponent(id)]) assert.ok(!message.includes(shown));
      return true;
    });
  });
  const provider = (name: string) => `urn:pulumi:dev::p::pulumi:providers:tlsedge::${name}`;
  /** A process of its own for one provider, called as the engine does. */
  const withProvider = async (
    name: string,
    work: (calls: {
      configure(args: object): Promise<unknown>;
      checked(news: object): Promise<Record<string, unknown>>;
      moved(from: object): Promise<string[]>;
    }) => Promise<void>,
  ) => {
    const served = await servePlugin(schema);
    const own = new ResourceProviderClient(
      `127.0.0.1:${served.port}`,
      credentials.createInsecure(),
    );
    try {
      await work({
        configure: (args) =>
          new Promise((resolve, reject) => {
            const request = new messages.ConfigureRequest()
              .setUrn(provider(name))
              .setArgs(struct(args));
            own.configure(request, (error, response) =>
              error ? reject(new Error(error.details)) : resolve(response),
            );
          }),
        checked: (news) =>
          new Promise((resolve, reject) => {
            const request = new messages.CheckRequest()
              .setUrn(provider(name))
              .setNews(struct(news));
            own.checkConfig(request, (error, response) =>
              error ? reject(error) : resolve(response.getInputs()?.toJavaScript() ?? {}),
            );
          }),
        moved: (from) =>
          new Promise((resolve, reject) => {
            const request = new messages.DiffRequest()
              .setUrn(provider(name))
              .setOldInputs(struct(from))
              .setNews(struct({}));
            own.diffConfig(request, (error, response) =>
              error ? reject(error) : resolve(response.getReplacesList()),
            );
          }),
      });
    } finally {
      own.close();
      served.close();
    }
  };

  const baseUrl = "https://a.example";
  const defaults = ["default", "default_0_1_0", "default_1_2_3_alpha_1_https___x.example"];
  for (const name of defaults) {
    it(`C4 refuses a key of the stack's config in plain text: ${name}`, () =>
      withProvider(name, async ({ checked, configure }) => {
        // The engine puts back the mark of a secret: so no mark is added here.
        assert.deepEqual(await checked({ baseUrl, apiKey: "k" }), { baseUrl, apiKey: "k" });
        await assert.rejects(configure({ baseUrl, apiKey: "k" }), /plain text.*--secret/);
        await configure({ baseUrl, apiKey: secret("k") });
        await configure({});
      }));
  }

  for (const name of ["staging", "default-eu", "defaults", "default_eu", "default_2"]) {
    it(`C82 takes a provider of a program for one, and its key for a secret: ${name}`, () =>
      withProvider(name, async ({ checked, configure }) => {
        assert.deepEqual((await checked({ baseUrl, apiKey: "k" })).apiKey, secret("k"));
        await configure({ baseUrl, apiKey: "k" });
      }));
  }

  it("C82 replaces what moves to an explicit provider of another account, and nothing else", () =>
    withProvider("staging", async ({ checked, configure, moved }) => {
      const args = {
        ...{ baseUrl, apiKey: secret("k"), acceptedOrigins: "https://b.example" },
        caFile: process.env.TLSEDGE_CA_FILE as string,
      };
      const other = { baseUrl: "https://c.example", apiKey: "j" };
      // Before it is configured, it is the provider itself that is asked about: a rotated key.
      assert.deepEqual(await moved(other), []);
      await configure(args);
      assert.deepEqual(await moved(other), ["baseUrl", "apiKey"]);
      assert.deepEqual(await moved({ baseUrl, apiKey: secret("j") }), ["apiKey"]);
      assert.deepEqual(await moved({ baseUrl: "https://c.example" }), ["baseUrl"]);
      // The same account, or a provider whose record does not say which it has.
      assert.deepEqual(await moved({ baseUrl: "https://b.example", apiKey: secret("k") }), []);
      assert.deepEqual(await moved({ baseUrl: `${baseUrl}/`, timeoutSeconds: "9" }), []);
      assert.deepEqual(await moved({}), []);
      // The record of dynamic providers has the keys of the whole config.
      const dynamic = { "tlsedge:baseUrl": "https://c.example", "tlsedge:apiKey": secret("j") };
      assert.deepEqual(await moved(dynamic), []);
      await configure({ ...args, sameAccount: "true" });
      assert.deepEqual(await moved(other), []);
      await configure(args);
      await checked({ baseUrl, apiKey: "rotated" });
      assert.deepEqual(await moved(other), []);
    }));

  it("C82 replaces nothing that moves to a default provider, whose name has a version", () =>
    withProvider("default_0_2_0", async ({ configure, moved }) => {
      await configure({ baseUrl, apiKey: secret("k") });
      assert.deepEqual(await moved({ baseUrl, apiKey: "rotated" }), []);
    }));

  it("C85 C15 refuses a connection, which was in the old inputs, too", async () => {
    const inputs = { description: "d", connection: "tlsedge-staging" };
    const request = new messages.CheckRequest()
      .setUrn("urn:pulumi:dev::p::tlsedge:index:TLSEdge::e")
      .setType("tlsedge:index:TLSEdge")
      .setOlds(struct({ ...inputs, __provider: "text" }))
      .setNews(struct(inputs));
    const failures = await new Promise<string[]>((resolve, reject) =>
      plugin.check(request, (error, response) =>
        error
          ? reject(error)
          : resolve(response.getFailuresList().map((failure) => failure.getReason())),
      ),
    );
    assert.match(failures.join(), /connection: no such property/);
  });

  const edge = (name: string) => ({
    urn: `urn:pulumi:dev::p::tlsedge:index:TLSEdge::${name}`,
    type: "tlsedge:index:TLSEdge",
  });
  const check = (name: string, hostports: unknown) =>
    new Promise<string[]>((resolve, reject) => {
      const { urn, type } = edge(name);
      const request = new messages.CheckRequest()
        .setUrn(urn)
        .setType(type)
        .setNews(struct({ hostports }));
      plugin.check(request, (error, response) =>
        error
          ? reject(error)
          : resolve(response.getFailuresList().map((failure) => failure.getReason())),
      );
    });

  it("C18 names a hostport that two edges have, whatever its letter case, but no secret", async () => {
    assert.deepEqual(await check("one", ["Shared.example.com:443"]), []);
    assert.match((await check("two", ["x:1", "shared.EXAMPLE.com:443"])).join(), /shared\.example/);
    const kind = "1b47061264138c4ac30d75fd1eb44270";
    const secret = { "4dabf18193072939515e22adb298388d": kind, value: ["shared.example.com:443"] };
    const [reason = ""] = await check("three", secret);
    assert.ok(reason.includes("[secret]") && !reason.includes("example.com"), reason);
  });

  it("C10 C15 shows a wrong hostport, but no secret one", async () => {
    assert.match((await check("wrong", ["https://shop.example.org"])).join(), /"https:\/\/shop/);
    const hostports = [secret("https://shop.example.org"), "b.example.org"];
    const found = await check("wrong", hostports);
    assert.match(found[1] ?? "", /^hostports\[1\]: has no port/);
    assert.ok(!found.join().includes("example.org"), found.join());
  });

  it("C38 a hostport is not taken by the diff of an earlier run, in a process of several", async () => {
    const [holder] = emulator.tlsEdges.list();
    assert.ok(holder);
    emulator.tlsEdges.patch(holder.id, { hostports: ["kept.example.com:443"] });
    const configure = () =>
      new Promise((resolve, reject) => {
        const request = new messages.ConfigureRequest().setArgs(struct({}));
        plugin.configure(request, (error, response) => (error ? reject(error) : resolve(response)));
      });
    assert.deepEqual(await check("holder", []), []);
    const diff = new messages.DiffRequest()
      .setId(holder.id)
      .setUrn(edge("holder").urn)
      .setType(edge("holder").type)
      .setOlds(struct({ uri: holder.uri, hostports: ["kept.example.com:443"] }))
      .setNews(struct({ hostports: [] }))
      .setOldInputs(struct({ hostports: ["kept.example.com:443"] }));
    await new Promise((resolve, reject) =>
      plugin.diff(diff, (error, response) => (error ? reject(error) : resolve(response))),
    );
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" });
    await configure();
    const create = new messages.CreateRequest()
      .setUrn(edge("taker").urn)
      .setType(edge("taker").type)
      .setProperties(struct({ hostports: ["kept.example.com:443"] }));
    const made = new Promise((resolve, reject) =>
      plugin.create(create, (error, response) => (error ? reject(error) : resolve(response))),
    );
    await assert.rejects(made, new RegExp(holder.id));
    undo();
    assert.deepEqual(emulator.tlsEdges.get(holder.id)?.hostports, ["kept.example.com:443"]);
  });

  describe("in runs of one process", () => {
    const token = "tlsedge:index:TLSEdge";
    const call = <T>(
      send: (done: (error: ServiceError | null, response: T) => void) => unknown,
    ): Promise<T> =>
      new Promise((resolve, reject) => {
        send((error, response) => (error ? reject(error) : resolve(response)));
      });
    const configure = () =>
      call((done) => plugin.configure(new messages.ConfigureRequest().setArgs(struct({})), done));
    const create = async (inputs: Properties, isPlan = false) => {
      const request = new messages.CreateRequest()
        .setUrn(edge("run").urn)
        .setType(token)
        .setPreview(isPlan)
        .setProperties(struct(inputs));
      return (await call<messages.CreateResponse>((done) => plugin.create(request, done))).getId();
    };
    const asked = () => emulator.requests.splice(0).map(({ method }) => method);
    /** The warnings at the end of the plan, as Cancel tells them. */
    const warnings = () => {
      const told = mock.method(console, "error", () => {});
      warnOfPlan();
      told.mock.restore();
      return told.mock.calls.map((one) => String(one.arguments));
    };

    let undo: () => void;
    beforeEach(async () => {
      undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined, TLSEDGE_TIMEOUT_SECONDS: "3" });
      await configure();
      asked();
    });
    afterEach(() => undo());

    it("C19 asks once before creates, in each run", async () => {
      await create({ description: "plan" }, true);
      assert.deepEqual(asked(), ["GET"]);
      await create({ description: "plan" }, true);
      assert.deepEqual(asked(), []);
      await configure();
      await create({ description: "plan" }, true);
      assert.deepEqual(asked(), ["GET"]);
    });

    it("C19 warns in the plan, and neither in the update nor in the next run", async () => {
      await create({ description: "one" }, true);
      const [warning = ""] = warnings();
      assert.match(warning, /is to be created exists already/);
      await configure();
      assert.deepEqual(warnings(), []);
      await create({ description: "two" }, true);
      await create({ description: "three" });
      assert.deepEqual(warnings(), []);
    });

    const read = (id: string, state?: Properties) => {
      const request = new messages.ReadRequest().setId(id).setUrn(edge("run").urn).setType(token);
      if (state) request.setProperties(struct(state)).setInputs(struct({}));
      return call((done) => plugin.read(request, done));
    };

    it("C19 does not warn of what a resource of the run has", async () => {
      const [{ id = "", uri = "" } = {}] = emulator.tlsEdges.list();
      emulator.tlsEdges.patch(id, { description: "in state" });
      await read(id, { uri });
      await create({ description: "in state" }, true);
      assert.deepEqual(warnings(), []);
    });

    it("C36 claims what it imports: no lost create takes it", async () => {
      const [{ id = "" } = {}] = emulator.tlsEdges.list().slice(1);
      assert.ok(!isClaimed(id));
      await read(id);
      assert.ok(isClaimed(id));
    });

    it("C33 a lost create is not taken for an earlier one of the resource, of other content", async () => {
      emulator.faults.add(
        { method: "POST", answer: { status: 502 }, work: false },
        { method: "POST", answer: { status: 502 }, work: true },
      );
      await assert.rejects(create({ description: "lost before" }), /may have created/);
      const id = await create({ description: "lost and taken" });
      assert.equal(emulator.tlsEdges.list()[0]?.id, id);
    });

    it("C84 what a lost create has made is named by the next run, also for other content", async () => {
      emulator.faults.add({ method: "POST", answer: { status: 502 }, work: "cleared" });
      await assert.rejects(create({ description: "late" }), /may have created/);
      const made = emulator.tlsEdges.list().length;
      emulator.faults.clear();
      await until(() => emulator.tlsEdges.list().length > made);
      await configure();
      const [late] = emulator.tlsEdges.list();
      // Found by its resource.
      await assert.rejects(create({ description: "edited" }), new RegExp(`${late?.id}`));
      assert.equal(emulator.tlsEdges.list().length, made + 1);
    });
  });

  it("C85 refuses what is in another account, when it moves to a default provider", async () => {
    const state = { uri: `${emulator.url}/x`, connection: "tlsedge-staging", __provider: "text" };
    const request = new messages.DiffRequest()
      .setId("edgtls_1")
      .setUrn("urn:pulumi:dev::p::tlsedge:index:TLSEdge::e")
      .setType("tlsedge:index:TLSEdge")
      .setOlds(struct(state))
      .setNews(struct({}))
      .setOldInputs(struct({}));
    const diff = new Promise((resolve, reject) =>
      plugin.diff(request, (error, response) => (error ? reject(error) : resolve(response))),
    );
    await assert.rejects(diff, /explicit provider/);
  });

  it("C83 plans what an update sends of a drift, and leaves out what the program does not set", async () => {
    const planned = async (method: "create" | "update", request: object) => {
      const call = plugin[method].bind(plugin) as (
        request: object,
        done: (error: Error | null, response: messages.UpdateResponse) => void,
      ) => void;
      const response = await new Promise<messages.UpdateResponse>((resolve, reject) =>
        call(request, (error, answer) => (error ? reject(error) : resolve(answer))),
      );
      return response.getProperties()?.toJavaScript() as Properties;
    };
    const inputs = struct({ description: "d" });
    const state = { uri: `${emulator.url}/x`, description: "by hand", metadata: null };
    const update = new messages.UpdateRequest().setId("edgtls_1").setOlds(struct(state));
    update.setUrn(edgeUrn("e")).setType(ofEdge.type).setPreview(true);
    const updated = await planned("update", update.setOldInputs(inputs).setNews(inputs));
    assert.equal(updated.description, "d");
    const create = new messages.CreateRequest().setUrn(edgeUrn("e")).setType(ofEdge.type);
    const created = await planned("create", create.setPreview(true).setProperties(inputs));
    assert.deepEqual([created.uri, "metadata" in created], [unknownValue, false]);
  });

  it("C83 C35 knows no address in the plan that completes an incomplete create", async () => {
    const inputs = { description: "d" };
    const planned = async (uri: string) => {
      const request = new messages.UpdateRequest()
        .setId("edgtls_1")
        .setUrn("urn:pulumi:dev::p::tlsedge:index:TLSEdge::e")
        .setType("tlsedge:index:TLSEdge")
        .setPreview(true)
        .setOlds(struct({ ...inputs, uri, createdAt: uri && "2026-01-01T00:00:00Z" }))
        .setOldInputs(struct(inputs))
        .setNews(struct({ description: "e" }));
      const response = new Promise<messages.UpdateResponse>((resolve, reject) =>
        plugin.update(request, (error, answer) => (error ? reject(error) : resolve(answer))),
      );
      return (await response).getProperties()?.toJavaScript() ?? {};
    };
    const { uri, createdAt } = await planned("");
    assert.deepEqual([uri, createdAt], [unknownValue, unknownValue]);
    assert.equal((await planned("https://x")).uri, "https://x");
  });

  it("C50 keeps secret in an update what is a secret in the state alone, in the plan, too", async () => {
    const [{ id = "", uri = "", created_at = "" } = {}] = emulator.tlsEdges.list();
    const request = new messages.UpdateRequest()
      .setId(id)
      .setUrn(edgeUrn("e"))
      .setType(ofEdge.type)
      .setOlds(struct({ uri, createdAt: secret(created_at), description: "one" }))
      .setOldInputs(struct({ description: "one" }))
      .setNews(struct({ description: "two" }));
    for (const isPlan of [true, false]) {
      const updated = await new Promise<messages.UpdateResponse>((resolve, reject) =>
        plugin.update(request.setPreview(isPlan), (error, answer) =>
          error ? reject(error) : resolve(answer),
        ),
      );
      const { createdAt } = updated.getProperties()?.toJavaScript() ?? {};
      assert.deepEqual(createdAt, secret(created_at));
    }
  });

  it("says which version it is, and gives the schema", async () => {
    const request = new messages.GetSchemaRequest();
    const given = await new Promise<string>((resolve, reject) =>
      plugin.getSchema(request, (error, response) =>
        error ? reject(error) : resolve(response.getSchema()),
      ),
    );
    assert.deepEqual(JSON.parse(given), schema);
  });
});
