import "reflect-metadata"; // @peculiar/x509 needs it.
import assert from "node:assert/strict";
import { createPublicKey, ECDH, generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import {
  type PolicyResource,
  type ResourceValidation,
  type ResourceValidationArgs,
  UnknownValueError,
  unknownCheckingProxy,
} from "@pulumi/policy";
import * as fc from "fast-check";
import { type CertificateOptions, makeCertificate } from "../emulator/pki";
import { main } from "../policy/check";
import * as pack from "../policy/index";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { tlsCertificate as certificateKind } from "../provider/tlsCertificate";
import { TLSCertificate, TLSEdge } from "../sdk";
import { assertInert, holds, hostileText, seed } from "./cases";
import { pluginProvider } from "./pluginProvider";
import { certificates, type Pair, signed } from "./policyCases";
import { fileWith, type Properties, Stack, setEnv, unknown } from "./support";

const repository = join(__dirname, "..");
const read = (...file: string[]) => readFileSync(join(repository, ...file), "utf8");
const { policies } = pack;
const { baseline, production } = Object.fromEntries(
  ["baseline", "production"].map((name) => {
    return [name, JSON.parse(read("policy", "profiles", `${name}.json`))];
  }),
);
type Policy = (typeof policies)[number];

/** A resource as a program declares it. */
interface Declared {
  type: typeof TLSEdge | typeof TLSCertificate;
  name: string;
  args: Properties;
  protect?: boolean;
}

/** What a policy says: its violations, and whether it could not judge something not known yet. */
interface Verdict {
  violations: string[];
  unknown: boolean;
}

function defaults({ configSchema }: Policy): Properties {
  const settings = Object.entries(configSchema?.properties ?? {});
  return Object.fromEntries(settings.map(([name, schema]) => [name, schema.default]));
}

/** As Pulumi matches a class that has no static `__pulumiType`. */
const isType = (type: string) => (resource: object) =>
  (resource as { isInstance(value: object): boolean }).isInstance({ __pulumiType: type });

/** The plugin in this process, by the kind of resource that it is called for. */
const plugins = new Map<string, ReturnType<typeof pluginProvider>>();

function pluginFor(type: string) {
  const plugin = plugins.get(type) ?? pluginProvider(type);
  plugins.set(type, plugin);
  return plugin;
}

/** How the types of the dynamic providers and of the plugin begin. */
const prefixes = ["pulumi-nodejs:dynamic/tlsedge:", "tlsedge:index:"] as const;

/**
 * A resource as Pulumi shows it to policies: its inputs, checked by the provider. A policy on the stack
 * sees what the provider plans, which is the same for a dynamic provider.
 */
async function shown(
  { type, name, args, protect = false }: Declared,
  prefix: string = prefixes[0],
  inStack = false,
): Promise<PolicyResource> {
  const token = `${prefix}${type.name}`;
  const dynamic = type === TLSEdge ? tlsEdge : tlsCertificate;
  const plugin = prefix === prefixes[0] ? undefined : (await pluginFor(type.name)).provider;
  const { inputs } = await new Stack(plugin ?? dynamic).check(args);
  const planned = inStack ? await plugin?.planned?.(inputs) : undefined;
  const props = unknownCheckingProxy(planned ?? inputs);
  return {
    type: token,
    name,
    urn: `urn:pulumi:dev::test::${token}::${name}`,
    props,
    opts: { protect },
    isType: isType(token),
    asType: (wanted: object) => (isType(token)(wanted) ? props : undefined),
  } as unknown as PolicyResource;
}

/** What a policy says of what a program declares, which is the same through both doors. */
async function judge(
  policy: Policy,
  resources: Declared[],
  settings: Properties = {},
): Promise<Verdict> {
  const [dynamic, plugin] = await Promise.all(
    prefixes.map(async (prefix) => {
      const inStack = "validateStack" in policy;
      const all = await Promise.all(resources.map((one) => shown(one, prefix, inStack)));
      return verdictOn(policy, all, settings);
    }),
  );
  assert.deepEqual(plugin, dynamic);
  return dynamic as Verdict;
}

/** What a policy says of resources, as the engine would ask it. */
async function verdictOn(
  policy: Policy,
  resources: PolicyResource[],
  settings: Properties = {},
): Promise<Verdict> {
  const verdict: Verdict = { violations: [], unknown: false };
  const report = (message: string) => void verdict.violations.push(message);
  const common = {
    stackTags: new Map<string, string>(),
    getConfig: <T>() => ({ ...defaults(policy), ...settings }) as T,
    notApplicable: (reason?: string): never => {
      throw new NotApplicable(reason);
    },
  };
  const attempt = async (work: () => Promise<void> | void) => {
    try {
      await work();
    } catch (error) {
      if (error instanceof UnknownValueError) verdict.unknown = true;
      else if (!(error instanceof NotApplicable)) throw error;
    }
  };
  if ("validateStack" in policy) {
    await attempt(() => policy.validateStack({ ...common, resources }, report));
    return verdict;
  }
  const { validateResource } = policy;
  assert.ok(typeof validateResource === "function");
  for (const resource of resources) {
    const args = { ...resource, ...common } as unknown as ResourceValidationArgs;
    await attempt(() => validateResource(args, report));
  }
  return verdict;
}

class NotApplicable extends Error {}

/** The texts in a value, at any depth. */
const textsIn = (value: unknown): string[] =>
  typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(textsIn);

/** Bytes with others put in the place of some, all in hex. */
const replaced = (bytes: Buffer, some: string, others: string) =>
  Buffer.from(bytes.toString("hex").replace(some, others), "hex");

const hexOf = (text: string) => Buffer.from(text).toString("hex");

const pemOf = (der: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;

const eku = (use: string) => new ExtendedKeyUsageExtension([use]);
const san = (type: "dns" | "ip" | "email") => {
  const value = { dns: "app.example.com", ip: "192.0.2.1", email: "a@example.com" }[type];
  return new SubjectAlternativeNameExtension([{ type, value }]);
};

const inDays = (days: number) => new Date(Date.now() + days * 24 * 3_600_000);

const edge = (args: Properties, name = "app"): Declared => ({ type: TLSEdge, name, args });
const certificate = ({ certificatePem, privateKeyPem }: Pair, name = "app"): Declared => ({
  type: TLSCertificate,
  name,
  args: { certificatePem, privateKeyPem },
});

/** For each policy what violates it, the same put right, and what is not known in the plan. */
const cases = (files: Record<string, Pair>): Record<string, Record<string, Declared[]>> => {
  const one = (name: string) => certificate(files[name] as Pair);
  const named = (file: string, name: string) => certificate(files[file] as Pair, name);
  const unknownOne = (name: string) =>
    certificate({ ...(files.shop as Pair), certificatePem: unknown }, name);
  const ofEdge = (violation: Properties, fix: Properties, open: Properties) => ({
    violation: [edge(violation)],
    fix: [edge(fix)],
    unknown: [edge(open)],
  });
  const ofCertificate = (violation: string, fix: string) => ({
    violation: [one(violation)],
    fix: [one(fix)],
    unknown: [unknownOne("app")],
  });
  const versions = ofEdge(
    { tlsTermination: { minVersion: "1.0" } },
    { tlsTermination: { minVersion: "1.2" } },
    { tlsTermination: { minVersion: unknown } },
  );
  const authorities = { certificateAuthorityIds: ["ca_staff"] };
  const hostports = ["app.example.com:443"];
  return {
    "edge-tls-version": versions,
    "deployed-tls-version": versions,
    "edge-access": ofEdge(
      {},
      { ipRestriction: { ipPolicyIds: ["ipp_office"] } },
      { ipRestriction: unknown },
    ),
    "edge-modules": ofEdge(
      { mutualTls: { enabled: false, ...authorities } },
      { mutualTls: authorities },
      { mutualTls: unknown },
    ),
    "edge-protected": {
      violation: [edge({ hostports })],
      fix: [{ ...edge({ hostports }), protect: true }],
      unknown: [{ ...edge({ hostports: unknown }), protect: true }],
    },
    "certificate-expiry": ofCertificate("expires-in-a-week", "shop"),
    "certificate-key": ofCertificate("rsa-1024", "shop"),
    "certificate-signature": ofCertificate("sha1", "shop"),
    "certificate-chain": ofCertificate("leaf-alone", "full-chain"),
    "certificate-leaf": ofCertificate("name-in-subject", "shop"),
    "hostport-certificate": {
      violation: [edge({ hostports: ["a.b.example.com:443"] }), one("wildcard")],
      fix: [edge({ hostports: ["b.example.com:443"] }), one("wildcard")],
      unknown: [edge({ hostports }), unknownOne("wildcard")],
    },
    "key-reuse": {
      violation: [named("shop", "shop"), named("shop-again", "blog")],
      fix: [named("shop", "shop"), named("blog", "blog")],
      unknown: [unknownOne("shop"), unknownOne("blog")],
    },
    owner: ofEdge(
      { metadata: "payments" },
      { metadata: JSON.stringify({ owner: "payments" }) },
      { metadata: unknown },
    ),
  };
};

describe("policies", () => {
  let files: Record<string, Pair>;
  let restore: () => void;
  before(async () => {
    // For the plugin, which asks nothing for its plans here.
    const service = { TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_API_KEY: "key" };
    restore = setEnv({ ...service, TLSEDGE_OFFLINE_PLAN: "true" });
    files = await certificates();
  });
  after(async () => {
    for (const plugin of plugins.values()) (await plugin).close();
    restore();
  });

  for (const policy of policies) {
    it(`${policy.name} finds one violation in each case, names the resource, and none in the fix`, async () => {
      const { violation = [], fix = [], unknown: open = [] } = cases(files)[policy.name] ?? {};
      const { violations } = await judge(policy, violation);
      assert.equal(violations.length, 1);
      assert.match(violations[0] as string, /"(app|shop)"/);
      assert.deepEqual(await judge(policy, fix), { violations: [], unknown: false });
      // What is not known yet is left alone.
      const looksAtInputs = policy !== pack.edgeProtected;
      assert.deepEqual(await judge(policy, open), { violations: [], unknown: looksAtInputs });
      const foreign = (await Promise.all(violation.map((one) => shown(one)))).map((resource) => {
        return { ...resource, isType: () => false, asType: () => undefined };
      });
      assert.deepEqual(await verdictOn(policy, foreign), { violations: [], unknown: false });
    });

    it(`C50 C90 ${policy.name} quotes no argument, because nothing says which are secrets, and shows names inert`, async () => {
      const { violation = [] } = cases(files)[policy.name] ?? {};
      for (const resource of violation) resource.name = "\n::error::\u001b]0;x\u0007<{%reset%}>";
      const { violations } = await judge(policy, violation);
      assert.equal(violations.length, 1);
      assertInert(violations.join());
      for (const text of violation.flatMap(({ args }) => textsIn(args))) {
        assert.ok(!violations.join().includes(text.replace(/:\d+$/, "")), violations.join());
      }
    });
  }

  it("C90 show texts of others so that no terminal and no CI system obeys them", async () => {
    const resource = await shown(edge({}));
    await holds(hostileText, 300, async (name) => {
      const { violations } = await verdictOn(pack.edgeProtected, [{ ...resource, name }]);
      assertInert(violations.join());
    });
  });

  it("are each in the document, with their levels and settings", () => {
    const document = read("docs", "policies.md");
    for (const { name, configSchema } of policies) {
      const levels = [baseline, production].map((profile) => profile[name].enforcementLevel);
      assert.match(document, new RegExp(`^\\| .*\`${name}\`.* \\| ${levels.join(" +\\| ")} `, "m"));
      for (const setting of Object.keys(configSchema?.properties ?? {})) {
        assert.ok(document.includes(`\`${setting}\``), setting);
      }
    }
  });

  describe("the command that checks a config", () => {
    /** Its exit code, and what it prints. */
    const run = (...args: string[]) => {
      const printed = { stdout: "", stderr: "" };
      const to = (stream: keyof typeof printed) => ({
        write: (text: string) => (printed[stream] += text),
      });
      const code = main(args, { stdout: to("stdout"), stderr: to("stderr") });
      return { code, ...printed };
    };

    it("prints a schema that has each policy and setting", () => {
      const { properties } = JSON.parse(run("--schema").stdout);
      assert.deepEqual(Object.keys(properties), ["all", ...policies.map(({ name }) => name)]);
      assert.deepEqual(properties["certificate-expiry"].properties.days.minimum, 1);
    });

    it("C70 accepts the profiles and the example's file", () => {
      const files = [
        ...["baseline", "production"].map((name) => `policy/profiles/${name}.json`),
        "examples/policies/policies.json",
      ].map((file) => join(repository, file));
      const { code, stdout, stderr } = run(...files);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.equal(stdout, files.map((file) => `${file}: nothing is wrong\n`).join(""));
    });

    for (const [config, says] of [
      [{ "edge-acces": "mandatory" }, "no policy edge-acces: it has all, edge-"],
      [{ "certificate-expiry": { day: 14 } }, "no setting day: it has enforcementLevel, days"],
      [{ "key-reuse": { days: 14 } }, "the policy key-reuse has no setting days"],
      [{ "edge-tls-version": { minVersion: "1.1" } }, "allowed values 1.2, 1.3"],
      [{ "certificate-expiry": { days: 0 } }, "certificate-expiry.days must be >= 1"],
      [{ all: "warning" }, "all must be equal to one of the allowed"],
      [
        { owner: { enforcementLevel: "warning" } },
        "owner.enforcementLevel must be equal to one of",
      ],
      // The engine refuses this key, too.
      [{ $schema: "config.schema.json" }, "the pack has no policy $schema"],
      [[], "it must be object"],
      [{ "\u001b]0;x\u0007": "mandatory" }, "policy \\u001b]0;x"],
      ["{", "JSON"],
    ] as const) {
      const text = typeof config === "string" ? config : JSON.stringify(config);
      it(`C70 refuses ${text}: ${says}`, () => {
        const file = fileWith(text, ".json");
        const { code, stdout, stderr } = run(file);
        assert.deepEqual([code, stdout], [1, ""]);
        assert.ok(stderr.startsWith(`error: ${file}: `) && stderr.includes(says), stderr);
        assert.equal(stderr.split("\n").length, 2, stderr);
        assertInert(stderr);
      });
    }

    it("names all that is wrong in all files, and those that are right", () => {
      const [right, wrong] = [fileWith("{}"), fileWith('{"a":"mandatory","owner":{"b":1}}')];
      const { code, stdout, stderr } = run(right, wrong, "none.json");
      assert.deepEqual([code, stdout], [1, `${right}: nothing is wrong\n`]);
      assert.match(stderr, /no policy a:.*no setting b:.*none\.json/s);
    });

    it("has help, and fails without a file", () => {
      assert.match(run("--help").stdout, /^Usage: pulumi-tlsedge-policy FILE/);
      assert.equal(run("--help").code, 0);
      assert.equal(run().code, 1);
      assert.match(run("--fix").stderr, /^error: .*--fix/);
    });
  });

  describe("the pack", () => {
    it("has the levels and settings of baseline.json as defaults", () => {
      const own = policies.map((policy) => {
        const { name, enforcementLevel } = policy;
        return [name, { enforcementLevel, ...defaults(policy) }];
      });
      assert.deepEqual(baseline, Object.fromEntries(own));
    });

    it("has a stricter profile that names every policy and setting, too", () => {
      assert.deepEqual(Object.keys(production), Object.keys(baseline));
      for (const [name, settings] of Object.entries<object>(production)) {
        assert.deepEqual(Object.keys(settings), Object.keys(baseline[name]));
        assert.equal(production[name].enforcementLevel, "mandatory");
      }
    });
  });

  /** A test for each case: how many violations it is, and whether something is not known. */
  function finds<Case>(
    policy: Policy,
    of: (one: Case) => Declared[] | Promise<Declared[]>,
    rows: (readonly [one: Case, count: number, unknown?: boolean])[],
  ): void {
    for (const [one, count, isUnknown = false] of rows) {
      it(`${policy.name} finds ${count} violations in ${JSON.stringify(one)}`, async () => {
        const { violations, unknown } = await judge(policy, await of(one));
        assert.deepEqual([violations.length, unknown], [count, isUnknown]);
      });
    }
  }

  finds(
    pack.edgeTlsVersion,
    (tlsTermination: Properties | undefined) => [edge({ tlsTermination })],
    [
      [undefined, 0],
      [{}, 0],
      [{ terminateAt: "edge" }, 0],
      [{ minVersion: "1.1", terminateAt: "edge" }, 1],
      [{ minVersion: "1.3" }, 0],
      [{ minVersion: "SSLv3" }, 1],
      [{ terminateAt: "upstream" }, 0],
      [{ minVersion: "1.0", terminateAt: unknown }, 1],
      [{ minVersion: "1.2", terminateAt: unknown }, 0],
      [{ minVersion: "1.0", enabled: true }, 1],
      [{ minVersion: "1.0", enabled: false }, 0],
      [{ minVersion: unknown, enabled: false }, 0],
      [{ minVersion: "1.2", enabled: unknown }, 0],
    ],
  );

  it("edge-tls-version takes its minimum from config", async () => {
    const resources = [edge({ tlsTermination: { minVersion: "1.2" } })];
    const { violations } = await judge(pack.edgeTlsVersion, resources, { minVersion: "1.3" });
    assert.match(violations.join(), /"1\.3"/);
  });

  it("edge-tls-version remediates what violates, in place, and nothing else", async () => {
    const remediate = async (tlsTermination: Properties | undefined) => {
      const resource = await shown(edge({ tlsTermination, description: unknown }));
      const args = { ...resource, getConfig: () => ({ minVersion: "1.2" }) };
      return pack.edgeTlsVersion.remediateResource?.(args as unknown as ResourceValidationArgs);
    };
    const changed = (await remediate({ minVersion: "1.0" })) as Properties;
    assert.deepEqual(Object.keys(changed).sort(), ["__provider", "description", "tlsTermination"]);
    assert.equal((changed.tlsTermination as Properties).minVersion, "1.2");
    assert.equal(await remediate({ minVersion: "1.0", enabled: false }), undefined);
    assert.equal(await remediate({ minVersion: "1.3" }), undefined);
    assert.equal(await remediate(undefined), undefined);
  });

  for (const [tlsTermination, count] of [
    [null, 0],
    [undefined, 0],
    [{ enabled: true, terminateAt: "edge", minVersion: null }, 0],
    [{ enabled: true, terminateAt: "edge", minVersion: "1.2" }, 0],
    [{ enabled: false, terminateAt: "edge", minVersion: "1.0" }, 0],
    [{ enabled: true, terminateAt: "edge", minVersion: "TLSv1" }, 1],
    [{ enabled: true, terminateAt: unknown, minVersion: "1.0" }, 1],
  ] as const) {
    it(`C92 deployed-tls-version finds ${count} violations in ${JSON.stringify(tlsTermination)}`, async () => {
      const resource = await shown(edge({}));
      const deployed = [{ ...resource, props: { tlsTermination } }];
      const { violations } = await verdictOn(pack.deployedTlsVersion, deployed);
      assert.equal(violations.length, count);
    });
  }

  it("C92 deployed-tls-version leaves to edge-tls-version the edges whose version the program sets", async () => {
    const { deployedTlsVersion } = pack;
    assert.ok("validateResource" in deployedTlsVersion);
    const validate = deployedTlsVersion.validateResource as ResourceValidation;
    for (const [tlsTermination, count] of [
      [{ minVersion: "1.0" }, 0],
      [{ minVersion: unknown }, 0],
      [unknown, 0],
      [{ terminateAt: "edge" }, 1],
      [undefined, 1],
    ] as const) {
      const resource = await shown(edge({ tlsTermination }, "declared"));
      await validate(resource as unknown as ResourceValidationArgs, assert.fail);
      const props = { tlsTermination: { enabled: true, minVersion: "1.0" } };
      const { violations } = await verdictOn(deployedTlsVersion, [{ ...resource, props }]);
      assert.equal(violations.length, count, JSON.stringify(tlsTermination));
    }
  });

  const ip = { ipPolicyIds: ["ipp_1"] };
  const mutual = { certificateAuthorityIds: ["ca_1"] };
  finds(pack.edgeAccess, (args: Properties) => [edge(args)], [
    [{ mutualTls: mutual }, 0],
    [{ ipRestriction: ip, mutualTls: { ...mutual, enabled: false } }, 0],
    [{ ipRestriction: { ...ip, enabled: false } }, 1],
    [{ ipRestriction: { ipPolicyIds: [] } }, 1],
    [{ mutualTls: { certificateAuthorityIds: [] } }, 1],
    [{ ipRestriction: unknown, mutualTls: mutual }, 0],
    [{ ipRestriction: { ipPolicyIds: [unknown] } }, 0],
    [{ ipRestriction: { ...ip, enabled: unknown } }, 0, true],
  ]);

  finds(pack.edgeModules, (args: Properties) => [edge(args)], [
    [
      {
        ipRestriction: unknown,
        mutualTls: { enabled: false, certificateAuthorityIds: [unknown] },
        tlsTermination: { enabled: false },
      },
      2,
      true,
    ],
  ]);

  describe("certificate policies", () => {
    const newKey = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).privateKey;
    const rsaKey = (modulusLength = 2048) =>
      generateKeyPairSync("rsa", { modulusLength }).privateKey;
    const ca = { name: "CN=CA", key: newKey("P-256") };
    const name = "CN=app.example.com";
    const ecdsa = (curve: string) => signed(newKey(curve), "SHA-256", ca);
    const made = (options: Partial<CertificateOptions>) =>
      makeCertificate({ commonName: "a", dnsNames: ["a"], ...options });
    const chained = async (first: Pair | Promise<Pair>, ...others: (Pair | Promise<Pair>)[]) => {
      const pairs = await Promise.all([first, ...others]);
      return { ...(await first), certificatePem: pairs.map((one) => one.certificatePem).join("") };
    };
    /** The provider refuses a leaf whose key does not fit: so this is an intermediate. */
    const beneath = (spki: Buffer<ArrayBuffer>) =>
      chained(made({}), signed(ca.key, "SHA-256", ca, spki));
    const withExponent = (e: string) => {
      const { n } = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({
        format: "jwk",
      });
      const key = createPublicKey({ key: { kty: "RSA", n: n as string, e }, format: "jwk" });
      return beneath(key.export({ type: "spki", format: "der" }));
    };
    const serverAuth = eku("1.3.6.1.5.5.7.3.1");
    /** A leaf, an intermediate that expires in 2 days and a root that does so in 3. */
    const expiring = async () => {
      const root = await made({ commonName: "Root", isCa: true, notAfter: inDays(3) });
      const issuer = await made({ isCa: true, issuer: root, notAfter: inDays(2) });
      return chained(made({ issuer }), root);
    };
    /** Whether the second certificate is a root, which signs itself, or only has the issuer's name. */
    const onRoot = async (isRoot: boolean, bits = 2048, hash = "SHA-1") => {
      const [key, other] = [rsaKey(bits), rsaKey()];
      const root = signed(key, hash, { key: isRoot ? key : other, name });
      return chained(signed(rsaKey(), "SHA-256", { key, name }), root);
    };
    type Row = [
      what: string,
      pair: () => Pair | Promise<Pair>,
      says?: RegExp,
      settings?: Properties,
    ];
    const ofCurve = (curve: string, says?: RegExp, settings?: Properties): Row => [
      `${curve} ${JSON.stringify(settings)}`,
      () => ecdsa(curve),
      says,
      settings,
    ];
    const ofExponent = (e: string, says?: RegExp): Row => [e, () => withExponent(e), says];
    const brainpool = [256, 320, 384, 512].flatMap((bits) =>
      ["r1", "t1"].map((kind) => `brainpoolP${bits}${kind}`),
    );
    const ofLeaf = (what: string, says: RegExp | undefined, ...extensions: Extension[]): Row => {
      const leaf = () => signed(ca.key, "SHA-256", undefined, undefined, extensions);
      return [what, leaf, says];
    };
    const rsaOf2048 = () => made({ keyType: "rsa" });
    const week = () => files["expires-in-a-week"] as Pair;
    const rows: Record<string, Row[]> = {
      "certificate-key": [
        ...["P-256", "P-521", "secp256k1", ...brainpool].map((curve) => ofCurve(curve)),
        ...["secp224r1", "brainpoolP224r1", "sect409k1"].map((curve) =>
          ofCurve(curve, /, a curve that this policy does not know/),
        ),
        ofCurve("P-521", undefined, { minEcdsaBits: 384 }),
        ...["P-256", "brainpoolP320t1"].map((curve) =>
          ofCurve(curve, /a curve of fewer than 384 bits/, { minEcdsaBits: 384 }),
        ),
        ["RSA", rsaOf2048],
        ["RSA where 3072 bits are wanted", rsaOf2048, /./, { minRsaBits: 3072 }],
        ["Ed25519", () => made({ keyType: "ed25519" })],
        // The exponents 1, 2 and 65536; 3 and 65537.
        ...["AQ", "Ag", "AQAA"].map((e) => ofExponent(e, /^Certificate 2 .*exponent/)),
        ...["Aw", "AQAB"].map((e) => ofExponent(e)),
        ["a weak root", () => onRoot(true, 1024), /^Certificate 2 .* a key of 1024 bits/],
        [
          "a kind of key that Node.js does not know",
          () => {
            const { publicKey } = generateKeyPairSync("ed25519");
            const spki = publicKey.export({ type: "spki", format: "der" });
            return beneath(replaced(spki, "2b6570", "2b6579"));
          },
          /can't be read/,
        ],
      ],
      "certificate-signature": [
        [
          "MD5",
          () => ({ ...(files.shop as Pair), certificatePem: read("tests", "fixtures", "md5.pem") }),
          /MD5/,
        ],
        ["SHA-1 of a root", () => onRoot(true)],
        ["SHA-1 of one that does not sign itself", () => onRoot(false), /^Certificate 2 .*SHA-1/],
      ],
      "certificate-expiry": [
        ["a week", week, undefined, { days: 6 }],
        ["a week", week, /./, { days: 8 }],
        [
          "a day ago",
          () => made({ notBefore: inDays(-2), notAfter: inDays(-1) }),
          /./,
          { days: 1 },
        ],
        [
          "tomorrow's",
          () => made({ notBefore: inDays(1) }),
          /^The leaf .*"app" is not valid before /,
        ],
        ["an intermediate, but no root", expiring, /^Certificate 2 .*"app" expires on /],
      ],
      "certificate-leaf": [
        ofLeaf("a server", undefined, serverAuth, san("dns")),
        ofLeaf("a server with an address", undefined, serverAuth, san("ip")),
        ofLeaf("a client", /: its .* lack serverAuth\./, eku("1.3.6.1.5.5.7.3.2"), san("dns")),
        ofLeaf("any use", /lack serverAuth/, eku("2.5.29.37.0"), san("dns")),
        ofLeaf("no use", /lack serverAuth/, san("dns")),
        ofLeaf("a person", /: its .* no host name or address/, serverAuth, san("email")),
        ofLeaf(
          "an authority",
          /: it is an authority's certificate\./,
          ...[serverAuth, san("dns"), new BasicConstraintsExtension(true)],
        ),
        [
          "an authority without names",
          () => made({ dnsNames: [], isCa: true }),
          /authority.*serverAuth.*no host name/,
        ],
        ["a chain", () => files["full-chain"] as Pair],
      ],
      "certificate-chain": [
        ["one that signs itself", () => files.shop as Pair],
        ["a second certificate", () => files["full-chain"] as Pair],
        [
          "its own name, but another's signature",
          () => signed(newKey("P-256"), "SHA-256", { key: ca.key, name }),
          /./,
        ],
      ],
    };
    for (const [policyName, cases] of Object.entries(rows)) {
      const policy = policies.find((one) => one.name === policyName) as Policy;
      for (const [what, pair, says, settings] of cases) {
        it(`C92 ${policyName} judges ${what}: ${says ?? "right"}`, async () => {
          const { violations } = await judge(policy, [certificate(await pair())], settings);
          assert.equal(violations.length, says ? 1 : 0);
          assert.match(violations.join(), says ?? /^$/);
        });
      }
    }

    // Each in place of an algorithm that takes as many bytes, parameters included.
    const ofRSA = (last: string) => `300d06092a864886f70d0101${last}0500`;
    const ofOIW = (last: string) => `300d06052b0e0302${last}040400000000`;
    const ecdsaWithSHA1 = "06072a8648ce3d0401";
    for (const [algorithm, to, says] of [
      ["md2WithRSA", ofRSA("02"), "MD2"],
      ["md4WithRSA", ofRSA("03"), "MD4"],
      ["md5WithRSA", ofRSA("04"), "MD5"],
      ["sha1WithRSA", ofRSA("05"), "SHA-1"],
      ["OIW's md5WithRSA", ofOIW("03"), "MD5"],
      ["OIW's sha1WithRSA", ofOIW("1d"), "SHA-1"],
      ["OIW's dsaWithSHA1", ofOIW("1b"), "SHA-1"],
      ["dsaWithSHA1", "06072a8648ce380403", "SHA-1"],
      ["ecdsaWithSHA1", ecdsaWithSHA1, "SHA-1"],
      ["RSASSA-PSS with its default hash", ofRSA("0a"), "SHA-1"],
      ["sha384WithRSA", ofRSA("0c"), undefined],
      ["sha224WithRSA", ofRSA("0e"), undefined],
      ["an unknown one", ofRSA("7f"), "1.2.840.113549.1.1.127"],
    ] as const) {
      it(`certificate-signature finds ${says ?? "nothing broken"} in ${algorithm}`, async () => {
        const isRSA = to.startsWith("300d");
        const pair = await (isRSA ? signed(rsaKey()) : signed(ca.key, "SHA-1"));
        const from = isRSA ? ofRSA("0b") : ecdsaWithSHA1;
        const der = new X509Certificate(pair.certificatePem).raw;
        // Once in what is signed, once beside it.
        const certificatePem = pemOf(replaced(replaced(der, from, to), from, to));
        const resources = [certificate({ ...pair, certificatePem })];
        const { violations } = await judge(pack.certificateSignature, resources);
        const found = violations.map((text) =>
          / is signed with (?:.*\()?([\w.-]+?)[.)] /.exec(text),
        );
        assert.deepEqual(
          found.map((match) => match?.[1]),
          says ? [says] : [],
        );
      });
    }

    const ofCertificates = policies.filter(({ name }) => name.startsWith("certificate-"));

    it("C92 a chain that can't be read is a violation of each", async () => {
      const sha1 = new X509Certificate((files.sha1 as Pair).certificatePem).raw;
      const algorithm = "300d06092a864886f70d010105";
      const inSigned = sha1.toString("hex").indexOf(algorithm);
      const beside = sha1.toString("hex").indexOf(algorithm, inSigned + 1);
      const strong = Buffer.from(sha1);
      strong[beside / 2 + 12] = 0x0b; // sha256WithRSAEncryption, in the copy that nothing signs.
      const badDate = Buffer.from(sha1);
      const [, notAfter] = sha1.toString("latin1").matchAll(/\d{12}Z/g);
      badDate.write("99", (notAfter?.index ?? 0) + 2); // The month.
      // Node.js would read the year 45 as 2045.
      const early = { commonName: "a", notBefore: new Date(0), notAfter: new Date("2055-01-01") };
      const { raw } = new X509Certificate((await makeCertificate(early)).certificatePem);
      const year45 = replaced(raw, hexOf("20550101"), hexOf("00450101"));
      for (const certificatePem of [
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        pemOf(strong),
        pemOf(badDate),
        pemOf(year45),
      ]) {
        for (const policy of [...ofCertificates, pack.keyReuse]) {
          const pair = { ...(files.shop as Pair), certificatePem };
          const { violations } = await judge(policy, [certificate(pair)]);
          assert.equal(violations.length, 1, policy.name);
          assert.match(violations.join(), /"app" can't be read/);
        }
      }
    });

    it("C92 no byte makes a weak certificate pass: refused, or judged by each policy", async () => {
      const weak = await signed(
        generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey,
        "SHA-1",
        { name: "CN=CA", key: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey },
      );
      const der = new X509Certificate(weak.certificatePem).raw;
      const drawn = fc.sample(fc.integer({ min: 1, max: 255 }), { seed, numRuns: der.length });
      // 0x20 marks a value as made of others: parsers differ in how strictly they read it.
      const changes = drawn.flatMap((change, index) => [
        { index, change },
        { index, change: 0x20 },
      ]);
      let accepted = 0;
      for (const { index, change } of changes) {
        const changed = Buffer.from(der);
        changed[index] = (der[index] as number) ^ change;
        const one = certificate({ ...weak, certificatePem: pemOf(changed) });
        const { problems } = certificateKind.check(one.args, undefined, new Date());
        if (problems.length > 0) continue;
        accepted += 1;
        const resource = await shown(one);
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

  const served = async ([hostport, dnsNames]: readonly [string, string[]]) => [
    edge({ hostports: [hostport] }),
    certificate(await makeCertificate({ commonName: hostport, dnsNames, ips: ["192.0.2.1"] })),
  ];
  finds(pack.hostportCertificate, served, [
    [["APP.example.com:8443", ["app.EXAMPLE.com"]], 0],
    [["app.example.com:443", ["*.example.com"]], 0],
    [["example.com:443", ["*.example.com"]], 1],
    [["a.b.example.com:443", ["*.b.example.com"]], 0],
    [["*.example.com:443", ["*.example.com"]], 0],
    [["*.example.com:443", ["app.example.com"]], 1],
    [["app.example.com:443", ["a*.example.com"]], 1],
    [["app.example.com:443", ["example.com"]], 1],
    [["app.example.com:443", []], 1],
    [["192.0.2.1:443", []], 0],
    [["192.0.2.2:443", ["*.0.2.2", "192.0.2.2"]], 1],
  ]);

  // C80: the plugin plans more than the inputs.
  const unserved = (args: Properties) => [edge({ hostports: ["app.example.com:443"], ...args })];
  finds(pack.hostportCertificate, unserved, [
    [{ tlsTermination: { terminateAt: "upstream" } }, 0],
    [{ tlsTermination: { terminateAt: "upstream", enabled: true } }, 0],
    [{ tlsTermination: { terminateAt: "upstream", enabled: false } }, 1],
    [{ tlsTermination: { terminateAt: unknown, enabled: false } }, 1],
    [{ tlsTermination: { terminateAt: "edge", enabled: unknown } }, 1],
    [{ tlsTermination: { minVersion: "1.2" } }, 1],
    [{ tlsTermination: {} }, 1],
    // What is known is judged beside what is not.
    [{ hostports: [unknown, "a.example.com:443"] }, 1, true],
  ]);

  const validFor = async ([from, to]: readonly [number, number]) => {
    const options = { commonName: "a", dnsNames: ["app.example.com"] };
    const dates = { notBefore: inDays(from), notAfter: inDays(to) };
    return [...unserved({}), certificate(await makeCertificate({ ...options, ...dates }))];
  };
  finds(pack.hostportCertificate, validFor, [
    [[-1, 1], 0],
    [[-2, -1], 1],
    [[1, 2], 1],
  ]);

  for (const [connection, count] of [
    ["other", 1],
    ["tlsedge", 0],
  ] as const) {
    it(`C5 hostport-certificate finds ${count} violations when the connection of the edge is ${connection}`, async () => {
      const args = { hostports: ["app.example.com:443"], connection };
      const declared = [edge(args), certificate(files.shop as Pair)];
      const resources = await Promise.all(declared.map((one) => shown(one)));
      const { violations } = await verdictOn(pack.hostportCertificate, resources);
      assert.equal(violations.length, count);
    });
  }

  for (const [name, count] of [
    ["default", 0],
    ["default_1_2_3_alpha_1_https___x.example", 0],
    ["default_eu", 1],
    ["default_2", 1],
    ["eu", 1],
  ] as const) {
    it(`C82 hostport-certificate finds ${count} violations when the provider of the certificate is named ${name}`, async () => {
      const pair = files.shop as Pair;
      const [served, cert] = await Promise.all(
        [edge({ hostports: ["app.example.com:443"] }), certificate(pair)].map((one) =>
          shown(one, prefixes[1], true),
        ),
      );
      const of = (provider: string) => ({ provider: { name: provider, urn: provider } });
      const { violations } = await verdictOn(pack.hostportCertificate, [
        { ...served, ...of("default_0_1_0") } as PolicyResource,
        { ...cert, ...of(name) } as PolicyResource,
      ]);
      assert.equal(violations.length, count);
    });
  }

  it("hostport-certificate judges every edge, also after one that is not known", async () => {
    const { violations, unknown: some } = await judge(pack.hostportCertificate, [
      edge({ hostports: unknown }, "b"),
      edge({ hostports: ["c.example.com:443"] }, "c"),
    ]);
    assert.deepEqual([violations.length, some], [1, true]);
  });

  it("key-reuse names both certificates, whatever their order, and judges beside unknowns", async () => {
    const [one, other] = [files.shop as Pair, files["shop-again"] as Pair];
    const resources = [
      certificate({ ...one, certificatePem: unknown }, "c"),
      certificate(other, "b"),
      certificate(one, "a"),
    ];
    const { violations, unknown: some } = await judge(pack.keyReuse, resources);
    assert.equal(violations.length, 1);
    assert.match(violations.join(), /"a" and "b"/);
    assert.ok(some);
  });

  it("key-reuse knows a key of a curve in both forms of its point", async () => {
    for (const [namedCurve, header, sign] of [
      ["prime256v1", "3039301306072a8648ce3d020106082a8648ce3d030107032200", "02"],
      ["brainpoolP256r1", "303a301406072a8648ce3d020106092b2403030208010107032200", "03"],
    ] as const) {
      const made = () => {
        const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
        const point = publicKey.export({ type: "spki", format: "der" }).subarray(-65);
        const short = ECDH.convertKey(point, namedCurve, undefined, "hex", "compressed");
        return { privateKey, short: String(short) };
      };
      // Half of the keys have each sign of the second coordinate.
      let { privateKey, short } = made();
      while (!short.startsWith(sign)) ({ privateKey, short } = made());
      const spki = Buffer.from(header + short, "hex");
      const signer = {
        name: "CN=CA",
        key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
      };
      const { violations } = await judge(pack.keyReuse, [
        certificate(await signed(privateKey, "SHA-256", signer), "a"),
        certificate(await signed(privateKey, "SHA-256", signer, spki), "b"),
      ]);
      assert.match(violations.join(), /"a" and "b" have the same key/);
    }
  });

  it("C92 policies on a stack trust no certificate whose state an earlier version wrote", async () => {
    const hostports = ["untold.example.com:443"];
    const edges = await Promise.all([edge({ hostports }, "untold")].map((one) => shown(one)));
    const pairs = cases(files)["key-reuse"]?.violation ?? [];
    const certificates = (await Promise.all(pairs.map((one) => shown(one)))).map((resource) => ({
      ...resource,
      props: {},
    }));
    const { violations } = await verdictOn(pack.keyReuse, certificates);
    assert.equal(violations.length, 2);
    for (const violation of violations) assert.match(violation, /can't be read.*pulumi refresh/);
    const ofEdges = await verdictOn(pack.hostportCertificate, [...edges, ...certificates]);
    assert.equal(ofEdges.violations.length, 1);
  });

  const ownedBy = (metadata: string | undefined) => {
    const resources = [edge({ metadata }), certificate(files.shop as Pair)];
    if (resources[1]) resources[1].args.metadata = metadata;
    return resources;
  };
  finds(pack.owner, ownedBy, [
    [undefined, 2],
    ["not JSON", 2],
    ["null", 2],
    ['"owner"', 2],
    ['{"owner":""}', 2],
    ['{"owner":7}', 2],
    ['{"owner":"–"}', 2],
    ['{"team":"a"}', 2],
    ['{"owner":"支付"}', 0],
  ]);

  it("owner takes no text without a visible letter or digit for an owner", async () => {
    const invisible = fc.constantFrom(
      ..."\u00ad\u034f\u115f\u180e\u200b\u200d\u202e\u2060\u2800\u3164\ufe0f\ufeff\uffa0\u{e0041}",
      ..." \t\u00a0\u3000.-_/?",
    );
    const blank = fc.string({ unit: invisible, maxLength: 8 });
    await holds(fc.tuple(blank, fc.boolean()), 100, async ([name, isNamed]) => {
      const metadata = JSON.stringify({ owner: isNamed ? `${name}ops` : name });
      const resources = [await shown(edge({ metadata }))];
      const { violations } = await verdictOn(pack.owner, resources);
      assert.equal(violations.length, isNamed ? 0 : 1);
    });
  });

  it("owner takes the property from config", async () => {
    const resources = [edge({ metadata: '{"team":"a"}' })];
    const { violations } = await judge(pack.owner, resources, { property: "team" });
    assert.deepEqual(violations, []);
  });
});
