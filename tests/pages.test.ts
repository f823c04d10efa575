import assert from "node:assert/strict";
import { mock } from "node:test";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { tlsEdges } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";
import type { Kind } from "../provider/kinds/kind";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { Objects } from "../provider/run/objects";
import { clientOf, failureOf, fullEdge, holdClocks, useEmulator } from "./support";

describe("reads by the page", () => {
  const emulator = useEmulator();
  let client: Client;
  let edges: Objects;

  /** A run begins. */
  const renew = () => {
    client = clientOf(emulator, { requestsPerMinute: 0, maxRetries: 0 });
    edges = new Objects(client, tlsEdge);
  };
  beforeEach(renew);

  const read = (id = "") => edges.get(client.operation(), id);
  /** The requests since the last time: for a `page`, or for `one` object. */
  const requests = () =>
    emulator.requests.splice(0).map(({ path }) => (path.includes("?") ? "page" : "one"));
  const count = (kind: string, of: string[]) => of.filter((one) => one === kind).length;
  /** The ids of so many edges of the account, the oldest first. */
  const fill = (number: number) =>
    Array.from({ length: number }, (_, n) => {
      const times = { uri: "", created_at: new Date().toISOString() };
      return emulator.tlsEdges.set({ id: `edgtls_${n}`, ...times }).id;
    });
  /** As the engine does: so many at a time, in this order. */
  async function readAll(ids: string[], atATime = 8) {
    const queue = [...ids];
    const workers = Array.from({ length: atATime }, async () => {
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

  it("C30: a refresh of a whole account reads each page once, and again after a write", async () => {
    const ids = fill(450);
    await readAll(ids.toReversed());
    let all = requests();
    assert.deepEqual([count("page", all), count("one", all) <= 2], [5, true]);
    await write(ids[0]);
    requests();
    await readAll(ids);
    all = requests();
    // The oldest are on the last page: until it is read, some are read by themselves.
    assert.deepEqual([count("page", all), count("one", all) <= 10], [5, true]);
    renew();
    await readAll(ids, 1);
    assert.ok(requests().length <= 16, "one after another, too");
  });

  it("C30: few reads in a large account cost at most half more than by themselves", async () => {
    const ids = fill(700);
    for (const wanted of [1, 2, 3, 5, 10]) {
      renew();
      await readAll(ids.slice(0, wanted));
      const all = requests();
      assert.ok(all.length <= 1.5 * wanted, `${wanted}: ${all.join()}`);
    }
  });

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
      const objects = new Objects(client, kind);
      const ids: string[] = [];
      for (const inputs of made()) {
        const body = kind.toBody({ ...(await inputs) });
        ids.push((await kind.endpoints.create(client, body)).id);
      }
      // The first is read by itself; after that there are pages.
      await objects.get(client.operation(), ids[0] as string);
      requests();
      const other = clientOf(emulator, { requestsPerMinute: 0 });
      for (const id of ids) {
        const paged = kind.toState(await objects.get(client.operation(), id), {});
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

  it("C30: a run of minutes reads each page once, whatever the date is", async () => {
    const ids = fill(250).reverse();
    holdClocks();
    await readAll(ids);
    assert.deepEqual(requests().sort(), ["one", "page", "page", "page"]);
    mock.timers.tick(599_000);
    await readAll(ids);
    assert.deepEqual(requests(), []);
    emulator.tlsEdges.patch(ids[3] as string, { description: "drifted" });
    mock.timers.tick(1000);
    assert.equal((await read(ids[3])).description, "drifted");
    mock.reset();
    mock.timers.enable({ apis: ["Date"], now: Date.now() });
    renew();
    requests();
    for (const id of ids.slice(0, 3)) {
      await read(id);
      mock.timers.tick(3_600_000);
    }
    assert.deepEqual(requests(), ["one", "page"]);
  });

  it("C30: a page that can't be used is no reason to fail, and is not read again", async () => {
    const ids = fill(20);
    const answers = [
      { fields: { tls_edges: 7 } },
      ...[403, 500, 504].map((status) => ({ status })),
    ];
    for (const answer of answers) {
      emulator.faults.clear();
      emulator.faults.add({ method: "GET", path: "/edges/tls", answer, times: 9 });
      renew();
      await readAll(ids);
      assert.equal(count("page", requests()), 1);
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
