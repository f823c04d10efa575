import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mock } from "node:test";
import { inspect, isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import type { Ref } from "../client/fields";
import type { TLSEdgeWire } from "../client/tlsEdge";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  type RecordedRequest,
  type Respond,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { schema as certificateSchema } from "../provider/tlsCertificate";
import { chainFingerprint, formatChain, formatKey, parseChain } from "../provider/values/pem";
import { Secrets } from "../tools/secrets";
import { anyJson, character, holds } from "./cases";
import { PlanFailure, type Properties, Stack, setEnv, setEnvFor, unknown } from "./support";

/* What a program may say of an edge. */

const words = (mostBytes: number) =>
  fc
    .oneof(
      fc.constantFrom(
        "",
        "x".repeat(mostBytes),
        "é".repeat(Math.floor(mostBytes / 2)),
        "é",
        "e\u0301",
      ),
      fc.string({ unit: "grapheme", maxLength: 30 }),
      fc.string({ unit: character, maxLength: 60 }),
    )
    .filter((text) => Buffer.byteLength(text) <= mostBytes);
const labels = {
  description: fc.option(words(255)),
  metadata: fc.option(words(4096)),
};
const someId = fc.oneof(
  fc.constantFrom("id_1", "id_2", "id_3"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
);
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
const someModule = (entries: Record<string, fc.Arbitrary<unknown>>) =>
  fc.option(
    fc.record({ enabled, ...entries }, { requiredKeys: Object.keys(entries) as never[] }),
  ) as fc.Arbitrary<Properties | null>;
const tlsTermination = fc.oneof(
  fc.record(
    {
      enabled,
      terminateAt: fc.option(fc.constant("edge")),
      minVersion: fc.option(fc.constantFrom("1.0", "1.1", "1.2", "1.3")),
    },
    { requiredKeys: [] },
  ),
  fc.record({ enabled, terminateAt: fc.constant("upstream") }),
  fc.constant(null),
) as fc.Arbitrary<Properties | null>;

const moduleNames = {
  backend: "backend",
  ipRestriction: "ip_restriction",
  mutualTls: "mutual_tls",
  tlsTermination: "tls_termination",
} as const;
type Module = keyof typeof moduleNames;
const modules = Object.keys(moduleNames) as Module[];

/** An edge of a program: every value is right, and anything may be left out, null or empty. */
interface Edge {
  description?: string | null;
  metadata?: string | null;
  hostports?: string[] | null;
  backend?: Properties | null;
  ipRestriction?: Properties | null;
  mutualTls?: Properties | null;
  tlsTermination?: Properties | null;
  onModuleRemoval?: string | null;
}

const edge: fc.Arbitrary<Edge> = fc
  .record(
    {
      ...labels,
      hostports: fc.option(hostports),
      backend: someModule({ backendId: someId }),
      ipRestriction: someModule({ ipPolicyIds: ids }),
      mutualTls: someModule({ certificateAuthorityIds: ids }),
      tlsTermination,
      onModuleRemoval: fc.constantFrom("disable", null),
    },
    { requiredKeys: [] },
  )
  .map(withoutContradiction);

/** C12: with `upstream`, client certificates can't be asked for. */
function withoutContradiction(edge: Edge): Edge {
  if (edge.tlsTermination?.terminateAt !== "upstream") return edge;
  const { mutualTls: _, ...rest } = edge;
  return rest;
}

/** Two edges that have some of their properties in common, as one edge before and after an edit. */
const edit = fc
  .record({
    before: edge,
    other: edge,
    kept: fc.subarray(["description", "hostports", ...modules]),
  })
  .map(({ before, other, kept }) => {
    const same = Object.entries(before).filter(([property]) => kept.includes(property));
    return { before, after: withoutContradiction({ ...other, ...Object.fromEntries(same) }) };
  });

/** The paths of all values inside a value. */
function pathsIn(value: unknown): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return keys.flatMap((key) => [
    [key],
    ...pathsIn((value as Properties)[key]).map((path) => [key, ...path]),
  ]);
}

/** A copy with other values at some of its places; the places are chosen by numbers. */
function withOther<T>(value: T, others: [place: number, other: unknown][]): T {
  const copy = structuredClone(value);
  for (const [place, other] of others) {
    const paths = pathsIn(copy);
    const path = [...(paths[place % Math.max(1, paths.length)] ?? [])];
    const last = path.pop();
    if (last === undefined) continue;
    const parent = path.reduce<unknown>((part, key) => (part as Properties)[key], copy);
    (parent as Properties)[last] = structuredClone(other);
  }
  return copy;
}

const places = fc.array(fc.nat(999), { minLength: 1, maxLength: 3 });

/** An edge as a program may get it wrong: stray properties, wrong types, at any depth. */
const wrongEdge = fc.oneof(
  fc
    .tuple(edge, fc.array(fc.tuple(fc.nat(999), anyJson), { minLength: 1, maxLength: 3 }))
    .map(([edge, others]) => withOther(edge, others) as Properties),
  fc.dictionary(
    fc.oneof(fc.constantFrom("hostports", "onModuleRemoval", ...modules), fc.string()),
    anyJson,
  ) as fc.Arbitrary<Properties>,
);

/* What a program may say of a certificate: the PEM itself is made where it is used, from the pool,
   so that a failure prints no key. */

const made = ["rsa", "ecdsa", "ed25519", "other"] as const;
type Made = (typeof made)[number];
const pool = {} as Record<Made, MadeCertificate>;

/** How PEM text may be written without meaning anything else. */
const style = fc.record({
  columns: fc.integer({ min: 1, max: 19 }).map((quads) => quads * 4),
  lineEnd: fc.constantFrom("\n", "\r\n"),
  before: fc.constantFrom("", "\n\n", "# leaf first\n", "subject=CN = app\r\nissuer=CN = ca\r\n"),
  after: fc.constantFrom("", "\n", "\r\n\r\n", "\n# end\n"),
  trailing: fc.constantFrom("", " ", "\t"),
});
type Style = typeof style extends fc.Arbitrary<infer T> ? T : never;

function write(label: string, der: Buffer, { columns, lineEnd, before, after, trailing }: Style) {
  const body = der.toString("base64").match(new RegExp(`.{1,${columns}}`, "g")) ?? [];
  const lines = [`-----BEGIN ${label}-----`, ...body, `-----END ${label}-----`];
  return before + lines.map((line) => line + trailing).join(lineEnd) + (after || lineEnd);
}

/** The bytes of the PEM blocks in a text. */
function bytesOf(pem: string): Buffer[] {
  const bodies = [...pem.matchAll(/-----BEGIN [^-]+-----([^-]*)-----END/g)];
  return bodies.map(([, body = ""]) => Buffer.from(body, "base64"));
}

const keyForms = fc.constantFrom("pkcs8", "traditional");

/** The label and the bytes of a key in one of the forms that tools write. */
function keyBlock(pem: string, form: string): [label: string, der: Buffer] {
  const key = createPrivateKey(pem);
  const kind = key.asymmetricKeyType;
  if (form === "traditional" && kind === "rsa") {
    return ["RSA PRIVATE KEY", key.export({ type: "pkcs1", format: "der" })];
  }
  if (form === "traditional" && kind === "ec") {
    return ["EC PRIVATE KEY", key.export({ type: "sec1", format: "der" })];
  }
  return ["PRIVATE KEY", key.export({ type: "pkcs8", format: "der" })];
}

const writing = fc.record({ chain: style, key: style, form: keyForms });
type Writing = typeof writing extends fc.Arbitrary<infer T> ? T : never;

/** The certificate and the key of the pool, as they are written here. */
function written(name: Made, { chain, key, form }: Writing) {
  const { certificatePem, privateKeyPem } = pool[name];
  const blocks = bytesOf(certificatePem).map((der) => write("CERTIFICATE", der, chain));
  return {
    certificatePem: blocks.join(""),
    privateKeyPem: write(...keyBlock(privateKeyPem, form), key),
  };
}

const certificateName = fc.constantFrom(...made);
const labelled = fc.record(labels, { requiredKeys: [] });

/* What must not be shown. */

/** What becomes of a key that was copied badly. */
const damage = fc.oneof(
  fc.record({ kind: fc.constant("cut"), at: fc.nat(9999), text: fc.constant("") }),
  fc.record({
    kind: fc.constant("put"),
    at: fc.nat(9999),
    text: fc.constantFrom(
      "\n",
      "\0",
      "=",
      "é",
      "Proc-Type: 4,ENCRYPTED\n",
      "-----BEGIN KEY-----\n",
    ),
  }),
  fc.record({
    kind: fc.constantFrom("twice", "encrypted", "in base64", "on one line"),
    at: fc.nat(9999),
    text: fc.constant(""),
  }),
);
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

function damaged(key: string, { kind, at, text }: Damage): string {
  const place = at % Math.max(1, key.length);
  if (kind === "cut") return key.slice(0, place);
  if (kind === "put") return key.slice(0, place) + text + key.slice(place);
  if (kind === "twice") return key + key;
  if (kind === "in base64") return Buffer.from(key).toString("base64");
  if (kind === "on one line") return key.replace(/\s+/g, " ");
  return key.replaceAll("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
}

/** Ways in which a service may quote what it was sent, as JSON of a string. */
const quotes = {
  "as it is": (text: string) => JSON.stringify(text),
  "with escaped slashes": (text: string) => JSON.stringify(text).replaceAll("/", "\\/"),
  "with escaped signs": (text: string) =>
    JSON.stringify(text).replace(/[+/=<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
  "on one line": (text: string) => JSON.stringify(text.replace(/\s+/g, "")),
  "in part": (text: string) => JSON.stringify(text.slice(0, text.length * 0.6).slice(5)),
  "in base64": (text: string) => JSON.stringify(Buffer.from(text).toString("base64")),
  "URL-encoded": (text: string) => JSON.stringify(encodeURIComponent(text)),
};
const quote = fc.constantFrom(...(Object.keys(quotes) as (keyof typeof quotes)[]));
const quoted = fc.constantFrom("msg", "error_code", "operation_id");

/** The body of an error that quotes something in one of its fields. */
function inField(field: string, quote: string): string {
  if (field === "operation_id") return `{"details":{"operation_id":${quote}}}`;
  return `{"${field}":${quote}}`;
}

const fullEdge: Properties = {
  description: "d",
  hostports: ["a.example.com:443"],
  backend: { backendId: "b", enabled: true },
  ipRestriction: { ipPolicyIds: ["p"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
  onModuleRemoval: "replace",
  connection: "tlsedge",
};

describe("for any inputs", () => {
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond = (body) => body;

  before(async () => {
    emulator = await startEmulator({ respond: (body, request) => respond(body, request) });
    restore = setEnvFor(emulator);
    const root = await makeCertificate({ commonName: "root", isCa: true });
    const issuer = await makeCertificate({ commonName: "between", isCa: true, issuer: root });
    const dnsNames = ["app.example.com", "*.app.example.com"];
    const makes: [Made, Parameters<typeof makeCertificate>[0]][] = [
      ["rsa", { commonName: "app", organization: "Acme, Inc.", keyType: "rsa", dnsNames, issuer }],
      ["ecdsa", { commonName: "app", locality: "Zürich", dnsNames, ips: ["::1"], issuer }],
      ["ed25519", { commonName: "app", keyType: "ed25519" }],
      ["other", { commonName: "app" }],
    ];
    for (const [name, options] of makes) pool[name] = await makeCertificate(options);
  });
  beforeEach(() => {
    emulator.reset();
    respond = (body) => body;
  });
  after(() => {
    restore();
    return emulator.close();
  });

  /** What was asked since the last time. */
  const heard = () => emulator.requests.splice(0);
  const asked = () => heard().map(({ method }) => method);

  describe("check is idempotent", () => {
    /** Checked again, with and without a deployment in between, nothing is new. */
    async function settles(
      provider: typeof tlsEdge,
      args: Properties,
      { own = args, rewritten = args } = {},
    ) {
      const first = await new Stack(provider).check(args);
      const picked = Object.keys(first.inputs).filter((name) => name in own);
      const again = await new Stack(provider).check(
        Object.fromEntries(picked.map((name) => [name, first.inputs[name]])),
      );
      assert.deepEqual(again.failures, first.failures);
      assert.ok(isDeepStrictEqual(again.inputs, first.inputs), "another check, other inputs");
      if (first.failures.length > 0) return;
      const later = await new Stack(provider).check(first.inputs, first.inputs);
      assert.deepEqual(later.failures, []);
      assert.ok(isDeepStrictEqual(later.inputs, first.inputs), "another up, other inputs");
      const same = await new Stack(provider).check(rewritten, first.inputs);
      assert.ok(isDeepStrictEqual(same.inputs, first.inputs), "the same program, other inputs");
    }

    it("C25 of edges, right and wrong ones", async () => {
      await holds(fc.oneof(edge as fc.Arbitrary<Properties>, wrongEdge), 600, (args) =>
        settles(tlsEdge, args),
      );
    });

    it("C13 of edges with values that are not known yet", async () => {
      await holds(fc.tuple(fc.oneof(edge, wrongEdge), places), 300, ([args, places]) =>
        settles(
          tlsEdge,
          withOther(
            args as Properties,
            places.map((place) => [place, unknown]),
          ),
        ),
      );
    });

    it("C21 of certificates, however chain and key are written", async () => {
      const cases = fc.record({
        name: certificateName,
        keyOf: certificateName,
        labelled,
        first: writing,
        second: writing,
      });
      await holds(cases, 150, async ({ name, keyOf, labelled, first, second }) => {
        const argsIn = (writing: Writing): Properties => ({
          ...labelled,
          certificatePem: written(name, writing).certificatePem,
          privateKeyPem: written(keyOf, writing).privateKeyPem,
        });
        // What follows from the chain is not the program's to say, where nothing was deployed.
        const rewritten = argsIn(second);
        await settles(tlsCertificate, argsIn(first), { own: certificateSchema.entries, rewritten });
      });
    });
  });

  /** Ways in which a service may echo the same edge. */
  const echo = fc.record({
    upper: fc.boolean(),
    reversed: fc.boolean(),
    oneRef: fc.boolean(),
    absent: fc.boolean(),
    added: fc.boolean(),
  });

  const echoing =
    (way: typeof echo extends fc.Arbitrary<infer T> ? T : never): Respond =>
    (body) => {
      const order = <T>(list: T[]) => (way.reversed ? [...list].reverse() : list);
      const refs = (found: Ref | Ref[] | null | undefined) => {
        const list = order([found ?? []].flat());
        return way.oneRef && list.length === 1 ? list[0] : list;
      };
      const wire = body as TLSEdgeWire;
      const { ip_restriction, mutual_tls } = wire;
      const told: Properties = {
        ...wire,
        hostports: order(
          (wire.hostports ?? []).map((one) => (way.upper ? one.toUpperCase() : one)),
        ),
        ip_restriction: ip_restriction && {
          ...ip_restriction,
          ip_policies: refs(ip_restriction.ip_policies),
        },
        mutual_tls: mutual_tls && {
          ...mutual_tls,
          certificate_authorities: refs(mutual_tls.certificate_authorities),
        },
        ...(way.added && { added_later: { by: "the service" } }),
      };
      const entries = order(Object.entries(told));
      return Object.fromEntries(
        way.absent ? entries.filter(([, value]) => value !== null) : entries,
      );
    };

  describe("what is read differs from no inputs that made it", () => {
    /** Said by diff itself, and not only by the engine, which compares the inputs. */
    async function isUnchanged(provider: typeof tlsEdge, stack: Stack, args: Properties) {
      const { inputs } = await stack.check(args);
      const { diff } = provider as Required<typeof tlsEdge>;
      assert.deepEqual(await diff(stack.id, stack.state, inputs), { changes: false });
    }

    it("C25 C31 of edges, in whatever form the service echoes them", async () => {
      const cases = fc.record({ args: edge, made: echo, read: echo });
      await holds(cases, 100, async ({ args, made, read }) => {
        emulator.reset();
        respond = echoing(made);
        const stack = new Stack(tlsEdge);
        assert.equal(await stack.up({ ...args }), "create");
        const kept = stack.state;
        respond = echoing(read);
        assert.equal(await stack.refresh(), "same");
        assert.deepEqual(stack.state, kept);
        await isUnchanged(tlsEdge, stack, { ...args });
        assert.deepEqual(asked().slice(-2), ["POST", "GET"]);
      });
    });

    it("C21 C25 C31 of certificates, written one way and then another", async () => {
      const cases = fc.record({ name: certificateName, labelled, first: writing, second: writing });
      await holds(cases, 60, async ({ name, labelled, first, second }) => {
        emulator.reset();
        respond = (body) => {
          const { certificate_pem, ...wire } = body as Properties;
          const pem = bytesOf(String(certificate_pem));
          const told = pem.map((der) => write("CERTIFICATE", der, second.chain)).join("");
          return { ...wire, certificate_pem: told };
        };
        const stack = new Stack(tlsCertificate);
        assert.equal(await stack.up({ ...labelled, ...written(name, first) }), "create");
        const kept = stack.state;
        assert.equal(await stack.refresh(), "same");
        assert.deepEqual(stack.state, kept);
        const again = { ...labelled, ...written(name, second) };
        await isUnchanged(tlsCertificate, stack, again);
        assert.deepEqual(asked().slice(-2), ["POST", "GET"]);
      });
    });
  });

  /** What an edge means: the same for all that a program may write for it. */
  function meaning(edge: Edge): Properties {
    const sorted = (list: unknown) => [...((list ?? []) as string[])].sort();
    const on = (value: Properties) => ({ ...value, enabled: value.enabled ?? true });
    const { backend, ipRestriction, mutualTls, tlsTermination } = edge;
    return {
      description: edge.description ?? "",
      metadata: edge.metadata ?? "",
      hostports: sorted(edge.hostports?.map((one) => one.toLowerCase())),
      backend: backend ? on(backend) : undefined,
      ipRestriction: ipRestriction
        ? on({ ...ipRestriction, ipPolicyIds: sorted(ipRestriction.ipPolicyIds) })
        : undefined,
      mutualTls: mutualTls
        ? on({ ...mutualTls, certificateAuthorityIds: sorted(mutualTls.certificateAuthorityIds) })
        : undefined,
      tlsTermination: tlsTermination
        ? on({
            enabled: tlsTermination.enabled,
            terminateAt: tlsTermination.terminateAt ?? undefined,
            minVersion: tlsTermination.minVersion ?? undefined,
          })
        : undefined,
    };
  }

  /** What the service holds, but for what differs between two objects of the same content. */
  function holding(stack: Stack, program: Edge) {
    const { id, uri, created_at, ...wire } = emulator.tlsEdges.get(stack.id) as TLSEdgeWire;
    const idsOf = (found: Ref | Ref[] | null | undefined) =>
      [found ?? []]
        .flat()
        .map((ref) => ref.id)
        .sort();
    const { ip_restriction: ips, mutual_tls: mutual } = wire;
    const all: Properties = {
      ...wire,
      hostports: (wire.hostports ?? []).map((one) => one.toLowerCase()).sort(),
      ip_restriction: ips && { ...ips, ip_policies: idsOf(ips.ip_policies) },
      mutual_tls: mutual && {
        ...mutual,
        certificate_authorities: idsOf(mutual.certificate_authorities),
      },
    };
    for (const module of modules) {
      const name = moduleNames[module];
      // C23: a module that the program no longer has may stay, switched off.
      if (!program[module] && !(all[name] as Properties | null)?.enabled) delete all[name];
    }
    return all;
  }

  /** The fields that an edit of an edge changes. */
  function changesOf(before: Edge, after: Edge) {
    const [was, is] = [meaning(before), meaning(after)];
    const changed = Object.keys(is).filter((property) => {
      const [a, b] = [was[property], is[property]];
      if (b !== undefined) return !isDeepStrictEqual(a, b);
      const off = a as Properties | undefined;
      if (!off) return false;
      // With `upstream`, client certificates can't be asked for, even where it is switched off.
      return off.enabled === true || (off.terminateAt === "upstream" && is.mutualTls !== undefined);
    });
    return changed.map((property) => moduleNames[property as Module] ?? property).sort();
  }

  describe("an update", () => {
    it("C22 C23 C25 makes of an edge what a create makes, and tells only what changed", async () => {
      await holds(edit, 100, async ({ before, after }) => {
        emulator.reset();
        const stack = new Stack(tlsEdge);
        await stack.up({ ...before });
        heard();
        await stack.up({ ...after });
        const changed = changesOf(before, after);
        const requests = heard();
        const bodies = requests.filter(({ method }) => method === "PATCH").map(bodyOf);
        assert.deepEqual(
          bodies.map((body) => Object.keys(body).sort()),
          changed.length > 0 ? [changed] : [],
        );

        const updated = holding(stack, after);
        assert.equal(await stack.up({ ...after }), "same");
        assert.equal(await stack.refresh(), "same");
        assert.equal(await stack.up({ ...after }), "same");
        assert.deepEqual(asked(), ["GET"]);

        await stack.destroy();
        const fresh = new Stack(tlsEdge);
        await fresh.up({ ...after });
        assert.deepEqual(updated, holding(fresh, after));
      });
    });

    it("C20 C22 of a certificate tells only what changed of its texts", async () => {
      const cases = fc.record({
        before: labelled,
        after: labelled,
        first: writing,
        second: writing,
      });
      await holds(cases, 60, async ({ before, after, first, second }) => {
        emulator.reset();
        const stack = new Stack(tlsCertificate);
        await stack.up({ ...before, ...written("ecdsa", first) });
        heard();
        await stack.up({ ...after, ...written("ecdsa", second) });
        const told = (texts: Properties) => ({
          description: texts.description ?? "",
          metadata: texts.metadata ?? "",
        });
        const [was, is] = [told(before), told(after)];
        const changed = Object.entries(is).filter(([name, text]) => text !== Object(was)[name]);
        const bodies = heard().map(bodyOf);
        assert.deepEqual(bodies, changed.length > 0 ? [Object.fromEntries(changed)] : []);
        assert.deepEqual(told({ ...emulator.tlsCertificates.get(stack.id) }), is);
        assert.equal(await stack.up({ ...after, ...written("ecdsa", first) }), "same");
        assert.deepEqual(asked(), []);
      });
    });
  });

  it("C21 PEM is normalised to the same chain, whatever stands around it, and stays so", async () => {
    const cases = fc.array(fc.record({ name: certificateName, style }), {
      minLength: 1,
      maxLength: 5,
    });
    await holds(cases, 300, async (blocks) => {
      const ders = blocks.map(({ name }) => bytesOf(pool[name].certificatePem)[0] as Buffer);
      const text = blocks.map(({ style }, n) => write("CERTIFICATE", ders[n] as Buffer, style));
      const chain = parseChain(text.join(""));
      assert.deepEqual(
        chain.map(({ raw }) => raw.toString("hex")),
        ders.map((der) => der.toString("hex")),
      );
      const normal = formatChain(chain);
      assert.deepEqual(
        bytesOf(normal).map((der) => der.toString("hex")),
        ders.map((der) => der.toString("hex")),
      );
      assert.equal(formatChain(parseChain(normal)), normal);
      assert.equal(chainFingerprint(parseChain(normal)), chainFingerprint(chain));
      // Not only this package reads it.
      assert.equal(new X509Certificate(normal).raw.toString("hex"), ders[0]?.toString("hex"));
    });
  });

  describe("what is not known yet", () => {
    /** A plan with unknown values passes, is a change, and asks nothing. */
    async function plans(stack: Stack, args: Properties) {
      heard();
      const { verdict, inputs } = await stack.preview(args);
      assert.deepEqual(heard(), []);
      assert.ok(JSON.stringify(inputs).includes(unknown));
      return verdict;
    }

    const noMarker = (requests: RecordedRequest[]) =>
      assert.ok(!JSON.stringify(requests).includes(unknown), "the marker was sent");

    it("C13 passes at any depth of an edge, and is never sent", async () => {
      await holds(fc.record({ edit, places }), 100, async ({ edit: { before, after }, places }) => {
        emulator.reset();
        const planned = withOther(
          after,
          places.map((place) => [place, unknown]),
        ) as Properties;
        // Nothing to put it in.
        if (!JSON.stringify(planned).includes(unknown)) return;
        const stack = new Stack(tlsEdge);
        assert.equal(await plans(stack, planned), "create");
        await stack.up({ ...before });
        assert.equal(await plans(stack, planned), "update");
        await stack.up({ ...after });
        noMarker(emulator.requests);
      });
    });

    it("C13 passes in a certificate, and replaces it where it is the chain", async () => {
      const property = fc.subarray(["certificatePem", "privateKeyPem", "description", "metadata"], {
        minLength: 1,
      });
      const cases = fc.record({ name: certificateName, writing, property });
      await holds(cases, 40, async ({ name, writing, property }) => {
        emulator.reset();
        const args = written(name, writing);
        const planned = { ...args, ...Object.fromEntries(property.map((one) => [one, unknown])) };
        const stack = new Stack(tlsCertificate);
        assert.equal(await plans(stack, planned), "create");
        await stack.up(args);
        const verdict = property.includes("certificatePem") ? "replace" : "update";
        assert.equal(await plans(stack, planned), verdict);
        await stack.up({ ...args, description: "known" });
        noMarker(emulator.requests);
      });
    });
  });

  describe("no key is shown", () => {
    /** Everything that a failed plan or a failed request says. */
    async function saidBy(stack: Stack, args: Properties): Promise<string> {
      const { mock } = warn;
      mock.resetCalls();
      const outcome = await stack.up(args).catch((error: unknown) => error);
      assert.ok(typeof outcome !== "string" || outcome === "create");
      const warnings = mock.calls.map((call) => call.arguments);
      const failures = outcome instanceof PlanFailure ? outcome.failures : [];
      return inspect([outcome, String(outcome), failures, warnings], {
        depth: Number.POSITIVE_INFINITY,
        showHidden: true,
        maxStringLength: Number.POSITIVE_INFINITY,
      });
    }

    const warn = mock.method(console, "error", () => {});
    after(() => warn.mock.restore());

    const hides = (text: string, secret: string) => {
      const secrets = new Secrets();
      // The whole body, however short its lines are: no text has the certificate beside it.
      const [, body = secret] = secret.split(/-----[A-Z ]+-----/);
      secrets.add("a key", body.trim());
      assert.deepEqual(secrets.in(text), []);
    };

    it("C10 C50 by a plan, wherever a damaged key was put", async () => {
      const cases = fc.record({
        name: certificateName,
        keyOf: certificateName,
        writing,
        damages: fc.array(damage, { maxLength: 2 }),
        place: fc.nat(999),
      });
      await holds(cases, 100, async ({ name, keyOf, writing, damages, place }) => {
        emulator.reset();
        const { certificatePem } = written(name, writing);
        const whole = written(keyOf, writing).privateKeyPem;
        const key = damages.reduce(damaged, whole);
        const proper = { certificatePem, privateKeyPem: key, metadata: "m" };
        for (const args of [proper, withOther(proper, [[place, key]])]) {
          hides(await saidBy(new Stack(tlsCertificate), args), whole);
        }
        const args = withOther(fullEdge, [[place, key]]);
        hides(await saidBy(new Stack(tlsEdge), args), whole);
      });
    });

    it("C50 by a request that failed, however the service quotes the private key", async () => {
      const cases = fc.record({ name: certificateName, writing, quote, field: quoted });
      await holds(cases, 100, async ({ name, writing, quote, field }) => {
        emulator.reset();
        const args = written(name, writing);
        // The service has the key in the form that is sent.
        const sent = formatKey(args.privateKeyPem);
        const body = inField(field, quotes[quote](sent));
        const headers = { "Content-Type": "application/json" };
        emulator.faults.add({ method: "POST", answer: { status: 422, headers, body } });
        hides(await saidBy(new Stack(tlsCertificate), args), sent);
      });
    });

    it("C4 by a request that failed, where the service quotes the whole API key", async () => {
      const apiKey = fc.stringMatching(/^[!-~]{16,48}$/);
      const whole = fc.constantFrom("as it is", "with escaped slashes", "with escaped signs");
      await holds(fc.record({ apiKey, quote: whole, field: quoted }), 100, async (one) => {
        const { apiKey, quote, field } = one;
        respond = () => JSON.parse(inField(field, quotes[quote](apiKey)));
        const undo = setEnv({ TLSEDGE_API_KEY: apiKey });
        const said = await saidBy(new Stack(tlsEdge), {}).finally(undo);
        hides(said, apiKey);
      });
    });
  });
});

/** What a request told. */
function bodyOf({ body }: RecordedRequest): Properties {
  return body as Properties;
}
