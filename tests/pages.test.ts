import assert from "node:assert/strict";
import { mock } from "node:test";
import * as fc from "fast-check";
import type { Client } from "../client/client";
import { ConnectionError, ServiceError } from "../client/errors";
import { tlsCertificates } from "../client/tlsCertificate";
import { type TLSEdgeMutation, tlsEdges } from "../client/tlsEdge";
import {
  type CertificateOptions,
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import type { Kind } from "../provider/kind";
import { Objects } from "../provider/objects";
import { tlsCertificate } from "../provider/tlsCertificate";
import { tlsEdge } from "../provider/tlsEdge";
import { holds } from "./cases";
import { clientOf, failureOf, holdClocks, until } from "./support";

describe("reads by the page", () => {
  let emulator: Emulator;
  let client: Client;
  let edges: Objects;
  let ids: string[];

  before(async () => {
    emulator = await startEmulator();
  });
  beforeEach(() => {
    emulator.reset();
    renew();
    ids = [];
  });
  afterEach(() => mock.reset());
  after(() => emulator.close());

  /** A later run begins. */
  const renew = () => {
    client = newClient();
    edges = new Objects(client, tlsEdge);
  };
  const newClient = () => clientOf(emulator, { requestsPerMinute: 0, maxRetries: 0 });
  const read = (id: string) => edges.get(client.operation(), id);
  /** What was asked: `page` or `one`. */
  const asked = () =>
    emulator.requests.splice(0).map(({ path }) => (path.includes("?") ? "page" : "one"));
  const count = (kind: string, of: string[]) => of.filter((one) => one === kind).length;

  /** Edges of the account, by another process; the oldest first. */
  async function make(number: number, bodies: (n: number) => TLSEdgeMutation = () => ({})) {
    const stranger = newClient();
    for (let n = 0; n < number; n++) ids.push((await tlsEdges.create(stranger, bodies(n))).id);
    emulator.requests.length = 0;
  }

  /** As the engine does: so many at a time, in this order. */
  async function readAll(wanted: string[], atATime = 8) {
    const queue = [...wanted];
    const workers = Array.from({ length: atATime }, async () => {
      for (let id = queue.shift(); id; id = queue.shift()) await read(id);
    });
    await Promise.all(workers);
  }

  it("C30 one read is one request, for the thing itself", async () => {
    await make(3);
    assert.equal((await read(ids[1] as string)).id, ids[1]);
    assert.deepEqual(asked(), ["one"]);
  });

  for (const order of ["oldest", "newest"]) {
    it(`a refresh of a whole account, ${order} first, reads each page once`, async () => {
      await make(450);
      await readAll(order === "oldest" ? ids : ids.toReversed());
      const all = asked();
      assert.equal(count("page", all), 5);
      // The oldest are on the last page: until it is read, some are read by themselves.
      assert.ok(all.length <= 5 + (order === "oldest" ? 10 : 2), all.join());
    });
  }

  it("one after another they are answered from pages, too", async () => {
    await make(250);
    await readAll(ids, 1);
    assert.ok(asked().length <= 8);
  });

  it("few in a large account cost at most one and a half times what they would by themselves", async () => {
    await make(700);
    for (const wanted of [1, 2, 3, 5, 10]) {
      renew();
      await readAll(ids.slice(0, wanted));
      const all = asked();
      assert.ok(all.length <= 1.5 * wanted, `${wanted}: ${all.join()}`);
    }
  });

  describe("gives to the letter what the thing itself would", () => {
    const text = fc.option(fc.string({ unit: "grapheme", maxLength: 20 }), { nil: undefined });
    const enabled = fc.boolean();
    const body = fc.record(
      {
        description: text,
        metadata: text,
        backend: fc.record({ enabled, backend_id: fc.constantFrom("bkdtg_1", "bkdtg_2") }),
        ip_restriction: fc.record({ enabled, ip_policy_ids: fc.subarray(["ipp_1", "ipp_2"]) }),
        mutual_tls: fc.record({ enabled, certificate_authority_ids: fc.subarray(["ca_1"]) }),
        tls_termination: fc.record({ enabled, min_version: fc.constantFrom("1.2", "1.3") }),
      },
      { requiredKeys: [] },
    );

    /** What is stored of each, as a page and as an answer of its own give it. */
    async function compare(kind: Kind, wanted: string[]) {
      renew();
      // The first is read by itself; after that there are pages.
      const objects = new Objects(client, kind);
      await objects.get(client.operation(), wanted[0] as string);
      emulator.requests.length = 0;
      for (const id of wanted) {
        const paged = kind.toState(await objects.get(client.operation(), id), {});
        const single = kind.toState(await kind.endpoints.get(newClient(), id), {});
        assert.equal(JSON.stringify(paged), JSON.stringify(single));
      }
      const all = asked();
      assert.deepEqual([count("page", all), count("one", all)], [1, wanted.length]);
    }

    it("of an edge", () =>
      holds(fc.array(body, { minLength: 2, maxLength: 8 }), 15, async (bodies) => {
        emulator.reset();
        ids = [];
        await make(bodies.length, (n) => bodies[n] as TLSEdgeMutation);
        await compare(tlsEdge, ids);
      }));

    it("of a certificate", async () => {
      const keyTypes = ["rsa", "ecdsa", "ed25519"] as const;
      const [rsa, ecdsa, ed25519] = await Promise.all(
        keyTypes.map((keyType) =>
          makeCertificate({ commonName: `${keyType}.example.com`, keyType } as CertificateOptions),
        ),
      );
      const pool = { rsa, ecdsa, ed25519 } as Record<(typeof keyTypes)[number], MadeCertificate>;
      // A failure prints the case: it names the pair, so that no key is printed.
      const upload = fc.record(
        { pair: fc.constantFrom(...keyTypes), description: text, metadata: text },
        { requiredKeys: ["pair"] },
      );
      await holds(fc.array(upload, { minLength: 2, maxLength: 5 }), 8, async (uploads) => {
        emulator.reset();
        const stranger = newClient();
        const made: string[] = [];
        for (const { pair, ...texts } of uploads) {
          const { certificatePem: certificate_pem, privateKeyPem: private_key_pem } = pool[pair];
          const body = { ...texts, certificate_pem, private_key_pem };
          made.push((await tlsCertificates.create(stranger, body)).id);
        }
        await compare(tlsCertificate, made);
      });
    });
  });

  it("C31 gone is only what a 404 says", async () => {
    await make(3);
    await readAll(ids);
    asked();
    const error = await failureOf(read("edgtls_none"), ServiceError);
    assert.equal(error.status, 404);
    assert.deepEqual(asked(), ["one"]);
  });

  it("a write of this process makes what was read before worthless", async () => {
    await make(20);
    await readAll(ids);
    asked();
    await tlsEdges.update(client, ids[0] as string, { description: "new" });
    asked();
    assert.equal((await read(ids[0] as string)).description, "new");
    assert.deepEqual(asked(), ["one"]);
  });

  it("after a write all is read from new pages, rather than each thing by itself", async () => {
    await make(250);
    await readAll(ids);
    await tlsEdges.update(client, ids[0] as string, { description: "new" });
    emulator.requests.length = 0;
    await readAll(ids);
    assert.ok(asked().length <= 8);
  });

  it("a write while a page is on the way makes it worthless, too", async () => {
    await make(20);
    await read(ids[0] as string);
    asked();
    const reading = read(ids[1] as string);
    const writing = tlsEdges.update(client, ids[1] as string, { description: "new" });
    await Promise.all([reading, writing]);
    assert.deepEqual(asked().sort(), ["one", "one", "page"]);
  });

  it("what is old by no more than the date is not read again", async () => {
    await make(3);
    mock.timers.enable({ apis: ["Date"], now: Date.now() });
    for (const id of ids) {
      await read(id);
      mock.timers.tick(3_600_000);
    }
    assert.deepEqual(asked(), ["one", "page"]);
  });

  it("what a run of minutes has read is read once", async () => {
    await make(250);
    holdClocks();
    const newest = emulator.tlsEdges.list().map(({ id }) => id);
    await readAll(newest);
    assert.deepEqual(asked().sort(), ["one", "page", "page", "page"]);
    mock.timers.tick(599_000);
    await readAll(newest);
    assert.deepEqual(asked(), []);
    emulator.tlsEdges.patch(newest[3] as string, { description: "drifted" });
    mock.timers.tick(1000);
    assert.equal((await read(newest[3] as string)).description, "drifted");
    renew();
    emulator.tlsEdges.patch(newest[3] as string, { description: "drifted again" });
    assert.equal((await read(newest[3] as string)).description, "drifted again");
  });

  it("a page that can't be used is no reason to fail", async () => {
    await make(20);
    emulator.faults.add({
      method: "GET",
      path: "/edges/tls",
      answer: { fields: { tls_edges: 7 } },
    });
    await readAll(ids);
    assert.deepEqual([...new Set(asked())].sort(), ["one", "page"]);
    for (const status of [403, 500, 504]) {
      emulator.faults.clear();
      emulator.faults.add({ method: "GET", path: "/edges/tls", answer: { status }, times: 9 });
      renew();
      asked();
      await readAll(ids);
      assert.equal(count("page", asked()), 1);
    }
  });

  it("a page that took long is as good as any", async () => {
    await make(20);
    holdClocks();
    emulator.faults.add({ method: "GET", path: "/edges/tls", answer: "held" });
    const reading = readAll(ids);
    await until(() => emulator.requests.some(({ path }) => path.includes("?")));
    mock.timers.tick(60_000);
    emulator.faults.clear();
    await reading;
    assert.ok(count("one", asked()) <= 2);
  });

  it("silence in the place of a page is silence for all that wait", async () => {
    await make(20);
    emulator.faults.add({ method: "GET", path: "/edges/tls", times: 9, answer: "reset" });
    await read(ids[0] as string);
    const [a, b] = await Promise.all(
      [1, 2].map((n) => failureOf(read(ids[n] as string), ConnectionError)),
    );
    assert.equal(a, b);
    assert.equal(a?.code, "ECONNRESET");
  });
});
