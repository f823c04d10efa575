import assert from "node:assert/strict";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { tlsEdge } from "../provider/dynamic";
import { beginRun } from "../provider/process";
import {
  clientOf,
  failureOf,
  holdClocks,
  messageOf,
  Stack,
  setEnv,
  skipPauses,
  unknown,
  until,
  useEmulator,
} from "./support";

const [h1 = "", h2 = "", h3 = "", h4 = ""] = [1, 2, 3, 4].map((n) => `app${n}.example.com:443`);

describe("a hostport that another edge serves", () => {
  const emulator = useEmulator();
  let stranger: Client;
  before(() => {
    stranger = clientOf(emulator);
  });

  const hostportsOf = (stacks: Stack[]) =>
    stacks.map(({ id }) => emulator.tlsEdges.get(id)?.hostports);
  const writes = () =>
    emulator.requests.flatMap(({ method, path }) => (method === "GET" ? [] : `${method} ${path}`));
  const lists = () => emulator.requests.filter(({ path }) => path.includes("?")).length;
  /** Once a write was refused, and the list of who serves what was read. */
  const refused = () =>
    until(() => {
      const { method, status } = emulator.requests.at(-1) ?? {};
      const isRefused = emulator.requests.some(({ status }) => status === 400);
      return isRefused && method === "GET" && status === 200;
    });
  const faultMet = () => until(() => emulator.faults.list().at(-1)?.hits === 1);
  const take = (...hostports: string[]) => new Stack(tlsEdge).up({ hostports });

  /** An edge of an earlier update: this run knows nothing of it but its state. */
  async function edge(...hostports: string[]): Promise<Stack> {
    const { id } = await tlsEdges.create(stranger, { hostports });
    const stack = Object.assign(new Stack(tlsEdge), { id, state: { uri: "x" } });
    await stack.refresh();
    emulator.requests.length = 0;
    return stack;
  }
  const refreshDiff = ({ id, state }: Stack, hostports: string[]) =>
    tlsEdge.diff?.(id, state, { hostports }) as Promise<unknown>;

  /** What edges serve before an update and after it; nothing: the edge is new, or deleted. */
  const moves: [string, before: string[][], after: (string[] | undefined)[]][] = [
    ["from an update to a new edge", [[h1, h2]], [[h1], [h2]]],
    ["from several edges to one", [[h1, h4], [h2], [h3]], [[h4], [], [h1, h2, h3]]],
    ["along a chain of updates", [[h1], [h2], [h3]], [[h2], [h3], []]],
    ["from an edge that is deleted, as in a replacement", [[h1]], [undefined, [h1]]],
  ];
  /** What the run has seen of the holder before. */
  const diffs: [string, (holder: Stack, after: string[]) => Promise<unknown>][] = [
    ["", async () => {}],
    [", after its diff", (holder, hostports) => holder.preview({ hostports })],
    [", after the diff of a refresh, which keeps it", (holder) => refreshDiff(holder, [h1, h2])],
  ];
  for (const [what, before, after] of moves) {
    for (const [when, diff] of what.includes("new") ? diffs : diffs.slice(0, 1)) {
      it(`C38: a hostport moves ${what}${when}, by the holder's own write alone`, async () => {
        // The clock stands still: no later list is due, so what this run did is known without.
        holdClocks();
        const stacks: Stack[] = [];
        for (const hostports of before) stacks.push(await edge(...hostports));
        await diff(stacks[0] as Stack, after[0] ?? []);
        while (stacks.length < after.length) stacks.push(new Stack(tlsEdge));
        const change = async (n: number) => {
          const hostports = after[n];
          await (hostports ? stacks[n]?.up({ hostports }) : stacks[n]?.destroy());
        };
        const all = [...after.keys()];
        const takes = (n: number) => after[n]?.some((one) => !before[n]?.includes(one)) === true;
        const taken = all.filter(takes).map(change);
        await refused();
        await Promise.all(all.filter((n) => !takes(n)).map(change));
        await Promise.all(taken);
        assert.deepEqual(hostportsOf(stacks), after);
        const { requests } = emulator;
        const done = requests.filter(({ method, status }) => method !== "GET" && status < 300);
        assert.equal(done.length, stacks.length);
        if (what.includes("new")) assert.equal(lists(), 2, "the mark, and the holders");
      });
    }
  }

  it("C38: a hostport moves when another process gives it up: the list is read again", async () => {
    skipPauses();
    const holder = await edge(h1, h2);
    await holder.preview({ hostports: [h1] });
    emulator.faults.add({ method: "GET", skip: 1, answer: "held" });
    const taken = take(h2);
    await faultMet();
    // The list that was read before shows the hostport.
    await tlsEdges.update(stranger, holder.id, { hostports: [h1] });
    emulator.faults.clear();
    await taken;
    assert.deepEqual(hostportsOf([holder]), [[h1]]);
  });

  it("C38: a hostport moves when it was given up before the list of edges was read", async () => {
    const holder = await edge(h1, h2);
    emulator.faults.add({ method: "GET", skip: 1, answer: "held", work: false });
    const taken = take(h2);
    await faultMet();
    await holder.up({ hostports: [h1] });
    emulator.faults.clear();
    await taken;
  });

  for (const hostports of [
    [h1, h2],
    [h1, h2, h3],
  ])
    it(`C38: a hostport that goes round ${hostports.length} edges is refused at once, and moves in two updates`, async () => {
      const stacks: Stack[] = [];
      for (const hostport of hostports) stacks.push(await edge(hostport));
      const after = [...hostports.slice(1), h1].map((hostport) => ({ hostports: [hostport] }));
      for (const [n, stack] of stacks.entries()) await stack.preview({ ...after[n] });
      const failed = stacks.map((stack, n) => messageOf(stack.up({ ...after[n] })));
      const messages = (await Promise.all(failed)).join("\n");
      assert.match(messages, /waits for a hostport of this edge, too. Make two updates/);
      assert.deepEqual(
        hostportsOf(stacks),
        hostports.map((hostport) => [hostport]),
      );
      beginRun();
      await stacks[0]?.up({ hostports: [] });
      for (const [n, stack] of [...stacks.entries()].reverse()) await stack.up({ ...after[n] });
      assert.deepEqual(
        hostportsOf(stacks),
        after.map((one) => one.hostports),
      );
    });

  it("C38: a hostport that is given up too late is refused after 20 s and six lists", async () => {
    skipPauses();
    const holder = await edge(h1, h2);
    await holder.preview({ hostports: [h1] });
    emulator.requests.length = 0;
    const start = Date.now();
    const message = await messageOf(take(h2));
    const seconds = (Date.now() - start) / 1000;
    assert.match(message, /has not done so in time.*--parallel 1/);
    assert.ok(message.includes(holder.id), message);
    assert.equal(lists(), 1 + 6, "the mark, and the holders");
    assert.ok(seconds >= 20 && seconds < 21, `${seconds} s`);
    assert.deepEqual(hostportsOf([holder]), [[h1, h2]]);
  });

  it("C38: a hostport is refused when the update of its holder fails", async () => {
    const holder = await edge(h1, h2);
    const failed = messageOf(take(h2));
    await refused();
    emulator.faults.add({ method: "PATCH", answer: { status: 403 } });
    await failureOf(holder.up({ hostports: [h1] }), ServiceError);
    assert.match(await failed, /its own update failed: see its error/);
  });

  it("C38 C39: a hostport moves when its holder is young, and is found late by the holder's update", async () => {
    setEnv({ TLSEDGE_TIMEOUT_SECONDS: "12" });
    const holder = await edge(h1, h2);
    const taken = take(h2);
    await refused();
    emulator.faults.add({ method: "PATCH", answer: { status: 404 } });
    await holder.up({ hostports: [h1] });
    await taken;
    assert.deepEqual(hostportsOf([holder]), [[h1]]);
  });

  it("C30 C38: a refusal for another reason is not tried again, nor one whose holder can't be read", async () => {
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(take(h1), ServiceError);
    assert.deepEqual(writes(), ["POST /edges/tls"]);
    await edge(h1);
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    assert.equal((await failureOf(take(h1), ServiceError)).status, 400);
  });

  it("C38: a hostport that its holder keeps is refused at once", async () => {
    const holder = await edge(h1, h2);
    await holder.preview({ hostports: [h2, h1] });
    setEnv({ TLSEDGE_TIMEOUT_SECONDS: "86400" });
    emulator.tlsEdges.patch(holder.id, { description: "of another stack" });
    const message = await messageOf(take(h2));
    assert.ok(message.includes(holder.id) && message.includes(h2), message);
    assert.match(message, /If another stack has that edge.*`deleteBeforeReplace: true`/);
    assert.ok(!message.includes("of another stack"), message);
    assert.deepEqual(writes(), ["POST /edges/tls"]);
  });

  /** Holders that give up nothing, and what the refusal says. */
  const holders: [string, (holder: Stack) => Promise<unknown>, RegExp][] = [
    // What is deleted goes last: nothing in the same update can wait for that.
    ["has no diff", async () => {}, /make two updates.*deleteBeforeReplace/],
    ["was diffed by a refresh alone", (one) => refreshDiff(one, [h1]), /make two updates/],
    ["will have unknown ones", (one) => one.preview({ hostports: [h1, unknown] }), /two updates/],
    ["will have what is not known", (one) => one.preview({ hostports: unknown }), /two updates/],
    [
      "is equal, as a renamed resource is",
      ({ id }) => tlsEdges.update(stranger, id, { hostports: [h2] }),
      /`aliases`.*delete it/,
    ],
  ];
  for (const [what, prepare, text] of holders) {
    it(`C38: a hostport whose holder ${what} is refused after 5 s, with the holder's id and time`, async () => {
      skipPauses();
      const holder = await edge(h1, h2);
      await prepare(holder);
      const start = Date.now();
      const message = await messageOf(take(h2));
      const seconds = (Date.now() - start) / 1000;
      assert.ok(seconds >= 5 && seconds < 6, `${seconds} s`);
      const { created_at, hostports } = emulator.tlsEdges.get(holder.id) ?? {};
      const time = new Date(String(created_at)).toISOString();
      assert.ok(message.includes(`${holder.id} (created ${time})`), message);
      assert.match(message, text);
      assert.ok(hostports?.includes(h2));
    });
  }
});
