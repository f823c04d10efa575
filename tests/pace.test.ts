import assert from "node:assert/strict";
import { mock } from "node:test";
import { Pace } from "../client/pace";
import { holdClocks, ticking } from "./support";

/**
 * A service that refuses requests for their rate gets few more than it takes, and all are done soon after they can be.
 * Here time is virtual: each answer takes 100 ms.
 */
describe("the pace of requests", () => {
  afterEach(() => mock.reset());

  /** When a service takes a request of now, in seconds: it refuses the request where that is later. */
  type Limit = (now: number) => number;

  /** Takes so many requests in any 60 s, of those that it takes, or of all. */
  function inMinute(most: number, countsRefused = false, used = 0): Limit {
    const starts: number[] = Array(used).fill(0);
    return (now) => {
      while (Number(starts[0]) <= now - 60) starts.shift();
      const freeAt = starts.length < most ? now : Number(starts[0]) + 60;
      if (freeAt === now || countsRefused) starts.push(now);
      return freeAt;
    };
  }

  /** Takes as many in a minute, one by one, and at first `burst` at once. */
  function bucket(rate: number, burst: number): Limit {
    let [tokens, last] = [burst, 0];
    return (now) => {
      tokens = Math.min(burst, tokens + ((now - last) * rate) / 60);
      last = now;
      const freeAt = tokens < 1 ? now + ((1 - tokens) * 60) / rate : now;
      if (freeAt === now) tokens -= 1;
      return freeAt;
    };
  }

  interface Game {
    limit: Limit;
    /** Whether the service says how long to wait. */
    says: boolean;
    programs?: number;
    /** How many requests a minute each program sends at most. */
    own?: number;
    /** How many requests there are. */
    count?: number;
  }

  /** Sends requests, eight at a time; gives how long it took, and how many were refused. */
  async function play({ limit, says, programs = 1, own = 120, count = 500 }: Game) {
    holdClocks(["setTimeout"], 0);
    let refused = 0;
    /** Sends a request once; gives whether it was taken. */
    const send = async (pace: Pace) => {
      const startedAt = Number(await pace.turn());
      const now = Date.now() / 1000;
      const seconds = Math.ceil(limit(now) - now);
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (seconds <= 0) pace.took(startedAt);
      else pace.refused(startedAt, says ? seconds * 1000 : undefined);
      refused += Number(seconds > 0);
      assert.ok(pace.refusedMs < 120_000, "the deadline would end it");
      return seconds <= 0;
    };
    const program = () => {
      const pace = new Pace(own);
      let left = count / programs;
      const work = async () => {
        while (left-- > 0) while (!(await send(pace)));
      };
      return Promise.all(Array.from({ length: 8 }, work));
    };
    await ticking(Promise.all(Array.from({ length: programs }, program)), 50);
    return { refused, seconds: Date.now() / 1000 };
  }

  // At best in so many seconds: what the service takes at once, and then its rate.
  const services: [what: string, seconds: number, game: () => Omit<Game, "says">][] = [
    ["120 in any minute, two programs", 240, () => ({ limit: inMinute(120), programs: 2 })],
    ["120 in any minute, no limit of our own", 240, () => ({ limit: inMinute(120), own: 0 })],
    [
      "120 in any minute with refused ones",
      240,
      () => ({ limit: inMinute(120, true), programs: 2 }),
    ],
    ["two a second", 250, () => ({ limit: bucket(120, 1) })],
    ["two a second and ten at first", 245, () => ({ limit: bucket(120, 10), own: 0 })],
    ["one a second and twenty at first", 480, () => ({ limit: bucket(60, 20) })],
  ];
  for (const [what, ideal, game] of services) {
    for (const says of [true, false]) {
      it(`C34: of ${what}, ${says ? "with" : "without"} Retry-After: few are refused, and it is soon over`, async () => {
        const { seconds, refused } = await play({ ...game(), says });
        assert.ok(seconds <= 1.4 * ideal, `${seconds} s, at best ${ideal}`);
        assert.ok(refused <= 0.4 * 500, `${refused} refused`);
      });
    }
  }

  it("C34: a minute that others have used up is waited for, and no request fails", async () => {
    const { seconds } = await play({ limit: inMinute(120, false, 120), says: false, count: 50 });
    assert.ok(seconds < 85, `${seconds}`);
  });

  it("C34: a hold that is longer than the deadline ends each turn at once, and a later request is sent", async () => {
    holdClocks(["setTimeout"], 0);
    const pace = new Pace(0);
    const startedAt = Number(await pace.turn(120_000));
    const waiting = pace.turn(120_000);
    pace.refused(startedAt, 3_600_000);
    assert.equal(await ticking(pace.turn(120_000), 50), undefined);
    await waiting;
    mock.timers.tick(3_600_000);
    assert.ok(Number(await ticking(pace.turn(120_000), 50)) > 3_600_000);
  });

  it("C34: an answer to a request that was under way at a refusal ends no hold, and its row says why it waits", async () => {
    holdClocks(["setTimeout"], 0);
    const pace = new Pace(120);
    const [first, second] = [Number(await pace.turn()), Number(await pace.turn())];
    mock.timers.tick(100);
    pace.refused(first);
    pace.took(second);
    const shown: unknown[] = [];
    await ticking(
      pace.turn(120_000, (...all) => shown.push(all)),
      50,
    );
    assert.deepEqual(shown, [
      [1, true],
      [undefined, false],
    ]);
    assert.ok(pace.refusedMs > 0);
  });
});
