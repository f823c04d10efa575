import assert from "node:assert/strict";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { connect } from "../provider/connection";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { all } from "../provider/lookup";
import { forgetAccounts } from "../provider/perAccount";
import { lookup } from "../provider/tlsEdge";
import { failureOf, later, Stack, setEnv, setEnvFor, takeRequests } from "./support";

/** The inputs of a certificate that was made now. */
async function makePair() {
  const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "a.example.com" });
  return { certificatePem, privateKeyPem };
}

describe("what another service has made", () => {
  let maker: Emulator;
  let other: Emulator;
  let stack: Stack;
  let restore: () => void;

  before(async () => {
    [maker, other] = await Promise.all([startEmulator(), startEmulator()]);
  });
  beforeEach(async () => {
    forgetAccounts();
    const undo = setEnvFor(maker);
    stack = new Stack(tlsEdge);
    await stack.up({ description: "a" });
    undo();
    restore = setEnvFor(other);
    other.reset();
  });
  afterEach(() => restore());
  after(() => Promise.all([maker.close(), other.close()]));

  const works: [string, () => Promise<unknown>][] = [
    ["refreshed", () => stack.refresh()],
    ["updated", () => stack.up({ description: "b" })],
    ["deleted", () => stack.destroy()],
  ];
  for (const [what, work] of works) {
    it(`C7 is not ${what}: the error names both services, and nothing is asked`, async () => {
      // Another key: so this is the first error of its account.
      const undo = setEnv({ TLSEDGE_API_KEY: other.addKey() });
      const { message } = await failureOf(work(), Error);
      for (const name of [stack.id, maker.url, other.url, "TLSEDGE_ACCEPTED_ORIGINS"]) {
        assert.ok(message.includes(name), message);
      }
      const { message: next } = await failureOf(work(), Error);
      assert.ok(next.length < 170 && next.includes(stack.id) && next.includes(maker.url), next);
      undo();
      assert.deepEqual(takeRequests(other), []);
      assert.equal(maker.tlsEdges.get(stack.id)?.description, "a");
      assert.equal(stack.state.description ?? stack.inputs.description, "a");
    });
  }

  it("C90 is named without a text that a shell would run if the advice were pasted", async () => {
    stack.state.uri = "https://a$(id)`id`;id&{b}'.example/edges/tls/1";
    const { message } = await failureOf(stack.refresh(), Error);
    assert.match(message, /belongs to the service at https:\/\/a\S+\.example,/);
    assert.doesNotMatch(message, /[$;&{}`]|example in/);
  });

  it("C7 C50 what this run has seen of another service keeps every write from this one", async () => {
    const undo = setEnv({ TLSEDGE_API_KEY: other.addKey() });
    const [certificate, edge] = [new Stack(tlsCertificate), new Stack(tlsEdge)];
    await edge.up({ description: "own" });
    await failureOf(stack.preview({ description: "a" }), Error);
    takeRequests(other);
    const works = [
      async () => certificate.up(await makePair()),
      () => edge.up({ description: "changed" }),
      () => edge.destroy(),
    ];
    for (const work of works) {
      const { message } = await failureOf(work(), Error);
      assert.match(message, /no write is sent/);
      assert.ok(message.includes(stack.id) && message.includes(maker.url), message);
    }
    assert.deepEqual(takeRequests(other), []);
    undo();
  });

  it("C7 is its own again where the service has moved: once refreshed, for good", async () => {
    const moved = new Stack(tlsEdge);
    await moved.up({ description: "a" });
    moved.state.uri = `https://old.example/edges/tls/${moved.id}`;
    await failureOf(moved.refresh(), Error);
    const settings = setEnv({
      TLSEDGE_ACCEPTED_ORIGINS: "https://x.example,https://old.example/v1",
    });
    assert.equal(await moved.refresh(), "same");
    assert.ok(String(moved.state.uri).startsWith(other.url));
    settings();
    forgetAccounts();
    assert.equal(await moved.refresh(), "same");
    assert.equal(await moved.up({ description: "b" }), "update");
    await moved.destroy();
    assert.deepEqual(other.tlsEdges.list(), []);
  });

  it("C7 C50 is refused in the plan of a renewed chain: its key is not posted", async () => {
    const [old, renewed] = await Promise.all([makePair(), makePair()]);
    const certificate = new Stack(tlsCertificate);
    const undo = setEnvFor(maker);
    await certificate.up(old);
    assert.equal((await certificate.preview(renewed)).verdict, "replace");
    undo();
    const { message } = await failureOf(certificate.preview(renewed), Error);
    assert.ok(message.includes(maker.url), message);
    // Not even when nothing has changed.
    await failureOf(certificate.preview(old), Error);
    assert.deepEqual(takeRequests(other), []);
  });

  it("C7 C5 is judged by the connection that has it, not by the next one", async () => {
    const undo = [setEnvFor(maker), setEnvFor(other, "TLSEDGE_STAGING")];
    const { replaces } = await stack.preview({ description: "a", connection: "tlsedge-staging" });
    assert.deepEqual(replaces, ["connection"]);
    for (const one of undo) one();
  });

  it("C7 C60 works behind a gateway, whose answers name the service: an accepted origin", async () => {
    const service = "https://service.example";
    const gateway = await startEmulator({
      respond: (body) => JSON.parse(JSON.stringify(body).replaceAll(gateway.url, service)),
    });
    const undo = [setEnvFor(gateway), setEnv({ TLSEDGE_ACCEPTED_ORIGINS: service })];
    const behind = new Stack(tlsEdge);
    await behind.up({ description: "a" });
    assert.ok(String(behind.state.uri).startsWith(`${service}/`));
    assert.equal(await behind.refresh(), "same");
    assert.equal(await behind.up({ description: "b" }), "update");
    const client = connect("tlsedge");
    for (let n = 0; n < 100; n++) await tlsEdges.create(client, {});
    const found = await all(lookup)(() => client, {});
    assert.equal(found.length, 101);
    await behind.destroy();
    assert.equal(gateway.tlsEdges.get(behind.id), undefined);
    for (const one of undo) one();
    await gateway.close();
  });

  it("C7 is judged by an absolute uri alone", async () => {
    const undo = setEnv({ TLSEDGE_SAME_ACCOUNT: "1" });
    later(other);
    for (const uri of ["", "/edges/tls/edgtls_1", "not a uri", "urn:edge:1", null]) {
      stack.state.uri = uri;
      await stack.destroy();
    }
    assert.equal(takeRequests(other).filter(({ method }) => method === "DELETE").length, 5);
    undo();
  });
});
