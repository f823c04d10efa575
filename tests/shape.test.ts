import assert from "node:assert/strict";
import type { Lifecycle } from "../provider/lifecycle";
import { nearest } from "../provider/nearest";
import { problemsOfShape, prune } from "../provider/shape";
import { lifecycle as tlsCertificate } from "../provider/tlsCertificate";
import { lifecycle as tlsEdge } from "../provider/tlsEdge";
import { type Properties, unknown } from "./support";

/** What is wrong, as `path: reason`. */
const problems = (news: Properties, lifecycle: Lifecycle = tlsEdge) =>
  problemsOfShape(lifecycle, news).map(({ path, reason }) => `${path}: ${reason}`);

/** The only thing that is wrong. */
function problem(news: Properties, lifecycle: Lifecycle = tlsEdge): string {
  const [first = "", ...more] = problems(news, lifecycle);
  assert.deepEqual(more, []);
  return first;
}

describe("the shape of inputs", () => {
  const types: [string, Properties, string[]][] = [
    ["description", { description: 5 }, ["a string"]],
    ["description", { description: ["x"] }, ["a string"]],
    ["hostports", { hostports: "a:1" }, ["an array of strings"]],
    ["hostports[1]", { hostports: ["a:1", 2] }, ["a string"]],
    ["ipRestriction.ipPolicyIds", { ipRestriction: { ipPolicyIds: {} } }, ["an array of strings"]],
    ["backend", { backend: 5 }, ["an object"]],
    ["backend", { backend: [] }, ["an object"]],
    ["backend.enabled", { backend: { backendId: "b", enabled: 1 } }, ["true or false"]],
    ["onModuleRemoval", { onModuleRemoval: "x" }, ['"disable", "delete" or "replace"']],
    [
      "tlsTermination.minVersion",
      { tlsTermination: { minVersion: 1.2 } },
      ['"1.0", "1.1", "1.2" or "1.3"'],
    ],
  ];
  for (const [path, news, said] of types) {
    it(`C15 ${JSON.stringify(news)} is told what ${path} must be`, () => {
      const reason = problem(news);
      assert.ok(reason.startsWith(`${path}: `), reason);
      for (const words of said) assert.ok(reason.includes(words), reason);
    });
  }

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

  const typos: [Properties, string][] = [
    [{ hostport: [] }, "hostports"],
    [{ tls_termination: {} }, "tlsTermination"],
    [{ tlsTermination: { minversion: "1.2" } }, "minVersion"],
    [{ tlsTermination: { min_version: "1.2" } }, "minVersion"],
    [{ backend: { backendId: "b", backendID: "b" } }, "backendId"],
    [{ ipRestriction: { ipPolicyIds: ["i"], enable: true } }, "enabled"],
  ];
  for (const [news, meant] of typos) {
    it(`C15 of ${JSON.stringify(news)} ${meant} is said to be meant`, () => {
      assert.match(problem(news), new RegExp(`\\b${meant}\\b`));
    });
  }

  it("C15 of a name that is like none, none is said to be meant", () => {
    assert.match(problem({ colour: "red" }), /^colour: .*misspelt/);
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
  });

  it("C10 a hostport that stands twice is told by its places, and is not shown", () => {
    const hostports = [
      "a.example.com:443",
      "secret.example.com:443",
      unknown,
      "SECRET.example.com:443",
    ];
    const reason = problem({ hostports });
    assert.match(reason, /hostports\[1\] .*hostports\[3\]/);
    assert.ok(!/secret/i.test(reason), reason);
    const twoUnknown = { hostports: [unknown, unknown] };
    assert.deepEqual(problems(twoUnknown), []);
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
    ["a host of 255 characters", `${hostOf(255)}:443`, false],
    ["a wildcard before a host, 253 characters in all", `*.${hostOf(251)}:443`, true],
    ["a wildcard before a host, 254 characters in all", `*.${hostOf(252)}:443`, false],
    ["a label of 63 characters", `${label(63)}.example.com:443`, true],
    ["a label of 64 characters", `${label(64)}.example.com:443`, false],
    ["a label that begins with a hyphen", "-a.example.com:443", false],
    ["a label that ends with a hyphen", "a-.example.com:443", false],
    ["a label with a hyphen inside", "a-b.example.com:443", true],
    ["an empty label", "a..example.com:443", false],
    ["a dot at the end", "example.com.:443", false],
    ["a wildcard inside", "a.*.example.com:443", false],
    ["two wildcards", "*.*.example.com:443", false],
    ["a wildcard alone", "*:443", false],
    ["part of a label as a wildcard", "a*.example.com:443", false],
    ["port 1", "a.example.com:1", true],
    ["port 65535", "a.example.com:65535", true],
    ["port 65536", "a.example.com:65536", false],
    ["port 0443", "a.example.com:0443", false],
    ["two ports", "a.example.com:443:443", false],
    ["a line break at the end", "a.example.com:443\n", false],
    ["a space before it", " a.example.com:443", false],
    ["a letter that is none of ASCII", "ä.example.com:443", false],
  ];
  for (const [what, hostport, passes] of edges) {
    it(`C15 ${what} ${passes ? "passes" : "is refused"}`, () => {
      assert.equal(problems({ hostports: [hostport] }).length, passes ? 0 : 1);
    });
  }
});
