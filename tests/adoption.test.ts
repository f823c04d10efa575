import assert from "node:assert/strict";
import { mock } from "node:test";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { beginRun, finishRun } from "../provider/process";
import {
  failureOf,
  holdClocks,
  PlanFailure,
  type Properties,
  Stack,
  setEnvFor,
  takeRequests,
  unknown,
} from "./support";

/** How the class passes the option on; spelt out, as state knows it. */
const importing = (id: string, args: Properties = {}) => ({ ...args, __import: id });

describe("adoption", () => {
  let emulator: Emulator;
  let restore: () => void;
  let existing: Stack;
  const args = { hostports: ["a.example.com:443"], tlsTermination: { terminateAt: "edge" } };

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
  });
  beforeEach(async () => {
    emulator.reset();
    existing = new Stack(tlsEdge);
    await existing.up({ ...args, tlsTermination: { terminateAt: "edge", minVersion: "1.3" } });
    takeRequests(emulator);
  });
  after(() => {
    restore();
    return emulator.close();
  });

  const held = () => emulator.tlsEdges.list().map(({ id }) => id);

  it("C40 takes a hostport for the id of an edge, and goes on with the real id", async () => {
    const stack = new Stack(tlsEdge);
    assert.equal(await stack.up(importing("A.example.com:443", args)), "create");
    assert.equal(stack.id, existing.id);
    takeRequests(emulator);
    assert.equal(await stack.up(importing("A.example.com:443", args)), "same");
    assert.deepEqual(takeRequests(emulator), []);
    beginRun();
    await stack.preview(importing(existing.id, args));
    for (const other of ["b.example.com:443", "edgtls_other"]) {
      const { message } = await failureOf(stack.preview(importing(other, args)), Error);
      assert.ok(message.includes(`manages the TLS edge ${existing.id}`), message);
    }
    assert.deepEqual(takeRequests(emulator), []);
  });

  it("C40 is told at the end of a plan and of an update", async () => {
    const said = async () => {
      const told = mock.method(console, "error", () => {});
      await finishRun();
      told.mock.restore();
      beginRun();
      return told.mock.calls
        .map((call) => String(call.arguments))
        .filter((line) => /adopt/.test(line));
    };
    beginRun();
    const stack = new Stack(tlsEdge);
    await stack.preview(importing(existing.id, args));
    const subject = `the TLS edge ${existing.id}`;
    assert.deepEqual(await said(), [`will be adopted without changes: ${subject}`]);
    await stack.up(importing(existing.id, args));
    assert.deepEqual(await said(), [`adopted without changes: ${subject}`]);
  });

  it("C40 takes a fingerprint for the id of a certificate", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    const uploaded = new Stack(tlsCertificate);
    await uploaded.up({ certificatePem, privateKeyPem });
    const fingerprint = String(uploaded.state.fingerprint);
    const stack = new Stack(tlsCertificate);
    await stack.up(importing(fingerprint, { certificatePem }));
    assert.equal(stack.id, uploaded.id);
    assert.equal(await stack.up(importing(fingerprint, { certificatePem })), "same");
  });

  it("C40 lists what there is when a name is that of no object, or of several", async () => {
    const none = new Stack(tlsEdge).preview(importing("b.example.com:443", args));
    const { message } = await failureOf(none, PlanFailure);
    assert.match(message, /no TLS edge matches .*b\.example\.com:443/);
    assert.ok(message.includes(`${existing.id} (a.example.com:443)`), message);
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    const twins = [new Stack(tlsCertificate), new Stack(tlsCertificate)];
    for (const twin of twins) await twin.up({ certificatePem, privateKeyPem });
    const fingerprint = String(twins[0]?.state.fingerprint);
    const several = new Stack(tlsCertificate).preview(importing(fingerprint, { certificatePem }));
    const listed = await failureOf(several, PlanFailure);
    for (const { id } of twins) assert.ok(listed.message.includes(id), listed.message);
  });

  it("C40 leaves to the service what the program does", async () => {
    const stack = new Stack(tlsEdge);
    assert.equal(await stack.up(importing(existing.id, args)), "create");
    assert.deepEqual(
      takeRequests(emulator).map(({ method }) => method),
      ["GET"],
    );
    assert.equal(stack.id, existing.id);
    assert.equal(await stack.refresh(), "same");
    assert.equal(await stack.up(importing(existing.id, args)), "same");
  });

  it("C13 C40 what is not known yet is compared when it is", async () => {
    const stack = new Stack(tlsEdge);
    const plan = await stack.preview(importing(existing.id, { ...args, description: unknown }));
    assert.equal(plan.verdict, "create");
    const wrong = importing(existing.id, { ...args, description: "other" });
    const { failures } = await failureOf(stack.up(wrong), PlanFailure);
    assert.match(failures[0]?.reason ?? "", /description: "other" \/ none/);
    for (const { property } of failures) assert.equal(property, "");
  });

  it("C40 what has changed since the plan fails the update", async () => {
    await new Stack(tlsEdge).preview(importing(existing.id, args));
    emulator.tlsEdges.patch(existing.id, { description: "changed since" });
    const { message } = await failureOf(
      new Stack(tlsEdge).up(importing(existing.id, args)),
      PlanFailure,
    );
    assert.match(message, /description: none \/ "changed since"/);
    await new Stack(tlsEdge).up(importing(existing.id, { ...args, description: "changed since" }));
  });

  it("C40 C50 shows no secret argument in the plan, nor in the update", async () => {
    const marked = { ...args, description: "mine", __secrets: ["description"] };
    const inputs = importing(existing.id, marked);
    const planned = await failureOf(new Stack(tlsEdge).up(inputs), PlanFailure);
    const create = tlsEdge.create as (inputs: Properties) => Promise<unknown>;
    const made = await failureOf(create({ ...inputs, __provider: "" }), Error);
    for (const { message } of [planned, made])
      assert.match(message, /description: \[secret\] \/ none/);
    const plan = await new Stack(tlsEdge).check(
      importing(existing.id, { ...args, __secrets: ["hostports"] }),
    );
    assert.deepEqual([plan.failures, plan.inputs.__secrets], [[], ["hostports"]]);
  });

  it("many that are adopted for minutes are read by the page once", async () => {
    const all = [existing];
    for (let n = 0; n < 20; n++) {
      const stack = new Stack(tlsEdge);
      await stack.up({ hostports: [`app${n}.example.com:443`] });
      all.push(stack);
    }
    takeRequests(emulator);
    holdClocks();
    try {
      for (const { id, inputs } of all) {
        await new Stack(tlsEdge).up(importing(id, inputs));
        mock.timers.tick(10_000);
      }
      assert.equal(takeRequests(emulator).length, 2, "one by itself, and a page");
    } finally {
      mock.reset();
    }
  });

  it("C40 an input that is wrong is said before anything is read", async () => {
    const stack = new Stack(tlsEdge);
    await failureOf(stack.up(importing(existing.id, { hostport: "a" })), PlanFailure);
    assert.deepEqual(takeRequests(emulator), []);
  });

  it("C11 C40 a chain that can't be parsed, or is not known yet, is said to be so", async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    const certificate = new Stack(tlsCertificate);
    await certificate.up({ certificatePem, privateKeyPem });
    const broken = importing(certificate.id, {
      certificatePem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    });
    const { failures } = await failureOf(new Stack(tlsCertificate).up(broken), PlanFailure);
    assert.equal(failures.length, 1);
    assert.match(failures[0]?.reason ?? "", /^certificatePem: certificate 1 can't be parsed/);
    const later = importing(certificate.id, { certificatePem: unknown });
    assert.equal((await new Stack(tlsCertificate).preview(later)).verdict, "create");
  });

  it("C11 C40 another chain that is out of order is said to be so, and not compared", async () => {
    const { keyType: _, ...held } = await makeCertificate({ commonName: "c" });
    const certificate = new Stack(tlsCertificate);
    await certificate.up(held);
    const issuer = await makeCertificate({ commonName: "ca", isCa: true });
    const { certificatePem } = await makeCertificate({ commonName: "d", issuer });
    const disorder = { certificatePem: issuer.certificatePem + certificatePem };
    const { message } = await failureOf(
      new Stack(tlsCertificate).up(importing(certificate.id, disorder)),
      PlanFailure,
    );
    assert.match(message, /the leaf comes first/);
    assert.doesNotMatch(message, /is not adopted/);
  });

  it("C11 C40 another chain is told by its names and dates, not by its PEM", async () => {
    const [one, other] = await Promise.all(
      ["a.example", "b.example"].map((commonName) => makeCertificate({ commonName })),
    );
    const certificate = new Stack(tlsCertificate);
    const { certificatePem, privateKeyPem } = one as MadeCertificate;
    await certificate.up({ certificatePem, privateKeyPem });
    const inputs = importing(certificate.id, { certificatePem: other?.certificatePem });
    const { message } = await failureOf(new Stack(tlsCertificate).preview(inputs), PlanFailure);
    assert.match(message, /certificatePem: "b\.example, until 20.* \/ "a\.example, until 20/);
    assert.ok(!message.includes("BEGIN CERTIFICATE"), message);
  });

  it("C40 of what is not there fails the plan", async () => {
    const { message } = await failureOf(
      new Stack(tlsEdge).preview(importing("edgtls_none")),
      PlanFailure,
    );
    assert.match(message, /no TLS edge has the id edgtls_none/);
  });

  it("C40 what another resource of the program has is not adopted", async () => {
    const pair = await makeCertificate({ commonName: "a.example" });
    const { certificatePem, privateKeyPem } = pair;
    const owner = new Stack(tlsCertificate);
    await owner.up({ certificatePem, privateKeyPem });
    const fingerprint = String(owner.state.fingerprint);
    const plan = (wanted: string) =>
      new Stack(tlsCertificate).preview(importing(wanted, { certificatePem }));
    // Two names of one object.
    await plan(fingerprint);
    const { message } = await failureOf(plan(owner.id), PlanFailure);
    assert.match(message, /belongs to another resource/);
    beginRun();
    await owner.preview({ certificatePem, privateKeyPem });
    assert.match((await failureOf(plan(fingerprint), PlanFailure)).message, /to another resource/);
    assert.match((await failureOf(plan(owner.id), PlanFailure)).message, /to another resource/);
    const adopting = new Stack(tlsCertificate).up(importing(owner.id, { certificatePem }));
    assert.match((await failureOf(adopting, Error)).message, /to another resource/);
    beginRun();
    await plan(fingerprint);
    const later = owner.preview({ certificatePem, privateKeyPem });
    assert.match((await failureOf(later, Error)).message, /to another resource/);
    beginRun();
  });

  it("C40 two resources can't adopt the same object", async () => {
    await new Stack(tlsEdge).up(importing(existing.id, args));
    const { message } = await failureOf(new Stack(tlsEdge).up(importing(existing.id, args)), Error);
    assert.match(message, /was adopted by another resource of this update/);
    assert.deepEqual(held(), [existing.id]);
  });

  it("C44 a change that replaces what was adopted, or another id, fails the plan", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up(importing(existing.id, args));
    const undo = setEnvFor(emulator, "TLSEDGE_OTHER");
    const changes: [Properties, RegExp][] = [
      [{ ...importing(existing.id, args), connection: "tlsedge-other" }, /change of connection/],
      [
        importing("edgtls_another", args),
        /names edgtls_another, but this resource already manages/,
      ],
    ];
    try {
      for (const [inputs, said] of changes) {
        const { message } = await failureOf(stack.preview(inputs), Error);
        assert.match(message, said);
        assert.match(message, /remove the option/);
      }
      assert.equal(await stack.up(importing(existing.id, args)), "same");
    } finally {
      undo();
    }
  });

  it("C44 another PEM for an adopted certificate fails the plan, and says to remove the option", async () => {
    const [first, second] = await Promise.all([
      makeCertificate({ commonName: "a.example" }),
      makeCertificate({ commonName: "a.example" }),
    ]);
    const made = new Stack(tlsCertificate);
    const { certificatePem, privateKeyPem } = first;
    await made.up({ certificatePem, privateKeyPem });
    const stack = new Stack(tlsCertificate);
    await stack.up(importing(made.id, { certificatePem }));
    const other = importing(made.id, {
      certificatePem: second.certificatePem,
      privateKeyPem: second.privateKeyPem,
    });
    const { message } = await failureOf(stack.preview(other), Error);
    assert.match(message, /a change of certificatePem replaces.*remove the option/);
  });

  it("C44 what this process has deleted is not adopted", async () => {
    await existing.destroy();
    const stack = new Stack(tlsEdge);
    const inputs = { ...args, ...importing(existing.id), __provider: "" };
    const created = (tlsEdge.create as (inputs: Properties) => Promise<unknown>)(inputs);
    assert.match((await failureOf(created, Error)).message, /deleted by this update/);
    await failureOf(stack.up(importing(existing.id, args)), Error);
    assert.deepEqual(held(), []);
  });

  it("C44 a delete of what is to be adopted leaves it alive, in whichever order", async () => {
    await new Stack(tlsEdge).preview(importing(existing.id, args));
    await existing.destroy();
    assert.deepEqual(held(), [existing.id]);
    const stack = new Stack(tlsEdge);
    await stack.up(importing(existing.id, args));
    assert.equal(stack.id, existing.id);
  });

  it("C44 the state says that it was adopted: no later run deletes it while the option stands", async () => {
    const adopting = new Stack(tlsEdge);
    await adopting.up(importing(existing.id, args));
    beginRun();
    // As a destroy, or the old provider of `--replace '**'`, does: it gets the state alone.
    const told = mock.method(console, "error", () => {});
    await adopting.destroy();
    assert.match(
      String(told.mock.calls.at(-1)?.arguments),
      /stays on the service.*remove the option/,
    );
    told.mock.restore();
    assert.deepEqual(held(), [existing.id]);
  });

  it("C41 C44 removing the option is an update without a write; then a delete deletes", async () => {
    const adopting = new Stack(tlsEdge);
    await adopting.up(importing(existing.id, args));
    beginRun();
    takeRequests(emulator);
    assert.equal(await adopting.up(args), "update");
    assert.deepEqual(
      takeRequests(emulator).map(({ method }) => method),
      ["GET"],
    );
    assert.equal(adopting.state.__import, undefined);
    assert.equal(await adopting.up(args), "same");
    await adopting.destroy();
    assert.deepEqual(held(), []);
  });

  it("C44 what was adopted is not deleted for the resource that had it before, in a later update", async () => {
    const adopting = new Stack(tlsEdge);
    await adopting.up(importing(existing.id, args));
    beginRun();
    assert.equal(await adopting.up(importing(existing.id, args)), "same");
    await existing.destroy();
    assert.deepEqual(held(), [existing.id]);
  });

  it("C5 C44 the same id in another account is another object", async () => {
    const other = await startEmulator();
    const undo = setEnvFor(other, "TLSEDGE_OTHER");
    try {
      const there = new Stack(tlsEdge);
      await there.up({ connection: "tlsedge-other" });
      const { failures } = await new Stack(tlsEdge).check(importing(there.id, args), {});
      assert.equal(failures.length, 1);
      await there.destroy();
      assert.deepEqual(other.tlsEdges.list(), []);
    } finally {
      undo();
      await other.close();
    }
  });
});
