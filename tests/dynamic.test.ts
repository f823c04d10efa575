import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { Fault } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { millisecondsOf } from "../provider/dynamic/hidden";
import { beginRun } from "../provider/dynamic/process";
import type { PartialResource } from "../tools/resource";
import {
  assertTimesOut,
  captureMessages,
  deployed,
  failureOf,
  fullEdge,
  makePair,
  messageOf,
  type Properties,
  Stack,
  skipPauses,
  takeMethods,
  takeRequests,
  useEmulator,
} from "./support";

describe("the dynamic providers", () => {
  const emulator = useEmulator();
  let certificate: Awaited<ReturnType<typeof makePair>>;
  before(async () => {
    certificate = await makePair({ commonName: "a.example" });
  });

  it("C10 C15: a wrong hostport is shown, unless it is a secret or that is not known, and no property is named", async () => {
    const hostports = ["https://a.example.com"];
    const reasonsOf = async (more: Properties) => {
      const { failures } = await new Stack(tlsEdge).check({ hostports, ...more });
      // The engine would print the value of a property that a failure names.
      for (const { property } of failures) assert.equal(property, "");
      return failures.map(({ reason }) => reason).join();
    };
    assert.match(await reasonsOf({ __secrets: ["metadata"] }), /"https:\/\/a/);
    for (const __secrets of [["hostports"], undefined]) {
      const reason = await reasonsOf({ __secrets });
      assert.match(reason, /^hostports\[0\]: is no hostport/);
      assert.ok(!reason.includes("a.example.com"), reason);
    }
  });

  it("a check warns of a deployed key that leaves the program, but not of one that stays", async () => {
    const shown = captureMessages();
    const stack = await deployed(tlsCertificate, certificate);
    await stack.check(certificate);
    assert.deepEqual(shown(), []);
    await stack.check({ ...certificate, privateKeyPem: undefined });
    assert.match(shown().join(), /^warning: privateKeyPem .* loses its last copy/);
  });

  it("C35: an object whose answer is wrong is in the state with the provider, and the next up completes it", async () => {
    emulator.faults.add({ method: "POST", answer: { fields: { description: 7 } } });
    const stack = new Stack(tlsEdge);
    const error = await failureOf(stack.up({ description: "d" }), Error);
    assert.deepEqual((error as Error & PartialResource).reasons, [error.message]);
    assert.equal(stack.state.__provider, "exports.handler = () => 0");
    assert.equal(await stack.up({ description: "d" }), "update");
    assert.equal(await stack.up({ description: "d" }), "same");
  });

  it("C37: an object that is not complete is deleted where the engine replaces it", async () => {
    emulator.faults.add({ method: "POST", answer: { fields: { description: 7 } } });
    const stack = new Stack(tlsEdge);
    await messageOf(stack.up({ description: "d" }));
    beginRun();
    await stack.preview({ description: "d" });
    await stack.leave();
    assert.deepEqual(emulator.tlsEdges.list(), []);
  });

  it("C11 C15 C88: what is wrong with a file of a site is said of the file", async () => {
    const __files = { certificatePem: "chainFile a.pem", privateKeyPem: "keyFile a.key" };
    const { certificatePem } = certificate;
    const args = { certificatePem, privateKeyPem: certificatePem, __files };
    const [problem] = (await new Stack(tlsCertificate).check(args)).failures;
    assert.match(problem?.reason ?? "", /^keyFile a\.key: holds a certificate/);
  });

  it("C25 C50: the names of the secret arguments stay, and a mark alone is no change", async () => {
    const stack = await deployed(tlsEdge, { description: "mine" });
    takeRequests(emulator);
    const marked = { description: "mine", __secrets: ["description"] };
    const plan = await stack.preview(marked);
    assert.deepEqual([plan.verdict, plan.inputs.__secrets], ["same", ["description"]]);
    assert.deepEqual(takeMethods(emulator), []);
    await stack.up({ ...marked, description: "new" });
    assert.deepEqual(stack.state.__secrets, ["description"]);
    const { state, inputs } = await deployed(tlsCertificate, {
      ...certificate,
      __secrets: ["privateKeyPem"],
    });
    assert.deepEqual([state.__secrets, inputs.__secrets], [undefined, undefined]);
  });

  it("C31: inputs after a drift are the service's, with the settings and what follows from the chain", async () => {
    const stack = await deployed(tlsCertificate, { ...certificate, renewBeforeDays: 30 });
    const { privateKeyPem: _, ...inputs } = stack.inputs;
    emulator.tlsCertificates.patch(stack.id, { description: "by hand" });
    assert.equal(await stack.refresh(), "drifted");
    assert.deepEqual(stack.inputs, { ...inputs, description: "by hand" });
  });

  it("C43: a read by the id alone gives every property and no inputs, and fails without an object", async () => {
    const edge = await deployed(tlsEdge, { ...fullEdge, tlsTermination: {} });
    const read = await edge.get(edge.id);
    assert.deepEqual([read.id, read.inputs], [edge.id, undefined]);
    const { hostports, tlsTermination } = read.props ?? {};
    assert.deepEqual(hostports, fullEdge.hostports);
    const chosen = { enabled: true, terminateAt: "edge", minVersion: "1.2" };
    assert.deepEqual(tlsTermination, chosen);
    assert.match(await messageOf(edge.get("edgtls_none")), /edgtls_none/);
    const { id } = await deployed(tlsCertificate, certificate);
    const { props } = await new Stack(tlsCertificate).get(id);
    assert.equal(props?.subjectCommonName, "a.example");
    const { raw } = new X509Certificate(String(props?.certificatePem));
    assert.deepEqual(raw, new X509Certificate(certificate.certificatePem).raw);
  });

  it("C93: a duration is read as the engine reads it", () => {
    const durations = {
      ...{ "5m": 300_000, "1h30m": 5_400_000, "1.5s": 1500, "250ms": 250 },
      ...{ "0s": undefined, "1d": undefined, soon: undefined, "": undefined },
    };
    for (const [text, ms] of Object.entries(durations)) assert.equal(millisecondsOf(text), ms);
  });

  describe("with customTimeouts", () => {
    /** How the class passes the option on; spelt out, as state knows it. */
    const within = (...operations: string[]) => ({
      __timeouts: Object.fromEntries(operations.map((one) => [one, 200])),
    });
    const timesOut = (method: Fault["method"], work: () => Promise<unknown>) =>
      assertTimesOut(emulator, method, 200, work);

    it("C93: creates, reads, updates and deletes end in time, of which state tells the latter", async () => {
      await timesOut("POST", () => new Stack(tlsEdge).up(within("create")));
      const stack = await deployed(tlsEdge, within("read", "update", "delete"));
      await timesOut("GET", () => stack.refresh());
      await timesOut("PATCH", () => stack.up({ description: "two", ...within("update") }));
      await timesOut("DELETE", () => stack.destroy());
      await stack.up({ description: "three", ...within("delete") });
      await stack.refresh();
      await timesOut("DELETE", () => stack.destroy());
    });

    it("C93: a read waits no longer than its deadline for a page of the list", async () => {
      const less = { __timeouts: { read: 100_000 } };
      const stacks: Stack[] = [];
      while (stacks.length < 4) stacks.push(await deployed(tlsEdge, less));
      emulator.faults.add({ method: "GET", path: "/edges/tls", answer: "held", times: 100 });
      // Each is read by itself then.
      await Promise.all(stacks.map((stack) => stack.refresh()));
      emulator.faults.clear();
    });

    it("C39 C93: a young object that is not found is asked for until the deadline, and is not gone", async () => {
      const stack = await deployed(tlsEdge, within("read"));
      skipPauses();
      const answer = { status: 404 };
      emulator.faults.add({ method: "GET", path: "/edges/tls/*", answer, times: 99 });
      const none = { fields: { tls_edges: [] } };
      emulator.faults.add({ method: "GET", path: "/edges/tls", answer: none, times: 99 });
      const error = await failureOf(stack.refresh(), Error);
      assert.ok(!(error instanceof RangeError), error.message);
      assert.ok(error.message.includes(stack.id), error.message);
    });

    // Through the plugin they come with each call, and are not among the inputs.
    it("C25 C93: other timeouts are no change by themselves, and are not sent", async () => {
      const stack = await deployed(tlsEdge, { description: "one" });
      assert.equal(await stack.up({ description: "one", ...within("delete") }), "same");
      assert.equal(await stack.up({ description: "two", ...within("delete") }), "update");
      assert.equal(await stack.up({ description: "two" }), "same");
      const bodies = takeRequests(emulator).flatMap(({ body }) => body ?? []);
      assert.deepEqual(bodies, [{ description: "one" }, { description: "two" }]);
    });
  });
});
