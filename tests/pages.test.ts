import assert from "node:assert/strict";
import { mock } from "node:test";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";
import type { Kind } from "../provider/kinds/kind";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { List } from "../provider/run/list";
import { clientOf, failureOf, fullEdge, holdClocks, useEmulator } from "./support";

describe("reads by the page", () => {
  const emulator = useEmulator();
  let client: Client;
  let edges: List;

  /** A run begins. */
  const renew = () => {
    client = clientOf(emulator, { requestsPerMinute: 0, maxRetries: 0 });
    edges = new List(client, tlsEdge);
  };
  beforeEach(renew);

  const read = (id = "") => edges.get(client.operation(), id);
  /** The requests since the last time: for a `page`, or for `one` object. */
  const requests = () =>
    emulator.requests.splice(0).map(({ path }) => (path.includes("?") ? "page" : "one"));
  /** The ids of so many edges of the account, the oldest first. */
  const fill = (number: number) =>
    Array.from({ length: number }, (_, n) => {
      const times = { uri: "", created_at: new Date().toISOString() };
      return emulator.tlsEdges.set({ id: `edgtls_${n}`, ...times }).id;
    });
  /** As the engine does: eight at a time, in this order. */
  async function readAll(ids: string[]) {
    const queue = [...ids];
    const workers = Array.from({ length: 8 }, async () => {
      for (let id = queue.shift(); id; id = queue.shift()) await read(id);
    });
    await Promise.all(workers);
  }
  const write = (id = "") => tlsEdges.update(client, id, { description: "new" });

  it("C30: one read is one request, for the object itself, and gone is only what its 404 says", async () => {
    const ids = fill(3);
    assert.equal((await read(ids[1])).id, ids[1]);
    assert.deepEqual(requests(), ["one"]);
    await readAll(ids);
    requests();
    assert.equal((await failureOf(read("edgtls_none"), ServiceError)).status, 404);
    assert.deepEqual(requests(), ["one"]);
  });

  /** So many objects are read of an account: the oldest, which are on its last pages. */
  const counts: [read: number, of: number, mostRequests: number][] = [
    [2, 700, 3],
    [10, 700, 15],
    [250, 250, 8],
    [10, 2500, 30],
    [30, 50_000, 60],
  ];
  for (const [number, of, most] of counts) {
    it(`C30: reads of ${number} of ${of} objects are at most ${most} requests`, async () => {
      await readAll(fill(of).slice(0, number));
      const all = requests();
      assert.ok(all.length <= most, all.join());
    });
  }

  const off = { certificateAuthorityIds: ["ca_1"], enabled: false };
  const certificate = async (keyType: "rsa" | "ecdsa" | "ed25519"): Promise<object> => ({
    ...(await makeCertificate({ commonName: "app.example.com", keyType })),
    ...{ description: "of the team", metadata: '{"team":"web"}' },
  });
  for (const [kind, made] of [
    [tlsEdge, () => [{}, fullEdge, { ...fullEdge, hostports: [], mutualTls: off }]],
    [tlsCertificate, () => [certificate("rsa"), certificate("ecdsa"), certificate("ed25519")]],
  ] as [Kind, () => object[]][]) {
    it(`C30: a page gives to the letter what a ${kind.title} itself would`, async () => {
      const list = new List(client, kind);
      const ids: string[] = [];
      for (const inputs of made()) {
        const body = kind.toBody({ ...(await inputs) });
        ids.push((await kind.endpoints.create(client, body)).id);
      }
      // The first is read by itself; after that there are pages.
      await list.get(client.operation(), ids[0] as string);
      requests();
      const other = clientOf(emulator, { requestsPerMinute: 0 });
      for (const id of ids) {
        const paged = kind.toState(await list.get(client.operation(), id), {});
        const single = kind.toState(await kind.endpoints.get(other, id), {});
        assert.equal(JSON.stringify(paged), JSON.stringify(single));
      }
      assert.deepEqual(requests(), ["page", "one", "one", "one"]);
    });
  }

  it("C30: a write of this process makes a page worthless, one on the way too", async () => {
    const ids = fill(20);
    await readAll(ids);
    await write(ids[0]);
    requests();
    assert.equal((await read(ids[0])).description, "new");
    assert.deepEqual(requests(), ["one"]);
    await Promise.all([read(ids[1]), write(ids[1])]);
    assert.deepEqual(requests().sort(), ["one", "one", "page"]);
  });

  it("C30: a run reads each page once, whatever the time is", async () => {
    const ids = fill(250).reverse();
    holdClocks();
    for (const _ of [1, 2]) {
      await readAll(ids);
      mock.timers.tick(86_400_000);
    }
    assert.deepEqual(requests().sort(), ["one", "page", "page", "page"]);
  });

  it("C30: creates that look for their objects share the newest page while it is young enough", async () => {
    holdClocks();
    const pages = [edges.newestPage(500), edges.newestPage(500)];
    mock.timers.tick(500);
    await Promise.all([...pages, edges.newestPage(500), edges.newestPage()]);
    mock.timers.tick(1);
    await edges.newestPage(500);
    assert.deepEqual(requests(), ["page", "page"]);
  });

  it("C30: those who need the whole list read it once together, or share its failure", async () => {
    fill(150);
    const together = (count: number) => {
      const since = performance.now();
      return Promise.allSettled(Array.from({ length: count }, () => edges.all(since)));
    };
    const read = (await together(3)).map((one) => one.status === "fulfilled" && one.value.length);
    assert.deepEqual(read, [150, 150, 150]);
    assert.deepEqual(requests(), ["page", "page"]);
    emulator.faults.add({ answer: { status: 400 } });
    for (const { status } of await together(2)) assert.equal(status, "rejected");
    assert.deepEqual(requests(), ["page"]);
  });

  it("C30: a page that can't be used is no reason to fail, and is not read again", async () => {
    const ids = fill(20);
    for (const answer of [{ fields: { tls_edges: 7 } }, { status: 500 }]) {
      emulator.faults.clear();
      emulator.faults.add({ method: "GET", path: "/edges/tls", answer, times: 9 });
      renew();
      await readAll(ids);
      assert.equal(requests().filter((one) => one === "page").length, 1);
    }
  });

  it("C30: a page that the service does not answer fails all reads that wait for it", async () => {
    const ids = fill(20);
    emulator.faults.add({ method: "GET", path: "/edges/tls", times: 9, answer: "reset" });
    await read(ids[0]);
    const [a, b] = await Promise.all([1, 2].map((n) => failureOf(read(ids[n]), ConnectionError)));
    assert.equal(a, b);
    assert.equal(a?.code, "ECONNRESET");
  });
});
