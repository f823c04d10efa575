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
  it("C15 renewBeforeDays is a whole number from 1 to 3650", () => {
    for (const days of [0, -1, 1.5, 3651]) {
      const news = { certificatePem: "x", renewBeforeDays: days };
      assert.match(problem(news, tlsCertificate), /1 to 3650/);
    }
    for (const renewBeforeDays of [1, 3650]) {
      assert.deepEqual(problems({ certificatePem: "x", renewBeforeDays }, tlsCertificate), []);
    }
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

  for (const [property, limit] of Object.entries({ description: 255, metadata: 4096 })) {
    it(`C10 ${property} may have ${limit} bytes of UTF-8 and not one more`, () => {
      for (const text of ["", "😀".repeat(60)]) {
        const rest = "x".repeat(limit - Buffer.byteLength(text));
        assert.deepEqual(problems({ [property]: text + rest }), []);
        const [said] = textsOf(
          problemsOfShape(tlsEdge, { [property]: `${text}${rest}y` }),
          () => false,
        );
        const bytes = `must be at most ${limit} bytes of UTF-8, but has ${limit + 1}`;
        assert.equal(said, `${property}: ${bytes}`);
      }
    });
  }

  it("C13 two hostports that are not known are not the same", () => {
    assert.deepEqual(problems({ hostports: [unknown, unknown] }), []);
  });

  const write = "write only a host name, a colon and a port, such as app.example.com:443";
  const colons = `has more than one colon, as an IPv6 address has: ${write}`;
  const port = "has a wrong port: it is a number from 1 to 65535, without zeros before it";
  const wildcard = "has a * that is not the whole first label, as in *.example.com:443";
  const ascii =
    "has a character that is not ASCII: remove it, or write the name as DNS has it (xn--…)";
  const name =
    "has a host name that DNS does not allow: it is labels of at most 63 letters, digits and hyphens, " +
    "with a dot between them";
  const label = (length: number) => "a".repeat(length);
  /** A host name of this many characters, of labels of at most 63. */
  const host = (length: number) => {
    const labels = `${label(49)}.`.repeat(Math.floor((length - 1) / 50));
    return labels + label(length - labels.length);
  };
  /** What is said of hostports with a mistake, after their value. */
  const wrongHostports: Record<string, string[]> = {
    [`is a URL: ${write}`]: ["https://shop.example.org", "https://shop.example.org:443/"],
    [`has a path: ${write}`]: ["shop.example.org:443/path"],
    [`has no port: ${write}`]: ["shop.example.org", "shop.example.org:", ""],
    [port]: ["70000", "65536", "0", "0443", "https", "-1"].map((port) => `a.org:${port}`),
    [wildcard]: ["shop.*.org:443", "*:443", "*shop.org:443", "*.*.a.org:443", "a*.a.org:443"],
    [colons]: ["[2001:db8::1]:443", "2001:db8::1", "a.example.com:443:443"],
    [`has a space or a line break: ${write}`]: [" shop.example.org:443"],
    "holds more than one hostport: give each as an element of the list": ["a:1,bb:2"],
    [ascii]: ["münchen.example:443", "“shop.example.org:443”"],
    [name]: [
      ...[":8443", "shop.example.org.:443", "app..com:443", "app!.example.com:443"],
      ...["-a.example.com:443", "a-.example.com:443", `${label(64)}.com:443`],
    ],
  };
  const rightHostports = [
    ...[`${host(253)}:443`, `*.${host(251)}:443`, `${label(63)}.example.com:443`],
    ...["a-b.example.com:443", "*.example.com:8443", "localhost:1", "x_y.z:65535"],
  ];
  for (const hostport of rightHostports) {
    it(`C15 the hostport ${hostport} passes`, () => {
      assert.deepEqual(problems({ hostports: [hostport] }), []);
    });
  }
  it("C15 a host name of 254 characters is refused, and one with a line break at its end", () => {
    for (const one of [`${host(254)}:443`, `*.${host(252)}:443`, "a.example.com:443\n"]) {
      assert.equal(problems({ hostports: [one] }).length, 1);
    }
  });

  const version = 'must be "1.0", "1.1", "1.2" or "1.3"';
  const termination = (values: Properties) => ({ tlsTermination: values });
  const some = "must be an object with some of these: enabled";
  const json = "but must be a string, such as JSON";
  const url = "https://api.example.com/backends/b";
  const pem = "-----BEGIN CERTIFICATE-----\nMIIB";
  /** A mistake, and the only thing that is said of it where the value is no secret. */
  const mistakes: [path: string, news: Properties, said: string][] = [
    ...Object.entries(wrongHostports).flatMap(([said, values]) =>
      values.map((value): [string, Properties, string] => [
        "hostports[0]",
        { hostports: [value] },
        `"${value}" ${said}`,
      ]),
    ),
    [
      "hostports[0]",
      { hostports: ["shop.example.org:443\r"] },
      `"shop.example.org:443\\r" has a space or a line break: ${write}`,
    ],
    ["hostports[0]", { hostports: ["\u200ba.b:443"] }, `"\\u200ba.b:443" ${ascii}`],
    [
      "hostports",
      { hostports: ["A.example.com:443", unknown, "a.example.com:443"] },
      "has the same host and port twice (hostports[0] and hostports[2]): remove one of them",
    ],
    ["hostports[0]", { hostports: ["me:word@a.org:443"] }, colons],
    [
      "hostports[0]",
      { hostports: [btoa("-----BEGIN PRIVATE KEY-----\nMC4CAQAw")] },
      `has no port: ${write}`,
    ],
    ["hostports[0]", { hostports: [443] }, "is a number, but must be a string: put it into quotes"],
    ["hostports[0]", { hostports: [null] }, "is null, but must be a string"],
    [
      "hostports",
      { hostports: "a:1" },
      "is a string, but must be a list of strings: put it into brackets",
    ],
    ["hostports", { hostports: { a: "a:1" } }, "is an object, but must be a list of strings"],
    [
      "tlsTermination.minVersion",
      termination({ minVersion: 1.2 }),
      `is a number, but ${version}: put it into quotes`,
    ],
    ["tlsTermination.minVersion", termination({ minVersion: "TLS1.2" }), `"TLS1.2" ${version}`],
    [
      "tlsTermination.minVersion",
      termination({ minVersion: true }),
      `is a boolean, but ${version}`,
    ],
    [
      "tlsTermination.terminateAt",
      termination({ terminateAt: "Edge" }),
      '"Edge" must be "edge" or "upstream"',
    ],
    [
      "tlsTermination",
      { tlsTermination: true },
      `is a boolean, but ${some}, terminateAt, minVersion`,
    ],
    ["backend", { backend: [] }, `is a list, but ${some}, backendId`],
    ["backend.backendId", { backend: { backendId: "" } }, '"" must not be empty'],
    ["backend.backendId", { backend: {} }, "is missing"],
    ["onModuleRemoval", { onModuleRemoval: "x" }, '"x" must be "disable" or "replace"'],
    [
      "backend.enabled",
      { backend: { backendId: "b", enabled: "yes" } },
      "is a string, but must be true or false, without quotes",
    ],
    [
      "backend.backendId",
      { backend: { backendId: url } },
      `"${url}" is a URL: give only the id, its last part`,
    ],
    [
      "ipRestriction.ipPolicyIds[0]",
      { ipRestriction: { ipPolicyIds: ["10.0.0.0/8"] } },
      '"10.0.0.0/8" is an address: give the id of an object that the service has',
    ],
    [
      "mutualTls.certificateAuthorityIds[0]",
      { mutualTls: { certificateAuthorityIds: [pem] } },
      "is PEM text: give the id of the object",
    ],
    ["metadata", { metadata: { team: "web" } }, `is an object, ${json}`],
    ["metadata", { metadata: ["web"] }, `is a list, ${json}`],
    ["description", { description: {} }, "is an object, but must be a string"],
    ["description", { description: 5 }, "is a number, but must be a string: put it into quotes"],
    [
      "description",
      { description: { 0: 45, 1: 45 } },
      'is an object, but must be a string: use readFileSync(path, "utf8")',
    ],
    ...[
      ["backend.backendID", { backend: { backendID: "b" } }, "backendId"],
      ["backend.backendID", { backend: { backendId: "b", backendID: "b" } }, "backendId"],
      ["backendId", { backendId: "b" }, "backend.backendId"],
      ["hostport", { hostport: [] }, "hostports"],
      ["tls_termination", { tls_termination: {} }, "tlsTermination"],
      ["tlsTermination.min_version", termination({ min_version: "1.2" }), "minVersion"],
      ["tlsTermination.min_vresion", termination({ min_vresion: "1.2" }), "min_version"],
      ["ipRestriction.enable", { ipRestriction: { ipPolicyIds: ["i"], enable: true } }, "enabled"],
    ].map(([path, news, meant]): [string, Properties, string] => [
      path as string,
      news as Properties,
      `no such property: did you mean ${meant}?`,
    ]),
  ];
  const textsIn = (value: unknown): string[] =>
    typeof value === "string"
      ? [value].filter(({ length }) => length > 2)
      : Object.values(value ?? {}).flatMap(textsIn);
  for (const [path, news, said] of mistakes) {
    it(`C10 C15 of ${JSON.stringify(news)} is said: ${said}`, () => {
      const texts = (isSecret: boolean) =>
        textsOf(problemsOfShape(tlsEdge, news), (property) => {
          assert.ok(property in news, property);
          return isSecret;
        });
      assert.deepEqual(texts(false), [`${path}: ${said}`]);
      const [hidden = "", ...more] = texts(true);
      assert.deepEqual(more, []);
      assert.equal(hidden, `${path}: ${said.replace(/^".*?" (?=is|has|must|holds)/, "")}`);
      for (const value of textsIn(news)) assert.ok(!hidden.includes(value), hidden);
    });
  }

  it("C15 each misspelt property is told, and the wrong value of the right one beside it", () => {
    const news = { backend: { backendID: "b", backendId: 5 }, colour: "red" };
    const paths = problemsOfShape(tlsEdge, news).map(({ path }) => path);
    assert.deepEqual(paths, ["backend.backendID", "colour", "backend.backendId"]);
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
});
