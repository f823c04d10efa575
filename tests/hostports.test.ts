import assert from "node:assert/strict";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import type { Fault } from "../emulator/server";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { create } from "../provider/lifecycle/create";
import { remove } from "../provider/lifecycle/remove";
import { update } from "../provider/lifecycle/update";
import { Run } from "../provider/run/run";
import {
  clientOf,
  engineCall,
  failureOf,
  messageOf,
  skipPauses,
  until,
  useEmulator,
} from "./support";

const [h1 = "", h2 = "", h3 = "", h4 = ""] = [1, 2, 3, 4].map((n) => `app${n}.example.com:443`);

describe("a hostport that another edge serves", () => {
  const emulator = useEmulator();
  let run: Run;
  let stranger: Client;
  const statuses: string[] = [];
  beforeEach(() => {
    run = new Run(undefined, (severity, text = "over") => {
      if (severity === "status") statuses.push(text);
    });
    stranger = clientOf(emulator);
  });

  /** An edge of an earlier update: this run knows nothing of it but its state. */
  async function edge(...hostports: string[]) {
    const wire = await tlsEdges.create(stranger, { hostports });
    emulator.requests.length = 0;
    return { id: wire.id, state: { ...tlsEdge.toState(wire), accountTag: stranger.accountTag } };
  }
  type Edge = Awaited<ReturnType<typeof edge>>;
  const take = (...hostports: string[]) => create(engineCall(run, tlsEdge), { hostports });
  const change = (one: Edge, ...hostports: string[]) =>
    update(engineCall(run, tlsEdge), one.id, one.state, { hostports });
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
        else
          await (hostports
            ? change(one, ...hostports)
            : remove(engineCall(run, tlsEdge), one.id, one.state));
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
      const [holder, taker] = [await edge(h1, h2), await edge()];
      emulator.faults.add({ method: "GET", answer: "held", work: isRead });
      const done = change(taker, h2);
      await until(() => emulator.faults.list()[0]?.hits === 1);
      await tlsEdges.update(stranger, holder.id, { hostports: [h1] });
      emulator.faults.clear();
      await done;
      assert.deepEqual(served(), [[h1], [h2]]);
    });
  }

  it("C34 C38: a hostport that nobody gives up is refused after 20 s, with the holder's id and time; the row says the wait", async () => {
    skipPauses();
    const { id } = await edge(h1, h2);
    emulator.tlsEdges.patch(id, { description: "of another stack" });
    const taker = await edge(h3);
    for (const work of [() => take(h2), () => change(taker, h3, h2)]) {
      emulator.requests.length = 0;
      statuses.length = 0;
      const start = performance.now();
      const message = await messageOf(work());
      const seconds = (performance.now() - start) / 1000;
      assert.ok(seconds >= 20 && seconds < 21, `${seconds} s`);
      const isCreate = writes()[0]?.method === "POST";
      assert.equal(writes().length, 8);
      assert.ok(emulator.requests.length <= 10, "the holder is looked for once");
      const time = new Date(String(emulator.tlsEdges.get(id)?.created_at)).toISOString();
      const ways = ["If `pulumi stack --show-ids` names it: ", "`aliases`", "two updates"];
      ways.push("in the stack that has", `\`import\` to ${id}`);
      for (const text of [`${id} (created ${time}) serves it`, ...ways])
        assert.ok(message.includes(text), message);
      assert.equal(message.includes("`deleteBeforeReplace` without `retainOnDelete`"), isCreate);
      assert.ok(!message.includes("of another stack"), message);
      assert.deepEqual(served(), [[h1, h2], [h3]]);
      const shown = [1, 2, 4, 6, 6].flatMap((n) => [
        `waits ${n} s for a hostport of ${id}, to send again`,
        "over",
      ]);
      assert.deepEqual(statuses, shown);
    }
  });

  it("C38: of a holder that this stack has, no other stack and no adoption is named", async () => {
    skipPauses();
    const { id } = await edge(h2);
    run.ownership.add(run.account().object(tlsEdge, id).key);
    const message = await messageOf(take(h2));
    assert.ok(message.includes("This stack has it: "), message);
    for (const text of ["`import`", "--show-ids"]) assert.ok(!message.includes(text), message);
  });

  /** Faults, and how often the write is sent until it fails as it is. */
  const others: [what: string, hostports: string[], fault: Fault, writes: number][] = [
    // The holder may just have gone.
    ["for another reason", [h2], { method: "POST", answer: { status: 400 }, times: 2 }, 2],
    ["without hostports", [], { method: "POST", answer: { status: 400 } }, 1],
    ["with no list", [h1], { method: "GET", times: 2, answer: { status: 403 } }, 1],
  ];
  for (const [what, hostports, fault, count] of others) {
    it(`C38: a refusal ${what} is told as it is`, async () => {
      await edge(h1);
      emulator.faults.add(fault);
      const { status, message } = await failureOf(take(...hostports), ServiceError);
      assert.deepEqual([status, message.includes("serves it")], [400, false]);
      assert.equal(writes().length, count);
    });
  }
});
