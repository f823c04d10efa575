import assert from "node:assert/strict";
import { type TLSEdgeWire, tlsEdges } from "../client/tlsEdge";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import {
  captureMessages,
  clientOf,
  deployed,
  finishRun,
  makePair,
  messageOf,
  type Properties,
  Stack,
  setEnvFor,
  takeMethods,
  takeRequests,
  unknown,
  useEmulator,
} from "./support";

/** How the class passes the option on; spelt out, as state knows it. */
const importing = (id: string, args: Properties = {}) => ({ ...args, __import: id });

/** The option `import` of the Node.js package: what it takes, what it refuses, and what it keeps alive. */
describe("adoption", () => {
  const emulator = useEmulator();
  const args = { hostports: ["a.example.com:443"], tlsTermination: { terminateAt: "edge" } };
  let existing: Stack;
  let pair: Awaited<ReturnType<typeof makePair>>;
  let otherPair: typeof pair;

  before(async () => {
    [pair, otherPair] = await Promise.all([
      makePair({ commonName: "a.example" }),
      makePair({ commonName: "b.example" }),
    ]);
  });
  beforeEach(async () => {
    const termination = { terminateAt: "edge", minVersion: "1.3" };
    existing = await deployed(tlsEdge, { ...args, tlsTermination: termination });
    beginRun();
    takeRequests(emulator);
  });

  const methods = () => takeMethods(emulator);
  const ids = () => emulator.tlsEdges.list().map(({ id }) => id);
  const adopt = (inputs: Properties) => deployed(tlsEdge, inputs);
  const plan = (inputs: Properties) => new Stack(tlsEdge).preview(inputs);
  const planCertificate = (inputs: Properties) => new Stack(tlsCertificate).preview(inputs);
  const upload = async () => {
    const stack = await deployed(tlsCertificate, pair);
    return { stack, fingerprint: String(stack.state.fingerprint) };
  };
  /** What the engine calls in the update, without the check that comes before it. */
  const create = (inputs: Properties) =>
    tlsEdge.create({ ...inputs, __provider: "" }) as Promise<unknown>;

  it("C40: import takes a hostport or a fingerprint for an id, and goes on with the real id", async () => {
    const option = importing("A.example.com:443", args);
    const stack = await adopt(option);
    assert.equal(stack.id, existing.id);
    assert.deepEqual(methods(), ["GET", "GET"], "the name, the object");
    assert.equal(await stack.up(option), "same");
    beginRun();
    await stack.preview(importing(existing.id, args));
    for (const other of ["b.example.com:443", "edgtls_other"]) {
      const message = await messageOf(stack.preview(importing(other, args)));
      assert.ok(message.includes(`manages the TLS edge ${existing.id}`), message);
      assert.match(message, /remove the option/);
    }
    assert.deepEqual(methods(), []);
    assert.equal(await stack.refresh(), "same");

    const { stack: uploaded, fingerprint } = await upload();
    beginRun();
    const { certificatePem } = pair;
    const certificate = await deployed(tlsCertificate, importing(fingerprint, { certificatePem }));
    assert.equal(certificate.id, uploaded.id);
  });

  it("C40: an import of nothing, or of a name that several have, fails the plan, which lists them", async () => {
    const missing = await messageOf(plan(importing("edgtls_none")));
    assert.match(missing, /no TLS edge has the id edgtls_none/);
    const none = await messageOf(plan(importing("b.example.com:443", args)));
    assert.match(none, /no TLS edge matches .*b\.example\.com:443/);
    assert.ok(none.includes(`a.example.com:443 (${existing.id})`), none);
    const [twin, other] = [await upload(), await upload()];
    const { certificatePem } = pair;
    const several = await messageOf(
      planCertificate(importing(twin.fingerprint, { certificatePem })),
    );
    for (const { stack } of [twin, other]) assert.ok(several.includes(stack.id), several);
    // Its chain can't be parsed now, so it has no fingerprint.
    emulator.tlsCertificates.patch(other.stack.id, { certificate_pem: "none" });
    beginRun();
    await planCertificate(importing(twin.fingerprint, { certificatePem }));
  });

  it("C40: imports share a reading of the list for 30 seconds; one whose name is not there reads it again", async () => {
    const [one, other, late] = ["one", "other", "late"].map((name) => [`${name}.example.com:443`]);
    const option = (hostports = [""]) => importing(String(hostports), { hostports });
    await tlsEdges.create(clientOf(emulator), { hostports: one });
    const moved = await tlsEdges.create(clientOf(emulator), { hostports: other });
    await adopt(option(one));
    emulator.tlsEdges.patch(moved.id, { hostports: [] });
    assert.match(await messageOf(plan(option(other))), /it differs/);
    assert.match(await messageOf(plan(option(late))), /no TLS edge matches/);
    await tlsEdges.create(clientOf(emulator), { hostports: late });
    await adopt(option(late));
  });

  it("C40 C50: a plan and an update name at their end what they adopt, and no secret", async () => {
    const reported = async () => {
      const messages = captureMessages();
      await finishRun();
      beginRun();
      return messages().filter((line) => line.includes("adopt"));
    };
    const says = (all: string, ...objects: string[]) => [
      [`${all} what exists, without a write:`, ...objects].join("\n  "),
    ];
    const name = "TLS edge a.example.com:443";
    const edge = importing(existing.id, args);
    await messageOf(plan(importing(existing.id)));
    assert.deepEqual(await reported(), []);
    await plan(edge);
    assert.deepEqual(await reported(), says("1 of the creates adopts", name));
    await adopt(edge);
    assert.deepEqual(await reported(), says("1 of the creates adopted", name));
    const { id } = (await upload()).stack;
    await reported();
    await planCertificate(importing(id, { certificatePem: pair.certificatePem }));
    const hostports = ["a.example.com:443"];
    await plan(importing(existing.id, { ...args, hostports, __secrets: ["hostports"] }));
    const both = ["TLS certificate a.example", `TLS edge ${existing.id}`];
    assert.deepEqual(await reported(), says("2 of the creates adopt", ...both));
  });

  it("C13 C40: each difference of an import fails the plan; what is not known yet is compared later", async () => {
    const option = importing(existing.id, { ...args, metadata: unknown });
    assert.equal((await plan(option)).verdict, "create");
    emulator.tlsEdges.patch(existing.id, { description: "changed since" });
    beginRun();
    const wrong = importing(existing.id, { ...args, metadata: "other" });
    const message = await messageOf(plan(wrong));
    assert.match(message, /description: none \/ "changed since"\n {2}metadata: "other" \/ none/);
    // In the update, where nothing was unknown in the plan.
    const { inputs } = await new Stack(tlsEdge).check({ ...wrong, __import: undefined });
    assert.equal(await messageOf(create({ ...inputs, ...importing(existing.id) })), message);
    beginRun();
    await adopt(importing(existing.id, { ...args, description: "changed since" }));
  });

  it("C40 C50: an import that differs shows no secret argument in the plan, nor in the update", async () => {
    const secret = { ...args, description: "mine", __secrets: ["description"] };
    for (const work of [plan, create]) {
      const message = await messageOf(work(importing(existing.id, secret)));
      assert.match(message, /description: \[secret\] \/ none/);
    }
  });

  it("C11 C40: wrong arguments of an import are refused, and not compared or read in vain", async () => {
    assert.match(await messageOf(plan(importing(existing.id, { hostport: "a" }))), /hostports/);
    assert.deepEqual(methods(), []);
    const { stack } = await upload();
    beginRun();
    const certificatePem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const message = await messageOf(planCertificate(importing(stack.id, { certificatePem })));
    assert.match(message, /^certificatePem: certificate 1 can't be parsed[^\n]*$/);
    beginRun();
    const later = importing(stack.id, { certificatePem: unknown });
    assert.equal((await planCertificate(later)).verdict, "create");
  });

  it("C40: a difference of chains is shown by names and dates, not by PEM", async () => {
    const { stack } = await upload();
    beginRun();
    const { certificatePem } = otherPair;
    const message = await messageOf(planCertificate(importing(stack.id, { certificatePem })));
    assert.match(message, /certificatePem: "b\.example, until 20.* \/ "a\.example, until 20/);
    assert.ok(!message.includes("BEGIN CERTIFICATE"), message);
  });

  it("C36 C40: an object of another resource is not adopted, whichever comes first, by id or name, with one connection or two", async () => {
    const { certificatePem } = pair;
    const { stack: owner, fingerprint } = await upload();
    setEnvFor(emulator, "TLSEDGE_STAGING");
    const own = () => owner.preview(pair);
    const byId = () => planCertificate(importing(owner.id, { certificatePem }));
    const byName = () =>
      planCertificate(importing(fingerprint, { certificatePem, connection: "tlsedge-staging" }));
    for (const [first, second] of [
      [own, byName],
      [byName, byId],
    ] as const) {
      beginRun();
      await first();
      assert.match(await messageOf(second()), /have the same object/);
    }
  });

  it("C40: the hostport in the option may be one that the edge had when it was adopted", async () => {
    const option = importing("a.example.com:443", { ...args, hostports: ["b.example.com:443"] });
    const stack = await adopt(importing("a.example.com:443", args));
    beginRun();
    assert.equal(await stack.up(option), "update");
    beginRun();
    assert.equal(await stack.up(option), "same");
    const hostports = ["c.example.com:443", "d.example.com:443"];
    const two = await deployed(tlsEdge, { hostports });
    beginRun();
    for (const name of hostports) await two.preview(importing(name, { hostports }));
  });

  it("C40: an id that looks like a hostport is an id", async () => {
    const [made] = emulator.tlsEdges.list();
    emulator.tlsEdges.delete(existing.id);
    emulator.tlsEdges.set({ ...(made as TLSEdgeWire), id: "edge:42" });
    beginRun();
    assert.equal((await plan(importing("edge:42", args))).verdict, "create");
  });

  it("C30 C40: many adoptions by name share the pages of the list", async () => {
    const hosts = Array.from({ length: 20 }, (_, n) => [`${n}.example:443`]);
    for (const hostports of hosts) await tlsEdges.create(clientOf(emulator), { hostports });
    methods();
    beginRun();
    await Promise.all(
      hosts.map(async ([host = ""]) => plan(importing(host, { hostports: [host] }))),
    );
    assert.ok(methods().length <= 4, "a list of names, and pages in place of single reads");
  });

  it("C44: a change that replaces what was adopted fails the plan, and says to remove the option", async () => {
    const { id } = (await upload()).stack;
    beginRun();
    const { certificatePem } = pair;
    const certificate = await deployed(tlsCertificate, importing(id, { certificatePem }));
    const connection = "tlsedge-other";
    setEnvFor(emulator, "TLSEDGE_OTHER");
    for (const [property, change] of [
      ["connection", { certificatePem, connection }],
      ["certificatePem", otherPair],
    ] as const) {
      const message = await messageOf(certificate.preview(importing(id, change)));
      assert.match(message, new RegExp(`a change of ${property} replaces.*remove the option`));
    }
  });

  it("C44: an object that this run has deleted is not adopted", async () => {
    await existing.leave();
    const adopted = importing(existing.id, args);
    assert.match(await messageOf(create(adopted)), /no TLS edge has the id/);
    await messageOf(adopt(adopted));
    assert.deepEqual(ids(), []);
  });

  it("C44: a delete keeps an adopted object, before its adoption and in a later run, too", async () => {
    const stack = new Stack(tlsEdge);
    await stack.preview(importing(existing.id, args));
    await existing.leave();
    assert.deepEqual(ids(), [existing.id]);
    await stack.up(importing(existing.id, args));
    await existing.leave();
    beginRun();
    // The resource that had it before: its delete was left to this run.
    assert.equal(await stack.up(importing(existing.id, args)), "same");
    await existing.leave();
    beginRun();
    // A destroy, or the old provider of `--replace '**'`, gets the state alone.
    const messages = captureMessages();
    await stack.destroy();
    assert.match(messages().join(), /stays on the service.*remove the option.*`import` to edgtls_/);
    // A replacement by force, in the update that adds the option.
    const again = new Stack(tlsEdge);
    again.name = existing.name;
    await again.up(importing(existing.id, args));
    await existing.leave();
    assert.deepEqual(ids(), [existing.id]);
  });

  it("C40 C44: the removal of the option is an update without a write, and then a delete deletes", async () => {
    const stack = await adopt(importing(existing.id, args));
    beginRun();
    methods();
    assert.equal(await stack.up(args), "update");
    assert.deepEqual(methods(), ["GET"]);
    assert.equal(stack.state.__import, undefined);
    assert.equal(await stack.up(args), "same");
    await stack.destroy();
    assert.deepEqual(ids(), []);
  });
});
