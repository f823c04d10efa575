import assert from "node:assert/strict";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { create } from "../provider/operations/create";
import { planHostports } from "../provider/operations/hostports";
import { remove, update } from "../provider/operations/resource";
import { Run } from "../provider/run/run";
import { clientOf, failureOf, messageOf, skipPauses, until, useEmulator } from "./support";

const [h1 = "", h2 = "", h3 = "", h4 = ""] = [1, 2, 3, 4].map((n) => `app${n}.example.com:443`);

describe("a hostport that another edge serves", () => {
  const emulator = useEmulator();
  let run: Run;
  let stranger: Client;
  beforeEach(() => {
    run = new Run();
    stranger = clientOf(emulator);
  });

  /** An edge of an earlier update: this run knows nothing of it but its state. */
  async function edge(...hostports: string[]) {
    const wire = await tlsEdges.create(stranger, { hostports });
    emulator.requests.length = 0;
    return { id: wire.id, state: { ...tlsEdge.toState(wire), accountTag: stranger.accountTag } };
  }
  type Edge = Awaited<ReturnType<typeof edge>>;
  const object = ({ id }: Edge) => run.account().operation().object(tlsEdge, id);
  const take = (...hostports: string[]) =>
    create(tlsEdge, run.account().operation(), { hostports });
  const change = (one: Edge, ...hostports: string[]) =>
    update(object(one), one.state, { hostports });
  /** What the edges serve, the oldest first. */
  const served = () =>
    emulator.tlsEdges
      .list()
      .reverse()
      .map(({ hostports }) => hostports);
  /** Once a write was refused. */
  const refused = () => until(() => emulator.requests.some(({ status }) => status === 400));
  const writes = () => emulator.requests.filter(({ method }) => method !== "GET");

  /** What edges serve before an update and after it; nothing: the edge is new, or deleted. */
  const moves: [string, before: string[][], after: (string[] | undefined)[]][] = [
    ["from an update to a new edge", [[h1, h2]], [[h1], [h2]]],
    ["from several edges to one", [[h1, h4], [h2], [h3]], [[h4], [], [h1, h2, h3]]],
    ["along a chain of updates", [[h1], [h2], [h3]], [[h2], [h3], []]],
    ["from an edge that is deleted, as in a replacement", [[h1]], [undefined, [h1]]],
  ];
  for (const [what, before, after] of moves) {
    it(`C38: a hostport moves ${what}, by the holder's own write alone`, async () => {
      const edges: Edge[] = [];
      for (const hostports of before) edges.push(await edge(...hostports));
      const write = async (n: number) => {
        const [one, hostports] = [edges[n], after[n]];
        if (!one) await take(...(hostports ?? []));
        else await (hostports ? change(one, ...hostports) : remove(object(one), one.state, false));
      };
      const all = [...after.keys()];
      const takes = (n: number) => after[n]?.some((one) => !before[n]?.includes(one)) === true;
      const taken = all.filter(takes).map(write);
      await refused();
      await Promise.all(all.filter((n) => !takes(n)).map(write));
      await Promise.all(taken);
      assert.deepEqual(
        served(),
        after.filter((hostports) => hostports !== undefined),
      );
      assert.equal(writes().filter(({ status }) => status < 300).length, after.length);
    });
  }

  for (const isRead of [false, true]) {
    it(`C38: a hostport moves when another process gives it up ${isRead ? "after" : "before"} the list of edges is read`, async () => {
      const holder = await edge(h1, h2);
      // The baseline of the create, and then the list of who has it.
      emulator.faults.add({ method: "GET", skip: 1, answer: "held", work: isRead });
      const done = take(h2);
      await until(() => emulator.faults.list()[0]?.hits === 1);
      await tlsEdges.update(stranger, holder.id, { hostports: [h1] });
      emulator.faults.clear();
      await done;
      assert.deepEqual(served(), [[h1], [h2]]);
    });
  }

  const plan = (one: Edge, hostports: string[], isReplaced = false) =>
    planHostports(object(one), one.state, { hostports }, isReplaced);

  for (const hostports of [
    [h1, h2],
    [h1, h2, h3],
  ])
    it(`C38: a plan is refused that moves hostports round ${hostports.length} edges, and names each but a secret`, async () => {
      run.secrets.add(h1.toUpperCase());
      const edges: Edge[] = [];
      for (const hostport of hostports) edges.push(await edge(hostport));
      const last = edges.pop() as Edge;
      for (const [n, one] of edges.entries()) plan(one, [hostports[n + 1] as string]);
      assert.throws(
        () => plan(last, [h1]),
        ({ message }: Error) => {
          assert.match(message, /exchange hostports.*Make two updates/);
          const taken = [...hostports.slice(1), "[secret]"];
          for (const [n, { id }] of [...edges, last].entries())
            assert.ok(message.includes(`${id} takes ${taken[n]}`), message);
          return true;
        },
      );
    });

  it("C38: a plan is not refused for an edge that is replaced, in a chain, or by a later diff of an edge", async () => {
    const [one, two] = [await edge(h1), await edge(h2)];
    plan(one, [h2], true);
    plan(two, [h1]);
    run = new Run();
    plan(two, [h2, h3]);
    plan(one, [h2]);
    plan(one, [h1]);
    plan(two, [h1]);
  });

  it("C38: a hostport that nobody gives up is refused after 20 s, with the holder's id and time", async () => {
    skipPauses();
    const { id } = await edge(h1, h2);
    emulator.tlsEdges.patch(id, { description: "of another stack" });
    const taker = await edge(h3);
    for (const work of [() => take(h2), () => change(taker, h3, h2)]) {
      emulator.requests.length = 0;
      const start = performance.now();
      const message = await messageOf(work());
      const seconds = (performance.now() - start) / 1000;
      assert.ok(seconds >= 20 && seconds < 21, `${seconds} s`);
      const isCreate = writes()[0]?.method === "POST";
      assert.equal(writes().length, 8);
      // The list for the holder, and before a create the baseline.
      assert.equal(emulator.requests.length - 8, isCreate ? 2 : 1);
      const time = new Date(String(emulator.tlsEdges.get(id)?.created_at)).toISOString();
      assert.ok(message.includes(`${id} (created ${time}) serves it`), message);
      assert.match(message, /`aliases`.*no hostports.*another stack.*`import` to edgtls_/);
      assert.equal(message.includes("`deleteBeforeReplace`"), isCreate);
      assert.ok(!message.includes("of another stack"), message);
      assert.deepEqual(served(), [[h1, h2], [h3]]);
    }
  });

  it("C38 C39: a hostport moves when its holder is young, and is found late by the holder's update", async () => {
    const holder = await edge(h1, h2);
    const taken = take(h2);
    await refused();
    emulator.faults.add({ method: "PATCH", answer: { status: 404 } });
    await change(holder, h1);
    await taken;
    assert.deepEqual(served(), [[h1], [h2]]);
  });

  it("C38: a refusal for another reason is told as it is", async () => {
    emulator.faults.add({ method: "POST", answer: { status: 400 }, times: 2 });
    assert.doesNotMatch((await failureOf(take(h1), ServiceError)).message, /serves it/);
    assert.equal(writes().length, 2, "once more, because its holder may just have gone");
    emulator.faults.clear();
    emulator.requests.length = 0;
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    await failureOf(take(), ServiceError);
    assert.equal(writes().length, 1, "it has no hostports");
  });

  it("C38: a refused hostport is told as it is where the list of edges can't be read", async () => {
    await edge(h1);
    emulator.faults.add({ method: "GET", times: 2, answer: { status: 403 } });
    assert.equal((await failureOf(take(h1), ServiceError)).status, 400);
  });
});
