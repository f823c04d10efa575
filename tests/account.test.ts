import assert from "node:assert/strict";
import { type Account, type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { connect } from "../provider/connection";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { findAll, findOne } from "../provider/lookup";
import { beginRun } from "../provider/process";
import { lookup } from "../provider/tlsEdge";
import { pluginProvider, startPlugin } from "./pluginProvider";
import {
  answer,
  atScript,
  failureOf,
  later,
  type ResourceProvider,
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
    void later(emulator);
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
    assert.match(await refused(first(all).up({ description: "b" })), /not found: see the first/);
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

  /** A stack of each kind, through one of the protocols, in a run that asks in its plans, or not. */
  async function throughEach(
    work: (
      edges: object,
      certificates: object,
      offline: string | undefined,
      begin: () => unknown,
    ) => Promise<void>,
  ): Promise<void> {
    for (const offline of [undefined, "true"]) {
      const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: offline });
      const plugin = startPlugin();
      const edges = await pluginProvider("TLSEdge", plugin);
      const certificates = await pluginProvider("TLSCertificate", plugin);
      try {
        await work(tlsEdge, tlsCertificate, offline, beginRun);
        beginRun();
        await work(edges.provider, certificates.provider, offline, edges.begin);
      } finally {
        edges.close();
        certificates.close();
        undo();
      }
    }
  }
  /** The plan of a new certificate. */
  const plan = async (certificates: object) => {
    const { inputs } = await new Stack(certificates).preview(await certificateArgs());
    await (certificates as ResourceProvider).planned?.(inputs);
  };
  const certificateArgs = async () => {
    const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example" });
    return { certificatePem, privateKeyPem };
  };
  it("C7 C50 a new certificate is not sent, when an unchanged edge is in another account", () =>
    throughEach(async (edges, certificates, offline) => {
      const edge = new Stack(edges);
      await edge.up({ description: "a" });
      const other = useOther();
      assert.equal((await edge.preview({ description: "a" })).verdict, "same");
      if (!offline) assert.match(await refused(plan(certificates)), /no write is sent/);
      asked();
      const { create } = certificates as ResourceProvider;
      assert.match(await refused(create(await certificateArgs())), /no write is sent/);
      assert.ok(!asked().includes("POST"));
      assert.deepEqual(other.tlsCertificates.list(), []);
    }));

  it("C7 C50 nor planned, when the edge is looked at after the certificate", () =>
    throughEach(async (edges, certificates, offline) => {
      const edge = new Stack(edges);
      await edge.up({ description: "a" });
      useOther();
      await plan(certificates);
      if (!offline)
        assert.match(await refused(edge.preview({ description: "a" })), /or the present/);
    }));

  it("C7 what replaced an object in another account keeps the object from its delete", () =>
    throughEach(async (_, certificates, __, begin) => {
      const own = emulator.addKey();
      useKey(own);
      const args = await certificateArgs();
      const [old, replacement] = [new Stack(certificates), new Stack(certificates)];
      await old.up(args);
      // A taint shows a provider no state: so nothing stops this create.
      useOther();
      await replacement.up(args);
      useKey(own);
      await begin();
      asked();
      assert.equal((await replacement.preview(args)).verdict, "same");
      assert.deepEqual(asked(), []);
      assert.match(await refused(old.destroy()), new RegExp(`no write is sent.*${replacement.id}`));
      assert.ok(!asked().includes("DELETE"));
      const undo = setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
      await old.destroy();
      undo();
    }));

  it("C7 C25 with a new key, an unchanged object asks for nothing before a write", async () => {
    const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    const [gone, kept] = (await stacks(2)) as [Stack, Stack];
    remove(gone);
    rotate();
    asked();
    for (const [place, stack] of [gone, kept].entries()) {
      assert.equal((await stack.preview({ description: `${place}` })).verdict, "same");
    }
    assert.deepEqual(asked(), []);
    // The first object is the witness that is asked for: with a change, the second one shows the account.
    await kept.up({ description: "changed" });
    await new Stack(tlsEdge).up({ description: "new" });
    assert.equal(asked().filter((method) => method === "POST").length, 1);
    // With a key of another account, nothing is written, and from then on nothing is unchanged.
    beginRun();
    useOther();
    assert.equal((await gone.preview({ description: "0" })).verdict, "same");
    assert.match(await refused(new Stack(tlsEdge).up({ description: "new" })), /no write is sent/);
    assert.match(await refused(gone.preview({ description: "0" })), /was not found/);
    undo();
  });

  it("C7 C30 with a new key, a plan that changes many objects reads them from pages", async () => {
    const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: undefined });
    try {
      const all = await stacks(20);
      beginRun();
      rotate();
      takeRequests(emulator);
      await Promise.all(all.map((stack) => stack.preview({ description: `new ${stack.id}` })));
      assert.ok(asked().length <= 5);
    } finally {
      undo();
    }
  });

  it("C7 says why it is not known whose a key is, when the service can't be asked", async () => {
    const [seen] = (await stacks(1)) as [Stack];
    rotate();
    await seen.preview({ description: "0" });
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    // Two creates wait for one answer.
    const created = ["x", "y"].map((description) =>
      refused(new Stack(tlsEdge).up({ description })),
    );
    for (const text of await Promise.all(created)) assert.match(text, /failed with status 403/);
    await new Stack(tlsEdge).up({ description: "new" });
  });

  it("C31 a refresh while the service is down tells the cause once, and drops nothing", async () => {
    const undo = setEnv({ TLSEDGE_MAX_RETRIES: "0" });
    for (const answer of ["reset", { status: 503 }] as const) {
      const all = await stacks(6);
      emulator.faults.add({ method: "GET", answer, times: 100 });
      const refusals = await Promise.all(all.map((stack) => refused(stack.refresh())));
      const [cause, ...others] = refusals.filter((text) => !/see the error of the TLS/.test(text));
      assert.match(String(cause), /^GET \/edges\/tls/);
      assert.deepEqual(others, []);
      emulator.faults.clear();
      await refresh(all);
    }
    undo();
  });

  it("C7 is not shown by what the other account has: creates, imports, lookups, lists", async () => {
    const [stack] = await stacks(1);
    const other = useOther();
    const [made] = await stacks(1);
    await made?.refresh();
    await made?.up({ description: "changed" });
    await findOne(lookup)(() => connect("tlsedge"), { id: made?.id as string });
    await findAll(lookup)(() => connect("tlsedge"), {});
    const [loose] = await stacks(1);
    const adopted = new Stack(tlsEdge);
    await adopted.up({ __import: loose?.id, description: "0" });
    await adopted.get(made?.id as string);
    await refused(stack?.refresh() as Promise<unknown>);
    assert.equal(other.tlsEdges.list().length, 2);
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
    await findAll(lookup)(() => connect("tlsedge"), {});
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
    later(emulator);
    rotate();
    for (const stack of all) await stack.preview({ description: "changed" });
    for (const { id } of [all[0], all[3]]) emulator.tlsEdges.delete(id);
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

  it("C7 C25 another mark is no change, and a refresh brings the present one", async () => {
    const all = await stacks(2);
    rotate();
    asked();
    for (const offline of ["true", undefined]) {
      const undo = setEnv({ TLSEDGE_OFFLINE_PLAN: offline });
      for (const [place, stack] of all.entries()) {
        assert.equal(await stack.up({ description: `${place}` }), "same");
      }
      undo();
    }
    assert.deepEqual(asked(), []);
    const before = first(all).state.accountTag;
    assert.deepEqual(await refresh(all), ["same", "same"]);
    assert.notEqual(first(all).state.accountTag, before);
  });

  it("C7 another base URL of the same service needs no setting: the objects are read there", async () => {
    const [gone, kept] = (await stacks(2)) as [Stack, Stack];
    const before = kept.state.accountTag;
    remove(gone);
    const undo = setEnv({ TLSEDGE_BASE_URL: emulator.url.replace("localhost", "127.0.0.1") });
    try {
      assert.deepEqual(await refresh([gone, kept]), ["gone", "same"]);
      assert.notEqual(kept.state.accountTag, before);
      assert.equal(await kept.up({ description: "changed" }), "update");
    } finally {
      undo();
    }
  });

  it("C7 another service drops, deletes and creates nothing, and the error names its base URL", async () => {
    const [edge] = (await stacks(1)) as [Stack];
    const other = await startEmulator();
    const undo = setEnvFor(other);
    try {
      const message = await refused(edge.refresh());
      for (const part of [other.url, "TLSEDGE_BASE_URL", "TLSEDGE_API_KEY", "was deleted"]) {
        assert.ok(message.includes(part), message);
      }
      await refused(edge.up({ description: "changed" }));
      await refused(edge.destroy());
      assert.match(await refused(new Stack(tlsEdge).up({})), /no write is sent/);
      assert.deepEqual(other.tlsEdges.list(), []);
      assert.ok(other.requests.every(({ method }) => method !== "POST"));
    } finally {
      undo();
      await other.close();
    }
  });

  it("C7 another path of the same origin and key is another service: nothing is dropped", async () => {
    const [edge] = (await stacks(1)) as [Stack];
    const undo = setEnv({ TLSEDGE_BASE_URL: `${emulator.url}/t2` });
    try {
      assert.ok((await refused(edge.refresh())).includes("/t2"));
      await refused(edge.destroy());
    } finally {
      undo();
    }
    assert.equal(await edge.refresh(), "same");
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
