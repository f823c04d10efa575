import assert from "node:assert/strict";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import { clientOf, failureOf, messageOf, Stack, skipPauses, until, useEmulator } from "./support";

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
  /** Once a write was refused. */
  const refused = () => until(() => emulator.requests.some(({ status }) => status === 400));
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
  /** What edges serve before an update and after it; nothing: the edge is new, or deleted. */
  const moves: [string, before: string[][], after: (string[] | undefined)[]][] = [
    ["from an update to a new edge", [[h1, h2]], [[h1], [h2]]],
    ["from several edges to one", [[h1, h4], [h2], [h3]], [[h4], [], [h1, h2, h3]]],
    ["along a chain of updates", [[h1], [h2], [h3]], [[h2], [h3], []]],
    ["from an edge that is deleted, as in a replacement", [[h1]], [undefined, [h1]]],
  ];
  for (const [what, before, after] of moves) {
    it(`C38: a hostport moves ${what}, by the holder's own write alone`, async () => {
      const stacks: Stack[] = [];
      for (const hostports of before) stacks.push(await edge(...hostports));
      while (stacks.length < after.length) stacks.push(new Stack(tlsEdge));
      const change = async (n: number) => {
        const hostports = after[n];
        await (hostports ? stacks[n]?.up({ hostports }) : stacks[n]?.leave());
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
    });
  }

  it("C38: a hostport moves when another process gives it up, before the list of edges is read and after it", async () => {
    for (const isRead of [false, true]) {
      const holder = await edge(h1, h2);
      // The baseline of the create, and then the list of who has it.
      emulator.faults.add({ method: "GET", skip: 1, answer: "held", work: isRead });
      const taken = new Stack(tlsEdge);
      const done = taken.up({ hostports: [h2] });
      await faultMet();
      await tlsEdges.update(stranger, holder.id, { hostports: [h1] });
      emulator.faults.clear();
      await done;
      assert.deepEqual(hostportsOf([holder, taken]), [[h1], [h2]]);
      for (const one of [holder, taken]) await one.destroy();
      beginRun();
    }
  });

  for (const hostports of [
    [h1, h2],
    [h1, h2, h3],
  ])
    it(`C38: a hostport that goes round ${hostports.length} edges fails the plan, and moves in two updates`, async () => {
      const stacks: Stack[] = [];
      for (const hostport of hostports) stacks.push(await edge(hostport));
      const after = [...hostports.slice(1), h1].map((hostport) => ({ hostports: [hostport] }));
      const last = stacks.length - 1;
      for (const [n, stack] of stacks.slice(0, last).entries())
        await stack.preview({ ...after[n] });
      const message = await messageOf(
        stacks[last]?.preview({ ...after[last], __secrets: ["hostports"] }) as Promise<unknown>,
      );
      assert.match(message, /exchange hostports.*Make two updates/);
      const taken = [...hostports.slice(1), "[secret]"];
      for (const [n, { id }] of stacks.entries())
        assert.ok(message.includes(`${id} takes ${taken[n]}`), message);
      beginRun();
      await stacks[0]?.up({ hostports: [] });
      for (const [n, stack] of [...stacks.entries()].reverse()) await stack.up({ ...after[n] });
      assert.deepEqual(
        hostportsOf(stacks),
        after.map((one) => one.hostports),
      );
    });

  it("C38: a plan refuses no exchange with an edge that is replaced, whose diff is that of a refresh, or in a chain", async () => {
    const [one, two] = [await edge(h1), await edge(h2)];
    await one.preview({ hostports: [h2] });
    await two.diff({ hostports: [h1] });
    beginRun();
    const removal = { onModuleRemoval: "replace", hostports: [h2] };
    Object.assign(one.state, { backend: { enabled: true, backendId: "bkdtg_1" } });
    assert.equal((await one.preview(removal)).verdict, "replace");
    await two.preview({ hostports: [h1] });
    beginRun();
    await two.preview({ hostports: [h2, h3] });
    await one.preview({ onModuleRemoval: "disable", hostports: [h2] });
  });

  it("C38: a hostport that nobody gives up is refused after 20 s, with the holder's id and time", async () => {
    skipPauses();
    const holder = await edge(h1, h2);
    emulator.tlsEdges.patch(holder.id, { description: "of another stack" });
    for (const taker of [new Stack(tlsEdge), await edge(h3)]) {
      emulator.requests.length = 0;
      const start = performance.now();
      const message = await messageOf(taker.up({ hostports: [h2] }));
      const seconds = (performance.now() - start) / 1000;
      assert.ok(seconds >= 20 && seconds < 21, `${seconds} s`);
      assert.equal(writes().length, 8);
      const { created_at, hostports } = emulator.tlsEdges.get(holder.id) ?? {};
      const time = new Date(String(created_at)).toISOString();
      assert.ok(message.includes(`${holder.id} (created ${time}) serves it`), message);
      assert.match(message, /`aliases`.*no hostports.*another stack.*`import` to edgtls_/);
      assert.equal(message.includes("`deleteBeforeReplace`"), taker.id === "");
      assert.ok(!message.includes("of another stack"), message);
      assert.ok(hostports?.includes(h2));
    }
  });

  it("C38 C39: a hostport moves when its holder is young, and is found late by the holder's update", async () => {
    const holder = await edge(h1, h2);
    const taken = take(h2);
    await refused();
    emulator.faults.add({ method: "PATCH", answer: { status: 404 } });
    await holder.up({ hostports: [h1] });
    await taken;
    assert.deepEqual(hostportsOf([holder]), [[h1]]);
  });

  it("C38: a refusal for another reason is told as it is, and that of a hostport whose holder can't be read", async () => {
    emulator.faults.add({ method: "POST", answer: { status: 400 }, times: 2 });
    assert.doesNotMatch((await failureOf(take(h1), ServiceError)).message, /serves it/);
    assert.equal(writes().length, 2);
    emulator.faults.clear();
    emulator.requests.length = 0;
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(new Stack(tlsEdge).up({ description: "without hostports" }), ServiceError);
    assert.equal(writes().length, 1);
    await edge(h1);
    emulator.faults.add({ method: "GET", answer: { status: 403 } });
    assert.equal((await failureOf(take(h1), ServiceError)).status, 400);
  });

  it("C38: while a write waits, the list is read once for the holder", async () => {
    skipPauses();
    await edge(h1);
    const failed = failureOf(take(h1), Error);
    await failed;
    const lists = emulator.requests.filter(({ path }) => path.includes("?"));
    assert.equal(lists.length, 2, "the baseline, and the holder");
  });
});
