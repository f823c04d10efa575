import assert from "node:assert/strict";
import { mock } from "node:test";
import { inspect } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import * as fc from "fast-check";
import MarkdownIt from "markdown-it";
import type { Account } from "../cli/account";
import { adoptionText, planOf } from "../cli/adopt";
import { statusHtml } from "../cli/html";
import { statusMarkdown } from "../cli/markdown";
import { statusText } from "../cli/report";
import { statusOf } from "../cli/status";
import { ConnectionError, ServiceError } from "../client/errors";
import { plainJson } from "../client/plain";
import {
  type Emulator,
  type Fault,
  type MadeCertificate,
  makeCertificate,
  type Respond,
  startEmulator,
} from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { beginRun } from "../provider/process";
import * as sdk from "../sdk";
import { anyJson, assertInert, holds, hostileText } from "./cases";
import { failureOf, later, type Properties, Stack, setEnv, setEnvFor, skipPauses } from "./support";

/* What an answer may be (api.md §2, and what it leaves open): for each value the paths that no
   client can make sense of. Written anew, not taken from the client, so that it can be wrong. */

type Reading = (value: unknown, path: string) => string[];

const isNothing = (value: unknown) => value === null || value === undefined;
const isFields = (value: unknown): value is Properties =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const that =
  (fits: (value: unknown) => boolean): Reading =>
  (value, path) =>
    fits(value) ? [] : [path];
const perhaps =
  (reading: Reading): Reading =>
  (value, path) =>
    isNothing(value) ? [] : reading(value, path);
const each =
  (reading: Reading): Reading =>
  (value, path) =>
    Array.isArray(value)
      ? value.flatMap((one, index) => reading(one, `${path}[${index}]`))
      : [path];
const fields =
  (readings: Record<string, Reading>): Reading =>
  (value, path) =>
    isFields(value)
      ? Object.entries(readings).flatMap(([name, reading]) =>
          reading(value[name], path ? `${path}.${name}` : name),
        )
      : [path];

const words = that((value) => typeof value === "string");
const text = perhaps(words);
const time = that((value) => typeof value === "string" && !Number.isNaN(Date.parse(value)));
const flag = perhaps(that((value) => typeof value === "boolean"));
const ref = fields({ id: words, uri: words });
const refs: Reading = (value, path) =>
  Array.isArray(value) ? each(ref)(value, path) : perhaps(ref)(value, path);
const part = (readings: Record<string, Reading>) => perhaps(fields({ enabled: flag, ...readings }));
const made = {
  id: that((value) => typeof value === "string" && value !== ""),
  uri: words,
  created_at: time,
  description: text,
  metadata: text,
};
const edge = fields({
  ...made,
  hostports: perhaps(each(words)),
  backend: part({ backend: perhaps(ref) }),
  ip_restriction: part({ ip_policies: refs }),
  mutual_tls: part({ certificate_authorities: refs }),
  tls_termination: part({ terminate_at: text, min_version: text }),
});
const certificate = fields({
  ...made,
  certificate_pem: words,
  subject_common_name: text,
  subject_alternative_names: perhaps(
    fields({ dns_names: perhaps(each(words)), ips: perhaps(each(words)) }),
  ),
  issued_at: text,
  not_before: text,
  not_after: text,
  key_usages: perhaps(each(words)),
  extended_key_usages: perhaps(each(words)),
  private_key_type: text,
  issuer_common_name: text,
  serial_number: text,
  subject_organization: text,
  subject_organizational_unit: text,
  subject_locality: text,
  subject_province: text,
  subject_country: text,
});
/** Names that mean something to JavaScript are no labels to anyone. */
const odd = ["__proto__", "constructor", "prototype"];
const labels: Reading = (value, path) =>
  isFields(value)
    ? Object.entries(value).flatMap(([name, label]) =>
        typeof label === "string" || odd.includes(name) ? [] : [`${path}.${name}`],
      )
    : [path];
const tunnel = fields({
  id: words,
  public_url: text,
  started_at: text,
  metadata: text,
  proto: text,
  region: text,
  tunnel_session: perhaps(ref),
  endpoint: perhaps(ref),
  labels: perhaps(labels),
  backends: refs,
  forwards_to: text,
});
const page = (name: string, item: Reading) => fields({ [name]: each(item), next_page_uri: text });

/* What stands in an answer instead. */

const instead = fc.oneof(
  { weight: 6, arbitrary: anyJson.map((json) => ({ json })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("missing", "huge", "deep", "many", "proto")
      .map((kind) => ({ kind })),
  },
);
type Instead = typeof instead extends fc.Arbitrary<infer T> ? T : never;

/** Named in the case and made here, so that a failure can be read. */
function standIn(one: Instead): unknown {
  if ("json" in one) return one.json;
  switch (one.kind) {
    case "huge":
      return "x".repeat(300_000);
    case "deep":
      return JSON.parse(`${"[".repeat(1000)}${"]".repeat(1000)}`);
    case "many":
      return Array.from({ length: 5000 }, (_, n) => n);
    case "proto":
      return JSON.parse('{"__proto__":{"id":1},"constructor":{"name":2},"toString":3}');
    default:
      return undefined;
  }
}

/** The paths of all values in a value; the empty one is the value itself. */
function pathsIn(value: unknown): (string | number)[][] {
  const keys = Array.isArray(value) ? [...value.keys()] : isFields(value) ? Object.keys(value) : [];
  const below = keys.flatMap((key) =>
    pathsIn((value as Properties)[key]).map((path) => [key, ...path]),
  );
  return [[], ...below];
}

/** A body with something else in one of its places, or with one field more. */
function rewritten(body: unknown, place: number, value: unknown): unknown {
  const paths = pathsIn(body);
  const path = [...(paths[place % (paths.length + 1)] ?? ["added"])];
  const last = path.pop();
  if (last === undefined) return value ?? null;
  const copy = structuredClone(body);
  const parent = path.reduce<unknown>((part, key) => (part as Properties)[key], copy);
  (parent as Properties)[last] = value;
  return copy;
}

/** Whether Pulumi can keep a value: no undefined in a list, no NaN, nothing but plain data. */
function isPlain(value: unknown): boolean {
  if (value === null || ["string", "boolean"].includes(typeof value)) return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value))
    return Object.keys(value).length === value.length && value.every(isPlain);
  if (typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Object.values(value).every((part) => part === undefined || isPlain(part));
}

/** The same provider; what it gives for state must be what Pulumi can keep. */
function watched(provider: dynamic.ResourceProvider): dynamic.ResourceProvider {
  const { create, read, update, ...rest } = provider as Required<dynamic.ResourceProvider>;
  const plain = <T>(given: T): T => {
    assert.ok(isPlain(given), inspect(given, { depth: 9 }));
    return given;
  };
  return {
    ...rest,
    create: async (inputs) => plain(await create(inputs)),
    read: async (id, props) => plain(await read(id, props)),
    update: async (id, olds, news) => plain(await update(id, olds, news)),
  };
}

const isBelow = (path: string, field: string) =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);

/** A list may be told by the fields that it does not have, a Ref by itself. */
const isAbout = (field: string, path: string) =>
  path === "" || isBelow(path, field) || isBelow(field, path);

/** An answer that can't be used is told by its field. */
function namesField(error: unknown, misfits: string[]): void {
  assert.ok(error instanceof ConnectionError, `not a ConnectionError: ${inspect(error)}`);
  assert.equal(error.code, "EBADANSWER");
  const { field = "" } = error;
  assert.ok(
    misfits.some((path) => isAbout(field, path)),
    `${field} is named, not ${misfits.join(" or ")}`,
  );
  assert.ok(error.message.includes(field));
}

describe("whatever stands in an answer", () => {
  let emulator: Emulator;
  let restore: (() => void)[];
  let respond: Respond = (body) => body;
  let made: MadeCertificate;
  let stack: Stack;

  before(async () => {
    emulator = await startEmulator({ respond: (body, request) => respond(body, request) });
    // A lost create looks twice, and pauses in between for a part of this.
    restore = [setEnvFor(emulator), setEnv({ TLSEDGE_TIMEOUT_SECONDS: "1" })];
    const issuer = await makeCertificate({ commonName: "root", isCa: true });
    made = await makeCertificate({
      commonName: "app",
      organization: "Acme",
      dnsNames: ["app.example.com"],
      ips: ["127.0.0.1"],
      issuer,
    });
  });
  after(() => {
    for (const undo of restore) undo();
    return emulator.close();
  });

  const edgeArgs = {
    description: "d",
    metadata: "m",
    hostports: ["a.example.com:443", "b.example.com:443"],
    backend: { backendId: "b" },
    ipRestriction: { ipPolicyIds: ["p", "q"] },
    mutualTls: { certificateAuthorityIds: ["c"] },
    tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
  };
  const kinds: Record<string, Kind> = {
    edge: { provider: watched(tlsEdge), args: () => edgeArgs, reading: edge },
    certificate: {
      provider: watched(tlsCertificate),
      args: () => ({
        description: "d",
        metadata: "m",
        certificatePem: made.certificatePem,
        privateKeyPem: made.privateKeyPem,
      }),
      reading: certificate,
    },
  };
  interface Kind {
    provider: dynamic.ResourceProvider;
    args(): Properties;
    reading: Reading;
  }

  const cases = fc.record({ place: fc.noBias(fc.nat(199)), instead });

  /** Until the next: the answers to one method have something else in one of their places. */
  function rewrite(method: string, { place, instead }: { place: number; instead: Instead }) {
    const seen: { isList: boolean; body: unknown }[] = [];
    respond = (body, request) => {
      if (request.method !== method || request.status >= 300) return body;
      const other = rewritten(body, place, standIn(instead));
      // As the wire leaves it.
      const heard = JSON.parse(JSON.stringify(other));
      seen.push({ isList: request.path.includes("?limit="), body: heard });
      return other;
    };
    return (reading: Reading, ofLists = true) =>
      seen.flatMap(({ isList, body }) => (isList && !ofLists ? [] : reading(body, "")));
  }

  async function start(kind: Kind) {
    emulator.reset();
    respond = (body) => body;
    stack = new Stack(kind.provider);
    await stack.up(kind.args());
  }

  const outcomeOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error ?? new Error("rejected with nothing"),
    );

  /** An account and a machine with nothing, as in the first run. */
  function reset() {
    emulator.reset();
    beginRun();
  }

  /** The next plan copes with what was kept. */
  async function goesOn(kind: Kind) {
    if (stack.id) await stack.preview(kind.args());
  }

  /** A create that failed has told what the engine records, and the next up goes on from there. */
  async function isRecorded(kind: Kind, error: unknown, paths: string[], made?: string) {
    assert.ok(error instanceof Error);
    const { id, properties, reasons } = error as Error & Properties;
    assert.ok(typeof id === "string" && id !== "", inspect(error));
    assert.ok(isPlain(properties));
    const [, field = ""] = /field (\S+) of the answer/.exec(String(reasons)) ?? [];
    assert.ok(
      paths.some((path) => isAbout(field, path)),
      String(reasons),
    );
    // The id may be what was made up.
    if (id !== made) return;
    const { inputs } = await stack.check(kind.args());
    const { update } = kind.provider as Required<dynamic.ResourceProvider>;
    const { outs } = await update(id, properties as Properties, inputs);
    Object.assign(stack, { id, inputs, state: outs });
    assert.equal(await stack.refresh(), "same");
  }

  for (const [name, kind] of Object.entries(kinds)) {
    it(`C35 a create of a TLS ${name} is done, or recorded with its id`, async () => {
      await holds(cases, 60, async (one) => {
        reset();
        stack = new Stack(kind.provider);
        const misfits = rewrite("POST", one);
        const error = await outcomeOf(stack.up(kind.args()));
        respond = (body) => body;
        const paths = misfits(kind.reading);
        const unnamed = paths.some((path) => path === "" || path === "id");
        const there = emulator[kind.reading === edge ? "tlsEdges" : "tlsCertificates"].list();
        assert.equal(there.length, 1);
        if (error !== undefined) return isRecorded(kind, error, paths, there[0]?.id);
        // With no id in the answer, what was made is looked for.
        if (unnamed) assert.equal(stack.id, there[0]?.id);
        else assert.deepEqual(paths, []);
        return goesOn(kind);
      });
    });

    it(`C31 C62 a read of a TLS ${name} is right, or names the field`, async () => {
      const reads = fc.record({ one: cases, byPage: fc.boolean() });
      await holds(reads, 80, async ({ one, byPage }) => {
        await start(kind);
        // The first read after a write is of one; the next may be of a page, and then of one.
        if (byPage) await stack.refresh();
        const misfits = rewrite("GET", one);
        const error = await outcomeOf(stack.refresh());
        respond = (body) => body;
        const paths = misfits(kind.reading, false);
        if (paths.length > 0) return namesField(error, paths);
        if (error === undefined) return goesOn(kind);
        // What is a string may still be no chain.
        assert.ok(kind.reading === certificate && error instanceof Error, inspect(error));
        assert.match(error.message, /^certificate_pem /);
      });
    });

    it(`C22 C62 an update of a TLS ${name} is done, or names the field`, async () => {
      await start(kind);
      const before = { id: stack.id, state: { ...stack.state }, inputs: { ...stack.inputs } };
      await holds(cases, 60, async (one) => {
        Object.assign(stack, before);
        const misfits = rewrite("PATCH", one);
        const error = await outcomeOf(stack.up({ ...kind.args(), description: "changed" }));
        respond = (body) => body;
        const paths = misfits(kind.reading);
        if (paths.length > 0) return namesField(error, paths);
        assert.equal(error, undefined, inspect(error));
        return goesOn(kind);
      });
    });

    it(`C32 a delete of a TLS ${name} is done, whatever a success says`, async () => {
      await holds(instead, 25, async (one) => {
        await start(kind);
        const body = JSON.stringify(standIn(one) ?? null);
        const headers = { "Content-Type": "application/json" };
        emulator.faults.add({
          method: "DELETE",
          work: true,
          answer: { status: 200, headers, body },
        });
        await stack.destroy();
      });
    });

    it(`C33 a lost create of a TLS ${name} is found, or names what can't be read`, async () => {
      await holds(cases, 30, async (one) => {
        reset();
        stack = new Stack(kind.provider);
        emulator.faults.add({ method: "POST", work: true, answer: "reset" });
        const misfits = rewrite("GET", one);
        skipPauses();
        const error = await outcomeOf(stack.up(kind.args())).finally(() => mock.reset());
        respond = (body) => body;
        const name = kind.reading === edge ? "tls_edges" : "tls_certificates";
        const paths = misfits(page(name, kind.reading));
        if (error === undefined) return goesOn(kind);
        isExpected(error);
        if (paths.length > 0) assert.match(error.message, /may have created/);
      });
    });
  }

  /** Not by chance: what fails was meant to, and says so. */
  function isExpected(error: unknown): asserts error is Error {
    assert.ok(error instanceof Error, inspect(error));
    assert.ok(
      !/^(Type|Range|Reference|Syntax)Error$/.test(error.name) &&
        !/undefined|\[object/.test(error.message),
      inspect(error),
    );
  }

  const lookups: [string, Reading, () => Promise<unknown>][] = [
    ["getTLSEdges", page("tls_edges", edge), () => sdk.getTLSEdges()],
    [
      "getTLSEdges by hostport",
      page("tls_edges", edge),
      () => sdk.getTLSEdges({ hostport: "A:1" }),
    ],
    ["getTLSEdge by id", edge, () => sdk.getTLSEdge({ id: idOf("tlsEdges") })],
    ["getTLSCertificates", page("tls_certificates", certificate), () => sdk.getTLSCertificates()],
    [
      "getTLSCertificates by domain",
      page("tls_certificates", certificate),
      () => sdk.getTLSCertificates({ domain: "app.example.com" }),
    ],
    [
      "getTLSCertificate by id",
      certificate,
      () => sdk.getTLSCertificate({ id: idOf("tlsCertificates") }),
    ],
    ["getTunnels", page("tunnels", tunnel), () => sdk.getTunnels()],
    [
      "getTunnels by labels",
      page("tunnels", tunnel),
      () => sdk.getTunnels({ labels: { app: "web" }, region: "eu" }),
    ],
    ["getTunnel by id", tunnel, () => sdk.getTunnel({ id: idOf("tunnels") })],
    ["getTunnel by filter", page("tunnels", tunnel), () => sdk.getTunnel({ region: "eu" })],
  ];
  const idOf = (what: "tlsEdges" | "tlsCertificates" | "tunnels") =>
    String(emulator[what].list()[0]?.id);

  for (const [name, reading, look] of lookups) {
    it(`C62 ${name} finds what is there, or names the field`, async () => {
      emulator.reset();
      for (const { provider, args } of Object.values(kinds)) await new Stack(provider).up(args());
      await holds(cases, 50, (one) => isFoundOrNamed(one, reading, look));
    });
  }

  /** A lookup gives what can be kept, or says what can't be used. */
  async function isFoundOrNamed(
    one: { place: number; instead: Instead },
    reading: Reading,
    look: () => Promise<unknown>,
  ) {
    const misfits = rewrite("GET", one);
    let found: unknown;
    const error = await outcomeOf(look().then((result) => (found = result)));
    respond = (body) => body;
    const paths = misfits(reading);
    if (error === undefined) {
      assert.deepEqual(paths, []);
      assert.ok(isPlain(found), inspect(found));
      return;
    }
    isExpected(error);
    if (paths.length > 0) return namesField(error, paths);
    // A list may go on at an address that leads nowhere; a chain may be none.
    const isKnown =
      error instanceof ServiceError ||
      error instanceof sdk.LookupError ||
      (error instanceof ConnectionError && error.code === "EBADANSWER") ||
      error.message.startsWith("certificate_pem ");
    assert.ok(isKnown, inspect(error));
  }

  it("C62 every field is one of its kind, or is named", async () => {
    const others: Instead[] = [null, true, 7, "x", [], ["x"], {}, [{}]].map((json) => ({ json }));
    others.push({ kind: "missing" });
    emulator.reset();
    for (const { provider, args } of Object.values(kinds)) await new Stack(provider).up(args());
    for (const [name, reading, look] of lookups.filter(([name]) => name.endsWith("by id"))) {
      let places = 0;
      respond = (body) => {
        places = pathsIn(body).length;
        return body;
      };
      await look();
      assert.ok(places > 10, name);
      for (let place = 0; place <= places; place++) {
        for (const instead of others) await isFoundOrNamed({ place, instead }, reading, look);
      }
    }
  });

  describe("of an error", () => {
    const errorBody = {
      error_code: "ERR_1",
      status_code: 400,
      msg: "no",
      details: { operation_id: "op_1" },
    };
    // A create that is answered 500 is looked for, and may be made after all (C33).
    const refusals = (method: Fault["method"]) =>
      fc.record({
        place: fc.nat(9),
        instead,
        status: fc.constantFrom(400, 401, 404, 409, 422, ...(method === "POST" ? [] : [500])),
      });
    const operations: [Fault["method"], (kind: Kind) => Promise<unknown>][] = [
      ["POST", (kind) => new Stack(kind.provider).up(kind.args())],
      ["GET", () => stack.refresh()],
      ["PATCH", (kind) => stack.up({ ...kind.args(), description: "changed" })],
      ["DELETE", () => stack.destroy()],
    ];
    for (const [name, kind] of Object.entries(kinds)) {
      for (const [method, operate] of operations) {
        // A create that was answered 500 is sent again, when it has made nothing.
        const times = method === "POST" ? 3 : 1;
        it(`C34 ${method} of a TLS ${name} fails with its status, and with texts alone`, async () => {
          await holds(refusals(method), 15, async ({ place, instead, status }) => {
            await start(kind);
            const before = stack.id;
            // Else a conflict would be explained with what has the hostport.
            if (method === "POST") emulator.reset();
            const body = JSON.stringify(rewritten(errorBody, place, standIn(instead)));
            const headers = { "Content-Type": "application/json" };
            await later(emulator);
            emulator.faults.add({ method, times, answer: { status, headers, body } });
            const error = await outcomeOf(operate(kind));
            if (status === 404 && method !== "POST") return isGone(method, error, before);
            assert.ok(error instanceof ServiceError, inspect(error));
            assert.equal(error.status, status);
            assert.ok([error.code, error.operationId].every((one) => typeof one !== "object"));
            assert.ok(error.message.length < 5000, `${error.message.length} characters`);
            assert.ok(!/undefined|\[object/.test(error.message), error.message);
          });
        });
      }
    }

    function isGone(method: string | undefined, error: unknown, before: string) {
      if (method !== "PATCH") return assert.equal(error, undefined, inspect(error));
      // The object is there, so the 404 is about another one.
      assert.ok(error instanceof ServiceError && error.path.includes(before), inspect(error));
    }
  });
});

describe("whatever others write", () => {
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond = (body) => body;
  let told: { mock: { restore(): void } };
  const lines: string[] = [];

  before(async () => {
    emulator = await startEmulator({ respond: (body, request) => respond(body, request) });
    restore = setEnvFor(emulator);
    told = mock.method(console, "error", (text: unknown) => lines.push(String(text)));
  });
  beforeEach(() => {
    emulator.reset();
    respond = (body) => body;
    lines.length = 0;
  });
  after(() => {
    restore();
    told.mock.restore();
    return emulator.close();
  });

  /** An account in which every text is this one, and each object is there twice: a twin. */
  function accountOf(text: string): Account {
    const made = { uri: "", created_at: "2026-01-01T00:00:00Z", description: text };
    const edge = { ...made, metadata: text, hostports: [text, `${text}:443`] };
    const certificate = {
      ...made,
      metadata: JSON.stringify({ owner: text }),
      certificate_pem: "",
      not_after: "2026-03-01T00:00:00Z",
      subject_common_name: text,
      subject_alternative_names: { dns_names: [text], ips: [text] },
      serial_number: text,
    };
    const labels = { [text]: text };
    return {
      service: text,
      edges: ["a", "b"].map((id) => ({ ...edge, id: id + text })),
      certificates: ["c", "d"].map((id) => ({ ...certificate, id: id + text })),
      tunnels: [{ id: text, public_url: text, forwards_to: text, proto: text, labels }],
    };
  }
  const now = new Date("2026-02-01T00:00:00Z");

  it("C90 no report obeys it, at any width", async () => {
    const displays = fc.record({ width: fc.integer({ min: 20, max: 200 }), text: hostileText });
    await holds(displays, 150, async ({ text, width }) => {
      const display = { width, colour: false };
      const account = accountOf(text);
      const status = statusOf(account, now);
      assertInert(statusText(status, display));
      assertInert(plainJson(status, 2));
      const adoption = { ...planOf(account, "tlsedge"), service: text, files: [text] };
      for (const isPlugin of [false, true]) {
        assertInert(adoptionText(adoption, isPlugin, display));
      }
      assertInert(plainJson(adoption, 2));
    });
  });

  it("C90 no Markdown and no page has a tag or an attribute of it", async () => {
    const { Parser } = await import("htmlparser2");
    const markdown = new MarkdownIt({ html: true, linkify: true });
    const tags = (page: string) => {
      const found = new Set<string>();
      const onopentag = (name: string, attributes: object) => {
        found.add([name, ...Object.keys(attributes)].join(" "));
      };
      new Parser({ onopentag }).end(page);
      return found;
    };
    const pages = (text: string) => {
      const status = statusOf(accountOf(text), now);
      return [statusMarkdown(status), statusHtml(status)] as const;
    };
    const tagsOf = (text: string) => {
      const [inMarkdown, html] = pages(text);
      return [tags(markdown.render(inMarkdown)), tags(html)] as const;
    };
    // Texts as words, short and long, as code, as code in which signs are escaped, and with a port.
    const known = ["word", "a word and some more", "a.b", "`|`", "\\", "a.b:443"].map(tagsOf);
    await holds(hostileText, 200, async (text) => {
      const [inMarkdown, html] = pages(text);
      assertInert(inMarkdown);
      assert.doesNotMatch(html, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      for (const [form, found] of tagsOf(text).entries()) {
        for (const tag of found)
          assert.ok(
            known.some((one) => one[form]?.has(tag)),
            tag,
          );
      }
    });
  });

  it("C90 no error or warning shows it, and none shows a key", async () => {
    const key = emulator.apiKey;
    const texts = fc.record({
      text: hostileText,
      quotes: fc.boolean(),
      status: fc.constantFrom(400, 409, 422),
      method: fc.constantFrom<("POST" | "GET" | "PATCH" | "DELETE")[]>(
        "POST",
        "GET",
        "PATCH",
        "DELETE",
      ),
    });
    await holds(texts, 60, async ({ text, quotes, status, method }) => {
      emulator.reset();
      const stack = new Stack(tlsEdge);
      if (method !== "POST") await stack.up({ description: "d" });
      const msg = quotes ? `${text}${key}${text}` : text;
      const body = JSON.stringify({ msg, error_code: text, details: { operation_id: msg } });
      const headers = { "Content-Type": "application/json" };
      emulator.faults.add({ method, times: 9, answer: { status, headers, body } });
      const work = { POST: "up", PATCH: "up", GET: "refresh", DELETE: "destroy" } as const;
      const failed = await failureOf(stack[work[method]]({ description: "e" }), Error);
      for (const shown of [failed.message, failed.stack ?? "", ...lines.splice(0)]) {
        assertInert(shown);
        assert.ok(!shown.includes(key), shown);
      }
    });
  });

  it("C90 a create whose answer has an id and nothing else that is right shows the id escaped", async () => {
    const text = "\u001b[31m<{%reset%}>\u202e";
    respond = (body, { method }) => (method === "POST" ? { id: text, hostports: 5 } : body);
    const failed = await failureOf(new Stack(tlsEdge).up({}), Error);
    for (const shown of [failed.message, String((failed as Error & Properties).reasons)]) {
      assertInert(shown);
      assert.ok(shown.includes("\\u001b[31m<\\u007b%reset%}>\\u202e"), shown);
    }
  });

  it("C90 no lookup lists it raw", async () => {
    await holds(hostileText, 60, async (text) => {
      respond = (body, { method }) => {
        if (method !== "GET") return body;
        const tunnels = ["a", "b"].map((id) => ({ id: id + text, labels: { [text]: text } }));
        return { tunnels, next_page_uri: null };
      };
      for (const filter of [{ labels: { [text]: text } }, { region: text }]) {
        const failed = await failureOf(sdk.getTunnel(filter), Error);
        for (const shown of [failed.message, failed.stack ?? ""]) assertInert(shown);
        assert.equal(failed.message.split("\n").length, 3, "a line for each candidate");
      }
    });
  });

  it("C90 no message about an object shows its id raw", async () => {
    await holds(hostileText, 40, async (text) => {
      const stack = new Stack(tlsEdge);
      await stack.up({});
      await later(emulator);
      // No path has half of a character.
      stack.id = `edgtls_${text.replace(/\p{Surrogate}/gu, "")}`;
      const failed = await failureOf(stack.up({ description: "e" }), Error);
      assert.match(failed.message, /is gone/);
      assertInert(failed.message);
    });
  });
});
