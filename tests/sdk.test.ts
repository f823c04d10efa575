import assert from "node:assert/strict";
import os from "node:os";
import { mock } from "node:test";
import { pathToFileURL } from "node:url";
import * as pulumi from "@pulumi/pulumi";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import type { TLSCertificateInputs } from "../provider/kinds/tlsCertificate";
import type { TLSEdgeInputs } from "../provider/kinds/tlsEdge";
import * as sdk from "../sdk";
import type { InputOf } from "../sdk/kind";
import { failureOf, known, type Properties, setEnv, setEnvFor, setMocks, until } from "./support";

/** True if both types are the same; `npm run lint` compiles this. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { [K in keyof T]: T[K] };
/** The arguments that a provider's schema allows. */
type ArgsOf<Inputs, Settings extends keyof Inputs> = Flat<
  { [K in keyof Omit<Inputs, Settings>]: InputOf<Inputs[K]> } & Pick<Inputs, Settings>
>;
/** A program of this package may name a config namespace. */
type Own<Inputs> = Inputs & { connection?: string | undefined };
const areSchemas: [
  Same<Flat<sdk.TLSCertificateArgs>, ArgsOf<Own<TLSCertificateInputs>, "connection">>,
  Same<Flat<sdk.TLSEdgeArgs>, ArgsOf<Own<TLSEdgeInputs>, "connection" | "onModuleRemoval">>,
] = [true, true];
assert.ok(areSchemas);
/** C15: the compiler knows the values of each choice. */
const choices: [
  Same<sdk.TLSEdgeArgs["onModuleRemoval"], "disable" | "replace" | undefined>,
  Same<sdk.TLSSiteArgs["minVersion"], pulumi.Input<sdk.TLSVersion> | undefined>,
  Same<sdk.TLSVersion, "1.0" | "1.1" | "1.2" | "1.3">,
  Same<
    sdk.TLSTerminationArgs["terminateAt"],
    pulumi.Input<"edge" | "upstream" | undefined> | undefined
  >,
] = [true, true, true, true];
assert.ok(choices);

describe("the SDK", () => {
  let emulator: Emulator;
  let restore: () => void;

  before(async () => {
    emulator = await startEmulator({ tunnels: [{ id: "tn_1" }] });
    restore = setEnvFor(emulator);
  });
  beforeEach(() => emulator.reset());
  after(() => {
    restore();
    return emulator.close();
  });

  describe("the configuration of a lookup", () => {
    afterEach(() => pulumi.runtime.setAllConfig({}));

    it("C4 a lookup refuses a key that the config has in plain text, and does not show it", async () => {
      pulumi.runtime.setAllConfig({ "tlsedge:apiKey": "in-plain-text" }, []);
      const { message } = await failureOf(sdk.getTunnels(), pulumi.RunError);
      assert.match(message, /from Pulumi\.yaml or .*--secret tlsedge:apiKey/);
      assert.ok(!message.includes("in-plain-text"));
      assert.deepEqual(emulator.requests, []);
    });

    it("C1 a lookup takes the settings of the stack, the key as a secret", async () => {
      const undo = setEnv({ TLSEDGE_API_KEY: undefined });
      try {
        pulumi.runtime.setAllConfig({ "tlsedge:apiKey": emulator.apiKey }, ["tlsedge:apiKey"]);
        assert.equal((await sdk.getTunnels()).length, 1);
      } finally {
        undo();
      }
    });

    it("C1 a setting under the project's name is named, with the key that is meant", async () => {
      const config = ["baseUrl", "apiKey"].map((key) => [`${pulumi.getProject()}:${key}`, "x"]);
      pulumi.runtime.setAllConfig(Object.fromEntries(config));
      const messageWith = async (env: Record<string, string | undefined>) => {
        const undo = setEnv(env);
        return (await failureOf(sdk.getTunnels(), pulumi.RunError).finally(undo)).message;
      };
      assert.match(
        await messageWith({ TLSEDGE_BASE_URL: undefined }),
        /^no base URL is set: .*:baseUrl is not read: did you mean tlsedge:baseUrl\?$/,
      );
      // The program's own settings may have these names.
      assert.doesNotMatch(await messageWith({ TLSEDGE_MAX_RETRIES: "-1" }), /is not read/);
    });

    it("C5 a lookup takes the settings of the connection that it names", async () => {
      await failureOf(sdk.getTunnels({ connection: "tlsedge-staging" }), pulumi.RunError);
      const undo = setEnvFor(emulator, "TLSEDGE_STAGING");
      try {
        const found = await sdk.getTunnels({ connection: "tlsedge-staging" });
        assert.equal(found.length, 1);
      } finally {
        undo();
      }
    });
  });

  describe("a resource in a program", () => {
    type Registered = pulumi.runtime.MockResourceArgs;
    let registered: Registered[];
    /** What the provider adds to the inputs. */
    let answered: Properties;

    let undo: () => void;
    before(() => {
      // Stands in for the engine alone: what reaches it is what these tests are about.
      undo = setMocks({
        newResource: (args) => {
          registered.push(args);
          return { id: args.id || `${args.name}-id`, state: { ...args.inputs, ...answered } };
        },
        call: () => ({}),
      });
    });
    after(() => undo());
    beforeEach(() => {
      registered = [];
      answered = {};
    });

    /** Runs an inline program of the Automation API: an error that it does not log hits the others. */
    const inline = <T>(program: () => T): T => {
      const { asyncLocalStorage, globalStore } = globalThis as unknown as {
        asyncLocalStorage: { run(store: object, work: () => T): T };
        globalStore: object;
      };
      return asyncLocalStorage.run(globalStore, program);
    };

    /** What reaches the engine, once the resource is registered. */
    async function registration(resource: pulumi.CustomResource): Promise<Registered> {
      await known(resource.urn);
      const [only, ...more] = registered;
      assert.deepEqual(more, []);
      assert.ok(only);
      return only;
    }

    it("C6 a resource fails where this package can't be found, and says what to add, or what a component needs", () => {
      const folder = process.cwd();
      const refused = (message: RegExp) =>
        assert.throws(
          () => new sdk.TLSEdge("e"),
          (error: Error) => error instanceof pulumi.RunError && message.test(error.message),
        );
      process.chdir(os.tmpdir());
      try {
        refused(/add pulumi-tlsedge to the dependencies there$/);
        // The engine gives a component, which is a provider, its address.
        process.argv.push("127.0.0.1:9");
        refused(/the plugin's SDK.*`pulumi package add /);
      } finally {
        process.argv = process.argv.filter((argument) => argument !== "127.0.0.1:9");
        process.chdir(folder);
      }
    });

    it("C15 a resource whose name was forgotten fails, and says so", () => {
      const { TLSEdge } = sdk as unknown as { TLSEdge: new (...args: unknown[]) => unknown };
      for (const args of [[], [""], [{ hostports: ["app.example.com:443"] }]]) {
        assert.throws(
          () => new TLSEdge(...args),
          (error: Error) => error instanceof pulumi.RunError && /its name/.test(error.message),
        );
      }
    });

    it("a resource keeps the trace of an error that its constructor throws, and lets others have theirs", () => {
      const parent = {} as pulumi.Resource;
      const limit = Error.stackTraceLimit;
      for (const make of [
        () => new sdk.TLSEdge("e", {}, { parent }),
        () => new sdk.TLSCertificate("c", { certificatePem: "pem" }, { parent }),
      ]) {
        assert.throws(make, ({ stack }: Error) =>
          /parent is not a valid.*\n(.*\n)*.*sdk\.test\.ts/.test(`${stack}`),
        );
        assert.equal(Error.stackTraceLimit, limit);
      }
    });

    it("a resource stands in the state with the line of the program that made it", async () => {
      type Position = { toObject(): { uri: string; line: number } };
      // Pulumi's types hide the monitor that takes the engine's place.
      const monitor = pulumi.runtime.getMonitor() as unknown as {
        registerResource(request: { getSourceposition(): Position | undefined }): void;
      };
      const asked = mock.method(monitor, "registerResource");
      const here = () => `${new Error().stack?.split("\n")[2]}`.split(":").at(-2);
      const edge = [new sdk.TLSEdge("e"), here()] as const;
      const certificate = [new sdk.TLSCertificate("c", { certificatePem: "pem" }), here()] as const;
      await Promise.all([known(edge[0].urn), known(certificate[0].urn)]);
      const lines = asked.mock.calls.map(({ arguments: [request] }) => {
        const { uri, line } = request.getSourceposition()?.toObject() ?? {};
        assert.equal(uri, pathToFileURL(__filename).href);
        return `${line}`;
      });
      assert.deepEqual(lines, [edge[1], certificate[1]]);
      asked.mock.restore();
    });

    it("C52 a resource carries a provider's text of at most 100 bytes, constant to the letter", async () => {
      const edge = await registration(new sdk.TLSEdge("e", { hostports: ["a.example.com:443"] }));
      assert.equal(edge.type, "pulumi-nodejs:dynamic/tlsedge:TLSEdge");
      const text = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';
      assert.equal(edge.inputs.__provider, text);
      registered = [];
      const { certificatePem } = await makeCertificate({ commonName: "c" });
      const certificate = await registration(new sdk.TLSCertificate("c", { certificatePem }));
      assert.equal(certificate.type, "pulumi-nodejs:dynamic/tlsedge:TLSCertificate");
      assert.equal(certificate.inputs.__provider, text.replace("tlsEdge", "tlsCertificate"));
      assert.ok(Buffer.byteLength(certificate.inputs.__provider) <= 100);
    });

    /** What the constructor hands on, seen by a transformation: options, and which are secret. */
    async function handedOn(make: (opts: pulumi.CustomResourceOptions) => pulumi.CustomResource) {
      let seen: pulumi.ResourceTransformationArgs | undefined;
      const look = (args: pulumi.ResourceTransformationArgs) => {
        seen = args;
        return undefined;
      };
      await registration(make({ transformations: [look] }));
      const props = Object.entries((seen?.props ?? {}) as Properties);
      const secrets: string[] = [];
      for (const [name, value] of props) {
        if (pulumi.Output.isInstance(value) && (await pulumi.isSecret(value))) secrets.push(name);
      }
      return { opts: seen?.opts as pulumi.CustomResourceOptions, secrets };
    }

    it("C10 C50 a resource says which arguments have a secret anywhere in them, and names no other", async () => {
      const edge = await registration(
        new sdk.TLSEdge("e", {
          description: pulumi.secret("d"),
          metadata: pulumi.output("m"),
          hostports: ["a.example.com:443", pulumi.secret("b.example.com:443")],
          backend: { backendId: pulumi.output(pulumi.secret("b")) },
          mutualTls: { certificateAuthorityIds: ["ca_1"] },
        }),
      );
      const secrets: string[] = await edge.inputs.__secrets;
      assert.deepEqual(secrets.sort(), ["backend", "description", "hostports"]);
    });

    it("C15 a resource in place of an argument comes to the check, be it part of a circle", async () => {
      const site = new pulumi.ComponentResource("test:index:Site", "site");
      const circle = Object.assign(new sdk.TLSEdge("part", {}, { parent: site }), { site });
      Object.assign(site, { circle });
      await known(circle.urn);
      registered = [];
      const edge = await registration(new sdk.TLSEdge("e", { backend: circle as never }));
      assert.deepEqual(await edge.inputs.__secrets, []);
    });

    it("C24 an edge, and no certificate, is deleted before it is replaced, unless an option says otherwise", async () => {
      const usual = await handedOn((opts) => new sdk.TLSEdge("e", {}, opts));
      assert.equal(usual.opts.deleteBeforeReplace, true);
      registered = [];
      const other = await handedOn(
        (opts) => new sdk.TLSEdge("e", {}, { ...opts, deleteBeforeReplace: false }),
      );
      assert.equal(other.opts.deleteBeforeReplace, false);
      registered = [];
      const { certificatePem } = await makeCertificate({ commonName: "c" });
      const certificate = await handedOn(
        (opts) => new sdk.TLSCertificate("c", { certificatePem }, opts),
      );
      assert.notEqual(certificate.opts.deleteBeforeReplace, true);
    });

    it("C18 an edge can't have the hostport of another one in the same account, in any letter case", async () => {
      const stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      const undo = setEnvFor(emulator, "TLSEDGE_OTHER");
      const edge = (name: string, args: sdk.TLSEdgeArgs, opts = {}) =>
        new sdk.TLSEdge(name, args, opts);
      const hostports = ["a.example.com:443"];
      try {
        edge("first", { hostports });
        edge("port", { hostports: ["a.example.com:8443"] });
        edge("elsewhere", { hostports, connection: "tlsedge-other" });
        edge("ignored", { hostports }, { ignoreChanges: ["hostports"] });
        assert.throws(
          () => edge("second", { hostports: ["b.example.com:443", "A.example.com:443"] }),
          /"first" and "second" have the same hostport, a\.example\.com:443, which/,
        );
        const logged = mock.method(pulumi.log, "error", async () => {});
        inline(() => edge("later", { hostports: pulumi.output(hostports) }));
        await until(() => logged.mock.callCount() > 0);
        assert.match(String(logged.mock.calls[0]?.arguments), /"first" and "later" have the same/);
        inline(() => edge("hidden", { hostports: pulumi.secret(hostports) }));
        await until(() => logged.mock.callCount() > 1);
        assert.match(String(logged.mock.calls[1]?.arguments), /hostport, \[secret\], which/);
      } finally {
        undo();
        mock.reset();
      }
    });

    it("C40 a resource can't import what another one has: both are named, in whichever order", async () => {
      let stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      const logged = mock.method(pulumi.log, "error", async () => {});
      const make = (name: string, opts: pulumi.CustomResourceOptions = {}, args = {}) =>
        inline(() => known(new sdk.TLSEdge(name, args, opts).id));
      const undo = setEnvFor(emulator, "TLSEDGE_OTHER");
      try {
        await make("a");
        await make("b", { import: "x" });
        await make("c", {}, { connection: "tlsedge-other" });
        await make("read", { id: "x" });
        await make("elsewhere", { import: "a-id" }, { connection: "tlsedge-other" });
        assert.equal(logged.mock.callCount(), 0);
        const shared: [string, pulumi.CustomResourceOptions, RegExp][] = [
          ["d", { import: "a-id" }, /"a" and "d" have the same object, a-id/],
          ["e", { import: "x" }, /"b" and "e" have the same object, x/],
        ];
        for (const [place, [name, opts, error]] of shared.entries()) {
          await make(name, opts);
          assert.match(String(logged.mock.calls[place]?.arguments), error);
        }
        stack = {};
        await make("first", { import: "second-id" });
        await make("second");
        const last = String(logged.mock.calls.at(-1)?.arguments);
        assert.match(last, /"first" and "second" have the same object/);
      } finally {
        undo();
        mock.reset();
      }
    });

    it("C15 a resource may have no arguments, or null", async () => {
      assert.equal((await registration(new sdk.TLSEdge("e", null as never))).name, "e");
      registered = [];
      assert.equal((await registration(new sdk.TLSCertificate("c", undefined as never))).name, "c");
    });

    it("C50 a certificate gives its key, and nothing else, as a secret, whatever the program passes", async () => {
      const { certificatePem, privateKeyPem } = await makeCertificate({ commonName: "c" });
      for (const key of [privateKeyPem, pulumi.output(privateKeyPem)]) {
        registered = [];
        const args = { certificatePem, privateKeyPem: key };
        const { secrets } = await handedOn((opts) => new sdk.TLSCertificate("c", args, opts));
        assert.deepEqual(secrets, ["privateKeyPem"]);
      }
    });

    it("C53 a certificate has undefined for what a leaf with another kind of key does not have", async () => {
      answered = { privateKeyType: null, publicKeyFingerprint: null };
      const { certificatePem } = await makeCertificate({ commonName: "c" });
      const certificate = new sdk.TLSCertificate("c", { certificatePem });
      // Their type says so: `npm run lint` compiles this.
      const outputs: pulumi.Output<string | undefined>[] = [
        certificate.privateKeyType,
        certificate.publicKeyFingerprint,
      ];
      const isWhole: Same<(typeof certificate)["privateKeyType"], (typeof outputs)[0]> = true;
      assert.ok(isWhole);
      for (const output of outputs) assert.equal(await known(output), undefined);
    });

    it("C43 a get reads a resource, and makes none", async () => {
      const edge = await registration(sdk.TLSEdge.get("e", "edgtls_1", { connection: "tlsedge" }));
      assert.equal(edge.id, "edgtls_1");
      registered = [];
      const certificate = await registration(sdk.TLSCertificate.get("c", "cert_1"));
      assert.equal(certificate.id, "cert_1");
    });

    it("C11 C43 a certificate is warned of when it has expired, and one that a get reads is not", async () => {
      const warned = mock.method(pulumi.log, "warn", async () => {});
      const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
      const { certificatePem } = await makeCertificate({ commonName: "c", ...past });
      answered = { certificatePem };
      const read = sdk.TLSCertificate.get("read", "cert_1");
      await known(read.certificatePem);
      const own = new sdk.TLSCertificate("own", { certificatePem });
      await until(() => warned.mock.callCount() > 0);
      const about = warned.mock.calls.map(({ arguments: [, resource] }) => resource);
      assert.deepEqual(about, [own]);
      mock.reset();
    });

    it("C43 a get without an id fails, and makes no resource", async () => {
      for (const id of ["", undefined as unknown as string]) {
        assert.throws(() => sdk.TLSEdge.get("e", id), pulumi.RunError);
        assert.throws(() => sdk.TLSCertificate.get("c", id), pulumi.RunError);
      }
      assert.deepEqual(registered, []);
    });

    it("C40 a resource with an empty import option fails", () => {
      const options = { import: "" };
      for (const make of [
        () => new sdk.TLSEdge("e", {}, options),
        () => new sdk.TLSCertificate("c", { certificatePem: "" }, options),
      ]) {
        assert.throws(make, (error: Error) => error instanceof pulumi.RunError);
      }
    });

    it("C70 a resource is known by its class, also one of the plugin", async () => {
      const edge = new sdk.TLSEdge("e");
      assert.equal(sdk.TLSEdge.isInstance(edge), true);
      assert.equal(sdk.TLSCertificate.isInstance(edge), false);
      for (const prefix of ["pulumi-nodejs:dynamic/tlsedge:", "tlsedge:index:"]) {
        const __pulumiType = `${prefix}TLSEdge`;
        assert.equal(sdk.TLSEdge.isInstance({ __pulumiType }), true);
        assert.equal(sdk.TLSCertificate.isInstance({ __pulumiType }), false);
      }
      // With it, Pulumi's policies would match that one type alone.
      for (const type of [sdk.TLSEdge, sdk.TLSCertificate]) assert.ok(!("__pulumiType" in type));
      for (const other of [null, undefined, "edge", {}]) {
        assert.equal(sdk.TLSEdge.isInstance(other), false);
        assert.equal(sdk.TLSCertificate.isInstance(other), false);
      }
      await registration(edge);
    });

    it("C5 a resource with a connection that is not configured fails", () => {
      // In a unit test of a program, it needs none.
      undo();
      const args = { connection: "tlsedge-nowhere" };
      assert.throws(() => new sdk.TLSEdge("e", args), pulumi.RunError);
    });
  });
});
