import assert from "node:assert/strict";
import { mock } from "node:test";
import { inspect } from "node:util";
import * as fc from "fast-check";
import MarkdownIt from "markdown-it";
import type { Account } from "../cli/account";
import { adoptionText, planOf } from "../cli/adopt";
import { statusHtml } from "../cli/html";
import { statusMarkdown } from "../cli/markdown";
import { statusText } from "../cli/report";
import { statusOf } from "../cli/status";
import { ConnectionError, ServiceError } from "../client/errors";
import { plainJson, unseen } from "../client/plain";
import { makeCertificate } from "../emulator/server";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import * as sdk from "../sdk";
import { certificateWire, edgeWire, inDays, now } from "./accounts";
import { anyJson, assertInert, holds, hostileText, pathsIn, withValueAt } from "./cases";
import {
  captureMessages,
  failureOf,
  fullEdge,
  later,
  makePair,
  type Properties,
  Stack,
  skipPauses,
  useEmulator,
} from "./support";

/** The provider makes of any answer a right state, or an error that names the field, and shows its texts inert. */
describe("for any answer", () => {
  const emulator = useEmulator();
  let stack: Stack;

  const kinds = {
    edge: { provider: tlsEdge, all: "tlsEdges", args: fullEdge as Properties },
    certificate: { provider: tlsCertificate, all: "tlsCertificates", args: {} as Properties },
  } as const;
  type Kind = (typeof kinds)[keyof typeof kinds];
  before(async () => {
    const issuer = await makeCertificate({ commonName: "root", isCa: true });
    const names = { commonName: "app", dnsNames: ["app.example.com"], ips: ["127.0.0.1"] };
    const pair = await makePair({ ...names, issuer });
    Object.assign(kinds.certificate.args, { description: "d", metadata: "m", ...pair });
  });

  /** Does work while the answers to a method have a change; gives the changed paths of objects. */
  async function under(method: string, one: Change, work: () => Promise<unknown>) {
    const paths: string[] = [];
    emulator.respond = (body, request) => {
      if (request.method !== method || request.status >= 300) return body;
      const { path, body: other } = changed(body, one);
      paths.push(path);
      return other;
    };
    const error = await work().then(
      () => undefined,
      (error: unknown) => error ?? new Error("rejected with nothing"),
    );
    emulator.respond = (body) => body;
    return { error, paths };
  }

  /** A stack with one resource, and what its state is when the service answers right. */
  async function deploy({ provider, args }: Kind): Promise<Properties> {
    emulator.reset();
    stack = new Stack(provider);
    await stack.up(args);
    return { ...stack.state };
  }

  /** The state can be stored, has the form of a right one, and the next plan accepts it. */
  async function isUsable({ args }: Kind, complete: Properties) {
    assert.ok(isPlain(stack.state), inspect(stack.state, { depth: 9 }));
    assert.ok(hasForm(stack.state, complete), inspect(stack.state, { depth: 9 }));
    await stack.preview(args);
  }

  for (const [name, kind] of Object.entries(kinds)) {
    it(`C35: a create of a TLS ${name} is done, or is in the state with its id`, async () => {
      const complete = await deploy(kind);
      await holds(change, 60, async (one) => {
        emulator.reset();
        beginRun();
        stack = new Stack(kind.provider);
        // Without an id in the answer, the object is looked for.
        skipPauses();
        const { error, paths } = await under("POST", one, () => stack.up(kind.args));
        mock.reset();
        const [object, ...others] = emulator[kind.all].list();
        assert.deepEqual(others, []);
        if (error === undefined) {
          if (paths[0] !== "id") assert.equal(stack.id, object?.id);
          return isUsable(kind, complete);
        }
        const { id, properties, reasons } = error as Properties;
        assert.ok(typeof id === "string" && id !== "" && isPlain(properties), inspect(error));
        const [, field = ""] = /field (\S+) of the answer/.exec(String(reasons)) ?? [];
        assert.ok(isAbout(field, String(paths[0])), String(reasons));
        // The id itself may be the change.
        if (id !== object?.id) return;
        assert.equal(await stack.up(kind.args), "update");
        assert.equal(await stack.refresh(), "same");
      });
    });

    it(`C31 C62: a read of a TLS ${name} is right, or its error names the field`, async () => {
      await holds(fc.record({ one: change, byPage: fc.boolean() }), 80, async ({ one, byPage }) => {
        const complete = await deploy(kind);
        // The first read after a write is of one object; the next may be of a page, and then of one.
        if (byPage) await stack.refresh();
        const { error, paths } = await under("GET", one, () => stack.refresh());
        if (error === undefined) return isUsable(kind, complete);
        if (!isChainError(error)) namesField(error, paths);
      });
    });
  }

  const idOf = (all: "tlsEdges" | "tlsCertificates" | "tunnels") =>
    String(emulator[all].list()[0]?.id);
  const lookups: Record<string, () => Promise<unknown>> = {
    getTLSEdge: () => sdk.getTLSEdge({ id: idOf("tlsEdges") }),
    getTLSCertificate: () => sdk.getTLSCertificate({ id: idOf("tlsCertificates") }),
    getTunnel: () => sdk.getTunnel({ id: idOf("tunnels") }),
    "getTLSEdges by hostport": () => sdk.getTLSEdges({ hostport: "A:1" }),
    "getTLSCertificates by domain": () => sdk.getTLSCertificates({ domain: "app.example.com" }),
    "getTunnel by labels": () => sdk.getTunnel({ labels: { app: "web" }, region: "eu" }),
  };

  /** A lookup gives what has the form of a right result, or says what can't be used. */
  async function isFoundOrNamed(one: Change, look: () => Promise<unknown>, complete: unknown) {
    let found: unknown;
    const { error, paths } = await under("GET", one, async () => {
      found = await look();
    });
    if (error === undefined) {
      assert.ok(isPlain(found) && hasForm(found, complete), inspect(found));
      return;
    }
    // A list may go on at an address that leads nowhere, and have nothing that matches.
    if (error instanceof ServiceError || error instanceof sdk.LookupError) return;
    // A filter judges chains, too.
    if (!isChainError(error)) namesField(error, paths);
  }

  for (const [name, look] of Object.entries(lookups)) {
    it(`C62: ${name} finds what is there, of which each field has its type, or is named`, async () => {
      for (const { provider, args } of Object.values(kinds)) await new Stack(provider).up(args);
      captureMessages();
      let places = 0;
      emulator.respond = (body) => {
        places = pathsIn(body).length;
        return body;
      };
      const complete = await look();
      assert.ok(places > 10);
      for (let place = 0; place <= places + 1; place++) {
        for (const json of [undefined, null, true, 7, "x", [], ["x"], {}, [{}]])
          await isFoundOrNamed({ place, instead: { json } }, look, complete);
      }
    });
  }

  describe("with a hostile text", () => {
    /** An account in which every text is this one. */
    const accountOf = (text: string): Account => ({
      service: text,
      edges: [
        edgeWire({ id: text, hostports: [text, `${text}:443`], description: text, metadata: text }),
      ],
      certificates: [
        certificateWire({
          ...{ id: text, description: text, metadata: JSON.stringify({ owner: text }) },
          ...{ not_after: inDays(30).toISOString(), serial_number: text },
          ...{ subject_common_name: text },
          subject_alternative_names: { dns_names: [text], ips: [text] },
        }),
      ],
      tunnels: [
        { id: text, public_url: text, forwards_to: text, proto: text, labels: { [text]: text } },
      ],
    });

    it("C90: no report is a command, at any width", async () => {
      const displays = fc.record({ width: fc.integer({ min: 20, max: 200 }), text: hostileText });
      await holds(displays, 150, async ({ text, width }) => {
        const display = { width, colour: false };
        const account = accountOf(text);
        const status = statusOf(account, now);
        const adoption = { ...planOf(account, "tlsedge"), service: text, files: ["import.json"] };
        assertInert(statusText(status, display));
        for (const isPlugin of [false, true])
          assertInert(adoptionText(adoption, isPlugin, display));
        const left = { ...adoption, stack: text, files: ["import.json", "adopted.cjs"] };
        assertInert(adoptionText(left, false, display));
        for (const json of [status, adoption]) assertInert(plainJson(json, 2));
      });
    });

    it("C90: no Markdown and no page has a tag or an attribute of it", async () => {
      const { Parser } = await import("htmlparser2");
      const markdown = new MarkdownIt({ html: true, linkify: true });
      const tags = (page: string) => {
        const found = new Set<string>();
        const onopentag = (name: string, attributes: object) =>
          void found.add([name, ...Object.keys(attributes)].join(" "));
        new Parser({ onopentag }).end(page);
        return found;
      };
      const pagesOf = (text: string) => {
        const status = statusOf(accountOf(text), now);
        return [statusMarkdown(status), statusHtml(status)] as const;
      };
      const tagsOf = (text: string) => {
        const [inMarkdown, html] = pagesOf(text);
        return [tags(markdown.render(inMarkdown)), tags(html)] as const;
      };
      // Texts as words, short and long, as code, as code in which signs are escaped, and with a port.
      const known = ["word", "a word and some more", "a.b", "`|`", "\\", "a.b:443"].map(tagsOf);
      await holds(hostileText, 200, async (text) => {
        const [inMarkdown, html] = pagesOf(text);
        assertInert(inMarkdown);
        assert.doesNotMatch(html, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
        for (const [form, found] of tagsOf(text).entries()) {
          const others = [...found].filter((tag) => !known.some((one) => one[form]?.has(tag)));
          assert.deepEqual(others, []);
        }
      });
    });

    it("C90: a create whose answer has only a valid id, and an update of it when it is gone, show it escaped", async () => {
      const text = "##[group]<{%reset%}>";
      emulator.respond = (body, { method }) =>
        method === "POST" ? { id: text, hostports: 5 } : body;
      stack = new Stack(tlsEdge);
      const failed = await failureOf(stack.up({}), Error);
      await later(emulator);
      const gone = await failureOf(stack.up({ description: "e" }), Error);
      assert.match(gone.message, /is gone.*pulumi refresh/);
      const { reasons } = failed as Error & Properties;
      for (const shown of [failed.message, String(reasons), gone.message]) {
        assertInert(shown);
        assert.ok(shown.includes("#\\u0023[group]<\\u007b%reset%}>"), shown);
      }
    });

    it("C90: no lookup lists it as it is", async () => {
      await holds(hostileText, 60, async (text) => {
        const name = text.replace(unseen, "");
        const common = { labels: { [text]: text }, public_url: `tls://${text}` };
        const tunnels = ["a", "b"].map((id) => ({ id: id + name, ...common }));
        emulator.respond = (body, { method }) =>
          method === "GET" ? { tunnels, next_page_uri: null } : body;
        // Of those that match, and with a line of advice the newest, and the nearest.
        for (const [filter, lines] of [
          [{ labels: { [text]: text } }, 2],
          [{ region: text }, 3],
          [{ publicUrl: `${text}!` }, 3],
        ] as const) {
          const failed = await failureOf(sdk.getTunnel(filter), Error);
          for (const shown of [failed.message, failed.stack ?? ""]) assertInert(shown);
          assert.equal(failed.message.split("\n").length, 1 + lines, "a line for each candidate");
        }
      });
    });
  });
});

/** What stands in an answer instead: JSON, or one of the special values. */
const special: Record<string, () => unknown> = {
  missing: () => undefined,
  huge: () => "x".repeat(300_000),
  deep: () => JSON.parse(`${"[".repeat(1000)}${"]".repeat(1000)}`),
  many: () => Array.from({ length: 5000 }, (_, n) => n),
  proto: () => JSON.parse('{"__proto__":{"id":1},"constructor":{"name":2},"toString":3}'),
};
type Instead = { json: unknown } | { special: string };
/** A case has the name of a special value, so that a failure can be read. */
const instead: fc.Arbitrary<Instead> = fc.oneof(
  { weight: 6, arbitrary: anyJson.map((json) => ({ json })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...Object.keys(special)).map((special) => ({ special })),
  },
);
const standIn = (one: Instead) => ("json" in one ? one.json : special[one.special]?.());

/** Another value at one place of an answer; the last place is a field more. */
interface Change {
  place: number;
  instead: Instead;
}
const change: fc.Arbitrary<Change> = fc.record({ place: fc.noBias(fc.nat(199)), instead });

function changed(body: unknown, { place, instead }: Change): { body: unknown; path: string } {
  const paths = [[], ...pathsIn(body), ["added"]];
  const path = paths[place % paths.length] ?? [];
  const value = standIn(instead);
  if (path.length === 0) return { body: value ?? null, path: "" };
  const text = path.map((name) => (typeof name === "number" ? `[${name}]` : `.${name}`)).join("");
  return { body: withValueAt(body, path, value), path: text.slice(1) };
}

const isNothing = (value: unknown) => value === null || value === undefined;

/** Whether a value has the form of a complete one: the types of its parts. Any part may be unset. */
function hasForm(value: unknown, complete: unknown): boolean {
  if (isNothing(value) || isNothing(complete)) return true;
  if (typeof value !== typeof complete || Array.isArray(value) !== Array.isArray(complete))
    return false;
  if (typeof complete !== "object") return true;
  if (Array.isArray(value)) return value.every((one) => hasForm(one, Object(complete)[0]));
  return Object.entries(Object(complete)).every(([name, part]) =>
    hasForm(Object(value)[name], part),
  );
}

/** Whether Pulumi can store a value: no undefined in a list, no NaN, nothing but plain data. */
function isPlain(value: unknown): boolean {
  if (value === null || ["string", "boolean"].includes(typeof value)) return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value))
    return Object.keys(value).length === value.length && value.every(isPlain);
  if (typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Object.values(value).every((part) => part === undefined || isPlain(part));
}

/** Whether one of two paths is within the other. An error may name a list, or one of its items. */
function isAbout(field: string, path: string): boolean {
  const isBelow = (one: string, other: string) =>
    one === other || one.startsWith(`${other}.`) || one.startsWith(`${other}[`);
  return path === "" || isBelow(path, field) || isBelow(field, path);
}

/** The error of an answer that can't be used names the field. */
function namesField(error: unknown, paths: string[]): void {
  assert.ok(error instanceof ConnectionError, `not a ConnectionError: ${inspect(error)}`);
  assert.equal(error.code, "EBADANSWER");
  const { field = "" } = error;
  assert.ok(
    paths.some((path) => isAbout(field, path)),
    `${field} is named, not ${paths}`,
  );
  assert.ok(error.message.includes(field));
}

const isChainError = (error: unknown) =>
  error instanceof Error && error.message.startsWith("certificate_pem ");
