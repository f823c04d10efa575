import "reflect-metadata"; // @peculiar/x509 needs it.
import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { mock } from "node:test";
import * as x509 from "@peculiar/x509";
import * as pulumi from "@pulumi/policy";
import * as fc from "fast-check";
import { statusOf } from "../cli/status";
import { type CertificateOptions, makeCertificate } from "../emulator/pki";
import { main } from "../policy/check";
import * as pack from "../policy/index";
import { shown } from "../policy/policy";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { tlsCertificate as certificateKind, warningsOf } from "../provider/kinds/tlsCertificate";
import { Chain } from "../provider/values/chain";
import { TLSCertificate, TLSEdge } from "../sdk";
import { assertInert, holds, hostileText, seed } from "./cases";
import { certificates, type Pair, signed } from "./policyCases";
import { captureMessages, fileWith, type Properties, Stack, unknown } from "./support";

const { policies } = pack;

/** Each policy with what it accepts and refuses; below, the pack and the check of its config. */
describe("policies", () => {
  /** The texts in a value, at any depth. */
  const textsIn = (value: unknown): string[] =>
    typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(textsIn);

  async function assertCase(policy: Policy, [declared, parts, more = {}]: Case): Promise<void> {
    const expected = typeof parts === "number" ? Array(parts).fill(/"app"/) : parts;
    const { violations, unknown: isUnknown } = await judge(policy, declared, more.settings);
    const what = JSON.stringify([declared.map(({ args }) => args), violations]);
    assert.equal(violations.length, expected.length, what);
    assert.equal(isUnknown, more.unknown ?? false, what);
    for (const [n, part] of expected.entries()) assert.match(violations[n] ?? "", part);
  }

  let pairs: Pairs;
  before(async () => {
    pairs = await certificates();
  });

  for (const policy of policies) {
    const numbers = policy === pack.hostportCertificate ? "C5 C50 C70 C82 C90" : "C50 C70 C90";
    it(`${numbers} ${policy.name} finds what violates it, nothing else, and quotes no argument`, async () => {
      const all = await Promise.all((await cases[policy.name]?.(pairs)) ?? []);
      for (const one of all) await assertCase(policy, one);
      // Arguments may be secrets, and a name may be a command for a terminal or a CI system.
      const [declared] = all[0] ?? assert.fail(`no case of ${policy.name}`);
      for (const resource of declared) resource.name = "\n::error::\u001b]0;x\u0007<{%reset%}>";
      const { violations } = await judge(policy, declared);
      assert.ok(violations.length > 0);
      assertInert(violations.join());
      const named = policy === pack.hostportCertificate ? { hostports: [] } : {};
      for (const text of declared.flatMap(({ args }) => textsIn({ ...args, ...named }))) {
        assert.ok(!violations.join().includes(text.replace(/:\d+$/, "")), violations.join());
      }
      const messages = captureMessages();
      const excepted = await judge(policy, declared, { except: { "*": "-" } });
      mock.reset();
      assertInert(messages().join());
      assert.deepEqual([messages().length, excepted.violations], [1, []]);
      const resources = await Promise.all(declared.map(resourceOf));
      const foreign = { isType: () => false, asType: () => undefined };
      const others = resources.map((one) => ({ ...one, ...foreign }));
      assert.deepEqual(await verdictOn(policy, others), { violations: [], unknown: false });
    });
  }

  it("C90 a policy shows texts of others so that no terminal and no CI system obeys them", async () => {
    await holds(hostileText, 300, async (text) => assertInert(shown(text)));
  });

  it("C11 C70 plan and status count the days that a person gives; a default and a policy take at most a third of a lifetime", async () => {
    for (const [life, days, inPlan, inPolicy] of [
      [6, 5, 5, 2],
      [200, 100, 100, 200 / 3],
      [90, 14, 14, 14],
      [6, undefined, 2, 2],
      [47, undefined, 47 / 3, 47 / 3],
      [90, undefined, 21, 30],
    ] as const) {
      for (const left of [inPlan, inPolicy].flatMap((border) => [border - 0.01, border + 0.01])) {
        const pair = await issue({ notBefore: inDays(left - life), notAfter: inDays(left) });
        const { certificatePem } = pair;
        const wire = { id: "cert_1", uri: "", created_at: "", certificate_pem: certificatePem };
        const account = { service: "", edges: [], certificates: [wire], tunnels: [] };
        const config = days === undefined ? {} : { days };
        const answers = [
          warningsOf(Chain.parse(certificatePem), days, new Date()),
          statusOf(account, new Date(), days ?? inPlan).failing,
          (await judge(pack.certificateExpiry, [certificate(pair)], config)).violations,
        ].map(({ length }) => length > 0);
        const expected = [left < inPlan, left < inPlan, left < inPolicy];
        assert.deepEqual(answers, expected, `${left} of ${life}, ${days}`);
      }
    }
  });

  it("C70 edge-tls-version remediates what violates, in place, and nothing else", async () => {
    const remediate = async (tlsTermination: Properties | undefined, except = {}) => {
      const resource = await resourceOf(edge({ tlsTermination, description: unknown }));
      const args = { ...resource, getConfig: () => ({ minVersion: "1.2", except }) };
      return pack.edgeTlsVersion.remediateResource?.(args as never);
    };
    const changed = (await remediate({ minVersion: "1.0" })) as Properties;
    assert.deepEqual(Object.keys(changed).sort(), ["__provider", "description", "tlsTermination"]);
    assert.equal((changed.tlsTermination as Properties).minVersion, "1.2");
    for (const right of [{ minVersion: "1.0", enabled: false }, { minVersion: "1.3" }, undefined]) {
      assert.equal(await remediate(right), undefined);
    }
    assert.equal(await remediate({ minVersion: "1.0" }, { app: "old clients" }), undefined);
  });

  it("C92 deployed-tls-version judges what is deployed where the program sets no version", async () => {
    const { validateResource } = pack.deployedTlsVersion as pulumi.ResourceValidationPolicy;
    const old = { enabled: true, terminateAt: "edge", minVersion: "1.0" };
    for (const [tlsTermination, deployed, count] of [
      [{ minVersion: "1.0" }, old, 0],
      [{ minVersion: unknown }, old, 0],
      [unknown, old, 0],
      [{ terminateAt: "edge" }, old, 1],
      [undefined, old, 1],
      [undefined, { ...old, terminateAt: unknown }, 1],
      [undefined, { ...old, minVersion: "TLSv1" }, 1],
      [undefined, { ...old, enabled: false }, 0],
      [undefined, { ...old, minVersion: "1.2" }, 0],
      [undefined, { ...old, minVersion: null }, 0],
      [undefined, null, 0],
    ] as const) {
      const resource = await resourceOf(edge({ tlsTermination }));
      await (validateResource as pulumi.ResourceValidation)(resource as never, assert.fail);
      const atService = { ...resource, props: { tlsTermination: deployed } };
      const { violations } = await verdictOn(pack.deployedTlsVersion, [atService]);
      assert.equal(violations.length, count, JSON.stringify([tlsTermination, deployed]));
    }
  });

  it("C92 a chain that can't be read is a violation of each, and one not known yet is none", async () => {
    const pair = await signed(rsaKey(), "SHA-1");
    const strong = new X509Certificate(pair.certificatePem).raw;
    const sha1WithRSA = Buffer.from("300d06092a864886f70d010105", "hex");
    strong[strong.lastIndexOf(sha1WithRSA) + 12] = 0x0b; // SHA-256, in the copy that nothing signs.
    for (const policy of policies.filter(({ name }) => /^certificate-|^key-/.test(name))) {
      for (const certificatePem of ["", "no PEM", pemOf(Buffer.alloc(3)), pemOf(strong)]) {
        const { violations } = await judge(policy, [certificate({ ...pair, certificatePem })]);
        assert.equal(violations.length, 1, policy.name);
        assert.match(violations.join(), /"app" can't be read/);
      }
      const open = certificate({ ...pair, certificatePem: unknown });
      assert.deepEqual(await judge(policy, [open]), { violations: [], unknown: true });
    }
  });

  it("C92 no byte makes a weak certificate pass: refused, or judged by each policy", async () => {
    const weak = await signed(rsaKey(1024), "SHA-1", { name: "CN=CA", key: rsaKey() });
    const der = new X509Certificate(weak.certificatePem).raw;
    const drawn = fc.sample(fc.integer({ min: 1, max: 255 }), { seed, numRuns: der.length });
    // 0x20 marks a value as made of others: parsers differ in how strictly they read it.
    const changes = [...drawn.entries(), ...Array.from(der.keys(), (index) => [index, 0x20])];
    let accepted = 0;
    for (const [index = 0, change = 0] of changes) {
      const changed = Buffer.from(der);
      changed[index] = (der[index] as number) ^ change;
      const one = certificate({ ...weak, certificatePem: pemOf(changed) });
      const { problems } = certificateKind.check(one.args, undefined, new Date());
      if (problems.length > 0) continue;
      accepted += 1;
      const resource = await resourceOf(one);
      for (const policy of [
        pack.certificateKey,
        pack.certificateSignature,
        pack.certificateChain,
      ]) {
        const { violations } = await verdictOn(policy, [resource]);
        assert.ok(violations.length > 0, `${policy.name}: byte ${index}, change ${change}`);
      }
    }
    assert.ok(accepted > der.length / 2);
  });
});

describe("the policy pack", () => {
  /** What a policy prints, and the names of the resources that violate it. */
  async function printed(policy: Policy, names: string[], settings: Properties) {
    const messages = captureMessages();
    const site = certificate({ certificatePem: "", privateKeyPem: "" }, "site");
    const declared = [...names.map((name) => edge({}, name)), site];
    const { violations } = await judge(policy, declared, settings);
    mock.reset();
    return [messages(), violations.map((violation) => /"(.*)"/.exec(violation)?.[1])] as const;
  }

  it("C70 C90 a policy excepts resources by name, and says which, and why", async () => {
    const except = { "blog-*": "read by all", "a::b": "the public\npage", "x.*": "-", site: "-" };
    const names = ["a::b", "b", "blog-1", "blog-2", "my-blog-1", "xy"];
    assert.deepEqual(await printed(pack.edgeAccess, names, { except }), [
      [
        "edge-access has 2 exceptions: a::b, the public\\u000apage; blog-* (blog-1, blog-2), read by all",
        "warning: the exception site of edge-access matches no resource that it judges",
        "warning: the exception x.* of edge-access matches no resource that it judges",
      ],
      ["b", "my-blog-1", "xy"],
    ]);
    const [[near]] = await printed(pack.edgeAccess, ["app"], { except: { ap: "-" } });
    assert.match(near ?? "", /exception ap of .* judges: did you mean app\?$/);
    assert.deepEqual(await printed(pack.edgeAccess, ["app"], {}), [[], ["app"]]);
  });

  it("C70: a policy warns once of a setting that it does not have", async () => {
    const settings = { day: 14, enforcmentLevel: "disabled", a: 1 };
    assert.deepEqual(await printed(pack.certificateExpiry, ["app", "app2"], settings), [
      [
        "warning: the policy certificate-expiry has no setting day: did you mean days?",
        "warning: the policy certificate-expiry has no setting enforcmentLevel: did you mean enforcementLevel?",
        "warning: the policy certificate-expiry has no setting a: it has enforcementLevel, days, except",
      ],
      ["site"],
    ]);
  });

  it("C70 the pack and docs/policies.md have the levels and settings of baseline.json, and a profile makes all mandatory", () => {
    const own = policies.map((policy) => [
      policy.name,
      { enforcementLevel: policy.enforcementLevel, ...defaults(policy) },
    ]);
    assert.deepEqual(baseline, Object.fromEntries(own));
    assert.deepEqual(Object.keys(production), Object.keys(baseline));
    for (const [name, settings] of Object.entries<Properties>(production)) {
      assert.deepEqual(Object.keys(settings), Object.keys(baseline[name]));
      assert.equal(settings.enforcementLevel, "mandatory");
    }
    const document = read("docs/policies.md");
    for (const policy of policies) {
      const level = baseline[policy.name].enforcementLevel;
      assert.match(document, new RegExp(`^\\| .*\`${policy.name}\`.* \\| ${level} \\|`, "m"));
      for (const [setting] of settingsOf(policy)) assert.ok(document.includes(`\`${setting}\``));
    }
  });
});

describe("the command that checks a config of policies", () => {
  /** Its exit code, and what it prints. */
  const run = (...args: string[]) => {
    const printed: Record<"stdout" | "stderr", string[]> = { stdout: [], stderr: [] };
    const to = (texts: string[]) => ({ write: (text: string) => texts.push(text) });
    const code = main(args, { stdout: to(printed.stdout), stderr: to(printed.stderr) });
    return { code, stdout: printed.stdout.join(""), stderr: printed.stderr.join("") };
  };

  it("C70 the check of a config accepts the profiles and the example's file", () => {
    const files = [...profiles, "examples/policies/policies.json"];
    const stdout = files.map((file) => `${file}: nothing is wrong\n`).join("");
    assert.deepEqual(run(...files), { code: 0, stdout, stderr: "" });
  });

  for (const [config, problem] of [
    [{ "edge-acces": "mandatory" }, "no policy edge-acces: did you mean edge-access?"],
    [{ access: "mandatory" }, "no policy access: it has all, edge-"],
    [{ "certificate-expiry": { day: 14 } }, "has no setting day: did you mean days?"],
    [{ owner: { team: "a" } }, "has no setting team: it has enforcementLevel, property, except"],
    [{ "edge-tls-version": { minVersion: "0.9" } }, "allowed values 1.2, 1.3"],
    [{ all: "warning" }, "all must be equal to one of the allowed values advisory, "],
    [{ all: "mandatry" }, ", mandatory, remediate: did you mean mandatory?"],
    [{ owner: { enforcementLevel: "Mandatory" } }, ", remediate: did you mean mandatory?"],
    [{ owner: { except: ["app"] } }, "owner.except must be an object"],
    [{ owner: { except: { app: "" } } }, "owner.except.app is empty: write a text"],
    [{ "hostport-certificate": { coveredElsewhere: ["a.example.com:443"] } }, "must match"],
    [{ "\u001b]0;x\u0007": "mandatory" }, "policy \\u001b]0;x"],
    ["{", "JSON"],
  ] as const) {
    const text = typeof config === "string" ? config : JSON.stringify(config);
    it(`C70 C90 the check of a config refuses ${text}: ${problem}`, () => {
      const file = fileWith(text, ".json");
      const { code, stdout, stderr } = run(file);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.ok(stderr.startsWith(`error: ${file}: `) && stderr.includes(problem), stderr);
      assert.equal(stderr.split("\n").length, 2, stderr);
      assertInert(stderr);
    });
  }

  it("C70 the check of a config names all that is wrong in all files, and prints a schema", () => {
    const [right, wrong] = [fileWith("{}"), fileWith('{"a":"mandatory","owner":{"b":1}}')];
    const { code, stdout, stderr } = run(right, wrong, "none.json");
    assert.deepEqual([code, stdout], [1, `${right}: nothing is wrong\n`]);
    assert.match(stderr, /no policy a:.*no setting b:.*none\.json/s);
    const { properties } = JSON.parse(run("--schema").stdout);
    assert.deepEqual(Object.keys(properties), ["all", ...policies.map(({ name }) => name)]);
    assert.equal(run().code, 1, "no file");
  });
});

const read = (file: string) => readFileSync(file, "utf8");
const profiles = ["baseline", "production"].map((name) => `policy/profiles/${name}.json`);
const [baseline, production] = profiles.map((file) => JSON.parse(read(file)));
type Policy = (typeof policies)[number];

/** A resource as a program declares it. */
interface Declared {
  type: typeof TLSEdge | typeof TLSCertificate;
  name: string;
  args: Properties;
  protect?: boolean;
  /** The name of its provider, which is explicit if it is not a default one. */
  provider?: string;
}

const edge = (args: Properties, name = "app"): Declared => ({ type: TLSEdge, name, args });
const certificate = ({ certificatePem, privateKeyPem }: Pair, name = "app"): Declared => ({
  type: TLSCertificate,
  name,
  args: { certificatePem, privateKeyPem },
});

/** A resource as Pulumi shows it to policies: its inputs, checked by the provider. */
async function resourceOf(declared: Declared): Promise<pulumi.PolicyResource> {
  const { type, name, args, protect = false, provider = "default" } = declared;
  const isOfPlugin = provider !== "default";
  const token = (isOfPlugin ? "tlsedge:index:" : "pulumi-nodejs:dynamic/tlsedge:") + type.name;
  const { inputs } = await new Stack(type === TLSEdge ? tlsEdge : tlsCertificate).check(args);
  const props = pulumi.unknownCheckingProxy(inputs);
  // As Pulumi matches a class that has no static `__pulumiType`.
  const isType = (wanted: { isInstance(value: object): boolean }) =>
    wanted.isInstance({ __pulumiType: token });
  return {
    ...{ type: token, name, props, isType, opts: { protect } },
    urn: `urn:pulumi:dev::test::${token}::${name}`,
    provider: { name: provider, urn: provider },
    asType: (wanted: typeof TLSEdge) => (isType(wanted) ? props : undefined),
  } as unknown as pulumi.PolicyResource;
}

const settingsOf = ({ configSchema }: Policy) => Object.entries(configSchema?.properties ?? {});
const defaults = (policy: Policy): Properties =>
  Object.fromEntries(
    settingsOf(policy).flatMap(([name, { default: value }]) => (value ? [[name, value]] : [])),
  );

/**
 * What a policy says of resources, as the engine would ask it: its violations, and whether it could not judge
 * something not known yet.
 */
async function verdictOn(policy: Policy, resources: object[], settings: Properties = {}) {
  const verdict = { violations: [] as string[], unknown: false };
  const notApplicable = new Error();
  const common = {
    getConfig: () => ({ ...defaults(policy), ...settings }),
    notApplicable: () => assert.fail(notApplicable),
  };
  const ask = async (validate: unknown, args: object) => {
    try {
      const report = (message: string) => void verdict.violations.push(message);
      await (validate as pulumi.ResourceValidation)({ ...args, ...common } as never, report);
    } catch (error) {
      if (error instanceof pulumi.UnknownValueError) verdict.unknown = true;
      else if (error !== notApplicable) throw error;
    }
  };
  const { validateResource, validateStack } = policy as unknown as Properties;
  // What the program sets is not judged there: it has a test of its own.
  const isAsked = validateResource && policy !== pack.deployedTlsVersion;
  for (const one of isAsked ? resources : []) await ask(validateResource, one);
  await ask(validateStack, { resources });
  return verdict;
}

const judge = async (policy: Policy, declared: Declared[], settings?: Properties) =>
  verdictOn(policy, await Promise.all(declared.map(resourceOf)), settings);

const inDays = (days: number) => new Date(Date.now() + days * 24 * 3_600_000);
const rsaKey = (modulusLength = 2048) => generateKeyPairSync("rsa", { modulusLength }).privateKey;
const ecKey = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve }).privateKey;
const pemOf = (der: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
type Options = Partial<CertificateOptions>;
const issue = (options: Options = {}) =>
  makeCertificate({ commonName: "a", dnsNames: ["app.example.com"], ...options });

type Made = Pair | Promise<Pair>;
async function chained(first: Made, ...others: Made[]): Promise<Pair> {
  const pairs = await Promise.all([first, ...others]);
  return { ...(await first), certificatePem: pairs.map((one) => one.certificatePem).join("") };
}

/**
 * A case: what is declared, the violations, each by a part of it, or how many name the resource `app`, and
 * whether something is not known yet.
 */
type Case = [
  declared: Declared[],
  violations: RegExp[] | number,
  more?: { unknown?: true; settings?: Properties },
];

const ofEdges = (violations: number, all: Properties[], more?: Case[2]) =>
  all.map((args): Case => [[edge(args)], violations, more]);
/** An edge with each of the modules. */
const terminating = (violations: number, modules: unknown[], more?: Case[2]) =>
  modules.flatMap((tlsTermination) => ofEdges(violations, [{ tlsTermination }], more));
async function ofCertificate(made: Made, part?: RegExp, settings?: Properties): Promise<Case> {
  return [[certificate(await made)], part ? [part] : [], { settings }];
}
const accepted = (...pairs: Made[]) => pairs.map((pair) => ofCertificate(pair));
const notKnown = { unknown: true } as const;

type Cases = (Case | Promise<Case>)[];
type Pairs = Awaited<ReturnType<typeof certificates>>;

/** Of each policy the cases; the first one violates it. */
const cases: Record<string, (pairs: Pairs) => Cases | Promise<Cases>> = {
  "edge-tls-version": () => [
    ...terminating(1, [{ minVersion: "1.0" }, { minVersion: "1.0", terminateAt: unknown }]),
    ...terminating(0, [{ minVersion: "1.2" }, undefined, { terminateAt: "edge" }]),
    ...terminating(0, [{ terminateAt: "upstream" }, { minVersion: "1.0", enabled: false }]),
    ...terminating(0, [{ minVersion: unknown, enabled: false }]),
    ...terminating(0, [{ minVersion: "1.2", enabled: unknown }]),
    ...terminating(0, [{ minVersion: unknown }], notKnown),
    ...terminating(1, [{ minVersion: "1.2" }], { settings: { minVersion: "1.3" } }),
  ],
  "deployed-tls-version": () => [
    ...terminating(1, [{ minVersion: "1.0" }]),
    ...terminating(0, [{ minVersion: unknown }], notKnown),
  ],
  "edge-access": () => {
    const [ip, mutual] = [{ ipPolicyIds: ["ipp_1"] }, { certificateAuthorityIds: ["ca_1"] }];
    return [
      ...ofEdges(1, [{}, { ipRestriction: { ...ip, enabled: false } }]),
      ...ofEdges(1, [{ ipRestriction: { ipPolicyIds: [] } }]),
      ...ofEdges(1, [{ mutualTls: { certificateAuthorityIds: [] } }]),
      ...ofEdges(0, [{ ipRestriction: ip }, { ipRestriction: { ipPolicyIds: [unknown] } }]),
      ...ofEdges(0, [{ ipRestriction: ip, mutualTls: { ...mutual, enabled: false } }]),
      ...ofEdges(0, [{ ipRestriction: unknown, mutualTls: mutual }]),
      ...ofEdges(0, [{ ipRestriction: { ...ip, enabled: unknown } }], notKnown),
    ];
  },
  "edge-modules": () => {
    const mutualTls = { enabled: false, certificateAuthorityIds: [unknown] };
    return [
      ...ofEdges(2, [{ mutualTls, tlsTermination: { enabled: false } }]),
      ...ofEdges(0, [{ mutualTls: { ...mutualTls, enabled: true } }]),
      ...ofEdges(1, [{ ipRestriction: unknown, mutualTls }], notKnown),
    ];
  },
  "edge-protected": () => [
    ...ofEdges(1, [{ hostports: ["app.example.com:443"] }]),
    [[{ ...edge({ hostports: unknown }), protect: true }], 0],
  ],
  "certificate-expiry": async () => {
    const long = { notBefore: inDays(-90) };
    const root = await issue({ commonName: "Root", isCa: true, ...long, notAfter: inDays(3) });
    const issuer = await issue({ isCa: true, issuer: root, ...long, notAfter: inDays(2) });
    const week = await issue({ ...long, notAfter: inDays(7) });
    const past = issue({ notBefore: inDays(-2), notAfter: inDays(-1) });
    return [
      ofCertificate(week, /"app" expires on /),
      ofCertificate(week, undefined, { days: 6 }),
      ofCertificate(past, /"app" expires on /, { days: 1 }),
      ofCertificate(issue({ notBefore: inDays(1) }), /^The leaf .*"app" is not valid before /),
      // Clients have their own copy of a root.
      ofCertificate(chained(issue({ issuer }), root), /^Certificate 2 .*"app" expires on /),
    ];
  },
  "certificate-key": async ({ weak }) => {
    const ca = { name: "CN=CA", key: ecKey() };
    const onCurve = (curve: string) => signed(ecKey(curve), "SHA-256", ca);
    const { publicKey } = generateKeyPairSync("ed25519");
    const spki = publicKey.export({ type: "spki", format: "der" });
    spki[8] = 0x79; // Another OID, of a kind of key that Node.js does not know.
    const foreign = signed(ca.key, "SHA-256", ca, spki as Buffer<ArrayBuffer>);
    const key = rsaKey(1024);
    const byWeak = signed(rsaKey(), "SHA-256", { key, name: "CN=app.example.com" });
    return [
      ofCertificate(weak, /"app" has a key of 1024 bits/),
      ...accepted(issue(), issue({ keyType: "rsa" }), issue({ keyType: "ed25519" })),
      ofCertificate(onCurve("P-521"), undefined, { minEcdsaBits: 384 }),
      ofCertificate(onCurve("P-256"), /weaker than a curve of 384 bits/, { minEcdsaBits: 384 }),
      ofCertificate(onCurve("secp224r1"), /a key on secp224r1, which is weaker/),
      ofCertificate(issue({ keyType: "rsa" }), /fewer than 3072/, { minRsaBits: 3072 }),
      ofCertificate(chained(byWeak, signed(key)), /^Certificate 2 .* a key of 1024 bits/),
      ofCertificate(chained(issue(), foreign), /can't be read/),
    ];
  },
  "certificate-signature": async () => {
    const [key, name] = [rsaKey(), "CN=app.example.com"];
    const leaf = signed(rsaKey(), "SHA-256", { key, name });
    const root = signed(key, "SHA-1");
    const noRoot = signed(key, "SHA-1", { key: rsaKey(), name });
    const md5 = { ...(await issue()), certificatePem: read("tests/fixtures/md5.pem") };
    return [
      ofCertificate(root, /"app" is signed with SHA-1\./),
      ...accepted(signed(key, "SHA-384"), signed(key, "SHA-512")),
      ...accepted(issue({ keyType: "ed25519" }), chained(leaf, root)),
      ofCertificate(md5, /"app" is signed with 1\.2\.840\.113549\.1\.1\.4\./),
      ofCertificate(chained(leaf, noRoot), /^Certificate 2 .*SHA-1/),
    ];
  },
  "certificate-chain": async () => {
    const root = await issue({ commonName: "Root", isCa: true });
    const whole = await issue({ issuer: await issue({ isCa: true, issuer: root }) });
    const [leaf = ""] = whole.certificatePem.split(/(?<=-----END CERTIFICATE-----\n)/);
    const key = ecKey();
    const other = { key: ecKey(), name: "CN=app.example.com" };
    const issued = signed(ecKey(), "SHA-256", { ...other, key });
    return [
      ofCertificate({ ...whole, certificatePem: leaf }, /"app" has a chain without/),
      // An old root has no basic constraints.
      ...accepted(whole, chained(issued, signed(key))),
      ofCertificate(issue(), /"app" has signed itself/),
      ofCertificate(
        chained(issued, signed(key, "SHA-256", other)),
        /^Certificate 2 .*"app" is no authority's/,
      ),
      ofCertificate(issued, /without/),
    ];
  },
  "certificate-leaf": () => {
    const use = (oid: string) => new x509.ExtendedKeyUsageExtension([oid]);
    const san = (type: "dns" | "ip" | "email", value: string) =>
      new x509.SubjectAlternativeNameExtension([{ type, value }]);
    const [server, host] = [use("1.3.6.1.5.5.7.3.1"), san("dns", "app.example.com")];
    const authority = new x509.BasicConstraintsExtension(true);
    const leaf = (violation: RegExp | undefined, ...extensions: x509.Extension[]) =>
      ofCertificate(signed(ecKey(), "SHA-256", undefined, undefined, extensions), violation);
    return [
      leaf(/"app" is not for a server: .* lack serverAuth\./, use("1.3.6.1.5.5.7.3.2"), host),
      leaf(undefined, server, host),
      leaf(undefined, server, san("ip", "192.0.2.1")),
      leaf(/lack serverAuth/, use("2.5.29.37.0"), host),
      leaf(/: its .* no host name or address/, server, san("email", "a@example.com")),
      leaf(/: it is an authority's/, server, host, authority),
      leaf(/authority.*serverAuth.*no host name/, authority),
    ];
  },
  "hostport-certificate": ({ shop }) => {
    const hostports = ["app.example.com:443"];
    const served = async (host: string, options: Options, found: Case[1], elsewhere?: string[]) => {
      const made = certificate(await issue({ ips: ["192.0.2.1"], ...options }));
      const settings = { coveredElsewhere: elsewhere };
      return [[edge({ hostports: [host] }), made], found, { settings }] as Case;
    };
    const beside = (count: number, args: Properties, provider = "default"): Case => {
      const one = { ...edge({ hostports, ...args }), provider: "default_0_1_0" };
      return [[one, { ...certificate(shop), provider }], count];
    };
    const open = certificate({ ...shop, certificatePem: unknown }, "open");
    const [none, sub] = [{ dnsNames: [] }, { dnsNames: ["*.example.com"] }];
    return [
      served("a.b.example.com:443", sub, [/hostports\[0\] of .* "app"/]),
      served("a.b.example.com:443", sub, 0, ["*.B.example.com"]),
      served("a.b.example.com:443", none, 1, ["*.example.com", "a.b.example.org"]),
      served("192.0.2.2:443", none, 0, ["192.0.2.2"]),
      served("192.0.2.2:443", none, 1, ["*.0.2.2"]),
      served("APP.example.com:8443", { dnsNames: ["app.EXAMPLE.com"] }, 0),
      served("app.example.com:443", sub, 0),
      served("example.com:443", sub, 1),
      served("*.example.com:443", sub, 0),
      served("*.example.com:443", { dnsNames: ["app.example.com"] }, 1),
      served("app.example.com:443", { dnsNames: ["a*.example.com"] }, 1),
      served("192.0.2.1:443", none, 0),
      served("192.0.2.2:443", { dnsNames: ["*.0.2.2", "192.0.2.2"] }, 1),
      ...ofEdges(0, [{ hostports, tlsTermination: { terminateAt: "upstream" } }]),
      ...ofEdges(1, [{ hostports, tlsTermination: { minVersion: "1.2" } }]),
      ...ofEdges(1, [{ hostports, tlsTermination: { terminateAt: "upstream", enabled: false } }]),
      ...ofEdges(1, [{ hostports, tlsTermination: { terminateAt: unknown, enabled: false } }]),
      ...ofEdges(1, [{ hostports, tlsTermination: { terminateAt: "edge", enabled: unknown } }]),
      // What is known is judged beside what is not.
      ...ofEdges(1, [{ hostports: [unknown, "a.example.com:443"] }], notKnown),
      [[edge({ hostports: unknown }, "b"), edge({ hostports })], 1, notKnown],
      [[edge({ hostports }), open], 0, notKnown],
      [[edge({ hostports }), open, certificate(shop)], 0],
      [[edge({ hostports }), { ...open, args: { ...open.args, connection: "other" } }], 1],
      served("app.example.com:443", { notBefore: inDays(-2), notAfter: inDays(-1) }, 1),
      served("app.example.com:443", { notBefore: inDays(1), notAfter: inDays(2) }, 1),
      // C5, C82: a certificate of another account covers nothing.
      beside(1, { connection: "other" }),
      beside(0, { connection: "tlsedge" }),
      beside(0, {}, "default_1_2_3_alpha_1_https___x.example"),
      beside(1, {}, "default_eu"),
      beside(1, {}, "eu"),
    ];
  },
  "key-reuse": ({ shop, wildcard, "shop-again": again }) => {
    const open = certificate({ ...shop, certificatePem: unknown }, "c");
    return [
      [[certificate(again, "blog"), certificate(shop)], [/"app" and "blog" have the same key/]],
      [[certificate(shop, "shop"), certificate(wildcard, "blog")], 0],
      [[open, certificate(again, "b"), certificate(shop, "a")], [/"a" and "b"/], notKnown],
    ];
  },
  owner: ({ shop }) => {
    const nameless = [undefined, "null", '"owner"', '{"owner":" "}', '{"owner":7}', '{"team":"a"}'];
    const ownedBy = (metadata: string | undefined, count: number, more?: Case[2]): Case => {
      const own = certificate(shop);
      return [[edge({ metadata }), { ...own, args: { ...own.args, metadata } }], count, more];
    };
    return [
      ownedBy("payments", 2),
      ownedBy('{"owner":"支付"}', 0),
      ...nameless.map((one) => ownedBy(one, 2)),
      ownedBy('{"team":"a"}', 0, { settings: { property: "team" } }),
      ownedBy(unknown, 0, notKnown),
    ];
  },
};
