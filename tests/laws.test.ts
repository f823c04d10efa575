import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { mock } from "node:test";
import { inspect, isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import * as fc from "fast-check";
import { type MadeCertificate, makeCertificate } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import { schema as certificateSchema } from "../provider/kinds/tlsCertificate";
import { Secrets } from "../tools/secrets";
import { anyJson, character, holds, withOther } from "./cases";
import { fullEdge, PlanFailure, type Properties, Stack, unknown, useEmulator } from "./support";

/** What holds for any inputs that a program may give, in drawn cases. */
describe("for any inputs", () => {
  const emulator = useEmulator();

  before(async () => {
    const root = await makeCertificate({ commonName: "root", isCa: true });
    const issuer = await makeCertificate({ commonName: "between", isCa: true, issuer: root });
    const dnsNames = ["app.example.com", "*.app.example.com"];
    const [a, ca] = [{ commonName: "a" }, { commonName: "a", issuer }];
    Object.assign(pool, {
      rsa: await makeCertificate({ ...ca, organization: "Acme, Inc.", keyType: "rsa" }),
      ecdsa: await makeCertificate({ ...ca, locality: "Zürich", dnsNames, ips: ["::1"] }),
      ed25519: await makeCertificate({ ...a, keyType: "ed25519" }),
      other: await makeCertificate(a),
    });
  });

  /** Checked again, with and without a deployment in between, the inputs are the same. */
  async function isIdempotent(
    provider: dynamic.ResourceProvider,
    args: Properties,
    { own = args, rewritten = args } = {},
  ) {
    const first = await new Stack(provider).check(args);
    const again = Object.entries(first.inputs).filter(([name]) => name in own);
    const second = await new Stack(provider).check(Object.fromEntries(again));
    assert.deepEqual(second.failures, first.failures);
    assert.ok(isDeepStrictEqual(second.inputs, first.inputs), "another check, other inputs");
    if (first.failures.length > 0) return;
    for (const news of [first.inputs, rewritten]) {
      const later = await new Stack(provider).check(news, first.inputs);
      assert.deepEqual(later.failures, []);
      assert.ok(isDeepStrictEqual(later.inputs, first.inputs), "another update, other inputs");
    }
  }

  it("C13 C25: the check of an edge is idempotent, valid or not, known or not", async () => {
    const cases = fc.tuple(fc.oneof(edge, wrongEdge), fc.oneof(fc.constant<number[]>([]), places));
    await holds(cases, 800, ([args, places]) => isIdempotent(tlsEdge, withUnknown(args, places)));
  });

  it("C21: the check of a certificate is idempotent, in whatever form its PEM is written", async () => {
    const cases = fc.record({
      name: certificateName,
      keyOf: certificateName,
      texts: fc.record(texts, { requiredKeys: [] }),
      first: writing,
      second: writing,
    });
    await holds(cases, 150, async ({ name, keyOf, texts, first, second }) => {
      const argsIn = (way: typeof first): Properties => ({
        ...texts,
        certificatePem: written(name, way).certificatePem,
        privateKeyPem: written(keyOf, way).privateKeyPem,
      });
      // A program does not set what follows from the chain.
      const options = { own: certificateSchema.entries, rewritten: argsIn(second) };
      await isIdempotent(tlsCertificate, argsIn(first), options);
    });
  });

  it("C13: a value that is not known yet passes the plan at any depth, and is never sent", async () => {
    const cases = fc.record({ before: edge, after: edge, places });
    await holds(cases, 100, async ({ before, after, places }) => {
      emulator.reset();
      beginRun();
      const planned = withUnknown(after, places);
      if (!JSON.stringify(planned).includes(unknown)) return;
      const stack = new Stack(tlsEdge);
      const plan = async () => {
        emulator.requests.length = 0;
        const { verdict, inputs } = await stack.preview(planned);
        assert.deepEqual(emulator.requests, []);
        assert.ok(JSON.stringify(inputs).includes(unknown));
        return verdict;
      };
      assert.equal(await plan(), "create");
      await stack.up({ ...before });
      assert.equal(await plan(), "update");
      await stack.up({ ...after });
      assert.ok(!JSON.stringify(emulator.requests).includes(unknown));
    });
  });

  /** Nothing that an update shows has the secret in it. */
  async function hides(secret: string, stack: Stack, args: Properties): Promise<void> {
    const warn = mock.method(console, "error", () => {});
    const outcome = await stack.up(args).catch((error: unknown) => error);
    const warnings = warn.mock.calls.map((call) => call.arguments);
    warn.mock.restore();
    const failures = outcome instanceof PlanFailure ? outcome.failures : [];
    const all = { depth: null, showHidden: true, maxStringLength: null, maxArrayLength: null };
    const shown = inspect([outcome, String(outcome), failures, warnings], all);
    const secrets = new Secrets();
    // The whole body, however short its lines are.
    secrets.add("a key", (secret.split(/-----[A-Z ]+-----/)[1] ?? secret).trim());
    assert.deepEqual(secrets.in(shown), []);
  }

  it("C10 C50: no plan shows a key, wherever a damaged one stands", async () => {
    const cases = fc.record({
      name: certificateName,
      keyOf: certificateName,
      writing,
      damage: fc.array(damage, { maxLength: 2 }),
      place: fc.nat(999),
    });
    const edge = { ...fullEdge, onModuleRemoval: "replace", connection: "tlsedge" };
    await holds(cases, 100, async ({ name, keyOf, writing, damage, place }) => {
      emulator.reset();
      const { certificatePem } = written(name, writing);
      const { privateKeyPem: whole } = written(keyOf, writing);
      const key = damage.reduce(
        (key, [kind, at]) => damages[kind]?.(key, at % Math.max(1, key.length)) ?? key,
        whole,
      );
      const args = { certificatePem, privateKeyPem: key, metadata: "m" };
      await hides(whole, new Stack(tlsCertificate), args);
      await hides(whole, new Stack(tlsCertificate), withOther(args, [[place, key]]));
      await hides(whole, new Stack(tlsEdge), withOther<Properties>(edge, [[place, key]]));
    });
  });
});

/* An edge of a program: every value is valid, and anything may be left out, null or empty. */

const textUpTo = (bytes: number) =>
  fc
    .oneof(
      fc.constantFrom("", "x".repeat(bytes), "é".repeat(bytes / 2), "é", "e\u0301"),
      fc.string({ unit: "grapheme", maxLength: 30 }),
      fc.string({ unit: character, maxLength: 60 }),
    )
    .filter((text) => Buffer.byteLength(text) <= bytes);
const texts = { description: fc.option(textUpTo(255)), metadata: fc.option(textUpTo(4096)) };
const someId = fc.stringMatching(/^[!-~]{1,20}$/);
const ids = fc.uniqueArray(someId, { minLength: 1, maxLength: 4 });
const hostLabel = fc.stringMatching(/^[A-Za-z0-9_]([A-Za-z0-9_-]{0,8}[A-Za-z0-9_])?$/);
const hostport = fc
  .record({
    wildcard: fc.constantFrom("", "*."),
    labels: fc.array(hostLabel, { minLength: 1, maxLength: 4 }),
    port: fc.integer({ min: 1, max: 65_535 }),
  })
  .map(({ wildcard, labels, port }) => `${wildcard}${labels.join(".")}:${port}`);
const hostports = fc.uniqueArray(
  fc.oneof(fc.constantFrom("a.example.com:443", "B.example.com:443", "*.c.example:1"), hostport),
  { maxLength: 4, selector: (one) => one.toLowerCase() },
);
const enabled = fc.option(fc.boolean());
const moduleOf = (field: string, value: fc.Arbitrary<unknown>) =>
  fc.option(fc.record({ enabled, [field]: value }, { requiredKeys: [field] }));
const termination = {
  enabled,
  terminateAt: fc.option(fc.constant("edge")),
  minVersion: fc.option(fc.constantFrom("1.0", "1.1", "1.2", "1.3")),
};
const modules = {
  backend: moduleOf("backendId", someId),
  ipRestriction: moduleOf("ipPolicyIds", ids),
  mutualTls: moduleOf("certificateAuthorityIds", ids),
  tlsTermination: fc.oneof(
    fc.record(termination, { requiredKeys: [] }),
    fc.record({ enabled, terminateAt: fc.constant("upstream") }),
    fc.constant(null),
  ),
};
/** C12: with `upstream`, an edge can't ask for client certificates. */
function withoutContradiction(edge: Properties): Properties {
  const { mutualTls, ...rest } = edge as { [name: string]: Properties | null };
  const isOff = mutualTls?.enabled === false;
  return !isOff && rest.tlsTermination?.terminateAt === "upstream" ? rest : edge;
}
const edge: fc.Arbitrary<Properties> = fc
  .record(
    {
      ...texts,
      hostports: fc.option(hostports),
      ...modules,
      onModuleRemoval: fc.constantFrom("disable", null),
    },
    { requiredKeys: [] },
  )
  .map(withoutContradiction);

const places = fc.array(fc.nat(999), { minLength: 1, maxLength: 3 });
const withUnknown = (args: Properties, places: number[]) =>
  withOther(
    args,
    places.map((place) => [place, unknown]),
  );

/** An edge with stray properties and wrong types, at any depth. */
const wrongEdge = fc.oneof(
  fc
    .tuple(edge, fc.array(fc.tuple(fc.nat(999), anyJson), { minLength: 1, maxLength: 3 }))
    .map(([edge, others]) => withOther(edge, others)),
  fc.dictionary(
    fc.oneof(fc.constantFrom("hostports", "onModuleRemoval", ...Object.keys(modules)), fc.string()),
    anyJson,
  ) as fc.Arbitrary<Properties>,
);

/* A certificate of a program: a case has only its name and form, so that a failure prints no key. */

const names = ["rsa", "ecdsa", "ed25519", "other"] as const;
const certificateName = fc.constantFrom(...names);
const pool = {} as Record<(typeof names)[number], MadeCertificate>;

/** How PEM text may be written without another meaning. */
const style = fc.record({
  columns: fc.integer({ min: 1, max: 19 }).map((quads) => quads * 4),
  lineEnd: fc.constantFrom("\n", "\r\n"),
  before: fc.constantFrom("", "\n\n", "# leaf first\n", "subject=CN = app\r\nissuer=CN = ca\r\n"),
  after: fc.constantFrom("", "\n", "\r\n\r\n", "\n# end\n"),
  trailing: fc.constantFrom("", " ", "\t"),
});
const writing = fc.record({
  chain: style,
  key: style,
  form: fc.constantFrom("pkcs8", "traditional"),
});
type ValueOf<T> = T extends fc.Arbitrary<infer Value> ? Value : never;

/** The blocks of a PEM text, written in this way. */
function rewritten(pem: string, form: ValueOf<typeof style>): string {
  const { columns, lineEnd, before, after, trailing } = form;
  return pem.replace(
    /(-----BEGIN .*-----)([^-]*)(-----END .*-----)\n/g,
    (_, begin: string, text: string, end: string) => {
      const body = text.replaceAll("\n", "").match(new RegExp(`.{1,${columns}}`, "g")) ?? [];
      const lines = [begin, ...body, end].map((line) => line + trailing);
      return before + lines.join(lineEnd) + (after || lineEnd);
    },
  );
}

/** A certificate and a key of the pool, written in this way. */
function written(name: ValueOf<typeof certificateName>, way: ValueOf<typeof writing>) {
  const { certificatePem, privateKeyPem, keyType } = pool[name];
  const traditional = { rsa: "pkcs1", ecdsa: "sec1", ed25519: "pkcs8" }[keyType] as "pkcs8";
  const type = way.form === "traditional" ? traditional : "pkcs8";
  const key = String(createPrivateKey(privateKeyPem).export({ type, format: "pem" }));
  return {
    certificatePem: rewritten(certificatePem, way.chain),
    privateKeyPem: rewritten(key, way.key),
  };
}

/* What must not be shown. */

/** What becomes of a key that was copied badly. */
const damages: ((key: string, place: number) => string)[] = [
  (key, place) => key.slice(0, place),
  ...["\n", "\0", "=", "é", "Proc-Type: 4,ENCRYPTED\n", "-----BEGIN KEY-----\n"].map(
    (text) => (key: string, place: number) => key.slice(0, place) + text + key.slice(place),
  ),
  (key) => key + key,
  (key) => Buffer.from(key).toString("base64"),
  (key) => key.replace(/\s+/g, " "),
  (key) => key.replaceAll("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
];
const damage = fc.tuple(fc.nat(damages.length - 1), fc.nat(9999));
