import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mock } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { tlsCertificates } from "../client/tlsCertificate";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import schema from "../plugin/schema.json";
import { unknownValue } from "../provider/properties";
import { named, secret, startPlugin } from "./pluginProvider";
import { clientOf, type Properties, setEnv, setEnvFor, planWarnings as warnings } from "./support";

describe("the plugin, called over gRPC", () => {
  let emulator: Emulator;
  let restore: () => void;
  let plugin: Awaited<ReturnType<typeof startPlugin>>;

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    plugin = await startPlugin();
    for (const description of ["one", "two", "three"])
      await tlsEdges.create(clientOf(emulator), { description });
  });
  after(() => {
    plugin.close();
    restore();
    return emulator.close();
  });

  const list = async (token: string, limit = 0) => {
    const request = new messages.ListRequest().setToken(token).setLimit(limit);
    const names: unknown[] = [];
    for await (const response of plugin.client.list(request)) {
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

  /** The fields of a call about an edge. */
  const edge = (name = "e") => named("TLSEdge", name);
  const call = (...request: Parameters<typeof plugin.call>) => plugin.call<never>(...request);
  const configure = () => call("configure", new messages.ConfigureRequest(), { args: {} });
  const check = (about: object, news: object): Promise<messages.CheckResponse> =>
    call("check", new messages.CheckRequest(), { ...about, news });
  const diff = (fields: object): Promise<messages.DiffResponse> =>
    call("diff", new messages.DiffRequest(), { ...edge(), id: "edgtls_1", ...fields });
  const create = (
    about: object,
    properties: object,
    isPlan = false,
  ): Promise<messages.CreateResponse> => {
    const request = new messages.CreateRequest().setPreview(isPlan);
    return call("create", request, { ...about, properties });
  };
  const update = (fields: object, isPlan = false): Promise<messages.UpdateResponse> => {
    const request = new messages.UpdateRequest().setPreview(isPlan);
    return call("update", request, { ...edge(), id: "edgtls_1", ...fields });
  };
  const reasonsOf = (checked: messages.CheckResponse) =>
    checked.getFailuresList().map((failure) => failure.getReason());
  const checkConfig = async (project: string, news: object, name = "default") => {
    const urn = `urn:pulumi:dev::${project}::pulumi:providers:tlsedge::${name}`;
    return reasonsOf(await call("checkConfig", new messages.CheckRequest(), { urn, news }));
  };

  it("C1 takes the program's own settings in the namespace of a project with its name", async () => {
    assert.deepEqual(await checkConfig("tlsedge", { size: "3" }), []);
    assert.match((await checkConfig("other", { size: "3" })).join(), /unknown/);
  });

  it("C1 C15 tells which setting a misspelt one of an explicit provider may mean", async () => {
    const failures = await checkConfig("p", { baseURL: "https://a.example" }, "staging");
    assert.match(failures.join(), /did you mean baseUrl/);
  });

  const checkEdge = (news: object, name?: string) => check(edge(name), news);

  it("takes the id of a resource that a program gives in place of a text", async () => {
    const resource = (id: string) => ({
      "4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e",
      ...{ urn: edge("other").urn, id },
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
    const created = await create(edge(), given);
    const { ipRestriction, hostports } = created.getProperties()?.toJavaScript() ?? {};
    assert.deepEqual([ipRestriction, hostports], [secret(restriction), []]);
    emulator.tlsEdges.delete(created.getId());
  });

  it("C50 marks a key as a secret that a program gives in plain text", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "c" });
    const checked = await check(named("TLSCertificate"), { certificatePem, privateKeyPem });
    const inputs = checked.getInputs()?.toJavaScript();
    assert.ok(isDeepStrictEqual(inputs?.privateKeyPem, secret(privateKeyPem)));
  });

  it("C50 refuses a private key in a text and in a name, and does not quote it", async () => {
    const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n";
    for (const news of [{ metadata: key }, { backend: { backendId: secret(key) } }, { [key]: 1 }]) {
      const reasons = reasonsOf(await checkEdge(news));
      assert.match(reasons.join(), /private key/);
      assert.doesNotMatch(reasons.join(), /MIGH/);
    }
  });

  it("C90 shows texts of the service escaped", async () => {
    const body = JSON.stringify({ msg: "a\u001b[31m <{%reset%}>\n::add-mask::b" });
    const headers = { "Content-Type": "application/json" };
    emulator.faults.add({ method: "GET", answer: { status: 400, headers, body } });
    await assert.rejects(list("tlsedge:index:TLSEdge"), ({ message }: Error) =>
      message.includes("a\\u001b[31m <\\u007b%reset%}>\\n::add-mask::b"),
    );
    const olds = { uri: `${emulator.url}/edges/tls/x` };
    const news = { description: "e" };
    await assert.rejects(update({ id: "edgtls_\u001b[31m", olds, news }), ({ message }: Error) =>
      message.includes("edgtls_\\u001b[31m was not found"),
    );
  });

  it("C24 C37 deletes an edge before it replaces it, by replaceOnChanges too", async () => {
    const olds = { uri: `${emulator.url}/x`, description: "d", metadata: null, hostports: [] };
    const found = await diff({ olds, news: { description: "e" }, oldInputs: { description: "d" } });
    // The engine itself makes a replacement of this change.
    assert.deepEqual([found.getReplacesList(), found.getDiffsList()], [[], ["description"]]);
    assert.equal(found.getDeletebeforereplace(), true);
  });

  const { DELETE, UPDATE } = messages.PropertyDiff.Kind;
  const changes: [string, object, object, [string, number][]][] = [
    [
      "C22 C83 names what a list gains and loses, not what has another place in it",
      { hostports: ["a:1", "b:1", "c:1"] },
      { hostports: ["c:1", "a:1"] },
      [["hostports[1]", DELETE]],
    ],
    [
      "C83 names what changes in a module, by its path",
      { tlsTermination: { terminateAt: "edge", minVersion: "1.2" } },
      { tlsTermination: { terminateAt: "edge", minVersion: "1.3" } },
      [["tlsTermination.minVersion", UPDATE]],
    ],
  ];
  for (const [title, oldInputs, news, expected] of changes) {
    it(title, async () => {
      const found = await diff({
        oldInputs,
        news,
        olds: { uri: `${emulator.url}/x`, ...oldInputs },
      });
      const named = found.toObject().detaileddiffMap.map(([path, { kind }]) => [path, kind]);
      assert.deepEqual(named, expected);
    });
  }

  it("C19 C25 asks before a change, not for a refresh, nor when a policy undoes the change", async () => {
    const about = edge("asked");
    const [olds, news] = [{ description: "d" }, { description: "e" }];
    const { accountTag } = clientOf(emulator);
    const state = { uri: `${emulator.url}/x`, ...olds, metadata: null, hostports: [], accountTag };
    const differs = (inputs: object) =>
      diff({ ...about, olds: state, oldInputs: olds, news: inputs });
    const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    try {
      const asked = () => emulator.requests.splice(0).length;
      await configure();
      asked();
      await differs(news);
      assert.equal(asked(), 0, "the diff of a refresh");
      await check({ ...about, olds }, news);
      await differs(olds);
      assert.equal(asked(), 0, "a change that a policy has undone");
      await differs(news);
      assert.equal(asked(), 1, "an update");
      await configure();
      await create(about, news, true);
      assert.equal(asked(), 1, "a create");
    } finally {
      undo();
    }
  });

  it("C50 shows a secret id in no form, where a lookup fails", async () => {
    const id = "edgtls/secret id";
    const answer = { status: 400, body: JSON.stringify({ msg: `no such edge: ${id}` }) };
    emulator.faults.add({ method: "GET", answer });
    const lookup = new messages.InvokeRequest().setTok("tlsedge:index:getTLSEdge");
    const asked = call("invoke", lookup, { args: { id: secret(id) } });
    await assert.rejects(asked, ({ message }: Error) => {
      assert.equal(message.split("[secret]").length, 3, "in the path, and in the service's words");
      for (const shown of [id, encodeURIComponent(id)]) assert.ok(!message.includes(shown));
      return true;
    });
  });

  /** A process of its own for one provider, called as the engine does. */
  const withProvider = async (
    name: string,
    work: (calls: {
      configure(args: object): Promise<unknown>;
      checked(news: object): Promise<Record<string, unknown>>;
      moved(from: object): Promise<string[]>;
    }) => Promise<void>,
  ) => {
    const { call, close } = await startPlugin();
    const urn = `urn:pulumi:dev::p::pulumi:providers:tlsedge::${name}`;
    try {
      await work({
        configure: (args) => call("configure", new messages.ConfigureRequest(), { urn, args }),
        async checked(news) {
          const request = new messages.CheckRequest();
          const found = await call<messages.CheckResponse>("checkConfig", request, { urn, news });
          return found.getInputs()?.toJavaScript() ?? {};
        },
        async moved(oldInputs) {
          const fields = { urn, oldInputs, news: {} };
          const request = new messages.DiffRequest();
          const found = await call<messages.DiffResponse>("diffConfig", request, fields);
          return found.getReplacesList();
        },
      });
    } finally {
      close();
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
        // Whoever reaches the port can't have the environment's key sent to another host.
        const other = { baseUrl: "https://b.example", apiKey: secret("k") };
        await assert.rejects(configure(other), /was configured for https:\/\/a\.example/);
        await configure({ baseUrl });
      }));
  }

  for (const name of ["staging", "default-eu", "defaults", "default_eu", "default_2"]) {
    it(`C82 takes a provider of a program for one, and its key for a secret: ${name}`, () =>
      withProvider(name, async ({ checked, configure }) => {
        assert.deepEqual((await checked({ baseUrl, apiKey: "k" })).apiKey, secret("k"));
        await configure({ baseUrl, apiKey: "k" });
      }));
  }

  it("C4 C82 a provider that sets its base URL sets its key: the environment's is not sent there", async () => {
    const failures = await checkConfig("p", { baseUrl: emulator.url }, "staging");
    assert.deepEqual(failures, [
      "no API key is set: set apiKey of the provider staging, because that provider sets baseUrl",
    ]);
    assert.deepEqual(await checkConfig("p", { apiKey: "k" }, "staging"), []);
    assert.deepEqual(await checkConfig("p", { baseUrl: emulator.url }), []);
  });

  it("C40 C81 refuses a second resource of an object, and names both", async () => {
    await configure();
    const { uri, id } = await tlsEdges.create(clientOf(emulator), { description: "shared" });
    const inputs = { description: "shared" };
    const fields = { olds: { ...inputs, uri }, oldInputs: inputs, news: inputs, id };
    const diffed = (name: string) => diff({ ...edge(name), ...fields });
    // The old name of a renamed resource, in a refresh.
    await checkEdge(inputs, "first");
    await diffed("old name");
    await diffed("first");
    await diffed("first");
    await checkEdge(inputs, "second");
    await assert.rejects(diffed("second"), /"first" and "second" have the same object/);
    await configure();
    await checkEdge(inputs, "second");
    await diffed("second");
    emulator.tlsEdges.delete(id);
  });

  it("C82 replaces what moves to an explicit provider of another account, and nothing else", () =>
    withProvider("staging", async ({ checked, configure, moved }) => {
      const args = {
        ...{ baseUrl, apiKey: secret("k") },
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
      assert.deepEqual(await moved({ baseUrl, apiKey: secret("k") }), []);
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
    const failures = reasonsOf(
      await check({ ...edge(), olds: { ...inputs, __provider: "text" } }, inputs),
    );
    assert.match(failures.join(), /connection: no such property/);
  });

  const checkHostports = async (name: string, hostports: unknown) =>
    reasonsOf(await checkEdge({ hostports }, name));

  it("C18 names a hostport that two edges have, whatever its letter case, but no secret", async () => {
    assert.deepEqual(await checkHostports("one", ["Shared.example.com:443"]), []);
    const again = await checkHostports("two", ["x:1", "shared.EXAMPLE.com:443"]);
    assert.match(again.join(), /\bone\b.*\btwo\b.*have the same hostport, shared\.example/i);
    const [reason = ""] = await checkHostports("three", secret(["shared.example.com:443"]));
    assert.ok(reason.includes("[secret]") && !reason.includes("example.com"), reason);
  });

  it("C10 C15 shows a wrong hostport, but no secret one", async () => {
    const shown = await checkHostports("wrong", ["https://shop.example.org"]);
    assert.match(shown.join(), /"https:\/\/shop/);
    const hostports = [secret("https://shop.example.org"), "b.example.org"];
    const found = await checkHostports("wrong", hostports);
    assert.match(found[1] ?? "", /^hostports\[1\]: has no port/);
    assert.ok(!found.join().includes("example.org"), found.join());
  });

  it("C38 a hostport is not taken by the diff of an earlier run, in a process of several", async () => {
    const [holder] = emulator.tlsEdges.list();
    assert.ok(holder);
    emulator.tlsEdges.patch(holder.id, { hostports: ["kept.example.com:443"] });
    assert.deepEqual(await checkHostports("holder", []), []);
    const before = { hostports: ["kept.example.com:443"] };
    const { id, uri } = holder;
    const fields = { id, olds: { uri, ...before }, oldInputs: before, news: { hostports: [] } };
    await diff({ ...edge("holder"), ...fields });
    const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" });
    await configure();
    const made = create(edge("taker"), before);
    await assert.rejects(made, new RegExp(holder.id));
    undo();
    assert.deepEqual(emulator.tlsEdges.get(holder.id)?.hostports, ["kept.example.com:443"]);
  });

  describe("in runs of one process", () => {
    const created = async (inputs: Properties, isPlan = false) =>
      (await create(edge("run"), inputs, isPlan)).getId();
    const asked = () => emulator.requests.splice(0).map(({ method }) => method);
    let undo: () => void;
    beforeEach(async () => {
      undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined, TLSEDGE_TIMEOUT_SECONDS: "3" });
      await configure();
      asked();
    });
    afterEach(() => undo());

    it("C19 asks once before creates, in each run", async () => {
      await created({ description: "plan" }, true);
      assert.deepEqual(asked(), ["GET"]);
      await created({ description: "plan" }, true);
      assert.deepEqual(asked(), []);
      await configure();
      await created({ description: "plan" }, true);
      assert.deepEqual(asked(), ["GET"]);
    });

    it("C19 warns at the end of a plan or update, by the name of the resource, and not in the next run", async () => {
      emulator.tlsEdges.patch(emulator.tlsEdges.list()[0]?.id ?? "", { hostports: ["held:443"] });
      const hostports = ["held:443"];
      await created({ description: "one", hostports }, true);
      const [warning = ""] = await warnings(plugin.endRun);
      assert.match(warning, /run: held:443 is served by/);
      await configure();
      assert.deepEqual(await warnings(plugin.endRun), []);
      await created({ description: "two" });
      const [ofUpdate = ""] = await warnings(plugin.endRun);
      assert.match(ofUpdate, /equals one that this run creates/);
    });

    const read = (id: string, properties?: Properties) => {
      const state = properties && { properties, inputs: {} };
      return call("read", new messages.ReadRequest(), { ...edge("run"), id, ...state });
    };

    it("C19 does not warn of what a resource of the run has", async () => {
      const [{ id = "", uri = "" } = {}] = emulator.tlsEdges.list();
      emulator.tlsEdges.patch(id, { description: "in state" });
      await read(id, { uri });
      await created({ description: "in state" }, true);
      assert.deepEqual(await warnings(plugin.endRun), []);
    });

    it("C81 says of an id that does not exist that there is nothing", async () => {
      for (const [type, id] of [
        ["TLSEdge", "edgtls_none"],
        ["TLSCertificate", "cert_none"],
      ] as const) {
        const request = { ...named(type), id };
        const found: messages.ReadResponse = await call(
          "read",
          new messages.ReadRequest(),
          request,
        );
        assert.equal(found.getId(), "");
      }
    });

    it("C81 lists what there is when the hostport of an import names no edge", async () => {
      const [{ id = "" } = {}] = emulator.tlsEdges.list();
      const error = new RegExp(`no TLS edge matches.*${id}`, "s");
      await assert.rejects(read("nowhere.example:443"), error);
    });

    it("C81 names the certificates that have the fingerprint of an import", async () => {
      const made = await makeCertificate({ commonName: "twin.example" });
      const { certificatePem, privateKeyPem } = made;
      const { fingerprint256 } = new X509Certificate(certificatePem);
      const body = { certificate_pem: certificatePem, private_key_pem: privateKeyPem };
      const client = clientOf(emulator);
      const twins = [
        await tlsCertificates.create(client, body),
        await tlsCertificates.create(client, body),
      ];
      const fields = { ...named("TLSCertificate"), id: fingerprint256 };
      await assert.rejects(
        call("read", new messages.ReadRequest(), fields),
        ({ message }: Error) => {
          assert.match(message, /2 TLS certificates/);
          for (const { id } of twins) assert.ok(message.includes(id), message);
          return true;
        },
      );
      for (const { id } of twins) emulator.tlsCertificates.delete(id);
    });

    it("C33 a lost create is not taken for an earlier one of the resource, of other content", async () => {
      emulator.faults.add(
        { method: "POST", answer: { status: 502 }, work: false },
        { method: "POST", answer: { status: 502 }, work: true },
      );
      await assert.rejects(created({ description: "lost before" }), /may have created/);
      const told = mock.method(console, "error", () => {});
      const id = await created({ description: "lost and taken" });
      told.mock.restore();
      const said = told.mock.calls.map((call) => String(call.arguments)).join("\n");
      assert.match(said, new RegExp(`warning: .*answer to this create was lost.* ${id} is new`));
      assert.equal(emulator.tlsEdges.list()[0]?.id, id);
    });
  });

  it("C24 a replacement that is made first names the option that it needs", async () => {
    await configure();
    const hostports = ["replaced.example.com:443"];
    const id = (await create(edge("replaced"), { hostports })).getId();
    await assert.rejects(create(edge("replaced"), { hostports }), /`deleteBeforeReplace: true`/);
    emulator.tlsEdges.delete(id);
  });

  it("C85 refuses what is in another account, when it moves to a default provider", async () => {
    const olds = { uri: `${emulator.url}/x`, connection: "tlsedge-staging", __provider: "text" };
    await assert.rejects(diff({ olds, news: {}, oldInputs: {} }), /explicit provider/);
  });

  it("C83 plans what an update sends of a drift, and leaves out what the program does not set", async () => {
    const inputs = { description: "d" };
    const olds = { uri: `${emulator.url}/x`, description: "by hand", metadata: null };
    const updated = await update({ olds, oldInputs: inputs, news: inputs }, true);
    assert.equal(updated.getProperties()?.toJavaScript().description, "d");
    const planned = (await create(edge(), inputs, true)).getProperties()?.toJavaScript() ?? {};
    assert.deepEqual([planned.uri, "metadata" in planned], [unknownValue, false]);
  });

  it("C83 C35 knows no address in the plan that completes an incomplete create", async () => {
    const oldInputs = { description: "d" };
    const planned = async (uri: string) => {
      const olds = { ...oldInputs, uri, createdAt: uri && "2026-01-01T00:00:00Z" };
      const response = await update({ olds, oldInputs, news: { description: "e" } }, true);
      return response.getProperties()?.toJavaScript() ?? {};
    };
    const { uri, createdAt } = await planned("");
    assert.deepEqual([uri, createdAt], [unknownValue, unknownValue]);
    assert.equal((await planned("https://x")).uri, "https://x");
  });

  it("C50 keeps secret in an update what is a secret in the state alone, in the plan, too", async () => {
    const [{ id = "", uri = "", created_at = "" } = {}] = emulator.tlsEdges.list();
    const oldInputs = { description: "one" };
    const olds = { uri, createdAt: secret(created_at), ...oldInputs };
    for (const isPlan of [true, false]) {
      const news = { description: "two" };
      const updated = await update({ id, olds, oldInputs, news }, isPlan);
      const { createdAt } = updated.getProperties()?.toJavaScript() ?? {};
      assert.deepEqual(createdAt, secret(created_at));
    }
  });

  it("says which version it is, and gives the schema", async () => {
    const request = new messages.GetSchemaRequest();
    const given = await plugin.call<messages.GetSchemaResponse>("getSchema", request);
    assert.deepEqual(JSON.parse(given.getSchema()), schema);
  });
});
