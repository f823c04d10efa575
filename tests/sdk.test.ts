import assert from "node:assert/strict";
import os from "node:os";
import { mock } from "node:test";
import { pathToFileURL } from "node:url";
import * as pulumi from "@pulumi/pulumi";
import { makeCertificate } from "../emulator/server";
import type { TLSCertificateInputs } from "../provider/kinds/tlsCertificate";
import type { TLSEdgeInputs } from "../provider/kinds/tlsEdge";
import * as sdk from "../sdk";
import type { InputOf } from "../sdk/kind";
import {
  failureOf,
  known,
  type Properties,
  setEnv,
  setEnvFor,
  setMocks,
  until,
  useEmulator,
} from "./support";

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

/** What a program of this package hands to the engine, and what it refuses before. */
describe("the SDK", () => {
  const emulator = useEmulator();

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
      setEnv({ TLSEDGE_API_KEY: undefined });
      pulumi.runtime.setAllConfig({ "tlsedge:apiKey": emulator.apiKey }, ["tlsedge:apiKey"]);
      assert.equal((await sdk.getTunnels()).length, emulator.tunnels.list().length);
    });
  });

  describe("a resource in a program", () => {
    let certificatePem: string;
    let privateKeyPem: string;
    /** What reaches the engine. */
    let registered: pulumi.runtime.MockResourceArgs[];
    /** What the provider adds to the inputs. */
    let answered: Properties;
    let undo: () => void;

    before(async () => {
      ({ certificatePem, privateKeyPem } = await makeCertificate({ commonName: "c" }));
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

    /** What reaches the engine of a resource. */
    async function registration(resource: pulumi.CustomResource) {
      await known(resource.urn);
      return registered.at(-1) ?? assert.fail();
    }

    /** What the engine is asked in full, from now on. */
    function captureRequests() {
      interface Request {
        getDeletebeforereplace(): boolean;
        getSourceposition(): { toObject(): { uri: string; line: number } };
      }
      // Pulumi's types hide the monitor that takes the engine's place.
      const monitor = pulumi.runtime.getMonitor() as unknown as {
        registerResource(request: Request): void;
      };
      const asked = mock.method(monitor, "registerResource");
      return () => asked.mock.calls.map(({ arguments: [request] }) => request);
    }

    /** Runs an inline program of the Automation API: an error that it does not log hits the others. */
    const inline = <T>(program: () => T): T => {
      const { asyncLocalStorage, globalStore } = globalThis as unknown as {
        asyncLocalStorage: { run(store: object, work: () => T): T };
        globalStore: object;
      };
      return asyncLocalStorage.run(globalStore, program);
    };

    const { TLSCertificate, TLSEdge } = sdk as unknown as Record<
      "TLSCertificate" | "TLSEdge",
      (new (...args: unknown[]) => unknown) & { get(...args: unknown[]): unknown }
    >;
    const isRefusal = (says: RegExp) => (error: Error) =>
      error instanceof pulumi.RunError && says.test(error.message);
    const refusals: [what: string, make: () => unknown, says: RegExp][] = [
      ["C5 a connection that is no text", () => new TLSEdge("e", { connection: 5 }), /connection/],
      ["C40 an edge with an empty option import", () => new TLSEdge("e", {}, { import: "" }), /id/],
      [
        "C40 a certificate with an empty option import",
        () => new TLSCertificate("c", {}, { import: "" }),
        /id/,
      ],
      ["C43 a get of an edge with an empty id", () => TLSEdge.get("e", ""), /needs the id/],
      ["C43 a get of an edge without an id", () => TLSEdge.get("e"), /needs the id/],
      ["C43 a get of a certificate without an id", () => TLSCertificate.get("c"), /needs the id/],
    ];
    for (const [what, make, says] of refusals) {
      it(`${what} is refused in a sentence, and makes nothing`, () => {
        assert.throws(make, isRefusal(says));
        assert.deepEqual(registered, []);
      });
    }

    it("C6 a resource fails where this package can't be found, and says what to add; an inline program does not", () => {
      const folder = process.cwd();
      process.chdir(os.tmpdir());
      try {
        // As the Automation API runs an inline program, whose folder is that of its project.
        inline(() => new sdk.TLSEdge("inline"));
        const refusal = /add pulumi-tlsedge to the dependencies there$/;
        assert.throws(() => new sdk.TLSEdge("e"), isRefusal(refusal));
      } finally {
        process.chdir(folder);
      }
    });

    it("a resource keeps the trace of an error that its constructor throws, and lets others have theirs", () => {
      const parent = {} as pulumi.Resource;
      const limit = Error.stackTraceLimit;
      for (const make of [
        () => new sdk.TLSEdge("e", {}, { parent }),
        () => new sdk.TLSCertificate("c", { certificatePem }, { parent }),
      ]) {
        assert.throws(make, ({ stack }: Error) =>
          /parent is not a valid.*\n(.*\n)*.*sdk\.test\.ts/.test(`${stack}`),
        );
        assert.equal(Error.stackTraceLimit, limit);
      }
    });

    it("a resource stands in the state with the line of the program that made it", async () => {
      const here = () => Number(`${new Error().stack?.split("\n")[2]}`.split(":").at(-2));
      const requests = captureRequests();
      const [edge, edgeLine] = [new sdk.TLSEdge("e"), here()];
      const [other, otherLine] = [new sdk.TLSCertificate("c", { certificatePem }), here()];
      await known(pulumi.all([edge.urn, other.urn]));
      const uri = pathToFileURL(__filename).href;
      for (const [place, line] of [edgeLine, otherLine].entries()) {
        const found = requests()[place]?.getSourceposition().toObject();
        assert.deepEqual([found?.uri, found?.line], [uri, line]);
      }
    });

    it("C19 C52 a resource carries its name, and a provider's text of at most 100 bytes, constant to the letter", async () => {
      const text = (name: string) =>
        `exports.handler = () => require("pulumi-tlsedge/provider").${name}`;
      const edge = await registration(new sdk.TLSEdge("e"));
      assert.equal(edge.type, "pulumi-nodejs:dynamic/tlsedge:TLSEdge");
      assert.equal(edge.inputs.__provider, text("tlsEdge"));
      assert.equal(edge.inputs.__resourceName, "e");
      const certificate = await registration(new sdk.TLSCertificate("c", { certificatePem }));
      assert.equal(certificate.type, "pulumi-nodejs:dynamic/tlsedge:TLSCertificate");
      assert.equal(certificate.inputs.__provider, text("tlsCertificate"));
      assert.ok(Buffer.byteLength(text("tlsCertificate")) <= 100);
    });

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

    it("C50 a certificate gives its key, and nothing else, as a secret, whatever the program passes", async () => {
      for (const key of [privateKeyPem, pulumi.output(privateKeyPem)]) {
        const args = { certificatePem, privateKeyPem: key };
        const certificate = new sdk.TLSCertificate("c", args);
        assert.ok(!("privateKeyPem" in certificate));
        const { inputs } = await registration(certificate);
        const secrets = Object.keys(inputs).filter((name) =>
          pulumi.runtime.isRpcSecret(inputs[name]),
        );
        assert.deepEqual(secrets, ["privateKeyPem"]);
      }
    });

    it("C15 a resource in place of an argument comes to the check, be it part of a circle", async () => {
      const site = new pulumi.ComponentResource("test:index:Site", "site");
      const circle = Object.assign(new sdk.TLSEdge("part", {}, { parent: site }), { site });
      Object.assign(site, { circle });
      await known(circle.urn);
      const edge = await registration(new sdk.TLSEdge("e", { backend: circle as never }));
      assert.deepEqual(await edge.inputs.__secrets, []);
    });

    it("C24 an edge, and no certificate, is deleted before it is replaced, unless an option says otherwise", async () => {
      const requests = captureRequests();
      const resources = [
        new sdk.TLSEdge("usual"),
        new sdk.TLSEdge("other", {}, { deleteBeforeReplace: false }),
        new sdk.TLSCertificate("c", { certificatePem }),
      ];
      await known(pulumi.all(resources.map(({ urn }) => urn)));
      const isDeletedFirst = requests().map((request) => request.getDeletebeforereplace());
      assert.deepEqual(isDeletedFirst, [true, false, false]);
    });

    it("C18 an edge can't have the hostport of another one in the same account, in any letter case", async () => {
      const stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      const logged = mock.method(pulumi.log, "error", async () => {});
      setEnvFor(emulator, "TLSEDGE_OTHER");
      const hostports = ["a.example.com:443"];
      new sdk.TLSEdge("first", { hostports });
      new sdk.TLSEdge("port", { hostports: ["a.example.com:8443"] });
      new sdk.TLSEdge("elsewhere", { hostports, connection: "tlsedge-other" });
      for (const path of ["hostports", "hostports[0]", "*"])
        new sdk.TLSEdge(`ignored ${path}`, { hostports }, { ignoreChanges: [path] });
      assert.throws(
        () => new sdk.TLSEdge("second", { hostports: ["b.example.com:443", "A.example.com:443"] }),
        /"first" and "second" have the same hostport, a\.example\.com:443, which/,
      );
      inline(() => new sdk.TLSEdge("later", { hostports: pulumi.output(hostports) }));
      await until(() => logged.mock.callCount() > 0);
      assert.match(String(logged.mock.calls[0]?.arguments), /"first" and "later" have the same/);
      inline(() => new sdk.TLSEdge("hidden", { hostports: pulumi.secret(hostports) }));
      await until(() => logged.mock.callCount() > 1);
      assert.match(String(logged.mock.calls[1]?.arguments), /hostport, \[secret\], which/);
    });

    it("C40 a resource can't import what another one has: both are named, in whichever order", async () => {
      const stack = {};
      mock.method(pulumi.runtime, "getStackResource", () => stack);
      const logged = mock.method(pulumi.log, "error", async () => {});
      setEnvFor(emulator, "TLSEDGE_OTHER");
      const make = async (name: string, opts: pulumi.CustomResourceOptions = {}, args = {}) => {
        logged.mock.resetCalls();
        await inline(() => known(new sdk.TLSEdge(name, args, opts).id));
        return String(logged.mock.calls.map((call) => call.arguments));
      };
      assert.equal(await make("a"), "");
      assert.equal(await make("b", { import: "x" }), "");
      assert.equal(await make("c", {}, { connection: "tlsedge-other" }), "");
      assert.equal(await make("read", { id: "x" }), "");
      assert.equal(
        await make("elsewhere", { import: "a-id" }, { connection: "tlsedge-other" }),
        "",
      );
      assert.match(await make("d", { import: "a-id" }), /"a" and "d" have the same object, a-id/);
      assert.match(await make("e", { import: "x" }), /"b" and "e" have the same object, x/);
      assert.equal(await make("early", { import: "later-id" }), "");
      assert.match(await make("later"), /"early" and "later" have the same object/);
    });

    it("C15 a resource may have no arguments, or null", async () => {
      assert.equal((await registration(new sdk.TLSEdge("e", null as never))).name, "e");
      assert.equal((await registration(new sdk.TLSCertificate("c", undefined as never))).name, "c");
    });

    it("C53 a certificate has undefined for what a leaf with another kind of key does not have", async () => {
      answered = { privateKeyType: null, publicKeyFingerprint: null };
      const certificate = new sdk.TLSCertificate("c", { certificatePem });
      // Its type says so: `npm run lint` compiles this.
      const type: pulumi.Output<string | undefined> = certificate.privateKeyType;
      const isWhole: Same<(typeof certificate)["privateKeyType"], typeof type> = true;
      assert.ok(isWhole);
      for (const output of [certificate.privateKeyType, certificate.publicKeyFingerprint])
        assert.equal(await known(output), undefined);
    });

    it("C11 C43 a get reads a resource, makes none, and warns of no certificate that has expired", async () => {
      const warned = mock.method(pulumi.log, "warn", async () => {});
      const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
      const expired = await makeCertificate({ commonName: "c", ...past });
      answered = { certificatePem: expired.certificatePem };
      const edge = sdk.TLSEdge.get("e", "edgtls_1", { connection: "tlsedge" });
      const certificate = sdk.TLSCertificate.get("c", "cert_1");
      await known(pulumi.all([edge.urn, certificate.certificatePem]));
      assert.deepEqual(registered.map(({ id }) => id).sort(), ["cert_1", "edgtls_1"]);
      const own = new sdk.TLSCertificate("own", expired);
      await until(() => warned.mock.callCount() > 0);
      const about = warned.mock.calls.map(({ arguments: [, resource] }) => resource);
      assert.deepEqual(about, [own]);
    });

    it("C70 a resource is known by its class, also one of the plugin", () => {
      const ofType = (type: string) => ({ __pulumiType: type });
      const edges = [
        new sdk.TLSEdge("e"),
        ofType("pulumi-nodejs:dynamic/tlsedge:TLSEdge"),
        ofType("tlsedge:index:TLSEdge"),
      ];
      for (const edge of edges) assert.ok(sdk.TLSEdge.isInstance(edge));
      for (const other of [...edges, null, undefined, "certificate", {}])
        assert.ok(!sdk.TLSCertificate.isInstance(other));
      // With it, Pulumi's policies would match that one type alone.
      for (const type of [sdk.TLSEdge, sdk.TLSCertificate]) assert.ok(!("__pulumiType" in type));
    });
  });
});
