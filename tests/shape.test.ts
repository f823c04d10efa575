import assert from "node:assert/strict";
import { inspect } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import * as fc from "fast-check";
import type { Kind } from "../provider/kinds/kind";
import { problemsOfShape, prune } from "../provider/kinds/shape";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { textsOf } from "../provider/lifecycle/messages";
import { nearest } from "../provider/values/nearest";
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

/** Names, types and limits of the inputs, with the exact text of each error. */
describe("the shape of inputs", () => {
  it("C15 renewBeforeDays is a whole number from 1 to 3650", () => {
    const found = (renewBeforeDays: unknown) =>
      problems({ certificatePem: "x", renewBeforeDays }, tlsCertificate).join();
    for (const days of [0, 1.5, 3651]) assert.match(found(days), /1 to 3650/);
    assert.match(found("21"), /is a string, but must be a number, without quotes/);
    for (const days of [1, 3650]) assert.equal(found(days), "");
  });

  const key = "-----BEGIN EC PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END EC PRIVATE KEY-----\n";
  const dashed = key.replaceAll("-", "\u2013");
  const misplaced: [Properties, string][] = [
    [{ description: key }, "description"],
    [{ unknownName: key }, "unknownName"],
    [{ hostports: ["a:1", key] }, "hostports[1]"],
    [{ ipRestriction: { ipPolicyIds: ["i", key] } }, "ipRestriction.ipPolicyIds[1]"],
    [{ metadata: JSON.stringify({ owner: key }) }, "metadata"],
    [{ metadata: dashed }, "metadata"],
    [{ [key]: 1 }, ""],
    [{ backend: { backendId: "b", [`x${key}`]: [key] } }, "backend"],
  ];
  for (const [news, path] of misplaced) {
    it(`C50 a private key at ${path || "the top"} is refused and not quoted, and is the only problem`, () => {
      const reason = problem(news);
      assert.ok(reason.startsWith(`${path}: `), reason);
      assert.match(reason, /private key/);
      assert.doesNotMatch(reason, /MIGH|BEGIN/);
    });
  }

  it("C50 a private key is refused in a certificate, too, except in certificatePem and privateKeyPem", () => {
    const pems = { certificatePem: key, privateKeyPem: key };
    assert.match(problem({ ...pems, metadata: key }, tlsCertificate), /^metadata: .*private key/);
    assert.deepEqual(problems(pems, tlsCertificate), []);
  });

  /** What each language makes of an output in a string, and the remedy that is named. */
  const outputs: [language: string, text: string, remedy: string][] = [
    ["TypeScript", `${pulumi.output("id")}`, "pulumi.interpolate`"],
    ["TypeScript, in lower case", `${pulumi.output("id")}`.toLowerCase(), "pulumi.interpolate`"],
    ["TypeScript, in JSON", JSON.stringify({ id: pulumi.output("id") }), "pulumi.jsonStringify("],
    ["TypeScript, inspected", inspect(pulumi.output("id")), "pulumi.interpolate`"],
    ["Python", "Calling __str__ on an Output[T] is not supported.\n", "pulumi.Output.concat("],
    ["Python, in a list", "[<pulumi.output.Output object at 0x7f3a>]", "pulumi.Output.format("],
    ["C#", "Calling [ToString] on an [Output<T>] is not supported.", "Output.Format("],
    ["C#, in JSON", "Calling [ToString] on an [Output\\u003CT\\u003E] is", "Output.JsonSerialize("],
    ["Java", "Calling 'toString' on an 'Output<T>' is not supported.", "Output.format("],
    [
      "Java, in JSON",
      "Calling \\u0027toString\\u0027 on an \\u0027Output\\u003cT",
      "Output.format(",
    ],
    ["Go, %v", "map[id:{0xc000137180}]", "pulumi.Sprintf("],
    ["Go, %+v", "{OutputState:0x14000102018}", "pulumi.Sprintf("],
    ["Go, %s", "{%!s(*internal.OutputState=&{0x2ee5bc49ba00 <nil> 1 x})}", "pulumi.Sprintf("],
  ];
  for (const [language, output, remedy] of outputs)
    it(`C15 an output in a string of ${language} is refused at any depth, with what to write`, () => {
      const texts = [output, `a ${output} b`];
      for (const text of texts) {
        const edge: [Properties, string][] = [
          [{ metadata: text }, "metadata"],
          [{ hostports: ["a:1", text] }, "hostports[1]"],
          [{ backend: { backendId: text } }, "backend.backendId"],
          [{ ipRestriction: { ipPolicyIds: [text] } }, "ipRestriction.ipPolicyIds[0]"],
        ];
        for (const [news, path] of edge) {
          const reason = problem(news);
          assert.ok(reason.startsWith(`${path}: holds the text that stands for an output`), reason);
          assert.ok(reason.includes(remedy), reason);
        }
        for (const name of ["certificatePem", "privateKeyPem"]) {
          const news = { certificatePem: unknown, [name]: text };
          const { problems: others } = tlsCertificate.check(news, undefined, new Date());
          assert.deepEqual(
            others.filter(({ path }) => path === name),
            [],
          );
          assert.ok(problem(news, tlsCertificate).startsWith(`${name}: holds the text`));
        }
      }
    });

  it("C15 a text about outputs is none of them", () => {
    for (const text of [
      "{0x1f}",
      "Output<T>",
      "calls toString on an Output",
      "{ id: 0xc000137180 }",
    ])
      assert.deepEqual(problems({ metadata: text }), []);
  });

  it("C15 the error of an unknown name lists all names when none is near", () => {
    const names = Object.keys(tlsEdge.schema.entries).join(", ");
    for (const name of ["colour", "toString"]) {
      assert.equal(problem({ [name]: "red" }), `${name}: no such property: known are ${names}`);
    }
    assert.match(problem({ backend: { backendId: "b", port: 1 } }), /: .* enabled, backendId$/);
  });

  it("C15 the nearest name is the one that is meant, not one that differs in most of its letters", () => {
    const edge = ["hostports", "description", "tlsTermination", "mutualTls"];
    const rows: [name: string, known: string[], nearest: string | undefined][] = [
      ["descripton", edge, "description"],
      ["mutualTLS", edge, "mutualTls"],
      ["colour", edge, undefined],
      ["x", [], undefined],
      ["region", ["version", "connection"], undefined],
      ["timeoutSecs", ["baseUrl", "timeoutSeconds"], "timeoutSeconds"],
    ];
    for (const [name, known, expected] of rows) assert.equal(nearest(name, known), expected, name);
  });

  it("C25 what says nothing is left out, and what an earlier check has added", () => {
    const set = { backend: { backendId: "b" }, fingerprint: "new" };
    const unset = { description: "", metadata: null };
    const news = {
      ...{ ...set, ...unset, __provider: "text", serialNumber: "1" },
      backend: { backendId: "b", enabled: null },
    };
    assert.deepEqual(prune(tlsEdge, news, { serialNumber: "1", fingerprint: "old" }), set);
    const description = { description: "d" };
    assert.deepEqual(prune(tlsEdge, description, description), description);
  });

  for (const [property, limit] of Object.entries({ description: 255, metadata: 4096 })) {
    it(`C10 ${property} may have ${limit} bytes of UTF-8 and not one more`, () => {
      for (const text of ["", "😀".repeat(Math.floor(limit / 5))]) {
        const rest = "x".repeat(limit - Buffer.byteLength(text));
        assert.deepEqual(problems({ [property]: text + rest }), []);
        const found = problemsOfShape(tlsEdge, { [property]: `${text}${rest}y` });
        const bytes = `must be at most ${limit} bytes of UTF-8, but has ${limit + 1}`;
        assert.deepEqual(
          textsOf(found, () => false),
          [`${property}: ${bytes}`],
        );
      }
    });
  }

  it("C13 a wrong value beside an unknown one is refused by its path, at any depth", () => {
    const wrong = problems({
      hostports: [unknown, unknown, "no port"],
      backend: { backendId: unknown, enabled: "yes" },
      ipRestriction: { ipPolicyIds: [unknown, 7] },
    });
    const paths = ["hostports[2]", "backend.enabled", "ipRestriction.ipPolicyIds[1]"];
    assert.deepEqual(
      wrong.map((reason) => reason.split(": ")[0]),
      paths,
    );
  });

  const write = "a host name, a colon and a port, such as app.example.com:443";
  const port = "has a wrong port: it is a number from 1 to 65535, without zeros before it";
  const none = `is no hostport: write only ${write}, or *.example.com:443 for all names of one more label`;
  const ascii =
    "has a line break, or a character that is not ASCII: remove it, or write the name as DNS has it (xn--…)";
  const unset = "has undefined, null or None in it: a variable was not set when the text was made";
  const label = (length: number) => "a".repeat(length);
  /** A host name of this many characters, of labels of at most 63. */
  const host = (length: number) => {
    const labels = `${label(49)}.`.repeat(Math.floor((length - 1) / 50));
    return labels + label(length - labels.length);
  };
  /** What is said of hostports with a mistake, after their value. */
  const wrongHostports: Record<string, string[]> = {
    [`has no port: write ${write}`]: ["shop.example.org", "shop.example.org:", ""],
    [port]: ["70000", "65536", "0", "0443", "-1"].map((port) => `a.org:${port}`),
    [none]: [
      ...["https://shop.example.org", "shop.example.org:443/path", "a.org:443,b.org:443"],
      ...["shop.*.org:443", "*:443", "*shop.org:443", "*.*.a.org:443", "2001:db8::1"],
      ...[" a.org:443", "a.org.:443", ":8443", "app..com:443", "app!.example.com:443"],
      ...["-a.example.com:443", "a-.example.com:443", `${label(64)}.com:443`],
    ],
    [ascii]: ["münchen.example:443", "“shop.example.org:443”"],
    // The texts of JavaScript, Java and Python.
    [unset]: ["undefined.example.com:443", "null:443", "a.None.org:443", "a.org:undefined"],
  };
  it("C15 a right hostport and an empty list pass; a host name may have 253 characters, and no line break", () => {
    for (const right of [
      ...[`${host(253)}:443`, `*.${host(251)}:443`, `${label(63)}.example.com:443`],
      ...["a-b.example.com:443", "*.example.com:8443", "localhost:1", "x_y.z:65535"],
      ...["undefined-1.example.com:443", "nullable.example.com:443", "none.example.com:443"],
    ]) {
      assert.deepEqual(problems({ hostports: [right] }), []);
    }
    assert.deepEqual(problems({ hostports: [] }), []);
    for (const wrong of [`${host(254)}:443`, `*.${host(252)}:443`, "a.example.com:443\n"]) {
      assert.equal(problems({ hostports: [wrong] }).length, 1);
    }
  });

  const version = 'must be "1.0", "1.1", "1.2" or "1.3"';
  const some = "must be an object with some of these: enabled";
  const noId = "has a space, or a character that is not ASCII: no id has one";
  const pem = "-----BEGIN CERTIFICATE-----\nMIIB";
  /** Wrong values by their path, and the only thing that is said of each where it is no secret. */
  const wrongValues: Record<string, [value: unknown, reason: string][]> = {
    "hostports[0]": [
      ["shop.example.org:443\r", `"shop.example.org:443\\r" ${ascii}`],
      ["\u200ba.b:443", `"\\u200ba.b:443" ${ascii}`],
      // What may be a password or a key is not shown.
      ["me:word@a.org:443", none],
      [btoa("#\n-----BEGIN PRIVATE KEY-----\nMC4CAQAw"), `has no port: write ${write}`],
      [null, "is null, but must be a string"],
      ["x".repeat(99), `"${"x".repeat(80)}…" has no port: write ${write}`],
    ],
    hostports: [
      [
        ["a.example.com:443", unknown, unknown, "A.example.com:443"],
        "has the same host and port twice: remove one of them",
      ],
      ["a:1", "is a string, but must be a list of strings"],
      [{ a: "a:1" }, "is an object, but must be a list of strings"],
    ],
    "tlsTermination.minVersion": [
      [1.2, `is a number, but ${version}`],
      ["TLS1.2", `"TLS1.2" ${version}`],
    ],
    "tlsTermination.terminateAt": [["Edge", '"Edge" must be "edge" or "upstream"']],
    tlsTermination: [[true, `is a boolean, but ${some}, terminateAt, minVersion`]],
    backend: [[[], `is a list, but ${some}, backendId`]],
    "backend.backendId": [
      ["", '"" must not be empty'],
      ["bkdtg_1 ", `"bkdtg_1 " ${noId}`],
      ["None:1", `"None:1" ${unset}`],
      ["bkdtg_\u0661", `"bkdtg_\u0661" ${noId}`],
    ],
    "backend.enabled": [["yes", "is a string, but must be true or false, without quotes"]],
    "mutualTls.certificateAuthorityIds[0]": [[pem, noId]],
    "mutualTls.certificateAuthorityIds": [
      [[], "must not be empty: to restrict nothing, remove the module"],
    ],
    onModuleRemoval: [["x", '"x" must be "disable" or "replace"']],
    metadata: [[{ team: "web" }, "is an object, but must be a string, such as JSON"]],
    description: [
      [{}, "is an object, but must be a string"],
      [5, "is a number, but must be a string"],
    ],
  };
  /** The arguments of an edge with a value at a path, and with what is required beside it. */
  function argsWith(path: string, value: unknown): Properties {
    const [name = "", part] = path.replace("[0]", "").split(".");
    const last = path.endsWith("[0]") ? [value] : value;
    const required = name === "backend" ? { backendId: "b" } : {};
    return { [name]: part ? { ...required, [part]: last } : last };
  }
  const misspelt: [path: string, news: Properties, meant: string][] = [
    ["backend.backendID", { backend: { backendID: "b" } }, "backendId"],
    ["backend.backendID", { backend: { backendId: "b", backendID: "b" } }, "backendId"],
    ["backendId", { backendId: "b" }, "backend.backendId"],
    ["hostport", { hostport: [] }, "hostports"],
    ["tlsTermination.min_version", { tlsTermination: { min_version: "1.2" } }, "minVersion"],
    ["ipRestriction.enable", { ipRestriction: { ipPolicyIds: ["i"], enable: true } }, "enabled"],
  ];
  type Mistake = [path: string, news: Properties, reason: string];
  const mistakes: Mistake[] = [
    ...Object.entries(wrongHostports).flatMap(([reason, values]) =>
      values.map((value): Mistake => {
        return ["hostports[0]", { hostports: [value] }, `"${value}" ${reason}`];
      }),
    ),
    ...Object.entries(wrongValues).flatMap(([path, rows]) =>
      rows.map(([value, reason]): Mistake => [path, argsWith(path, value), reason]),
    ),
    ["backend.backendId", { backend: {} }, "is missing"],
    ...misspelt.map(([path, news, meant]): Mistake => {
      return [path, news, `no such property: did you mean ${meant}?`];
    }),
  ];
  const textsIn = (value: unknown): string[] =>
    typeof value === "string"
      ? [value].filter(({ length }) => length > 2)
      : Object.values(value ?? {}).flatMap(textsIn);
  for (const [path, news, reason] of mistakes) {
    it(`C10 C15 the error of ${JSON.stringify(news)} is: ${reason}`, () => {
      const texts = (isSecret: boolean) =>
        textsOf(problemsOfShape(tlsEdge, news), (property) => {
          assert.ok(property in news, property);
          return isSecret;
        });
      assert.deepEqual(texts(false), [`${path}: ${reason}`]);
      const hidden = `${path}: ${reason.replace(/^".*?" (?=is|has|must|holds)/, "")}`;
      assert.deepEqual(texts(true), [hidden]);
      for (const value of textsIn(news)) assert.ok(!hidden.includes(value), hidden);
    });
  }

  it("C15 each misspelt property is an error, and the wrong value of the right one beside it", () => {
    const news = { backend: { backendID: "b", backendId: 5 }, colour: "red" };
    const paths = problemsOfShape(tlsEdge, news).map(({ path }) => path);
    assert.deepEqual(paths, ["backend.backendID", "colour", "backend.backendId"]);
  });

  it("C10 C15 the error of any refused hostport is short and on one line", () => {
    const parts = ["a", "*", ".", ":", "443", "-", "/", " ", "\n", "é", "\u202e", "@"];
    const joined = fc.array(fc.constantFrom(...parts)).map((some) => some.join(""));
    const text = fc.oneof(fc.string(), joined);
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
});
