import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { Kind } from "../provider/kind";
import { textsOf } from "../provider/resource";
import { tlsCertificate } from "../provider/tlsCertificate";
import { tlsEdge } from "../provider/tlsEdge";
import { nearest } from "../provider/values/nearest";
import { problemsOfShape, prune } from "../provider/values/shape";
import { holds } from "./cases";
import { type Properties, unknown } from "./support";

/** What is wrong, as `path: reason`. */
const problems = (news: Properties, kind: Kind = tlsEdge) =>
  problemsOfShape(kind, news).map(({ path, reason }) => `${path}: ${reason}`);

/** The only thing that is wrong. */
function problem(news: Properties, kind: Kind = tlsEdge): string {
  const [first = "", ...more] = problems(news, kind);
  assert.deepEqual(more, []);
  return first;
}

describe("the shape of inputs", () => {
  it("C15 a number of days that is none is told what it must be", () => {
    const whole = { certificatePem: "x" };
    assert.match(problem({ ...whole, renewBeforeDays: "21" }, tlsCertificate), /a number/);
    for (const days of [0, -1, 1.5, 3651]) {
      assert.match(problem({ ...whole, renewBeforeDays: days }, tlsCertificate), /1 to 3650/);
    }
    for (const renewBeforeDays of [1, 3650]) {
      assert.deepEqual(problems({ ...whole, renewBeforeDays }, tlsCertificate), []);
    }
  });

  it("C15 what is missing is said to be missing", () => {
    assert.match(problem({}, tlsCertificate), /^certificatePem: .*missing/);
    assert.match(problem({ backend: {} }), /^backend\.backendId: .*missing/);
  });

  const key = "-----BEGIN EC PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END EC PRIVATE KEY-----\n";
  const dashed = key.replaceAll("-", "\u2013");
  const misplaced: [Properties, string][] = [
    ["description", "metadata", "connection", "onModuleRemoval", "unknownName"].map(
      (name) => [{ [name]: key }, name] as const,
    ),
    [[{ hostports: ["a:1", key] }, "hostports[1]"] as const],
    [[{ backend: { backendId: key } }, "backend.backendId"] as const],
    [[{ ipRestriction: { ipPolicyIds: ["i", key] } }, "ipRestriction.ipPolicyIds[1]"] as const],
    [[{ metadata: JSON.stringify({ owner: key }) }, "metadata"] as const],
    [[{ metadata: dashed }, "metadata"] as const],
    [[{ hostports: [dashed] }, "hostports[0]"] as const],
    [[{ tlsTermination: { minVersion: dashed } }, "tlsTermination.minVersion"] as const],
    [[{ [key]: 1 }, ""] as const],
    [[{ backend: { backendId: "b", [`x${key}`]: [key] } }, "backend"] as const],
  ].flat() as [Properties, string][];
  for (const [news, path] of misplaced) {
    it(`C50 a private key at ${path || "the top"} is refused, and not quoted`, () => {
      for (const kind of [tlsEdge, tlsCertificate]) {
        const said = problems(news, kind);
        const own = said.filter((one) => /private key/.test(one));
        assert.ok(own.length === 1 && own[0]?.startsWith(`${path}: `), said.join("\n"));
        for (const one of said) assert.ok(!/MIGH|BEGIN/.test(one), one);
      }
    });
  }

  it("C50 a private key in a property of PEM is the matter of its own check", () => {
    assert.deepEqual(problems({ certificatePem: key, privateKeyPem: key }, tlsCertificate), []);
  });

  it("C15 of a name that is like none, none is said to be meant, and all are named", () => {
    assert.match(problem({ colour: "red" }), /^colour: .*hostports, backend,/);
    assert.match(problem({ toString: "red" }), /^toString: .*hostports, backend,/);
    assert.match(problem({ backend: { backendId: "b", port: 1 } }), /: .* enabled, backendId$/);
    assert.doesNotMatch(problem({ colour: "red" }), /mean/);
  });

  it("C15 the nearest name is not one that differs in most of its letters", () => {
    assert.equal(nearest("domain", ["region", "connection"]), undefined);
    assert.equal(nearest("timeoutSecs", ["baseUrl", "timeoutSeconds"]), "timeoutSeconds");
    assert.equal(nearest("x", []), undefined);
  });

  it("C25 what says nothing is left out, and what an earlier check has added", () => {
    const given = {
      __provider: "text",
      description: "",
      metadata: null,
      backend: { backendId: "b", enabled: null },
      serialNumber: "1",
      fingerprint: "new",
    };
    const olds = { serialNumber: "1", fingerprint: "old" };
    assert.deepEqual(prune(tlsEdge, given, olds), {
      backend: { backendId: "b" },
      fingerprint: "new",
    });
    assert.deepEqual(prune(tlsEdge, { description: "d" }, { description: "d" }), {
      description: "d",
    });
  });

  it("C10 a text that is too long is told its length in bytes", () => {
    assert.match(problem({ description: "é".repeat(150) }), /255 .*300/);
    assert.match(problem({ metadata: "x".repeat(5000) }), /4096 .*5000/);
    const found = problemsOfShape(tlsEdge, { description: "words ".repeat(50) });
    assert.doesNotMatch(textsOf(found, () => false).join(), /words/);
  });

  it("C13 two hostports that are not known are not the same", () => {
    assert.deepEqual(problems({ hostports: [unknown, unknown] }), []);
  });

  const module = (values: Properties) => ({ tlsTermination: values });
  const write = "write only a host name, a colon and a port, such as app.example.com:443";
  const asciiOnly =
    "has a character that is not ASCII: remove it, or write the name as DNS has it (xn--…)";
  /** A mistake in one hostport, and what is said after its value. */
  const hostportMistakes: [string, string][] = [
    ["https://shop.example.org", `is a URL: ${write}`],
    ["https://shop.example.org:443/", `is a URL: ${write}`],
    ["shop.example.org:443/path", `has a path: ${write}`],
    ["shop.example.org", `has no port: ${write}`],
    ["shop.example.org:", `has no port: ${write}`],
    [":8443", `has no host name: ${write}`],
    ["", `is empty: ${write}`],
    ...["70000", "0", "0443", "https", "-1"].map((port): [string, string] => [
      `shop.example.org:${port}`,
      "has a wrong port: it is a number from 1 to 65535, without zeros before it",
    ]),
    ...["shop.*.org:443", "*:443", "*shop.example.org:443"].map((one): [string, string] => [
      one,
      "has a * that is not the whole first label, as in *.example.com:443",
    ]),
    ["shop.example.org.:443", "has a dot at the end of the host name: remove it"],
    ["app..com:443", "has an empty label in the host name: remove the extra dot"],
    ["-a.example.com:443", "has a label that begins or ends with a hyphen, which no host name has"],
    [" shop.example.org:443", `has a space or a line break: ${write}`],
    ["[2001:db8::1]:443", "is an IPv6 address: write a host name, a colon and a port"],
    ["2001:db8::1", "is an IPv6 address: write a host name, a colon and a port"],
    ["a.example.com:443:443", `has two colons: ${write}`],
    ["a:1,bb:2", "holds more than one hostport: give each as an element of the list"],
    ["“shop.example.org:443”", `has quotation marks in it: ${write}`],
    ["münchen.example:443", asciiOnly],
    ["app!.example.com:443", `has a character that no host name has: ${write}`],
    [
      `${"a".repeat(64)}.com:443`,
      "is too long: a host name has at most 253 characters, a label 63",
    ],
  ];
  const version = 'but must be "1.0", "1.1", "1.2" or "1.3"';
  const texts = "a list of strings";
  /** A mistake, and the only thing that is said of it where the value is no secret. */
  const mistakes: [Properties, string][] = [
    ...hostportMistakes.map(([value, said]): [Properties, string] => [
      { hostports: [value] },
      `hostports[0]: "${value}" ${said}`,
    ]),
    [
      { hostports: ["shop.example.org:443\r"] },
      `hostports[0]: "shop.example.org:443\\r" has a space or a line break: ${write}`,
    ],
    [{ hostports: ["\u200ba.b:443"] }, `hostports[0]: "\\u200ba.b:443" ${asciiOnly}`],
    [
      { hostports: ["A.example.com:443", unknown, "a.example.com:443"] },
      'hostports[2]: "a.example.com:443" is the same host and port as hostports[0]: remove one of them',
    ],
    [{ hostports: ["user:word@shop.example.org:443"] }, `hostports[0]: has a user name: ${write}`],
    [{ hostports: [443] }, "hostports[0]: is a number, but must be a string: put it into quotes"],
    [{ hostports: [null] }, "hostports[0]: is null, but must be a string"],
    [{ hostports: "a:1" }, `hostports: is a string, but must be ${texts}: put it into brackets`],
    [{ hostports: { a: "a:1" } }, `hostports: is an object, but must be ${texts}`],
    [
      module({ minVersion: 1.2 }),
      `tlsTermination.minVersion: is the number 1.2, ${version}: put it into quotes`,
    ],
    [module({ minVersion: "TLS1.2" }), `tlsTermination.minVersion: is "TLS1.2", ${version}`],
    [module({ minVersion: true }), `tlsTermination.minVersion: is true, ${version}`],
    [module({ minVersion: ["TLS1.2"] }), `tlsTermination.minVersion: is a list, ${version}`],
    [
      module({ terminateAt: "Edge" }),
      'tlsTermination.terminateAt: is "Edge", but must be "edge" or "upstream"',
    ],
    [
      { tlsTermination: true },
      "tlsTermination: is a boolean, but must be an object with some of these: enabled, " +
        "terminateAt, minVersion",
    ],
    [{ backend: [] }, "backend: is a list, but must be an object"],
    [{ backend: { backendId: "" } }, "backend.backendId: must not be empty"],
    [
      { backend: { backendID: "b" } },
      "backend.backendID: no such property: did you mean backendId?",
    ],
    [
      { backend: { backendId: "b", backendID: "b" } },
      "backend.backendID: no such property: did you mean backendId?",
    ],
    [{ backendId: "b" }, "backendId: no such property: did you mean backend.backendId?"],
    [{ hostport: [] }, "hostport: no such property: did you mean hostports?"],
    [{ tls_termination: {} }, "tls_termination: no such property: did you mean tlsTermination?"],
    ...["minversion", "min_version"].map((name): [Properties, string] => [
      module({ [name]: "1.2" }),
      `tlsTermination.${name}: no such property: did you mean minVersion?`,
    ]),
    [
      { ipRestriction: { ipPolicyIds: ["i"], enable: true } },
      "ipRestriction.enable: no such property: did you mean enabled?",
    ],
    [
      { ipRestriction: { ipPolicyIds: {} } },
      `ipRestriction.ipPolicyIds: is an object, but must be ${texts}`,
    ],
    [{ onModuleRemoval: "x" }, 'onModuleRemoval: is "x", but must be "disable" or "replace"'],
    [
      { mutualTls: { enabled: 1, certificateAuthorityIds: ["ca_1"] } },
      "mutualTls.enabled: is a number, but must be true or false, without quotes",
    ],
    [
      { backend: { backendId: "https://api.example.com/backends/b" } },
      'backend.backendId: "https://api.example.com/backends/b" is a URL: give only the id, its last part',
    ],
    [
      { ipRestriction: { ipPolicyIds: ["10.0.0.0/8"] } },
      'ipRestriction.ipPolicyIds[0]: "10.0.0.0/8" is an address: give the id of an object that the ' +
        "service has",
    ],
    [
      { mutualTls: { certificateAuthorityIds: ["-----BEGIN CERTIFICATE-----\nMIIB"] } },
      "mutualTls.certificateAuthorityIds[0]: is PEM text: give the id of the object",
    ],
    [
      { backend: { backendId: "b", enabled: "yes" } },
      "backend.enabled: is a string, but must be true or false, without quotes",
    ],
    [
      { metadata: { team: "web" } },
      "metadata: is an object, but must be a string: convert it to JSON",
    ],
    [{ metadata: ["web"] }, "metadata: is a list, but must be a string"],
    [{ description: {} }, "description: is an object, but must be a string"],
    [{ metadata: 5 }, "metadata: is a number, but must be a string: put it into quotes"],
    [{ description: true }, "description: is a boolean, but must be a string"],
    [
      { description: { 0: 45, 1: 45 } },
      'description: is an object, but must be a string: use readFileSync(path, "utf8")',
    ],
  ];
  const textsIn = (value: unknown): string[] =>
    typeof value === "string"
      ? [value].filter(({ length }) => length > 2)
      : Object.values(value ?? {}).flatMap(textsIn);
  for (const [news, said] of mistakes) {
    it(`C10 C15 of ${JSON.stringify(news)} is said: ${said}`, () => {
      const texts = (isSecret: boolean) =>
        textsOf(problemsOfShape(tlsEdge, news), (property) => {
          assert.ok(property in news, property);
          return isSecret;
        });
      assert.deepEqual(texts(false), [said]);
      const [hidden = "", ...more] = texts(true);
      assert.deepEqual(more, []);
      const [path = ""] = said.split(": ");
      const [must = ""] = /must be [^:]*|no such property/.exec(said) ?? [];
      assert.ok(hidden.startsWith(`${path}: `) && hidden.includes(must), hidden);
      assert.ok(hidden.length > `${path}: `.length + 10, hidden);
      for (const value of textsIn(news)) assert.ok(!hidden.includes(value), hidden);
    });
  }

  it("C15 a misspelt property beside the right one is told, and so is the right one's value", () => {
    const news = { backend: { backendID: "b", backendId: 5 } };
    const paths = textsOf(problemsOfShape(tlsEdge, news), () => false).map((text) =>
      text.slice(0, text.indexOf(":")),
    );
    assert.deepEqual(paths, ["backend.backendID", "backend.backendId"]);
  });

  it("C10 C15 of any hostport that is refused, the mistake is said, short and on one line", () => {
    const part = fc.constantFrom(
      "a",
      "*",
      ".",
      ":",
      "443",
      "-",
      "/",
      " ",
      "\n",
      "é",
      "\u202e",
      "@",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(part).map((parts) => parts.join("")),
    );
    return holds(text, 500, async (hostport) => {
      const found = problemsOfShape(tlsEdge, { hostports: [hostport] });
      const [shown = "hostports[0]: is fine"] = textsOf(found, () => false);
      assert.match(shown, /^hostports\[0\]: ("\P{Cc}*" )?(is|has|holds) \P{Cc}+$/u);
      assert.doesNotMatch(shown, /\p{Cf}/u);
      assert.ok(shown.length < 500, shown);
      const [hidden = "hostports[0]: is fine"] = textsOf(found, () => true);
      assert.match(hidden, /^hostports\[0\]: (is|has|holds) /);
    });
  });

  it("C18 minVersion is one of the known versions", () => {
    for (const minVersion of ["1.0", "1.1", "1.2", "1.3", unknown]) {
      assert.deepEqual(problems({ tlsTermination: { minVersion } }), []);
    }
    for (const minVersion of ["TLSv1.2", "1.4", "1", "tls1.2", "1.2 "]) {
      const reason = problem({ tlsTermination: { minVersion } });
      assert.match(reason, /^tlsTermination\.minVersion: .*"1\.3"/);
      if (minVersion.length > 1) assert.ok(!reason.includes(minVersion), reason);
    }
  });

  it("C10 a list of ids that is empty is refused, in a module that is switched off too", () => {
    for (const enabled of [true, false]) {
      const restriction = { ipRestriction: { enabled, ipPolicyIds: [] } };
      assert.match(problem(restriction), /^ipRestriction\.ipPolicyIds: .*empty/);
      const mutual = { mutualTls: { enabled, certificateAuthorityIds: [] } };
      assert.match(problem(mutual), /^mutualTls\.certificateAuthorityIds: .*empty/);
    }
    assert.deepEqual(problems({ ipRestriction: { ipPolicyIds: [unknown] } }), []);
    assert.deepEqual(problems({ ipRestriction: { ipPolicyIds: unknown } }), []);
    assert.deepEqual(problems({ hostports: [] }), []);
  });

  const label = (length: number) => "a".repeat(length);
  /** A host name of this many characters, of labels of at most 63. */
  const host = (length: number) => `${`${label(49)}.`.repeat(Math.floor((length - 1) / 50))}`;
  const hostOf = (length: number) => host(length) + label(length - host(length).length);
  const edges: [string, string, boolean][] = [
    ["a host of 253 characters", `${hostOf(253)}:443`, true],
    ["a host of 254 characters", `${hostOf(254)}:443`, false],
    ["a wildcard before a host, 253 characters in all", `*.${hostOf(251)}:443`, true],
    ["a wildcard before a host, 254 characters in all", `*.${hostOf(252)}:443`, false],
    ["a label of 63 characters", `${label(63)}.example.com:443`, true],
    ["a label that ends with a hyphen", "a-.example.com:443", false],
    ["a label with a hyphen inside", "a-b.example.com:443", true],
    ["two wildcards", "*.*.example.com:443", false],
    ["part of a label as a wildcard", "a*.example.com:443", false],
    ["port 65536", "a.example.com:65536", false],
    ["a line break at the end", "a.example.com:443\n", false],
  ];
  for (const [what, hostport, passes] of edges) {
    it(`C15 ${what} ${passes ? "passes" : "is refused"}`, () => {
      assert.equal(problems({ hostports: [hostport] }).length, passes ? 0 : 1);
    });
  }
});
