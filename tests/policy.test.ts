import "reflect-metadata"; // @peculiar/x509 needs it.
import assert from "node:assert/strict";
import { createPublicKey, ECDH, generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import {
  type PolicyConfigSchema,
  type PolicyResource,
  type ResourceValidationArgs,
  UnknownValueError,
  unknownCheckingProxy,
} from "@pulumi/policy";
import * as fc from "fast-check";
import { makeCertificate } from "../emulator/pki";
import { main } from "../policy/check";
import * as pack from "../policy/index";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { tlsCertificate as certificateKind } from "../provider/tlsCertificate";
import { TLSCertificate, TLSEdge } from "../sdk";
import { certificates, type Pair, signed, unknowns } from "../tools/policyCases";
import {
  configSchema,
  configSchemaFile,
  policiesFile,
  policyPart,
  readProfiles,
} from "../tools/policyDocument";
import { assertInert, holds, hostileText, seed } from "./cases";
import { pluginProvider } from "./pluginProvider";
import { fileWith, type Properties, Stack, setEnv, unknown } from "./support";

const repository = join(__dirname, "..");
const profiles = readProfiles();
const { policies } = pack;
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

/** What a program declares, were it run. */
function declared(program: string, files: Record<string, Pair>): Declared[] {
  const found: Declared[] = [];
  const recorder = (type: Declared["type"]) =>
    function record(name: string, args: Properties, options: { protect?: boolean } = {}) {
      found.push({ type, name, args, ...options });
    };
  const read = (file: string) => {
    const [, name = "", kind] = /^(.*)\.(pem|key)$/.exec(file) ?? [];
    return kind === "pem" ? files[name]?.certificatePem : files[name]?.privateKeyPem;
  };
  const run = new Function("TLSEdge", "TLSCertificate", "readFileSync", "unknown", program);
  run(recorder(TLSEdge), recorder(TLSCertificate), read, unknown);
  return found;
}

function defaults({ configSchema }: Policy): Properties {
  const settings = Object.entries(configSchema?.properties ?? {});
  return Object.fromEntries(settings.map(([name, schema]) => [name, schema.default]));
}

/** As far as the schemas of the policies go. */
function isValid(schema: PolicyConfigSchema["properties"][string] = {}, value: unknown): boolean {
  const { type, enum: values = [value], minimum = 0 } = schema;
  const isOfType = type === "integer" ? Number.isInteger(value) : typeof value === type;
  const isLarge = typeof value !== "number" || value >= minimum;
  return isOfType && isLarge && values.includes(value as string);
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
    opts: {
      protect,
      ignoreChanges: [],
      aliases: [],
      customTimeouts: { createSeconds: 0, updateSeconds: 0, deleteSeconds: 0 },
      additionalSecretOutputs: [],
    },
    dependencies: [],
    propertyDependencies: {},
    isType: isType(token),
    asType: (wanted: object) => (isType(token)(wanted) ? props : undefined),
  } as PolicyResource;
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
    describe(policy.name, () => {
      it("finds the violation of its example, and names the resource", async () => {
        const { violations } = await judge(policy, declared(policy.example.violation, files));
        assert.equal(violations.length, 1);
        assert.match(violations[0] as string, /"(app|shop)"/);
      });

      it("finds none in the fix of its example", async () => {
        const verdict = await judge(policy, declared(policy.example.fix, files));
        assert.deepEqual(verdict, { violations: [], unknown: false });
      });

      it("leaves alone what is not known yet", async () => {
        const program = unknowns[policy.name] as string;
        const verdict = await judge(policy, declared(program, files));
        const looksAtInputs = policy !== pack.edgeProtected;
        assert.deepEqual(verdict, { violations: [], unknown: looksAtInputs });
      });

      it("C50 C90 quotes no argument, because nothing says which are secrets, and shows names inert", async () => {
        const resources = declared(policy.example.violation, files);
        for (const resource of resources) resource.name = "\n::error::\u001b]0;x\u0007<{%reset%}>";
        const { violations } = await judge(policy, resources);
        assert.equal(violations.length, 1);
        assertInert(violations.join());
        for (const text of resources.flatMap(({ args }) => textsIn(args))) {
          assert.ok(!violations.join().includes(text.replace(/:\d+$/, "")), violations.join());
        }
      });

      it("judges only this package's resources", async () => {
        const resources = await Promise.all(
          declared(policy.example.violation, files).map((one) => shown(one)),
        );
        const foreign = resources.map((resource) => ({
          ...resource,
          type: "aws:s3:Bucket",
          isType: () => false,
          asType: () => undefined,
        }));
        assert.deepEqual(await verdictOn(policy, foreign), { violations: [], unknown: false });
      });

      it("says what docs/policies.md needs", () => {
        assert.match(policy.name, /^[a-z][a-z-]+$/);
        for (const text of [policy.description, policy.why, policy.remediationSteps]) {
          assert.match(text, /\.$/);
        }
      });
    });
  }

  it("C90 show texts of others so that no terminal and no CI system obeys them", async () => {
    const resource = await shown(edge({}));
    await holds(hostileText, 300, async (name) => {
      const { violations } = await verdictOn(pack.edgeProtected, [{ ...resource, name }]);
      assertInert(violations.join());
    });
  });

  it("are described in a document that is not stale: npm run docs:policies", () => {
    assert.ok(readFileSync(policiesFile, "utf8").includes(policyPart()));
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

    it("has a schema that is not stale: npm run docs:policies", () => {
      assert.deepEqual(JSON.parse(readFileSync(configSchemaFile, "utf8")), configSchema());
    });

    it("C70 accepts the profiles and the example's file", () => {
      const files = [
        ...Object.keys(profiles).map((name) => `policy/profiles/${name}.json`),
        "examples/policies/policies.json",
      ].map((file) => join(repository, file));
      const { code, stdout, stderr } = run(...files);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.equal(stdout, files.map((file) => `${file}: nothing is wrong\n`).join(""));
    });

    for (const [what, config, says] of [
      [
        "a misspelt policy",
        { "edge-acces": "mandatory" },
        "no policy edge-acces: it has all, edge-",
      ],
      [
        "a misspelt setting",
        { "certificate-expiry": { day: 14 } },
        "the policy certificate-expiry has no setting day: it has enforcementLevel, days",
      ],
      ["a setting of another policy", { "key-reuse": { days: 14 } }, "has no setting days"],
      [
        "a value that the setting does not have",
        { "edge-tls-version": { minVersion: "1.1" } },
        "edge-tls-version.minVersion must be equal to one of the allowed values 1.2, 1.3",
      ],
      [
        "a number that the setting does not have",
        { "certificate-expiry": { days: 0 } },
        "certificate-expiry.days must be >= 1",
      ],
      [
        "a level that does not exist",
        { all: "warning" },
        "all must be equal to one of the allowed",
      ],
      [
        "a level in a property that does not exist",
        { owner: { enforcementLevel: "warning" } },
        "owner.enforcementLevel must be equal to one of the allowed values advisory, disabled",
      ],
      [
        "the key $schema, which the engine refuses",
        { $schema: "config.schema.json" },
        "the pack has no policy $schema",
      ],
      ["what is no config", [], "it must be object"],
      ["a name that a terminal obeys", { "\u001b]0;x\u0007": "mandatory" }, "policy \\u001b]0;x"],
      ["a text that is no JSON", "{", "JSON"],
    ] as const) {
      it(`C70 refuses ${what}`, () => {
        const file = fileWith(
          typeof config === "string" ? config : JSON.stringify(config),
          ".json",
        );
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
      assert.deepEqual(profiles.baseline, Object.fromEntries(own));
    });

    for (const [profileName, profile] of Object.entries(profiles)) {
      it(`has a profile ${profileName} that names every policy, with settings that it knows`, () => {
        const names = policies.map(({ name }) => name);
        assert.deepEqual(Object.keys(profile), names);
        for (const policy of policies) {
          const { enforcementLevel, ...settings } = profile[policy.name] ?? {};
          assert.match(String(enforcementLevel), /^(advisory|mandatory|disabled)$/);
          assert.deepEqual(Object.keys(settings), Object.keys(defaults(policy)));
          for (const [name, value] of Object.entries(settings)) {
            assert.ok(isValid(policy.configSchema?.properties[name], value), name);
          }
        }
      });
    }

    it("is no weaker in production than in baseline", () => {
      const order = ["disabled", "advisory", "mandatory"];
      for (const { name } of policies) {
        const [low, high] = [profiles.baseline, profiles.production].map((profile) =>
          order.indexOf(profile?.[name]?.enforcementLevel ?? ""),
        );
        assert.ok((low as number) <= (high as number), name);
      }
    });

    it("shows no key in what it says", async () => {
      const keys = Object.values(files).map(({ privateKeyPem }) => privateKeyPem.split("\n")[1]);
      for (const policy of policies) {
        const resources = declared(policy.example.violation, files);
        const { violations } = await judge(policy, resources);
        const said = violations.join();
        assert.ok(keys.every((key) => !said.includes(key as string)));
      }
    });
  });

  describe("edge-tls-version in detail", () => {
    const { edgeTlsVersion } = pack;
    const verdict = (tlsTermination: Properties | undefined, settings: Properties = {}) =>
      judge(edgeTlsVersion, [edge({ tlsTermination })], settings);

    for (const [termination, count] of [
      [undefined, 0],
      [{}, 0],
      [{ terminateAt: "edge" }, 0],
      [{ minVersion: "1.0" }, 1],
      [{ minVersion: "1.1", terminateAt: "edge" }, 1],
      [{ minVersion: "1.2" }, 0],
      [{ minVersion: "1.3" }, 0],
      [{ minVersion: "SSLv3" }, 1],
      [{ terminateAt: "upstream" }, 0],
      [{ minVersion: "1.0", terminateAt: unknown }, 1],
      [{ minVersion: "1.2", terminateAt: unknown }, 0],
      [{ minVersion: "1.0", enabled: true }, 1],
      [{ minVersion: "1.0", enabled: false }, 0],
      [{ minVersion: unknown, enabled: false }, 0],
      [{ minVersion: "1.2", enabled: unknown }, 0],
    ] as const) {
      it(`finds ${count} violations in ${JSON.stringify(termination)}`, async () => {
        const { violations, unknown: some } = await verdict(termination);
        assert.deepEqual([violations.length, some], [count, false]);
      });
    }

    it("takes its minimum from config", async () => {
      const { violations } = await verdict({ minVersion: "1.2" }, { minVersion: "1.3" });
      assert.match(violations.join(), /"1\.3"/);
    });

    it("remediates what violates, in place, and nothing else", async () => {
      const remediate = async (tlsTermination: Properties | undefined) => {
        const resource = await shown(edge({ tlsTermination, description: unknown }));
        const args = { ...resource, getConfig: () => ({ minVersion: "1.2" }) };
        return edgeTlsVersion.remediateResource?.(args as unknown as ResourceValidationArgs);
      };
      const changed = (await remediate({ minVersion: "1.0" })) as Properties;
      assert.deepEqual(Object.keys(changed).sort(), [
        "__provider",
        "description",
        "tlsTermination",
      ]);
      assert.equal((changed.tlsTermination as Properties).minVersion, "1.2");
      assert.equal(await remediate({ minVersion: "1.0", enabled: false }), undefined);
      assert.equal(await remediate({ minVersion: "1.3" }), undefined);
      assert.equal(await remediate(undefined), undefined);
    });
  });

  describe("edge-access in detail", () => {
    const { edgeAccess } = pack;
    const ip = { ipPolicyIds: ["ipp_1"] };
    const mutual = { certificateAuthorityIds: ["ca_1"] };

    for (const [args, count, isUnknown] of [
      [{ mutualTls: mutual }, 0, false],
      [{ ipRestriction: ip, mutualTls: { ...mutual, enabled: false } }, 0, false],
      [{ ipRestriction: { ...ip, enabled: false } }, 1, false],
      [{ ipRestriction: { ipPolicyIds: [] } }, 1, false],
      [{ mutualTls: { certificateAuthorityIds: [] } }, 1, false],
      [{ ipRestriction: unknown, mutualTls: mutual }, 0, false],
      [{ ipRestriction: { ipPolicyIds: [unknown] } }, 0, false],
      [{ ipRestriction: { ...ip, enabled: unknown } }, 0, true],
    ] as const) {
      it(`finds ${count} violations in ${JSON.stringify(args)}`, async () => {
        const { violations, unknown } = await judge(edgeAccess, [edge(args)]);
        assert.deepEqual([violations.length, unknown], [count, isUnknown]);
      });
    }
  });

  it("edge-modules judges what is known beside what is not", async () => {
    const args = {
      ipRestriction: unknown,
      mutualTls: { enabled: false, certificateAuthorityIds: [unknown] },
      tlsTermination: { enabled: false },
    };
    const { violations, unknown: some } = await judge(pack.edgeModules, [edge(args)]);
    assert.deepEqual([violations.length, some], [2, true]);
  });

  describe("certificate policies in detail", () => {
    const ca = {
      name: "CN=CA",
      key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    };
    const ecdsa = (namedCurve: string) =>
      signed(generateKeyPairSync("ec", { namedCurve }).privateKey, "SHA-256", ca);
    const count = async (policy: Policy, pair: Pair, settings: Properties = {}) =>
      (await judge(policy, [certificate(pair)], settings)).violations.length;

    it("certificate-key judges curves and sizes by its settings", async () => {
      const { certificateKey } = pack;
      assert.equal(await count(certificateKey, await ecdsa("secp224r1")), 1);
      assert.equal(await count(certificateKey, await ecdsa("P-256")), 0);
      assert.equal(await count(certificateKey, await ecdsa("P-256"), { minEcdsaBits: 384 }), 1);
      assert.equal(await count(certificateKey, await ecdsa("P-521"), { minEcdsaBits: 384 }), 0);
      const rsa = await makeCertificate({ commonName: "a", keyType: "rsa" });
      assert.equal(await count(certificateKey, rsa), 0);
      assert.equal(await count(certificateKey, rsa, { minRsaBits: 3072 }), 1);
      const ed25519 = await makeCertificate({ commonName: "a", keyType: "ed25519" });
      assert.equal(await count(certificateKey, ed25519), 0);
    });

    for (const [exponent, e, count] of [
      ["1", "AQ", 1],
      ["2", "Ag", 1],
      ["65536", "AQAA", 1],
      ["3", "Aw", 0],
      ["65537", "AQAB", 0],
    ] as const) {
      it(`certificate-key finds ${count} violations in an RSA key with the exponent ${exponent}`, async () => {
        const { n } = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({
          format: "jwk",
        });
        const key = createPublicKey({ key: { kty: "RSA", n: n as string, e }, format: "jwk" });
        const spki = key.export({ type: "spki", format: "der" });
        const { certificatePem } = await signed(ca.key, "SHA-256", ca, spki);
        // The provider refuses a key that does not fit. So it is that of an intermediate.
        const shop = files.shop as Pair;
        const chain = { ...shop, certificatePem: shop.certificatePem + certificatePem };
        const { violations } = await judge(pack.certificateKey, [certificate(chain)]);
        assert.equal(violations.length, count);
        for (const violation of violations) assert.match(violation, /^Certificate 2 .*exponent/);
      });
    }

    for (const [curve, count, says] of [
      ["secp256k1", 0, /^$/],
      ...[256, 320, 384, 512].flatMap((bits) =>
        ["r1", "t1"].map((kind) => [`brainpoolP${bits}${kind}`, 0, /^$/] as const),
      ),
      ["brainpoolP224r1", 1, /on brainpoolP224r1, a curve that this policy does not know/],
      ["sect409k1", 1, /on sect409k1, a curve that this policy does not know/],
    ] as const) {
      it(`certificate-key finds ${count} violations in a key on ${curve}`, async () => {
        const resources = [certificate(await ecdsa(curve))];
        const { violations } = await judge(pack.certificateKey, resources);
        assert.equal(violations.length, count);
        assert.match(violations.join(), says);
      });
    }

    it("certificate-key judges the size of each curve that it knows", async () => {
      const pair = await ecdsa("brainpoolP320t1");
      const { violations } = await judge(pack.certificateKey, [certificate(pair)], {
        minEcdsaBits: 384,
      });
      assert.match(violations.join(), /a curve of fewer than 384 bits/);
    });

    it("certificate-key and certificate-signature judge the whole chain, but no root's signature", async () => {
      const rsa = (modulusLength: number) =>
        generateKeyPairSync("rsa", { modulusLength }).privateKey;
      const rootKey = rsa(1024);
      const name = "CN=app.example.com";
      const root = await signed(rootKey, "SHA-1", { key: rootKey, name });
      const leaf = await signed(rsa(2048), "SHA-256", { key: rootKey, name });
      const chain = { ...leaf, certificatePem: leaf.certificatePem + root.certificatePem };
      const { violations } = await judge(pack.certificateKey, [certificate(chain)]);
      assert.match(violations.join(), /^Certificate 2 .* a key of 1024 bits/);
      assert.equal(await count(pack.certificateSignature, chain), 0);
    });

    it("C92 a kind of key that Node.js does not know is a violation", async () => {
      const spki = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" });
      const { certificatePem } = await signed(
        ca.key,
        "SHA-256",
        ca,
        replaced(spki, "2b6570", "2b6579"),
      );
      assert.throws(() => new X509Certificate(certificatePem).publicKey);
      const shop = files.shop as Pair;
      const pair = { ...shop, certificatePem: shop.certificatePem + certificatePem };
      assert.equal(await count(pack.certificateKey, pair), 1);
    });

    it("certificate-signature knows MD5", async () => {
      const certificatePem = readFileSync(join(__dirname, "fixtures", "md5.pem"), "utf8");
      const pair = { ...(files.shop as Pair), certificatePem };
      assert.equal(await count(pack.certificateSignature, pair), 1);
    });

    // Each in place of an algorithm that takes as many bytes, parameters included.
    const sha256WithRSA = "300d06092a864886f70d01010b0500";
    const ecdsaWithSHA1 = "06072a8648ce3d0401";
    for (const [algorithm, from, to, says] of [
      ["md2WithRSA", sha256WithRSA, "300d06092a864886f70d0101020500", "MD2"],
      ["md4WithRSA", sha256WithRSA, "300d06092a864886f70d0101030500", "MD4"],
      ["md5WithRSA", sha256WithRSA, "300d06092a864886f70d0101040500", "MD5"],
      ["sha1WithRSA", sha256WithRSA, "300d06092a864886f70d0101050500", "SHA-1"],
      ["OIW's md5WithRSA", sha256WithRSA, "300d06052b0e030203040400000000", "MD5"],
      ["OIW's sha1WithRSA", sha256WithRSA, "300d06052b0e03021d040400000000", "SHA-1"],
      ["OIW's dsaWithSHA1", sha256WithRSA, "300d06052b0e03021b040400000000", "SHA-1"],
      ["dsaWithSHA1", ecdsaWithSHA1, "06072a8648ce380403", "SHA-1"],
      ["ecdsaWithSHA1", ecdsaWithSHA1, ecdsaWithSHA1, "SHA-1"],
      [
        "RSASSA-PSS with its default hash",
        sha256WithRSA,
        "300d06092a864886f70d01010a0500",
        "SHA-1",
      ],
      ["sha384WithRSA", sha256WithRSA, "300d06092a864886f70d01010c0500", undefined],
      ["sha224WithRSA", sha256WithRSA, "300d06092a864886f70d01010e0500", undefined],
      ["an unknown one", sha256WithRSA, "300d06092a864886f70d01017f0500", "1.2.840.113549.1.1.127"],
    ] as const) {
      it(`certificate-signature finds ${says ?? "nothing broken"} in ${algorithm}`, async () => {
        const pair = await (from === ecdsaWithSHA1
          ? signed(ca.key, "SHA-1")
          : signed(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey));
        const der = new X509Certificate(pair.certificatePem).raw;
        // Once in what is signed, once beside it.
        const certificatePem = pemOf(replaced(replaced(der, from, to), from, to));
        const resources = [certificate({ ...pair, certificatePem })];
        const { violations } = await judge(pack.certificateSignature, resources);
        assert.deepEqual(
          violations.map(
            (violation) => / is signed with (?:.*\()?([\w.-]+?)[.)] /.exec(violation)?.[1],
          ),
          says ? [says] : [],
        );
      });
    }

    it("certificate-expiry counts days by its setting, and what has expired", async () => {
      const soon = files["expires-in-a-week"] as Pair;
      assert.equal(await count(pack.certificateExpiry, soon, { days: 6 }), 0);
      assert.equal(await count(pack.certificateExpiry, soon, { days: 8 }), 1);
      const notBefore = new Date("2020-01-01");
      const notAfter = new Date("2021-01-01");
      const expired = await makeCertificate({ commonName: "a", notBefore, notAfter });
      assert.equal(await count(pack.certificateExpiry, expired, { days: 1 }), 1);
      const early = { commonName: "a", notBefore: inDays(1), notAfter: inDays(99) };
      const { violations } = await judge(pack.certificateExpiry, [
        certificate(await makeCertificate(early)),
      ]);
      assert.match(violations.join(), /^The leaf .*"app" is not valid before /);
    });

    it("certificate-expiry judges intermediates, and no root", async () => {
      const root = await makeCertificate({ commonName: "Root", isCa: true, notAfter: inDays(3) });
      const intermediate = { commonName: "CA", isCa: true, issuer: root, notAfter: inDays(2) };
      const issuer = await makeCertificate(intermediate);
      const leaf = await makeCertificate({ commonName: "a", issuer });
      const chain = { ...leaf, certificatePem: leaf.certificatePem + root.certificatePem };
      const { violations } = await judge(pack.certificateExpiry, [certificate(chain)]);
      assert.deepEqual(violations.length, 1);
      assert.match(violations.join(), /^Certificate 2 .*"app" expires on /);
    });

    for (const [what, extensions, says] of [
      ["a server", [eku("1.3.6.1.5.5.7.3.1"), san("dns")], undefined],
      ["a server with an address", [eku("1.3.6.1.5.5.7.3.1"), san("ip")], undefined],
      [
        "a client",
        [eku("1.3.6.1.5.5.7.3.2"), san("dns")],
        "its extended key usages lack serverAuth",
      ],
      ["any use", [eku("2.5.29.37.0"), san("dns")], "its extended key usages lack serverAuth"],
      ["an unsaid use", [san("dns")], "its extended key usages lack serverAuth"],
      [
        "a person",
        [eku("1.3.6.1.5.5.7.3.1"), san("email")],
        "its subject alternative names have no host name or address",
      ],
      [
        "an authority",
        [eku("1.3.6.1.5.5.7.3.1"), san("dns"), new BasicConstraintsExtension(true)],
        "it is an authority's certificate",
      ],
    ] as const) {
      it(`certificate-leaf says of a certificate for ${what}: ${says ?? "nothing"}`, async () => {
        const pair = await signed(ca.key, "SHA-256", undefined, undefined, [...extensions]);
        const { violations } = await judge(pack.certificateLeaf, [certificate(pair)]);
        assert.equal(violations.length, says ? 1 : 0);
        assert.ok(violations.join().includes(says ?? ""), violations.join());
      });
    }

    it("certificate-leaf says all that is wrong at once, and judges the leaf alone", async () => {
      const root = await makeCertificate({ commonName: "Root", isCa: true });
      const { violations } = await judge(pack.certificateLeaf, [certificate(root)]);
      assert.match(violations.join(), /authority.*serverAuth.*no host name/);
      assert.equal(await count(pack.certificateLeaf, files["full-chain"] as Pair), 0);
    });

    it("certificate-chain takes a certificate that signs itself, and any second one", async () => {
      assert.equal(await count(pack.certificateChain, files.shop as Pair), 0);
      assert.equal(await count(pack.certificateChain, files["full-chain"] as Pair), 0);
    });

    it("certificate-chain knows by the signature which certificate signs itself", async () => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const sameName = { key: ca.key, name: "CN=app.example.com" };
      const pair = await signed(privateKey, "SHA-256", sameName);
      assert.equal(await count(pack.certificateChain, pair), 1);
    });

    it("certificate-signature takes a certificate for a root only if it signs itself", async () => {
      const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
      const [rootKey, key] = [rsa(), rsa()];
      const name = "CN=app.example.com";
      const intermediate = await signed(key, "SHA-1", { key: rootKey, name });
      const leaf = await signed(rsa(), "SHA-256", { key, name });
      const chain = { ...leaf, certificatePem: leaf.certificatePem + intermediate.certificatePem };
      assert.equal(await count(pack.certificateSignature, chain), 1);
    });

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

  describe("hostport-certificate in detail", () => {
    const uncovered = async (hostport: string, dnsNames: string[], args: Properties = {}) => {
      const pair = await makeCertificate({ commonName: hostport, dnsNames, ips: ["192.0.2.1"] });
      const resources = [edge({ hostports: [hostport], ...args }), certificate(pair)];
      return (await judge(pack.hostportCertificate, resources)).violations.length;
    };

    for (const [hostport, names, count] of [
      ["app.example.com:443", ["app.example.com"], 0],
      ["APP.example.com:8443", ["app.EXAMPLE.com"], 0],
      ["app.example.com:443", ["*.example.com"], 0],
      ["example.com:443", ["*.example.com"], 1],
      ["a.b.example.com:443", ["*.example.com"], 1],
      ["a.b.example.com:443", ["*.b.example.com"], 0],
      ["*.example.com:443", ["*.example.com"], 0],
      ["*.example.com:443", ["app.example.com"], 1],
      ["app.example.com:443", ["a*.example.com"], 1],
      ["app.example.com:443", ["example.com"], 1],
      ["app.example.com:443", [], 1],
      ["192.0.2.1:443", [], 0],
      ["192.0.2.2:443", ["*.0.2.2"], 1],
      ["192.0.2.2:443", ["192.0.2.2"], 1],
    ] as const) {
      it(`${hostport} with a certificate for ${names.join() || "its common name alone"}: ${count}`, async () => {
        assert.equal(await uncovered(hostport, [...names]), count);
      });
    }

    for (const [tlsTermination, count] of [
      [{ terminateAt: "upstream" }, 0],
      [{ terminateAt: "upstream", enabled: true }, 0],
      [{ terminateAt: "upstream", enabled: false }, 1],
      [{ terminateAt: unknown, enabled: false }, 1],
      [{ terminateAt: "edge", enabled: unknown }, 1],
      [{ terminateAt: "edge" }, 1],
      [{ minVersion: "1.2" }, 1],
      [{}, 1],
    ] as const) {
      it(`C80 finds ${count} violations for ${JSON.stringify(tlsTermination)}`, async () => {
        assert.equal(await uncovered("app.example.com:443", [], { tlsTermination }), count);
      });
    }

    for (const [what, from, to, count] of [
      ["is valid", -1, 1, 0],
      ["has expired", -2, -1, 1],
      ["is not valid yet", 1, 2, 1],
    ] as const) {
      it(`finds ${count} violations when the certificate ${what}`, async () => {
        const pair = await makeCertificate({
          commonName: "a",
          dnsNames: ["app.example.com"],
          notBefore: inDays(from),
          notAfter: inDays(to),
        });
        const resources = [edge({ hostports: ["app.example.com:443"] }), certificate(pair)];
        const { violations } = await judge(pack.hostportCertificate, resources);
        assert.equal(violations.length, count);
      });
    }

    for (const [connection, count] of [
      ["other", 1],
      ["tlsedge", 0],
    ] as const) {
      it(`C5 finds ${count} violations when the connection of the edge is ${connection}`, async () => {
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
      it(`C82 finds ${count} violations when the provider of the certificate is named ${name}`, async () => {
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

    it("judges known hostports beside unknown ones, of every edge", async () => {
      const { violations, unknown: some } = await judge(pack.hostportCertificate, [
        edge({ hostports: [unknown, "a.example.com:443"] }, "a"),
        edge({ hostports: unknown }, "b"),
        edge({ hostports: ["c.example.com:443"] }, "c"),
      ]);
      assert.deepEqual([violations.length, some], [2, true]);
    });
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
    for (const [namedCurve, header] of [
      ["prime256v1", "3039301306072a8648ce3d020106082a8648ce3d030107032200"],
      ["brainpoolP256r1", "303a301406072a8648ce3d020106092b2403030208010107032200"],
    ] as const) {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      const point = publicKey.export({ type: "spki", format: "der" }).subarray(-65);
      const short = ECDH.convertKey(point, namedCurve, undefined, "hex", "compressed");
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
    const pairs = declared(pack.keyReuse.example.violation, files);
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

  describe("deployed-tls-version in detail", () => {
    for (const [termination, count] of [
      [null, 0],
      [undefined, 0],
      [{ enabled: true, terminateAt: "edge" }, 0],
      [{ enabled: true, terminateAt: "edge", minVersion: null }, 0],
      [{ enabled: true, terminateAt: "edge", minVersion: "1.0" }, 1],
      [{ enabled: true, terminateAt: "edge", minVersion: "1.2" }, 0],
      [{ enabled: false, terminateAt: "edge", minVersion: "1.0" }, 0],
      [{ enabled: true, terminateAt: "edge", minVersion: "TLSv1" }, 1],
      [{ enabled: true, terminateAt: unknown, minVersion: "1.0" }, 1],
    ] as const) {
      it(`C92 finds ${count} violations in an edge with ${JSON.stringify(termination)}`, async () => {
        const resource = await shown(edge({}));
        const props = { tlsTermination: termination };
        const { violations } = await verdictOn(pack.deployedTlsVersion, [{ ...resource, props }]);
        assert.equal(violations.length, count);
      });
    }
  });

  describe("owner in detail", () => {
    for (const [metadata, count] of [
      [undefined, 1],
      ["not JSON", 1],
      ["null", 1],
      ['"owner"', 1],
      ['{"owner":""}', 1],
      ['{"owner":" "}', 1],
      ['{"owner":7}', 1],
      ['{"owner":"\\u200b"}', 1],
      ['{"owner":"–"}', 1],
      ['{"team":"a"}', 1],
      ['{"owner":"a"}', 0],
      ['{"owner":"支付"}', 0],
    ] as const) {
      it(`finds ${count} violations in ${metadata}, of an edge or a certificate`, async () => {
        const resources = [edge({ metadata }), certificate(files.shop as Pair)];
        if (resources[1]) resources[1].args.metadata = metadata;
        const { violations } = await judge(pack.owner, resources);
        assert.equal(violations.length, 2 * count);
        assert.ok(!violations.join().includes("not JSON"));
      });
    }

    it("takes no text without a visible letter or digit for an owner", async () => {
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

    it("takes the property from config", async () => {
      const resources = [edge({ metadata: '{"team":"a"}' })];
      const { violations } = await judge(pack.owner, resources, { property: "team" });
      assert.deepEqual(violations, []);
    });
  });
});
