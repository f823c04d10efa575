import assert from "node:assert/strict";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { tlsEdges } from "../client/tlsEdge";
import { servePlugin } from "../plugin/plugin";
import { withPythonNames } from "../plugin/pythonNames";
import schema from "../plugin/schema.json";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { chainNames } from "../provider/values/chain";
import { pick } from "../provider/values/properties";
import { CallError, EnginePort, secret, valuesOf } from "../tools/protocol";
import { resourceOf, startPlugin } from "./pluginProvider";
import {
  assertLoopback,
  assertTimesOut,
  captureMessages,
  clientOf,
  deployed,
  failureOf,
  fullEdge,
  later,
  makePair,
  messageOf,
  type Properties,
  Stack,
  setEnv,
  takeMethods,
  unknown,
  useEmulator,
  planWarnings as warnings,
} from "./support";

/** What the plugin says to the engine in the calls of its protocol. */
describe("the plugin", () => {
  const emulator = useEmulator();
  let plugin: Awaited<ReturnType<typeof startPlugin>>;
  let certificate: Awaited<ReturnType<typeof makePair>>;
  before(async () => {
    plugin = await startPlugin();
    certificate = await makePair({ commonName: "a.example", notBefore: new Date(0) });
  });
  beforeEach(() => plugin.configure());
  after(() => plugin.close());

  /** The calls about an edge of the program, and about a certificate. */
  const edge = (name = "e") => plugin.resource(resourceOf("TLSEdge", name));
  const cert = (name = "c") => plugin.resource(resourceOf("TLSCertificate", name));

  /** An edge that somebody else created. */
  const foreign = (body: object) => tlsEdges.create(clientOf(emulator), body);

  describe("in a plan", () => {
    it("C14 C83: shows names and dates of a new certificate, and leaves open what the service chooses", async () => {
      const { planned = {} } = await new Stack(cert()).preview(certificate);
      const { state } = await deployed(cert(), certificate);
      for (const name of Object.keys(chainNames)) assert.deepEqual(planned[name], state[name]);
      const { uri, accountTag, renewBeforeDays } = planned;
      assert.deepEqual([uri, accountTag, renewBeforeDays], [unknown, state.accountTag, null]);
      assert.deepEqual(["metadata" in planned, "privateKeyPem" in planned], [false, false]);
    });

    /** The answer to a diff of a resource. */
    const diff = (type: string, fields: object) =>
      plugin.call("diff", { ...resourceOf(type), id: "edgtls_1", ...fields });

    it("takes a message of more than 4 MB, which gRPC refuses by default", async () => {
      const [olds, news] = [{ description: "d" }, { description: "d".repeat(5_000_000) }];
      const found = await diff("TLSEdge", { olds: { ...olds, uri: "x" }, oldInputs: olds, news });
      assert.deepEqual(found.getDiffsList(), ["description"]);
    });

    it("C20 C83: names a chain that replaces because the service has another, and creates the new one first", async () => {
      const { id, state, inputs } = await deployed(cert(), certificate);
      const { certificatePem } = await makePair({ commonName: "other" });
      const { __provider, ...news } = inputs;
      const olds = { ...state, certificatePem };
      const found = await diff("TLSCertificate", { id, news, oldInputs: news, olds });
      const { detaileddiffMap, ...answer } = found.toObject();
      const kind = messages.PropertyDiff.Kind.UPDATE_REPLACE;
      assert.deepEqual(detaileddiffMap, [["certificatePem", { kind, inputdiff: true }]]);
      const { replacesList, diffsList, hasdetaileddiff, deletebeforereplace } = answer;
      assert.deepEqual([replacesList, diffsList], [["certificatePem"], ["certificatePem"]]);
      assert.deepEqual([hasdetaileddiff, deletebeforereplace], [true, false]);
    });

    it("C24 C37: tells the engine to delete an edge first where replaceOnChanges replaces it", async () => {
      const tls = (minVersion: string) => ({ tlsTermination: { enabled: true, minVersion } });
      const olds = { uri: "x", ...tls("1.2"), metadata: null };
      const found = await diff("TLSEdge", { olds, oldInputs: tls("1.2"), news: tls("1.3") });
      // The engine itself makes a replacement of this change.
      assert.deepEqual([found.getReplacesList(), found.getDiffsList()], [[], ["tlsTermination"]]);
      assert.equal(found.getDeletebeforereplace(), true);
    });

    it("C10 C19: warns at the end of a run of the resource that will fail, with no secret hostport, and not again", async () => {
      setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
      const { uri } = await foreign({ description: "d", hostports: ["held.example:443"] });
      const ended = async () => {
        const found = await warnings(plugin.endRun);
        await plugin.configure();
        return found.join();
      };
      const [hostports, hidden] = [["held.example:443"], secret(["held.example:443"])];
      await edge("new").planned({ hostports });
      assert.match(
        await ended(),
        /^warning: new: this update will fail, .*: held\.example:443 is served/,
      );
      assert.equal(await ended(), "");
      await edge("new").planned({ hostports: hidden });
      assert.match(await ended(), /new: this update will fail, .*: \[secret\] is served by/);
      for (const [olds, news] of [
        [{}, { hostports: hidden }],
        // The state may have the mark alone.
        [{ hostports: secret([]) }, { hostports }],
      ]) {
        await edge().check({}, { hostports });
        const state = { ...olds, uri, accountTag: clientOf(emulator).accountTag };
        await edge().diff("edgtls_1", state, news ?? {}, {});
        assert.match(await ended(), /e: this update will fail, .*: \[secret\] is served by/);
      }
    });

    it("C11: warns of each doubt about a chain once for a resource, although the engine checks twice", async () => {
      const shown = captureMessages();
      for (const name of ["one", "one", "two", "two"])
        await cert(name).check({}, { ...certificate, renewBeforeDays: 3650 });
      assert.equal(shown().length, 2);
      for (const text of shown()) assert.match(text, /^warning: the leaf certificate expires on/);
    });

    it("C15 C85: refuses the property connection, also where the old inputs have it", async () => {
      const inputs = { description: "d", connection: "tlsedge-staging" };
      const { failures = [] } = await edge().check({ ...inputs, __provider: "" }, inputs);
      assert.match(failures[0]?.reason ?? "", /connection: no such property/);
    });

    it("C15: says after a message what Python writes for the properties in it", async () => {
      const reasonsOf = async (args: Record<string, unknown>) =>
        (await edge().check({}, args)).failures?.map(({ reason }) => reason) ?? [];
      const [misspelt = ""] = await reasonsOf({ ipRestriction: { ipPolicyId: ["ipp_1"] } });
      assert.match(
        misspelt,
        /ipPolicyIds\? \(in Python ip_restriction\.ip_policy_id, ip_policy_ids\)$/,
      );
      const [wrong = ""] = await reasonsOf({ hostports: ["minVersion"] });
      assert.doesNotMatch(wrong, /Python/);
      assert.equal(
        withPythonNames('a: renewBeforeDays is wrong\nb: oneOf, "notAfter"'),
        'a: renewBeforeDays is wrong (in Python renew_before_days)\nb: oneOf, "notAfter"',
      );
    });

    it("C13 C18: names a hostport that two edges have, in any letter case, but no secret or unknown one", async () => {
      const check = async (name: string, hostports: unknown) => {
        const { failures = [] } = await edge(name).check({}, { hostports });
        return failures.map(({ reason }) => reason).join();
      };
      assert.equal(await check("one", ["Shared.example.com:443"]), "");
      const again = await check("two", ["x:1", "shared.EXAMPLE.com:443"]);
      assert.match(again, /\bone\b.*\btwo\b.*have the same hostport, shared\.example/i);
      const hidden = await check("three", secret(["shared.example.com:443"]));
      assert.ok(hidden.includes("[secret]") && !hidden.includes("example.com"), hidden);
      await plugin.configure();
      assert.equal(await check("private", secret(["secret.example.com:443"])), "");
      const same = await check("open", ["secret.example.com:443"]);
      assert.ok(same.includes("[secret]") && !same.includes("example.com"), same);
      assert.equal(await check("renamed", ["shared.example.com:443"]), "");
      for (const name of ["four", "five"]) assert.equal(await check(name, [unknown]), "");
    });

    it("C10 C15: shows a wrong hostport, but no secret one, and names no property to the engine", async () => {
      const wrong = "https://shop.example.org";
      const shown = await edge().check({}, { hostports: [wrong] });
      assert.match(shown.failures?.[0]?.reason ?? "", /"https:\/\/shop/);
      const hidden = await edge().check({}, { hostports: [secret(wrong), "b.example.org"] });
      const reasons = hidden.failures?.map(({ reason }) => reason) ?? [];
      assert.match(reasons[1] ?? "", /^hostports\[1\]: has no port/);
      assert.ok(!reasons.join().includes("example.org"), reasons.join());
      for (const { property } of hidden.failures ?? []) assert.equal(property, "");
    });

    it("C50: warns when a private key is removed from the program, and refuses an empty one", async () => {
      const olds = { ...certificate, privateKeyPem: secret(certificate.privateKeyPem) };
      const { certificatePem } = certificate;
      const checked = async (news: object) => {
        const shown = captureMessages();
        const { failures = [] } = await cert().check(olds, { ...news });
        return [...shown(), ...failures.map(({ reason }) => reason)].join();
      };
      assert.equal(await checked(certificate), "");
      assert.match(await checked({ certificatePem }), /^warning: privateKeyPem .* loses it/);
      for (const privateKeyPem of ["", "\n"])
        assert.match(await checked({ certificatePem, privateKeyPem }), /privateKeyPem: is empty/);
    });
  });

  describe("with secrets", () => {
    /** The answer to a call about an edge, with the marks of its properties. */
    const answered = async (method: "create" | "read" | "update", fields: object) =>
      valuesOf(
        (await plugin.call(method, { ...resourceOf("TLSEdge"), ...fields })).getProperties(),
      );

    it("C50: marks a property with a secret part as a whole, and once, also where it is one", async () => {
      const ipRestriction = secret({ ipPolicyIds: ["ipp_1", "ipp_2"], enabled: true });
      const part = { ipPolicyIds: [secret("ipp_1"), "ipp_2"], enabled: true };
      for (const given of [part, secret(part)]) {
        const { inputs } = await edge().check({}, { ipRestriction: given });
        assert.deepEqual(inputs, { ipRestriction });
        for (const preview of [true, false]) {
          const properties = { ipRestriction: given };
          const state = await answered("create", { properties, preview });
          assert.deepEqual(state.ipRestriction, ipRestriction);
        }
      }
    });

    it("C14 C50: keeps a value secret in an update, its plan and a read, also where the state alone marks it", async () => {
      const { id, uri, created_at } = await foreign({ description: "one" });
      const oldInputs = { description: "one" };
      // In both, a property is marked once.
      const olds = { uri, createdAt: secret(created_at), description: secret("one") };
      const news = { description: secret("two") };
      const read = { properties: olds, inputs: news };
      for (const [method, fields] of [
        ["update", { olds, oldInputs, news, preview: true }],
        ["update", { olds, oldInputs, news }],
        ["read", read],
        // A mark alone is no update: the state has it from the next read on.
        ["read", { ...read, properties: { ...olds, description: "one" } }],
      ] as const) {
        const { createdAt, description } = await answered(method, { id, ...fields });
        assert.deepEqual([createdAt, description], [secret(created_at), secret("two")]);
      }
      const plain = await answered("update", { id, olds, oldInputs, news: { description: "two" } });
      assert.equal(plain.description, "two", "the program has taken the mark off");
      assert.deepEqual((await edge().read(id, olds, news)).inputs, news);
      // The tag in the state may be that of an earlier key.
      const old = { ...olds, accountTag: "0" };
      const planned = { id, olds: old, oldInputs, news, preview: true };
      const updated = { id, olds, oldInputs, news };
      const [plan, after] = [await answered("update", planned), await answered("update", updated)];
      assert.equal(plan.accountTag, after.accountTag);
    });

    it("C50: marks a private key in the inputs, also where a program gives it in plain text", async () => {
      const marked = secret(certificate.privateKeyPem);
      for (const privateKeyPem of [certificate.privateKeyPem, marked]) {
        const { inputs } = await cert().check({}, { ...certificate, privateKeyPem });
        // No diff of it: a failure would print the key.
        assert.ok(JSON.stringify(inputs.privateKeyPem) === JSON.stringify(marked));
      }
      const { id, state } = await deployed(cert(), certificate);
      const found = await cert().read(id, state, certificate);
      assert.ok(JSON.stringify(found.inputs?.privateKeyPem).includes('"value"'));
    });

    it("C50: shows none in a refusal of a create, a read, an update or a delete", async () => {
      const args = { backend: { backendId: "bkdtg_s3cret" }, __secrets: ["backend"] };
      const stack = await deployed(edge(), args);
      const backend = secret({ ...args.backend, enabled: true });
      const answer = { status: 400, body: '{"msg":"not bkdtg_s3cret"}' };
      const ofAnother = async () => {
        await edge("other").check({}, { backend });
        await edge().create({});
      };
      const whole = /reason is not shown/;
      for (const [method, work, shown] of [
        ["POST", () => edge().create({ backend }), whole],
        ["POST", ofAnother, /400: not \[secret\]/],
        ["GET", () => stack.refresh(), whole],
        ["PATCH", () => stack.up({ backend: { backendId: "bkdtg_1" } }), whole],
        ["DELETE", () => stack.leave(), whole],
      ] as const) {
        // Another run, which knows the text from this alone.
        await plugin.configure();
        emulator.faults.add({ method, answer });
        assert.match(await messageOf(work()), shown);
      }
    });

    it("C50: shows no id that is a secret in a failed lookup", async () => {
      const id = "edgtls/secret id";
      const answer = { status: 400, body: JSON.stringify({ msg: `no such edge: ${id}` }) };
      emulator.faults.add({ method: "GET", answer });
      const lookup = { tok: "tlsedge:index:getTLSEdge", args: { id: secret(id) } };
      const message = await messageOf(plugin.call("invoke", lookup));
      assert.equal(message.split("[secret]").length, 3, "in the path, and in the service's words");
      for (const text of [id, encodeURIComponent(id)]) assert.ok(!message.includes(text));
      const ofAnother = { ...lookup, args: { id: secret("cert_1") } };
      assert.doesNotMatch(await messageOf(plugin.call("invoke", ofAnother)), /cert_/);
    });
  });

  it("C35: through the plugin, an object whose answer is wrong is recorded with its inputs", async () => {
    emulator.faults.add({ method: "POST", answer: { fields: { description: 7 } } });
    const error = await failureOf(edge().create({ metadata: secret("m") }), CallError);
    const { id, reasons, properties, inputs } = error;
    assert.deepEqual([id, reasons], [emulator.tlsEdges.list()[0]?.id, [error.message]]);
    assert.equal(properties?.uri, "");
    assert.deepEqual(inputs, { metadata: secret("m") });
  });

  it("C93: each operation of the plugin has the deadline that the engine gives, in seconds", async () => {
    const named = resourceOf("TLSEdge");
    const news = { description: "in time" };
    emulator.faults.add({ method: "POST", answer: { afterMs: 100 } });
    takeMethods(emulator);
    const made = await plugin.call("create", { ...named, timeout: 60, properties: news });
    assert.deepEqual(takeMethods(emulator), ["GET", "POST"], "no answer was lost");
    const state = valuesOf(made.getProperties());
    const late = { ...named, timeout: 0.2, id: made.getId(), olds: state, news };
    for (const [method, call, properties] of [
      ["POST", "create", news],
      ["GET", "read", state],
      ["PATCH", "update", { description: "late" }],
      ["DELETE", "delete", state],
    ] as const) {
      const fields = call === "update" ? { news: properties, oldInputs: {} } : { properties };
      const work = () => plugin.call(call, { ...late, ...fields });
      await assertTimesOut(emulator, method, 200, work);
    }
  });

  it("C89: an import of the plugin takes a hostport for an id, gives no empty list, and lists what there is", async () => {
    const hostports = ["a.example:443"];
    const { id } = await foreign({ hostports, ip_restriction: { enabled: false } });
    // Pulumi 3.250 sends an import no properties, 3.274 empty ones.
    for (const nothing of [[], [{}, {}]]) {
      const found = await edge().read("A.example:443", ...nothing);
      assert.deepEqual([found.id, found.inputs], [id, { hostports }]);
    }
    const message = await messageOf(edge().read("nowhere.example:443"));
    assert.match(message, new RegExp(`no TLS edge matches.*${id}`, "s"));
    const refused = await messageOf(edge().read("cert_1 "));
    const text = `no TLS edge has the id cert_1 , which has a space.*${id}.*also takes: hostport$`;
    assert.match(refused, new RegExp(text, "s"));
  });

  it("C90: an error of the plugin has control characters escaped", async () => {
    const none = plugin.resource(resourceOf("\u001b[31m <{%reset%}>"));
    const text = "there is no resource tlsedge:index:\\u001b[31m <\\u007b%reset%}>";
    assert.equal(await messageOf(none.read("a")), text);
  });

  it("the plugin is called from this machine alone", async () => {
    const { port, close } = await servePlugin(schema);
    await assertLoopback(port).finally(close);
  });

  describe("as a provider of a program", () => {
    const baseUrl = "https://a.example";
    const own: Awaited<ReturnType<typeof startPlugin>>[] = [];
    afterEach(() => {
      for (const { close } of own.splice(0)) close();
    });

    /** The calls about a provider of this name, in a process of its own. */
    async function start(name: string) {
      const plugin = await startPlugin();
      own.push(plugin);
      const urn = `urn:pulumi:dev::p::pulumi:providers:tlsedge::${name}`;
      return {
        configure: (args: object) => plugin.call("configure", { urn, args }),
        async check(news: object, project = "p") {
          const ofProject = urn.replace("::p::", `::${project}::`);
          const found = await plugin.call("checkConfig", { urn: ofProject, news });
          const reasons = found.getFailuresList().map((failure) => failure.getReason());
          return { inputs: valuesOf(found.getInputs()), reasons };
        },
        /** What a move of a resource from another provider replaces. */
        async moved(oldInputs: object) {
          const found = await plugin.call("diffConfig", { urn, oldInputs, news: {} });
          return found.getReplacesList();
        },
      };
    }

    it("C1 C13 C15: refuses a setting with a wrong name or value; a project named tlsedge may have settings of its own", async () => {
      const stack = await start("default");
      assert.deepEqual((await stack.check({ size: "3" }, "tlsedge")).reasons, []);
      assert.match((await stack.check({ size: "3" }, "other")).reasons.join(), /unknown/);
      const { check } = await start("staging");
      assert.match((await check({ baseURL: baseUrl })).reasons.join(), /did you mean baseUrl/);
      // What the engine adds.
      const engine = { version: "0.1.0", pluginDownloadURL: "https://x.example", __internal: "{}" };
      assert.deepEqual((await check({ baseUrl, apiKey: "k", ...engine })).reasons, []);
      assert.deepEqual((await check({ baseUrl: unknown, apiKey: "k" })).reasons, []);
      assert.deepEqual((await check({ apiKey: "k", maxRetries: "many" })).reasons, [
        "maxRetries of the provider staging must be a whole number from 0 to 1000. Correct " +
          "maxRetries of the provider staging (in Python max_retries)",
      ]);
    });

    for (const name of ["default", "default_0_1_0", "default_1_2_3_alpha_1_https___x.example"]) {
      it(`C4: refuses a key of the stack's config in plain text: ${name}`, async () => {
        const { check, configure } = await start(name);
        // The engine puts back the mark of a secret: so no mark is added here.
        const { inputs } = await check({ baseUrl, apiKey: "k" });
        assert.deepEqual(inputs, { baseUrl, apiKey: "k" });
        const plain = configure({ baseUrl, apiKey: "k" });
        assert.match(await messageOf(plain), /plain text.*from Pulumi\.yaml or .*--secret/);
        await configure({ baseUrl, apiKey: secret("k") });
        // Whoever reaches the port can't have the environment's key sent to another host.
        const other = configure({ baseUrl: "https://b.example", apiKey: secret("k") });
        assert.match(await messageOf(other), /was configured for https:\/\/a\.example/);
        await configure({ baseUrl });
      });
    }

    for (const name of ["staging", "default-eu", "defaults", "default_eu", "default_2"]) {
      it(`C82: makes the key of a provider in the program a secret: ${name}`, async () => {
        const { check, configure } = await start(name);
        const { inputs } = await check({ baseUrl, apiKey: "k" });
        assert.deepEqual(inputs.apiKey, secret("k"));
        await configure({ baseUrl, apiKey: "k" });
      });
    }

    it("C4 C82: needs a key beside a base URL: the environment's is not sent there", async () => {
      const { check } = await start("staging");
      assert.deepEqual((await check({ baseUrl: emulator.url })).reasons, [
        "no API key is set: set apiKey of the provider staging, because that provider sets baseUrl (in Python api_key, base_url)",
      ]);
      assert.deepEqual((await check({ apiKey: "k" })).reasons, []);
      const stack = await start("default");
      assert.deepEqual((await stack.check({ baseUrl: emulator.url })).reasons, []);
    });

    it("C4 C82: refuses an empty property: the environment does not fill it in", async () => {
      const { check } = await start("staging");
      for (const given of [{ apiKey: "" }, { apiKey: " \n" }, { baseUrl: "", apiKey: "k" }]) {
        const [reason = "", ...more] = (await check(given)).reasons;
        assert.match(reason, /^\w+ of the provider staging is empty/);
        assert.deepEqual(more, []);
      }
    });

    it("C82: a move to an explicit provider replaces only where it has another account", async () => {
      const { check, configure, moved } = await start("staging");
      const [c, j] = [{ baseUrl: "https://c.example" }, { apiKey: secret("j") }];
      // Before it is configured, it is the provider itself that is asked about: a rotated key.
      assert.deepEqual(await moved({ ...c, ...j }), []);
      const args = { baseUrl, apiKey: secret("k"), caFile: process.env.TLSEDGE_CA_FILE };
      await configure(args);
      for (const [record, replaces] of [
        [{ ...c, ...j }, ["baseUrl", "apiKey"]],
        [{ baseUrl, ...j }, ["apiKey"]],
        [c, ["baseUrl"]],
        // The same account, also in another form.
        [{ baseUrl, apiKey: secret("k") }, []],
        [{ baseUrl: `${baseUrl}/`, timeoutSeconds: "9" }, []],
        [{ baseUrl: " https://A.EXAMPLE:443 ", apiKey: secret("k\n") }, []],
        // A record that does not say which account it has: that of dynamic providers has the whole config.
        [{}, []],
        [{ "tlsedge:baseUrl": "https://c.example", "tlsedge:apiKey": secret("j") }, []],
      ] as const)
        assert.deepEqual(await moved(record), replaces);
      await configure({ ...args, sameAccount: "true" });
      assert.deepEqual(await moved(c), []);
      await configure(args);
      await check({ baseUrl, apiKey: "rotated" });
      assert.deepEqual(await moved(c), []);
    });

    it("C82: a move to a default provider, whose name has a version, replaces nothing", async () => {
      const { configure, moved } = await start("default_0_2_0");
      await configure({ baseUrl, apiKey: secret("k") });
      assert.deepEqual(await moved({ baseUrl, apiKey: "rotated" }), []);
    });
  });

  it("C85: a default provider rewrites the state of a dynamic provider", async () => {
    const olds = { uri: "x", connection: "tlsedge", __provider: "text" };
    const request = { ...resourceOf("TLSEdge"), id: "edgtls_1", olds, news: {}, oldInputs: olds };
    const found = await plugin.call("diff", request);
    assert.deepEqual([found.getDiffsList(), found.getReplacesList()], [["__provider"], []]);
  });

  it("C85: a read of the plugin takes no more of a dynamic provider's inputs than the plugin has", async () => {
    const { id, uri } = await foreign({ description: "d" });
    const inputs = { description: "d", connection: "tlsedge", __provider: "text" };
    const found = await edge().read(id, { ...inputs, uri }, inputs);
    assert.deepEqual(found.inputs, { description: "d" });
  });

  it("C50 C83 C88: the plugin tells an engine of any version that it takes secrets, outputs and resources, and plans creates", async () => {
    // In a process of its own, because a handshake changes where messages go.
    const own = await startPlugin();
    const calls = [
      own.call("handshake", { engineAddress: "127.0.0.1:1" }),
      own.call("configure", { args: {} }),
    ];
    const [shaken, configured] = await Promise.all(calls).finally(own.close);
    const answered: Properties = { ...shaken?.toObject(), ...configured?.toObject() };
    const now = ["acceptSecrets", "acceptOutputs", "acceptResources"];
    const before3250 = [...now.map((name) => name.toLowerCase()), "supportspreview"];
    for (const name of [...now, ...before3250]) assert.equal(answered[name], true, name);
  });

  it("C25: a text that the service has rewritten is no change", async () => {
    const args = { description: "mine" };
    emulator.faults.add({ method: "POST", answer: { fields: { description: "rewritten" } } });
    const stack = await deployed(edge(), args);
    assert.equal(stack.state.description, "rewritten");
    takeMethods(emulator);
    assert.equal(await stack.up(args), "same");
    assert.deepEqual(takeMethods(emulator), []);
  });

  it("C23: a message of the plugin about a change names its resource to the engine", async () => {
    const engine = await EnginePort.open();
    const urns: string[] = [];
    engine.onLog = (_, urn) => urns.push(urn);
    const own = await startPlugin();
    const named = resourceOf("TLSEdge");
    const inputs = { backend: { enabled: true, backendId: "b" } };
    const { accountTag } = clientOf(emulator);
    try {
      await own.call("handshake", { engineAddress: `127.0.0.1:${engine.port}` });
      await own.configure();
      await own.resource(named).check({}, {});
      await own.resource(named).diff("edgtls_1", { ...inputs, uri: "x", accountTag }, {}, inputs);
    } finally {
      own.close();
      await engine.close();
    }
    assert.deepEqual(urns, [named.urn]);
  });

  it("C86: the plugin gives the schema, which has its version", async () => {
    const response = await plugin.call("getSchema");
    assert.deepEqual(JSON.parse(response.getSchema()), schema);
    const info = await plugin.call("getPluginInfo");
    assert.equal(info.getVersion(), schema.version);
  });

  /** The steps of a resource's life: what each came to, its requests, and the state after it. */
  async function lifeOf(provider: object, args: Properties, change: Properties) {
    emulator.reset();
    const stack = new Stack(provider);
    const objects = args.certificatePem ? emulator.tlsCertificates : emulator.tlsEdges;
    // A dynamic provider does not get the key: after drift its inputs have none.
    const names = Object.keys(args).filter((name) => name !== "privateKeyPem");
    const steps: unknown[][] = [];
    const step = (verdict: string) => {
      const { uri, createdAt, connection, __provider, ...state } = stack.state;
      const methods = takeMethods(emulator).join();
      steps.push([`${verdict} ${methods}`, state, pick(stack.inputs, names)]);
    };
    const changed = { ...args, description: "changed" };
    for (const each of [args, args, changed]) step(await stack.up(each));
    objects.patch(stack.id, { description: "by hand", metadata: "by hand" });
    step(await stack.refresh());
    step(await stack.up(changed));
    step(await stack.refresh());
    const { verdict, replaces } = await stack.preview({ ...args, ...change });
    step(`${verdict}: ${replaces}`);
    await later(emulator);
    objects.delete(stack.id);
    step(await stack.refresh());
    return steps;
  }

  it("C85: a resource has the same life as with a dynamic provider: verdicts, requests, inputs, state", async () => {
    const other = await makePair({ commonName: "b" });
    const everything = { ...fullEdge, onModuleRemoval: "replace" };
    const leaf = { ...certificate, description: "d", renewBeforeDays: 30 };
    for (const [ours, theirs, args, change, replaced] of [
      [edge(), tlsEdge, everything, { backend: undefined }, "backend"],
      [cert(), tlsCertificate, leaf, other, "certificatePem"],
    ] as const) {
      const life = await lifeOf(ours, args, change);
      assert.deepEqual(
        life.map(([did]) => did),
        [
          ...["create GET,POST", "same ", "update PATCH", "drifted GET", "update PATCH"],
          ...["same GET", `replace: ${replaced} `, "gone GET,GET"],
        ],
      );
      assert.deepEqual(life, await lifeOf(theirs, args, change));
    }
  });
});
