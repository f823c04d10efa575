import assert from "node:assert/strict";
import { type Account, type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { connect } from "../provider/connection";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { all, one } from "../provider/lookup";
import { lookup } from "../provider/tlsEdge";
import { pluginProvider } from "./pluginProvider";
import {
  answer,
  atScript,
  failureOf,
  later,
  Stack,
  setEnv,
  setEnvFor,
  takeRequests,
  until,
} from "./support";

const isTag = /^[0-9a-f]{16}$/;

describe("the account that the state was made with", () => {
  let emulator: Emulator;
  let restore: () => void;

  // Each test is a run of its own: a service, and with it keys, that no other one has.
  beforeEach(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
  });
  afterEach(async () => {
    restore();
    await emulator.close();
  });

  const useKey = (key: string) => void setEnv({ TLSEDGE_API_KEY: key });
  /** Another key of the same account, from now on. */
  const rotate = () => useKey(emulator.addKey());
  /** The key of another account, from now on. */
  const useOther = (): Account => {
    const other = emulator.addAccount();
    useKey(other.apiKey);
    return other;
  };
  async function stacks(count: number): Promise<Stack[]> {
    const all = Array.from({ length: count }, () => new Stack(tlsEdge));
    for (const [place, stack] of all.entries()) await stack.up({ description: `${place}` });
    return all;
  }
  const first = (all: Stack[]) => all[0] as Stack;
  const remove = (...all: Stack[]) => {
    later(emulator);
    for (const { id } of all) emulator.tlsEdges.delete(id);
  };
  const refresh = (all: Stack[]) => Promise.all(all.map((stack) => stack.refresh()));
  const refused = async (work: Promise<unknown>) => (await failureOf(work, Error)).message;
  /** The paths of the requests since the last time. */
  const asked = () => takeRequests(emulator).map(({ method }) => method);

  it("C7 is not lost with a key of another account: nothing is dropped, one error explains", async () => {
    const all = await stacks(10);
    const states = all.map(({ state }) => state);
    useOther();
    const refusals = await Promise.all(all.map((stack) => refused(stack.refresh())));
    const [explained, ...others] = refusals.filter((text) => /SAME_ACCOUNT/.test(text));
    assert.deepEqual(others, []);
    for (const name of [
      "deleted",
      "another account",
      "TLSEDGE_API_KEY",
      "TLSEDGE_SAME_ACCOUNT=1",
    ]) {
      assert.ok(explained?.includes(name), explained);
    }
    for (const [place, text] of refusals.entries()) {
      assert.ok(text.includes(all[place]?.id ?? "?"), text);
      assert.ok(text === explained || text.length < 170, text);
    }
    assert.match(await refused(first(all).up({ description: "b" })), /not found either/);
    await refused(first(all).destroy());
    assert.deepEqual(
      all.map(({ state }) => state),
      states,
    );
    assert.equal(emulator.tlsEdges.list().length, 10);
  });

  for (const door of ["dynamic", "plugin"]) {
    it(`C7 C50 with a key of another account, a renewed chain fails the plan: no key is sent (${door})`, async () => {
      const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
      const plugin = door === "plugin" ? await pluginProvider("TLSCertificate") : undefined;
      try {
        const stack = new Stack(plugin?.provider ?? tlsCertificate);
        const chain = async () => {
          const { certificatePem, privateKeyPem } = await makeCertificate({
            commonName: "a.example",
          });
          return { certificatePem, privateKeyPem };
        };
        await stack.up(await chain());
        const other = useOther();
        asked();
        assert.match(await refused(stack.preview(await chain())), /another account/);
        assert.ok(!asked().includes("POST"));
        assert.deepEqual(other.tlsCertificates.list(), []);
      } finally {
        plugin?.close();
        undo();
      }
    });
  }

  it("C7 is not shown by what the other account has: creates, imports, lookups, lists", async () => {
    const [stack] = await stacks(1);
    const other = useOther();
    const [made] = await stacks(1);
    await made?.refresh();
    await made?.up({ description: "changed" });
    await one(lookup)(() => connect("tlsedge"), { id: made?.id as string });
    await all(lookup)(() => connect("tlsedge"), {});
    const adopted = new Stack(tlsEdge);
    await adopted.up({ __import: made?.id, description: "changed" });
    await adopted.get(made?.id as string);
    await refused(stack?.refresh() as Promise<unknown>);
    assert.equal(other.tlsEdges.list().length, 1);
  });

  it("C7 with a new key, one that is there shows that the others are gone", async () => {
    const all = await stacks(4);
    const [a, b, c, d] = all as [Stack, Stack, Stack, Stack];
    remove(a, b, d);
    const tag = c.state.accountTag;
    rotate();
    assert.deepEqual(await refresh([a, b, c]), ["gone", "gone", "same"]);
    assert.match(String(c.state.accountTag), isTag);
    assert.notEqual(c.state.accountTag, tag);
    // Its witness was read before, and stays one.
    await d.destroy();
  });

  it("C7 waits for reads in flight, which may show it", async () => {
    const [planned, gone, kept] = (await stacks(3)) as [Stack, Stack, Stack];
    remove(planned, gone);
    rotate();
    // It would be asked for, and is gone, too.
    await planned.preview({ description: "changed" });
    asked();
    emulator.faults.add({ method: "GET", path: `/edges/tls/${kept.id}`, answer: "held" });
    const looking = kept.refresh();
    const judged = gone.refresh();
    // Once a page, a read and the list are answered, only the held read is missing.
    await until(() => emulator.requests.filter(({ status }) => status).length >= 3);
    await all(lookup)(() => connect("tlsedge"), {});
    emulator.faults.clear();
    assert.deepEqual([await looking, await judged], ["same", "gone"]);
  });

  it("C7 an update and a delete show it, too", async () => {
    for (const work of [
      (stack: Stack) => stack.up({ description: "changed" }),
      (stack: Stack) => stack.destroy(),
    ]) {
      const [gone, kept] = (await stacks(2)) as [Stack, Stack];
      remove(gone);
      rotate();
      await work(kept);
      assert.equal(await gone.refresh(), "gone");
    }
  });

  it("C7 asks for one that this run has seen in the plan, once", async () => {
    const all = (await stacks(4)) as [Stack, Stack, Stack, Stack];
    rotate();
    for (const stack of all) await stack.preview({ description: "changed" });
    remove(all[0], all[3]);
    asked();
    assert.match(await refused(all[0].up({ description: "changed" })), /gone from the service/);
    // The object itself, the list, and the witness.
    assert.deepEqual(asked(), ["PATCH", "GET", "GET", "GET"]);
    await all[3].destroy();
    assert.deepEqual(asked(), ["DELETE", "GET"]);
  });

  it("C7 asks no second one when that one is not found", async () => {
    const all = (await stacks(3)) as [Stack, Stack, Stack];
    useOther();
    for (const stack of all) await stack.preview({ description: "changed" });
    asked();
    await refused(all[0].destroy());
    assert.deepEqual(asked(), ["DELETE", "GET", "GET"]);
    await refused(all[1].destroy());
    assert.deepEqual(asked(), ["DELETE", "GET"]);
  });

  it("C7 C32 with the same key, what is not found is gone, with no more requests", async () => {
    const [a, b] = (await stacks(2)) as [Stack, Stack];
    remove(a, b);
    asked();
    assert.equal(await a.refresh(), "gone");
    assert.deepEqual(asked(), ["GET", "GET"]);
    await b.destroy();
    assert.deepEqual(asked(), ["DELETE", "GET"]);
  });

  it("C7 the only one, deleted by hand: a variable says that the new key is the account's", async () => {
    const [stack] = (await stacks(1)) as [Stack];
    remove(stack);
    rotate();
    assert.match(await refused(stack.refresh()), /TLSEDGE_SAME_ACCOUNT=1/);
    for (const no of ["0", "false"]) {
      const undo = setEnv({ TLSEDGE_SAME_ACCOUNT: no });
      await refused(stack.refresh());
      undo();
    }
    const undo = setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
    assert.equal(await stack.refresh(), "gone");
    undo();
  });

  it("C7 C51 a state without a tag needs a witness without one", async () => {
    const all = (await stacks(3)) as [Stack, Stack, Stack];
    const [gone, kept, tagged] = all;
    for (const { state } of [gone, kept]) delete state.accountTag;
    remove(gone);
    await tagged.refresh();
    assert.match(await refused(gone.refresh()), /does not say with which API key/);
    assert.deepEqual(await refresh([gone, kept]), ["gone", "same"]);
    assert.equal(kept.state.accountTag, tagged.state.accountTag);
  });

  it("C25 C51 the tag is no change: not a missing one, nor one of another key", async () => {
    const [untagged, rotated] = (await stacks(2)) as [Stack, Stack];
    delete untagged.state.accountTag;
    rotate();
    asked();
    for (const [place, stack] of [untagged, rotated].entries()) {
      assert.equal(await stack.up({ description: `${place}` }), "same");
    }
    assert.deepEqual(asked(), []);
    assert.deepEqual(await refresh([untagged, rotated]), ["same", "same"]);
    assert.equal(untagged.state.accountTag, rotated.state.accountTag);
  });

  it("C4 C7 the tag is that of the key, for each kind, and shows no part of it", async () => {
    const [edge] = (await stacks(1)) as [Stack];
    const certificate = new Stack(tlsCertificate);
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    await certificate.up({ certificatePem, privateKeyPem });
    const { accountTag } = edge.state;
    assert.match(String(accountTag), isTag);
    assert.equal(certificate.state.accountTag, accountTag);
    const args = { certificatePem, privateKeyPem, description: "changed" };
    rotate();
    await certificate.up(args);
    assert.match(String(certificate.state.accountTag), isTag);
    assert.notEqual(certificate.state.accountTag, accountTag);
    emulator.tlsCertificates.patch(certificate.id, { description: "drifted" });
    assert.equal(await certificate.refresh(), "drifted");
    assert.equal("accountTag" in certificate.inputs, false);
  });

  const unreadable = { "an empty object": {}, "a proxy's page": "<html>", nothing: "" };
  for (const [what, body] of Object.entries(unreadable)) {
    it(`C7 C31 a 404 with ${what} in place of the list does not mean gone`, async () => {
      const [stack] = (await stacks(1)) as [Stack];
      const answers = [answer(404, { msg: "no" }), answer(200, body)];
      const env = { TLSEDGE_ACCEPTED_ORIGINS: emulator.url };
      await atScript(
        [...answers, ...answers],
        async () => {
          const { state } = stack;
          assert.match(await refused(stack.refresh()), /can't be listed either/);
          assert.match(await refused(stack.destroy()), /can't be listed either/);
          assert.equal(stack.state, state);
        },
        env,
      );
    });
  }
});
