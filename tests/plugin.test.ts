import assert from "node:assert/strict";
import { mock } from "node:test";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { tlsEdges } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";
import { servePlugin } from "../plugin/plugin";
import schema from "../plugin/schema.json";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { lookups } from "../provider/kinds/kinds";
import { chainNames } from "../provider/kinds/pem";
import { pick } from "../provider/kinds/properties";
import { CallError, EnginePort, type RemoteProvider, secret, valuesOf } from "../tools/protocol";
import { resourceOf, startPlugin } from "./pluginProvider";
import {
  assertLoopback,
  captureMessages,
  clientOf,
  deployed,
  failureOf,
  fullEdge,
  later,
  messageOf,
  type Properties,
  Stack,
  setEnv,
  takeMethods,
  typedUnknowns,
  unknown,
  useEmulator,
  planWarnings as warnings,
} from "./support";

/** What the plugin says to the engine in the calls of its protocol. */
describe("the plugin", () => {
  const emulator = useEmulator();
  let plugin: Awaited<ReturnType<typeof startPlugin>>;
  let edges: ReturnType<typeof plugin.resource>;
  let certificates: typeof edges;
  let certificate: { certificatePem: string; privateKeyPem: string };

  before(async () => {
    plugin = await startPlugin();
    edges = plugin.resource(resourceOf("TLSEdge"));
    certificates = plugin.resource(resourceOf("TLSCertificate"));
    const { certificatePem, privateKeyPem } = await makeCertificate({
      commonName: "a.example",
      notBefore: new Date(0),
    });
    certificate = { certificatePem, privateKeyPem };
  });
  beforeEach(() => plugin.configure());
  after(() => plugin.close());

  const requests = () => takeMethods(emulator);
  /** An edge that somebody else created. */
  const foreign = async (body: object) => {
    const wire = await tlsEdges.create(clientOf(emulator), body);
    requests();
    return wire;
  };

  /** The fields of a call about an edge. */
  const edge = (name = "e") => resourceOf("TLSEdge", name);
  const check = (resource: object, news: object) => plugin.call("check", { ...resource, news });
  const checkEdge = (news: object, name?: string) => check(edge(name), news);
  const diff = (fields: object) => plugin.call("diff", { ...edge(), id: "edgtls_1", ...fields });
  const create = (resource: object, properties: object, preview = false) =>
    plugin.call("create", { ...resource, properties, preview });
  const update = (fields: object, preview = false) =>
    plugin.call("update", { ...edge(), id: "edgtls_1", ...fields, preview });
  const read = (fields: object) => plugin.call("read", { ...edge(), ...fields });
  const remove = (resource: object, id: string, properties: object) =>
    plugin.call("delete", { ...resource, id, properties });
  const propertiesOf = (response: { getProperties(): Parameters<typeof valuesOf>[0] }) =>
    valuesOf(response.getProperties());
  const reasonsOf = (checked: messages.CheckResponse) =>
    checked.getFailuresList().map((failure) => failure.getReason());

  /** The steps of a resource's life: what each came to, its requests, and the state after it. */
  async function lifeOf(
    provider: object,
    args: Properties,
    replaced: Properties,
  ): Promise<[string, string[], Properties][]> {
    emulator.reset();
    const stack = new Stack(provider);
    const objects = args.certificatePem ? emulator.tlsCertificates : emulator.tlsEdges;
    const steps: [string, string[], Properties][] = [];
    const step = (verdict: string) => {
      const { uri, createdAt, connection, __provider, ...state } = stack.state;
      // A dynamic provider does not get the key: after drift its inputs have none.
      const names = Object.keys(args).filter((name) => name !== "privateKeyPem");
      steps.push([verdict, requests(), { ...state, inputs: pick(stack.inputs, names) }]);
    };
    const changed = { ...args, description: "changed" };
    step(await stack.up(args));
    step(await stack.up(args));
    step(await stack.refresh());
    step(await stack.up(changed));
    objects.patch(stack.id, { description: "by hand", metadata: "by hand" });
    step(await stack.refresh());
    step(await stack.up(changed));
    const { verdict, replaces } = await stack.preview(replaced);
    step(`${verdict}: ${replaces}`);
    await later(emulator);
    objects.delete(stack.id);
    step(await stack.refresh());
    return steps;
  }

  it("C80 C85: a resource has the same life as with a dynamic provider: verdicts, requests, inputs, state", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "b" });
    const edge = { ...fullEdge, onModuleRemoval: "replace" };
    const chain = { ...certificate, description: "d", renewBeforeDays: 30 };
    for (const [ours, theirs, args, change] of [
      [edges, tlsEdge, edge, { backend: undefined }],
      [certificates, tlsCertificate, chain, { certificatePem, privateKeyPem }],
    ] as const) {
      const life = await lifeOf(ours, args, { ...args, ...change });
      assert.deepEqual(
        life.map(([verdict, methods]) => `${verdict} ${methods}`),
        [
          ...["create GET,POST", "same ", "same GET", "update PATCH", "drifted GET"],
          ...["update PATCH", `replace: ${Object.keys(change)[0]} `, "gone GET,GET"],
        ],
      );
      assert.deepEqual(life, await lifeOf(theirs, args, { ...args, ...change }));
    }
  });

  it("C21 C25 C31: metadata that is the same JSON is no change and no drift, in both ways; any other text is a change", async () => {
    const json = '{"a":{"x":1,"y":"é"},"b":["1",2]}';
    const equal = '{ "b" : ["1", 2],\n "a": {"y": "\\u00e9", "x": 1} }';
    const others: [metadata: string, other: string][] = [
      [json, '{"a":{"x":1,"y":"é"},"b":[2,"1"]}'],
      [json, '{"a":{"x":"1","y":"é"},"b":["1",2]}'],
      ['{"n":9007199254740993}', '{"n":9007199254740992}'],
      ["1.10", "1.1"],
      ["42", "42 "],
      ["{a}", "{a }"],
    ];
    for (const [provider, args, objects] of [
      [edges, {}, emulator.tlsEdges],
      [tlsEdge, {}, emulator.tlsEdges],
      [certificates, certificate, emulator.tlsCertificates],
      [tlsCertificate, certificate, emulator.tlsCertificates],
    ] as [object, object, typeof emulator.tlsEdges][]) {
      const stack = await deployed(provider, { ...args, metadata: json });
      requests();
      assert.equal(await stack.up({ ...args, metadata: equal }), "same");
      assert.deepEqual(requests(), []);
      assert.deepEqual([stack.inputs.metadata, stack.state.metadata], [json, json]);
      objects.patch(stack.id, { metadata: equal });
      assert.equal(await stack.refresh(), "same");
      for (const [metadata, other] of others) {
        await stack.up({ ...args, metadata });
        assert.equal(await stack.up({ ...args, metadata: other }), "update", other);
        assert.equal(objects.get(stack.id)?.metadata, other);
      }
    }
  });

  it("C23 C25: through the plugin, a setting alone that changes is an update that writes nothing", async () => {
    const stack = await deployed(edges, { description: "d" });
    requests();
    assert.equal(await stack.up({ description: "d", onModuleRemoval: "replace" }), "update");
    assert.deepEqual(requests(), ["GET"]);
    assert.equal(stack.state.onModuleRemoval, "replace");
  });

  it("C14 C83: the plugin's plan of a new certificate shows what follows from the chain, and nothing that the service chooses", async () => {
    const { planned = {} } = await new Stack(certificates).preview(certificate);
    const { state } = await deployed(certificates, certificate);
    for (const name of Object.keys(chainNames)) assert.deepEqual(planned[name], state[name]);
    const { uri, accountTag, renewBeforeDays } = planned;
    assert.deepEqual([uri, accountTag, renewBeforeDays], [unknown, state.accountTag, null]);
    assert.deepEqual(["metadata" in planned, "privateKeyPem" in planned], [false, false]);
  });

  it("C16 C83: the plugin's plan of an update shows what stays, and what an update sends because of a drift", async () => {
    const oldInputs = { description: "d", metadata: "m" };
    const olds = {
      ...{ uri: "https://x", createdAt: "2026", description: "by hand", metadata: "m" },
      onModuleRemoval: "disable",
    };
    const planned = async (news: object, uri = olds.uri) =>
      propertiesOf(await update({ olds: { ...olds, uri }, oldInputs, news }, true));
    const same = await planned(oldInputs);
    assert.deepEqual([same.uri, same.description, same.metadata], [olds.uri, "d", "m"]);
    const changed = await planned({ description: "e", metadata: unknown });
    assert.deepEqual([changed.uri, changed.metadata], [olds.uri, unknown]);
    // A setting is not sent to the service.
    assert.equal((await planned({ onModuleRemoval: "replace" })).onModuleRemoval, "replace");
    // After an incomplete create, the state has empty texts for what the service chooses.
    assert.equal((await planned({ description: "e" }, "")).createdAt, unknown);
  });

  const { DELETE, DELETE_REPLACE, UPDATE, UPDATE_REPLACE } = messages.PropertyDiff.Kind;
  const pathsOf = (response: messages.DiffResponse) =>
    response.toObject().detaileddiffMap.map(([path, { kind, inputdiff }]) => {
      assert.ok(inputdiff, "a path of the inputs");
      return [path, kind];
    });

  it("C22 C83: a diff names the part of a property that a list loses, that changes, or that replaces", async () => {
    const [one, other] = [{ terminateAt: "edge", minVersion: "1.2" }, { minVersion: "1.3" }];
    const onModuleRemoval = "replace";
    const changes: [oldInputs: object, news: object, path: string, kind: number][] = [
      // Not what has another place in it.
      [{ hostports: ["a:1", "b:1", "c:1"] }, { hostports: ["c:1", "a:1"] }, "hostports[1]", DELETE],
      [
        { tlsTermination: one },
        { tlsTermination: { ...one, ...other } },
        ...(["tlsTermination.minVersion", UPDATE] as const),
      ],
      [
        { backend: { enabled: true, backendId: "old" }, onModuleRemoval },
        { onModuleRemoval },
        ...(["backend", DELETE_REPLACE] as const),
      ],
    ];
    for (const [oldInputs, news, ...expected] of changes) {
      const found = await diff({ oldInputs, news, olds: { uri: "x", ...oldInputs } });
      assert.deepEqual(pathsOf(found), [expected]);
    }
  });

  it("C83: a diff names a chain that replaces because the service has another", async () => {
    const { id, state, inputs } = await deployed(certificates, certificate);
    const { certificatePem } = await makeCertificate({ commonName: "other" });
    const { __provider, ...news } = inputs;
    const fields = { id, news, oldInputs: news, olds: { ...state, certificatePem } };
    const found = await diff({ ...resourceOf("TLSCertificate"), ...fields });
    assert.deepEqual(pathsOf(found), [["certificatePem", UPDATE_REPLACE]]);
    assert.equal(found.getHasdetaileddiff(), true);
    // C20: the new one is created first.
    assert.equal(found.getDeletebeforereplace(), false);
  });

  it("C24 C26 C37: the plugin tells the engine to delete an edge before its replacement, also one by replaceOnChanges", async () => {
    const olds = { uri: "x", description: "d", metadata: null, hostports: [] };
    const change = { news: { description: "e" }, oldInputs: { description: "d" } };
    const found = await diff({ olds, ...change });
    // The engine itself makes a replacement of this change.
    assert.deepEqual([found.getReplacesList(), found.getDiffsList()], [[], ["description"]]);
    assert.equal(found.getDeletebeforereplace(), true);
  });

  it("C19 C25: a run of the plugin asks once before a change, not for a refresh, nor when a policy undoes the change", async () => {
    const [olds, news] = [{ description: "d" }, { description: "e" }];
    const { accountTag } = clientOf(emulator);
    const state = { uri: "x", ...olds, metadata: null, hostports: [], accountTag };
    const differs = (news: object) => diff({ olds: state, oldInputs: olds, news });
    setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    await differs(news);
    assert.deepEqual(requests(), [], "the diff of a refresh");
    await check({ ...edge(), olds }, news);
    await differs(olds);
    assert.deepEqual(requests(), [], "a change that a policy has undone");
    await differs(news);
    assert.deepEqual(requests(), ["GET"], "an update");
    await create(edge("new"), news, true);
    assert.deepEqual(requests(), [], "a create after it");
    await plugin.configure();
    await create(edge("new"), news, true);
    assert.deepEqual(requests(), ["GET"], "a create");
  });

  it("C19: at the end of a run the plugin warns by the name of the resource, not of objects that the run has, and not again in the next run", async () => {
    setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    const { id, uri } = await foreign({ description: "in state" });
    await foreign({ hostports: ["held.example:443"] });
    await read({ id, properties: { uri }, inputs: {} });
    const hostports = ["held.example:443"];
    await create(edge("twin"), { description: "in state" }, true);
    await create(edge("new"), { description: "new", hostports }, true);
    const found = await warnings(plugin.endRun);
    assert.match(
      found.join("\n"),
      /^warning: new: this update will fail: held\.example:443 is served by [^\n]*$/,
    );
    await plugin.configure();
    assert.deepEqual(await warnings(plugin.endRun), []);
    await create(edge("new"), { description: "new", hostports: secret(hostports) }, true);
    assert.match(
      (await warnings(plugin.endRun)).join(),
      /new: this update will fail: \[secret\] is served by/,
    );
    await plugin.configure();
    await checkEdge({ hostports });
    const olds = { uri, accountTag: clientOf(emulator).accountTag };
    await diff({ olds, oldInputs: {}, news: { hostports: secret(hostports) } });
    assert.match(
      (await warnings(plugin.endRun)).join(),
      /e: this update will fail: \[secret\] is served by/,
    );
    await plugin.configure();
    await create(edge("twin"), { description: "in state" });
    assert.match((await warnings(plugin.endRun)).join(), new RegExp(`twin: ${id}`));
  });

  it("C19 C84: the plugin names an object that equals a resource to replace: it may be a replacement that was lost", async () => {
    setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    const news = { description: "own" };
    const { id } = await foreign(news);
    await check({ ...edge(), olds: news }, news);
    await checkEdge(news);
    await create(edge(), news, true);
    const found = (await warnings(plugin.endRun)).join();
    assert.match(found, new RegExp(`e: ${id}.*If this run replaces it, this is right`, "s"));
  });

  it("C7 C50: through the plugin, no key is planned, sent or changed in another account", async () => {
    setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    const stack = await deployed(edges, { description: "a" });
    const { inputs } = await new Stack(certificates).check(certificate);
    const other = emulator.addAccount();
    setEnv({ TLSEDGE_API_KEY: other.apiKey });
    await plugin.configure();
    assert.equal((await stack.preview({ description: "a" })).verdict, "same");
    for (const write of [certificates.planned, certificates.create]) {
      assert.match(await messageOf(write(inputs)), /no write is sent/);
    }
    assert.deepEqual(other.tlsCertificates.list(), []);
    // Now the run writes, so nothing that it keeps may be another account's.
    assert.match(await messageOf(stack.preview({ description: "a" })), /first message about/);
    await plugin.configure();
    const changed = messageOf(stack.preview({ description: "b" }));
    assert.match(await changed, /belong to another account/);
  });

  it("C11: a plan of the plugin warns of each doubt about a chain once for a resource, although the engine checks twice", async () => {
    const shown = captureMessages();
    for (const name of ["one", "one", "two", "two"]) {
      await check(resourceOf("TLSCertificate", name), { ...certificate, renewBeforeDays: 3650 });
    }
    assert.equal(shown().length, 2);
    for (const text of shown()) assert.match(text, /^warning: the leaf certificate expires on/);
  });

  it("C10 C15: the plan warns, in both ways, of an id that is of another kind, and shows no secret one", async () => {
    const wrong = {
      backend: { backendId: "ipp_2abc" },
      ipRestriction: { ipPolicyIds: ["ipp_1", "bkdtg_1", unknown] },
      mutualTls: { certificateAuthorityIds: ["cert_1"] },
      __secrets: ["mutualTls"],
    };
    const right = {
      backend: { backendId: "bkdtg_1" },
      ipRestriction: { ipPolicyIds: ["ipp_1", "tls_1", "cert", "constructor_1"] },
      description: "cert_1",
    };
    for (const provider of [edges, tlsEdge]) {
      const shown = captureMessages();
      for (const args of [wrong, right]) await new Stack(provider).preview(args);
      assert.deepEqual(shown(), [
        'warning: backend.backendId: "ipp_2abc" is the id of an IP policy: give the id of a backend',
        'warning: ipRestriction.ipPolicyIds: "bkdtg_1" is the id of a backend: give the id of an IP policy',
        "warning: mutualTls.certificateAuthorityIds: is the id of a TLS certificate: give the id of a " +
          "certificate authority",
      ]);
      mock.reset();
    }
  });

  it("C40 C43 C61 C81: an id of another kind that a resource or a lookup names is said to be one, in both ways", async () => {
    const certificate = /^no TLS edge has the id cert_1, which is the id of a TLS certificate\b/;
    const edge = /^no TLS certificate has the id edgtls_1, which is the id of a TLS edge\b/;
    const client = () => clientOf(emulator);
    const own = "edgtls_1";
    for (const [work, expected] of [
      [() => read({ id: "cert_1" }), certificate],
      [() => read({ ...resourceOf("TLSCertificate"), id: own }), edge],
      [() => new Stack(tlsEdge).get("cert_1"), certificate],
      [() => new Stack(tlsCertificate).get(own), edge],
      [() => new Stack(tlsEdge).preview({ __import: "cert_1" }), certificate],
      [() => lookups.getTLSEdge?.(client, { id: "cert_1" }), certificate],
      [() => read({ id: own }), /^no TLS edge has the id edgtls_1\. /],
      [() => read({ id: `${own}\n` }), /edgtls_1\n, which has a space or a line break\b/],
      [() => new Stack(tlsEdge).get(` ${own}`), /edgtls_1, which has a space or a line break\b/],
    ] as [() => Promise<unknown>, RegExp][])
      assert.match(await messageOf(work()), expected);
    const hidden = lookups.getTLSEdge?.(client, { id: "cert_1" }, { isSecret: true });
    assert.doesNotMatch(await messageOf(hidden as Promise<unknown>), /cert_/);
  });

  it("C13: the plugin reads each kind of unknown value as unknown, at any depth, and a resource as its id", async () => {
    const inputsOf = async (news: object) => valuesOf((await checkEdge(news)).getInputs());
    const hostport = "a.example.com:443";
    for (const marker of Object.values(typedUnknowns)) {
      const inputs = await inputsOf({ description: marker, hostports: [hostport, marker] });
      assert.deepEqual(inputs, { description: unknown, hostports: [hostport, unknown] });
    }
    const resource = (id: string) => ({
      "4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e",
      ...{ urn: edge("other").urn, id },
    });
    // A plan may not know the id.
    const news = { metadata: resource("edgtls_1"), description: resource("") };
    assert.deepEqual(await inputsOf(news), { metadata: "edgtls_1", description: unknown });
  });

  it("C15 C85: the plugin refuses a connection, also one that was in the old inputs", async () => {
    const inputs = { description: "d", connection: "tlsedge-staging" };
    const checked = await check({ ...edge(), olds: { ...inputs, __provider: "" } }, inputs);
    assert.match(reasonsOf(checked).join(), /connection: no such property/);
  });

  const checkHostports = async (name: string, hostports: unknown) =>
    reasonsOf(await checkEdge({ hostports }, name));

  it("C18: the plugin names a hostport that two edges have, whatever its letter case, but no secret", async () => {
    assert.deepEqual(await checkHostports("one", ["Shared.example.com:443"]), []);
    const again = await checkHostports("two", ["x:1", "shared.EXAMPLE.com:443"]);
    assert.match(again.join(), /\bone\b.*\btwo\b.*have the same hostport, shared\.example/i);
    const [reason = ""] = await checkHostports("three", secret(["shared.example.com:443"]));
    assert.ok(reason.includes("[secret]") && !reason.includes("example.com"), reason);
    await plugin.configure();
    assert.deepEqual(await checkHostports("renamed", ["shared.example.com:443"]), []);
    // C13: what is not known yet is no hostport.
    for (const name of ["four", "five"])
      assert.deepEqual(await checkHostports(name, [unknown]), []);
  });

  it("C10 C15: the plugin shows a wrong hostport, but no secret one, and names no property to the engine", async () => {
    const shown = await checkHostports("wrong", ["https://shop.example.org"]);
    assert.match(shown.join(), /"https:\/\/shop/);
    const hostports = [secret("https://shop.example.org"), "b.example.org"];
    const checked = await checkEdge({ hostports });
    const reasons = reasonsOf(checked);
    assert.match(reasons[1] ?? "", /^hostports\[1\]: has no port/);
    assert.ok(!reasons.join().includes("example.org"), reasons.join());
    for (const failure of checked.getFailuresList()) assert.equal(failure.getProperty(), "");
  });

  it("C50: a property with a secret part is a secret as a whole to the plugin, and is marked once", async () => {
    const news = { ipRestriction: { ipPolicyIds: [secret("ipp_1"), "ipp_2"] } };
    const restriction = { ipPolicyIds: ["ipp_1", "ipp_2"], enabled: true };
    const inputs = valuesOf((await checkEdge(news)).getInputs());
    assert.deepEqual(inputs, { ipRestriction: secret(restriction) });
    for (const isPlan of [true, false]) {
      const state = propertiesOf(await create(edge(), inputs, isPlan));
      assert.deepEqual(state.ipRestriction, secret(restriction));
    }
  });

  it("C50 C51: a secret that an earlier version has marked twice is read, and marked once", async () => {
    const found = await create(edge(), { description: secret(secret("one")) });
    assert.deepEqual(propertiesOf(found).description, secret("one"));
    assert.equal(emulator.tlsEdges.list()[0]?.description, "one");
  });

  it("C50: updates, their plans and reads of the plugin keep what is marked as a secret, also in the state alone", async () => {
    const { id, uri, created_at } = await foreign({ description: "one" });
    const oldInputs = { description: "one" };
    // In both, a property is marked once.
    const olds = { uri, createdAt: secret(created_at), description: secret("one") };
    const news = { description: secret("two") };
    const assertMarked = (response: Parameters<typeof propertiesOf>[0]) => {
      const { createdAt, description } = propertiesOf(response);
      assert.deepEqual([createdAt, description], [secret(created_at), secret("two")]);
    };
    for (const isPlan of [true, false]) {
      assertMarked(await update({ id, olds, oldInputs, news }, isPlan));
    }
    const found = await read({ id, properties: olds, inputs: news });
    assertMarked(found);
    assert.deepEqual(valuesOf(found.getInputs()), news);
    // A mark alone is no update: the state has it from the next read on.
    assertMarked(await read({ id, properties: { ...olds, description: "one" }, inputs: news }));
  });

  it("C50: an argument that is no secret any more is plain in the plugin's state after the next update", async () => {
    const { id, uri } = await foreign({ description: "one" });
    const fields = { id, oldInputs: { description: "one" }, news: { description: "two" } };
    const found = await update({ ...fields, olds: { uri, description: secret("one") } });
    assert.equal(propertiesOf(found).description, "two");
  });

  it("C50: the plugin warns when a private key is removed from the program, and refuses an empty one", async () => {
    const chain = resourceOf("TLSCertificate");
    const olds = { ...certificate, privateKeyPem: secret(certificate.privateKeyPem) };
    const checked = async (news: object) => {
      const shown = captureMessages();
      const reasons = reasonsOf(await check({ ...chain, olds }, news));
      return [...shown(), ...reasons];
    };
    assert.deepEqual(await checked(certificate), []);
    const { certificatePem } = certificate;
    assert.match((await checked({ certificatePem })).join(), /^warning: privateKeyPem .* loses it/);
    for (const privateKeyPem of ["", "\n"]) {
      assert.match(
        (await checked({ certificatePem, privateKeyPem })).join(),
        /privateKeyPem: is empty/,
      );
    }
  });

  it("C50: the plugin marks a private key as a secret once in the inputs, also where a program gives it in plain text", async () => {
    const chain = resourceOf("TLSCertificate");
    const wanted = secret(certificate.privateKeyPem);
    for (const privateKeyPem of [certificate.privateKeyPem, wanted]) {
      const checked = valuesOf((await check(chain, { ...certificate, privateKeyPem })).getInputs());
      // No diff of it: a failure would print the key.
      assert.ok(JSON.stringify(checked.privateKeyPem) === JSON.stringify(wanted));
    }
    const { id, state } = await deployed(certificates, certificate);
    const found = await read({ ...chain, id, properties: state, inputs: certificate });
    assert.ok("value" in (valuesOf(found.getInputs()).privateKeyPem as object));
  });

  it("C50: no refusal through the plugin shows a secret: of a create, a read, an update and a delete", async () => {
    const refuse = (method: "POST" | "GET" | "PATCH" | "DELETE") =>
      emulator.faults.add({
        method,
        answer: { status: 400, body: '{"msg":"not bkdtg_s3cret"}' },
      });
    const args = { backend: { backendId: "bkdtg_s3cret" }, __secrets: ["backend"] };
    refuse("POST");
    const texts = [await messageOf(deployed(edges, args))];
    const stack = await deployed(edges, args);
    refuse("GET");
    texts.push(await messageOf(stack.refresh()));
    refuse("PATCH");
    texts.push(await messageOf(stack.up({ backend: { backendId: "bkdtg_1" } })));
    refuse("DELETE");
    texts.push(await messageOf(stack.destroy()));
    for (const text of texts) assert.match(text, /not \[secret\]/);
  });

  it("C50: no failed lookup of the plugin shows an id that is a secret", async () => {
    const id = "edgtls/secret id";
    const answer = { status: 400, body: JSON.stringify({ msg: `no such edge: ${id}` }) };
    emulator.faults.add({ method: "GET", answer });
    const lookup = { tok: "tlsedge:index:getTLSEdge", args: { id: secret(id) } };
    const message = await messageOf(plugin.call("invoke", lookup));
    assert.equal(message.split("[secret]").length, 3, "in the path, and in the service's words");
    for (const text of [id, encodeURIComponent(id)]) assert.ok(!message.includes(text));
  });

  it("C35: through the plugin, an object whose answer is wrong is recorded with its inputs", async () => {
    emulator.faults.add({ method: "POST", answer: { fields: { description: 7 } } });
    const error = await failureOf(create(edge(), { metadata: secret("m") }), CallError);
    const { id, reasons, properties, inputs } = error;
    assert.deepEqual([id, reasons], [emulator.tlsEdges.list()[0]?.id, [error.message]]);
    assert.equal(properties?.uri, "");
    assert.deepEqual(inputs, { metadata: secret("m") });
  });

  it("C93: each operation of the plugin has the deadline that the engine gives, in seconds", async () => {
    // Of the others: a test that fails does not wait for long.
    setEnv({ TLSEDGE_TIMEOUT_SECONDS: "2" });
    await plugin.configure();
    emulator.faults.add({ method: "POST", answer: { afterMs: 100 } });
    const made = await create({ ...edge(), timeout: 60 }, { description: "in time" });
    const state = propertiesOf(made);
    const late = { timeout: 0.2, id: made.getId(), olds: state, properties: state };
    const news = { description: "late" };
    for (const [method, work] of [
      ["POST", () => create({ ...edge(), timeout: 0.2 }, news)],
      ["GET", () => read(late)],
      ["PATCH", () => update({ ...late, news, oldInputs: {} })],
      ["DELETE", () => plugin.call("delete", { ...edge(), ...late })],
    ] as const) {
      emulator.faults.add({ method, answer: "silence" });
      const message = await messageOf(work());
      assert.match(message, /no answer in time/);
      // An error tells whole seconds.
      assert.doesNotMatch(message, / in \d+ s:/);
    }
  });

  it("C81: an import of the plugin takes a hostport for an id, gives no empty list, and lists what there is", async () => {
    const hostports = ["a.example:443"];
    const { id } = await foreign({ hostports, ip_restriction: { enabled: false } });
    // Pulumi 3.250 sends an import no properties, 3.274 empty ones.
    for (const nothing of [{}, { properties: {}, inputs: {} }]) {
      const found = await read({ id: "A.example:443", ...nothing });
      assert.equal(found.getId(), id);
      assert.deepEqual(valuesOf(found.getInputs()), { hostports });
    }
    const message = await messageOf(read({ id: "nowhere.example:443" }));
    assert.match(message, new RegExp(`no TLS edge matches.*${id}`, "s"));
    const refused = await messageOf(read({ id: "none" }));
    assert.match(
      refused,
      new RegExp(`no TLS edge has the id none\\b.*${id}.*also takes: hostport$`, "s"),
    );
    const site = await messageOf(read({ id: "site", type: "tlsedge:index:TLSSite" }));
    assert.match(site, /component.*TLSEdge and tlsedge:index:TLSCertificate$/);
  });

  it("C40 C81: the plugin refuses a second resource of an object with both names, and the run does not delete it", async () => {
    const { id, uri } = await foreign({ description: "shared" });
    const inputs = { description: "shared" };
    const fields = { id, olds: { ...inputs, uri }, oldInputs: inputs, news: inputs };
    const diffed = (name: string) => diff({ ...edge(name), ...fields });
    await read({ id });
    await checkEdge(inputs, "first");
    // The old name of a renamed resource, in a refresh.
    await diffed("old name");
    await diffed("first");
    await diffed("first");
    await checkEdge(inputs, "second");
    assert.match(await messageOf(diffed("second")), /"first" and "second" have the same object/);
    const shown = captureMessages();
    await remove(edge("old name"), id, { ...inputs, uri });
    assert.match(shown().join(), /stays on the service/);
    await plugin.configure();
    await checkEdge(inputs, "second");
    // It is no more in the program.
    await diffed("first");
    await diffed("second");
    assert.ok(emulator.tlsEdges.get(id));
  });

  it("C81: an object that was imported twice stays when one of its resources is removed, but not when it is replaced", async () => {
    const { id, uri } = await foreign({ description: "d" });
    const properties = { uri, description: "d" };
    const removed = async (name: string) => {
      const shown = captureMessages();
      await remove(edge(name), id, properties);
      return shown().join();
    };
    const planned = async (name: string, description: string) => {
      await checkEdge({ description }, name);
      const fields = { id, olds: properties, oldInputs: { description: "d" } };
      await diff({ ...edge(name), ...fields, news: { description } });
    };
    await planned("app", "d");
    assert.match(await removed("again"), /stays on the service, because the resource "app" has it/);
    assert.ok(emulator.tlsEdges.get(id));
    // The change may also be made in place: before the deletes.
    await planned("app", "e");
    await update({ ...edge("app"), id, olds: properties, news: { description: "e" } });
    await removed("again");
    assert.ok(emulator.tlsEdges.get(id));
    // A failed update leaves it, too: with --continue-on-error, the deletes come nevertheless.
    await plugin.configure();
    await planned("app", "f");
    emulator.faults.add({ method: "PATCH", answer: { status: 422 } });
    const failed = update({ ...edge("app"), id, olds: properties, news: { description: "f" } });
    assert.match(await messageOf(failed), /422/);
    await removed("again");
    assert.ok(emulator.tlsEdges.get(id));
    // An alias renames a resource, and `replaceOnChanges` replaces it: the engine deletes under the old name.
    await plugin.configure();
    await planned("renamed", "f");
    assert.equal(await removed("app"), "");
    assert.equal(emulator.tlsEdges.get(id), undefined);
  });

  it("C37: the plugin deletes the old object of a replacement without a change", async () => {
    const { id, uri } = await foreign({ description: "d" });
    const properties = { uri, description: "d" };
    await checkEdge({ description: "d" });
    // An incomplete create leaves an error in the state, with which `replaceOnChanges` replaces.
    await diff({
      id,
      olds: properties,
      oldInputs: { description: "d" },
      news: { description: "d" },
    });
    await remove(edge(), id, properties);
    assert.equal(emulator.tlsEdges.get(id), undefined);
  });

  it("C43: a program's get of an object does not keep it from the delete of its resource", async () => {
    const { id, uri } = await foreign({ description: "d" });
    const properties = { uri, description: "d" };
    await read({ ...edge("get"), id });
    await checkEdge({ description: "e" });
    await diff({
      id,
      olds: properties,
      oldInputs: { description: "d" },
      news: { description: "e" },
    });
    await remove(edge(), id, properties);
    assert.equal(emulator.tlsEdges.get(id), undefined);
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

  it("C81: the plugin lists the objects of a kind, newest first, as many as are asked for", async () => {
    for (const description of ["one", "two", ""]) await foreign({ description });
    const all = emulator.tlsEdges.list().map(({ id, description }) => [id, description || id]);
    assert.deepEqual(await list("tlsedge:index:TLSEdge"), all);
    assert.deepEqual(await list("tlsedge:index:TLSEdge", 2), all.slice(0, 2));
    assert.deepEqual(await list("tlsedge:index:TLSCertificate"), []);
  });

  it("C90: a list of the plugin that fails says why, with texts of others escaped", async () => {
    const message = await messageOf(list("\u001b[31m <{%reset%}>"));
    assert.ok(message.includes("there is no resource \\u001b[31m <\\u007b%reset%}>"), message);
  });

  it("the plugin is called from this machine alone", async () => {
    const { port, close } = await servePlugin(schema);
    await assertLoopback(port).finally(close);
  });

  /** Does work with a provider in a process of its own, called as the engine does. */
  async function withProvider(
    name: string,
    work: (calls: ReturnType<typeof callsOf>) => Promise<void>,
  ): Promise<void> {
    const own = await startPlugin();
    await work(callsOf(name, own)).finally(own.close);
  }
  const callsOf = (name: string, own: RemoteProvider) => {
    const urn = `urn:pulumi:dev::p::pulumi:providers:tlsedge::${name}`;
    return {
      configure: (args: object) => own.call("configure", { urn, args }),
      async checked(news: object, project = "p") {
        const fields = { urn: urn.replace("::p::", `::${project}::`), news };
        const found = await own.call("checkConfig", fields);
        return { inputs: valuesOf(found.getInputs()), reasons: reasonsOf(found) };
      },
      async moved(oldInputs: object) {
        const found = await own.call("diffConfig", { urn, oldInputs, news: {} });
        return found.getReplacesList();
      },
    };
  };
  const baseUrl = "https://a.example";

  it("C1 C15: a misspelt or wrong setting of a provider is refused by its name, but for the project's own", async () => {
    await withProvider("default", async ({ checked }) => {
      assert.deepEqual((await checked({ size: "3" }, "tlsedge")).reasons, []);
      assert.match((await checked({ size: "3" }, "other")).reasons.join(), /unknown/);
    });
    await withProvider("staging", async ({ checked }) => {
      const { reasons } = await checked({ baseURL: baseUrl });
      assert.match(reasons.join(), /did you mean baseUrl/);
      assert.deepEqual((await checked({ apiKey: "k", maxRetries: "many" })).reasons, [
        'maxRetries of the provider staging is "many": it must be a whole number from 0 to 1000. Correct ' +
          "maxRetries of the provider staging",
      ]);
    });
  });

  for (const name of ["default", "default_0_1_0", "default_1_2_3_alpha_1_https___x.example"]) {
    it(`C4: a key of the stack's config in plain text is refused: ${name}`, () =>
      withProvider(name, async ({ checked, configure }) => {
        // The engine puts back the mark of a secret: so no mark is added here.
        const { inputs } = await checked({ baseUrl, apiKey: "k" });
        assert.deepEqual(inputs, { baseUrl, apiKey: "k" });
        const plain = configure({ baseUrl, apiKey: "k" });
        assert.match(await messageOf(plain), /plain text.*from Pulumi\.yaml or .*--secret/);
        await configure({ baseUrl, apiKey: secret("k") });
        // Whoever reaches the port can't have the environment's key sent to another host.
        const other = configure({ baseUrl: "https://b.example", apiKey: secret("k") });
        assert.match(await messageOf(other), /was configured for https:\/\/a\.example/);
        await configure({ baseUrl });
      }));
  }

  it("C82: the key of a provider in the program is a secret, whatever the provider's name", async () => {
    for (const name of ["staging", "default-eu", "defaults", "default_eu", "default_2"]) {
      await withProvider(name, async ({ checked, configure }) => {
        const { inputs } = await checked({ baseUrl, apiKey: "k" });
        assert.deepEqual(inputs.apiKey, secret("k"));
        await configure({ baseUrl, apiKey: "k" });
      });
    }
  });

  it("C4 C82: a provider with a base URL needs a key: the environment's is not sent there", async () => {
    await withProvider("staging", async ({ checked }) => {
      assert.deepEqual((await checked({ baseUrl: emulator.url })).reasons, [
        "no API key is set: set apiKey of the provider staging, because that provider sets baseUrl",
      ]);
      assert.deepEqual((await checked({ apiKey: "k" })).reasons, []);
    });
    await withProvider("default", async ({ checked }) => {
      assert.deepEqual((await checked({ baseUrl: emulator.url })).reasons, []);
    });
  });

  it("C4 C82: a provider with an empty property is refused: the environment does not fill it in", () =>
    withProvider("staging", async ({ checked }) => {
      for (const given of [{ apiKey: "" }, { apiKey: " \n" }, { baseUrl: "", apiKey: "k" }]) {
        const [reason = "", ...more] = (await checked(given)).reasons;
        assert.match(reason, /^\w+ of the provider staging is empty/);
        assert.deepEqual(more, []);
      }
    }));

  it("C82: a move to an explicit provider of another account replaces, and no other", () =>
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
      const { host } = new URL(baseUrl);
      const written = { baseUrl: ` https://${host.toUpperCase()}:443 `, apiKey: secret("k\n") };
      assert.deepEqual(await moved(written), []);
      assert.deepEqual(await moved({}), []);
      // The record of dynamic providers has the keys of the whole config.
      const record = { "tlsedge:baseUrl": "https://c.example", "tlsedge:apiKey": secret("j") };
      assert.deepEqual(await moved(record), []);
      await configure({ ...args, sameAccount: "true" });
      assert.deepEqual(await moved(other), []);
      await configure(args);
      await checked({ baseUrl, apiKey: "rotated" });
      assert.deepEqual(await moved(other), []);
    }));

  it("C82: a move to a default provider, whose name has a version, replaces nothing", () =>
    withProvider("default_0_2_0", async ({ configure, moved }) => {
      await configure({ baseUrl, apiKey: secret("k") });
      assert.deepEqual(await moved({ baseUrl, apiKey: "rotated" }), []);
    }));

  it("C85: a default provider refuses another account's state, and rewrites a dynamic provider's", async () => {
    const olds = { uri: "x", connection: "tlsedge-staging", __provider: "text" };
    const moved = (olds: object) => diff({ olds, news: {}, oldInputs: { ...olds } });
    assert.match(await messageOf(moved(olds)), /explicit provider/);
    const found = await moved({ ...olds, connection: "tlsedge" });
    assert.deepEqual([found.getDiffsList(), found.getReplacesList()], [["__provider"], []]);
  });

  it("C85: a read of the plugin takes no more of a dynamic provider's inputs than the plugin has", async () => {
    const { id, uri } = await foreign({ description: "d" });
    const inputs = { description: "d", connection: "tlsedge", __provider: "text" };
    const found = await read({ id, properties: { ...inputs, uri }, inputs });
    assert.deepEqual(valuesOf(found.getInputs()), { description: "d" });
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

  it("C23: a message of the plugin about a change names its resource to the engine", async () => {
    const engine = await EnginePort.open();
    const urns: string[] = [];
    engine.onLog = (_, urn) => urns.push(urn);
    const own = await startPlugin();
    const inputs = { backend: { enabled: true, backendId: "b" } };
    const { accountTag } = clientOf(emulator);
    const olds = { ...inputs, uri: "x", accountTag };
    const change = { ...edge(), id: "edgtls_1", olds, oldInputs: inputs, news: {} };
    try {
      await own.call("handshake", { engineAddress: `127.0.0.1:${engine.port}` });
      await own.configure();
      await own.call("check", { ...edge(), news: {} });
      await own.call("diff", change);
    } finally {
      own.close();
      await engine.close();
    }
    assert.deepEqual(urns, [edge().urn]);
  });

  it("C86: the plugin gives the schema, which has its version", async () => {
    const response = await plugin.call("getSchema");
    assert.deepEqual(JSON.parse(response.getSchema()), schema);
    const info = await plugin.call("getPluginInfo");
    assert.equal(info.getVersion(), schema.version);
  });
});
