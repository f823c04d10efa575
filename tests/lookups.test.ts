import assert from "node:assert/strict";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { fromWire } from "../plugin/wire";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import * as sdk from "../sdk";
import { startPlugin } from "./pluginProvider";
import { type Properties, Stack, setEnvFor } from "./support";

/** A lookup of one kind, by its name. */
type Ask = (name: string, args: Properties) => Promise<unknown>;

const ofWeb = JSON.stringify({ environment: "production", owner: "web", level: 3 });

/** Edges by their descriptions, and what finds them. */
const edges: Record<string, Properties> = {
  first: { hostports: ["a.example.com:443"], metadata: ofWeb },
  second: { hostports: ["b.example.com:443"], metadata: '{"owner":"web"}' },
  text: { metadata: "owner web" },
  list: { metadata: '["web"]' },
  none: {},
};

describe("a lookup by what people know", () => {
  let emulator: Emulator;
  let restore: () => void;
  let plugin: Awaited<ReturnType<typeof startPlugin>>;
  /** The fingerprints of the certificates, by their descriptions. */
  const fingerprints: Record<string, string> = {};

  before(async () => {
    emulator = await startEmulator();
    restore = setEnvFor(emulator);
    plugin = await startPlugin();
    for (const [description, args] of Object.entries(edges)) {
      await new Stack(tlsEdge).up({ description, ...args });
    }
    for (const [description, days] of Object.entries({ soon: 10, late: 90 })) {
      const commonName = `${description}.example.com`;
      const made = await makeCertificate({ commonName, notAfter: new Date(inDays(days)) });
      const { certificatePem, privateKeyPem } = made;
      const stack = new Stack(tlsCertificate);
      const metadata = JSON.stringify({ owner: description });
      await stack.up({ certificatePem, privateKeyPem, description, metadata });
      fingerprints[description] = String(stack.state.fingerprint);
    }
  });
  after(() => {
    plugin.close();
    restore();
    return emulator.close();
  });

  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const withColons = (hex: string) => (hex.match(/../g) ?? []).join(":").toUpperCase();

  const doors: Record<string, Ask> = {
    "the Node.js package": (name, args) => {
      const lookups = sdk as unknown as Record<string, (args: Properties) => Promise<unknown>>;
      return lookups[name]?.(args) ?? assert.fail(name);
    },
    "the plugin": async (name, args) => {
      const request = new messages.InvokeRequest().setTok(`tlsedge:index:${name}`);
      const response = await plugin.call<messages.InvokeResponse>("invoke", request, { args });
      const { values } = fromWire(response.getReturn());
      return name.endsWith("s") ? Object.values(values)[0] : values;
    },
  };

  for (const [door, ask] of Object.entries(doors)) {
    describe(`through ${door}`, () => {
      /** The descriptions of what is found. */
      const found = async (name: string, args: Properties) =>
        ((await ask(name, args)) as { description: string }[]).map(
          ({ description }) => description,
        );

      const ofEdges: [Properties, string[]][] = [
        [{ description: "first" }, ["first"]],
        [{ description: "First" }, []],
        [{ metadata: { owner: "web" } }, ["second", "first"]],
        [{ metadata: { owner: "web", environment: "production" } }, ["first"]],
        [{ metadata: { owner: "web" }, hostport: "b.example.com:443" }, ["second"]],
        [{ metadata: { level: "3" } }, []],
        [{ metadata: { toString: "web" } }, []],
        [{ metadata: { 0: "web" } }, []],
      ];
      for (const [args, descriptions] of ofEdges) {
        it(`C61 finds edges by ${JSON.stringify(args)}`, async () => {
          assert.deepEqual(await found("getTLSEdges", args), descriptions);
        });
      }

      it("C61 finds one edge, or lists those that match", async () => {
        const { id } = (await ask("getTLSEdge", { description: "none" })) as { id: string };
        assert.equal(id, emulator.tlsEdges.list()[0]?.id);
        await assert.rejects(ask("getTLSEdge", { metadata: { owner: "web" } }), (error: Error) => {
          for (const { id, description } of emulator.tlsEdges.list()) {
            assert.equal(
              error.message.includes(id),
              ["first", "second"].includes(description ?? ""),
            );
          }
          return true;
        });
        await assert.rejects(ask("getTLSEdge", { description: "nowhere" }), /nowhere/);
      });

      it("C61 lists an edge without hostports by its description", async () => {
        const [, other] = emulator.tlsEdges.list();
        assert.ok(other);
        emulator.tlsEdges.patch(other.id, { ...other, description: "none" });
        try {
          await assert.rejects(ask("getTLSEdge", { description: "none" }), /edgtls_\w+ \(none\)/);
        } finally {
          emulator.tlsEdges.patch(other.id, other);
        }
      });

      it("C61 finds certificates by fingerprint, description and metadata", async () => {
        for (const [description, fingerprint] of Object.entries(fingerprints)) {
          for (const args of [
            { fingerprint },
            { fingerprint: withColons(fingerprint) },
            { description },
            { metadata: { owner: description } },
          ]) {
            assert.deepEqual(await found("getTLSCertificates", args), [description]);
            const one = (await ask("getTLSCertificate", args)) as { fingerprint: string };
            assert.equal(one.fingerprint, fingerprint);
          }
        }
        const none = { fingerprint: "0".repeat(64) };
        assert.deepEqual(await found("getTLSCertificates", none), []);
      });

      it("C61 finds the certificates that expire before a time", async () => {
        const until = (expiresBefore: string) => found("getTLSCertificates", { expiresBefore });
        assert.deepEqual(await until(inDays(5)), []);
        assert.deepEqual(await until(inDays(30)), ["soon"]);
        assert.deepEqual(await until(inDays(100)), ["late", "soon"]);
        assert.deepEqual(await until(inDays(30).replace("Z", "+00:00")), ["soon"]);
      });

      it("C61 says what an argument must be", async () => {
        for (const [name, args, said] of [
          [
            "getTLSCertificates",
            { expiresBefore: "2027-01-31" },
            /expiresBefore must be .*RFC 3339/,
          ],
          ["getTLSCertificates", { expiresBefore: "2027-02-31T25:00:00Z" }, /RFC 3339/],
          ["getTLSCertificate", { expiresBefore: inDays(1) }, /expiresBefore: no such filter/],
          ["getTLSCertificate", { fingerprint: "abc" }, /fingerprint must be .*SHA-256/],
          ["getTLSEdges", { metadata: '{"owner":"web"}' }, /metadata must be an object/],
          ["getTLSEdge", { metadata: {} }, /metadata .*empty/],
          ["getTLSEdges", { metadata: {} }, /metadata .*empty/],
          ["getTunnels", { publicUrl: "" }, /publicUrl .*empty/],
          ["getTLSEdges", { description: "-----BEGIN PRIVATE KEY-----" }, /holds a private key/],
          ["getTLSEdges", { hostports: "a.example.com:443" }, /hostports: .*did you mean hostport/],
        ] as const) {
          await assert.rejects(ask(name, args), said);
        }
      });
    });
  }
});
