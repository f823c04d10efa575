import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { promisify } from "node:util";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { EngineService } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { makeCertificate } from "../emulator/server";
import { allShown, throughEngine } from "../plugin/rpc";
import { Provider } from "../tools/protocol";
import { resourceOf } from "./pluginProvider";

describe("a message to the engine", () => {
  let provider: Provider | undefined;
  afterEach(() => provider?.kill());

  it("arrives before the answer of the plugin, whatever proxies the environment names", async () => {
    // Says nothing, for ever.
    const open: Socket[] = [];
    const proxy = createServer((socket) => void open.push(socket.on("error", () => {})));
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const names = ["grpc_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
    const proxies = Object.fromEntries(names.map((name) => [name, `http://127.0.0.1:${port}`]));
    const env = { ...process.env, ...proxies, NO_PROXY: "", no_proxy: "" };
    try {
      provider = await Provider.start(process.cwd(), env, "plugin");
      const { keyType: _, ...pair } = await makeCertificate({
        commonName: "a.example.com",
        notBefore: new Date(0),
      });
      const { check } = provider.resource(resourceOf("TLSCertificate"));
      // A warning: the leaf expires soon.
      await check({}, { ...pair, renewBeforeDays: 3650 });
      assert.match(provider.printed, /renewBeforeDays/);
      assert.equal(open.length, 0);
    } finally {
      for (const socket of open) socket.destroy();
      proxy.close();
    }
  });

  it("C34: arrives before the next one is sent: the end of a wait never hides the next wait", async () => {
    let underWay = 0;
    const most: number[] = [];
    const server = new Server();
    server.addService(EngineService, {
      log: (_: unknown, done: (error: null, answer: Empty) => void) => {
        most.push(++underWay);
        setImmediate(() => {
          underWay--;
          done(null, new Empty());
        });
      },
    });
    const bind = promisify(server.bindAsync.bind(server));
    try {
      const port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());
      const show = throughEngine(`127.0.0.1:${port}`);
      for (const text of ["waits 1 s", undefined, "waits 9 s"]) show("status", text, "run");
      await allShown();
      assert.deepEqual(most, [1, 1, 1]);
    } finally {
      server.forceShutdown();
    }
  });

  it("arrives before the answer of a dynamic provider, too, for each resource that it is about", async () => {
    provider = await Provider.start(process.cwd(), process.env, "dynamic");
    const check = (urn: string) => {
      const __provider =
        'exports.handler = () => require("pulumi-tlsedge/provider").tlsCertificate';
      const olds = { privateKeyPem: "a key that the program has no more" };
      return provider?.resource({ urn, type: "cert" }).check(olds, { __provider, __secrets: [] });
    };
    // The call that loads the package has no URN: it says this on stderr.
    await check("first");
    await Promise.all(["one", "other"].map(check));
    const told = provider.printed.match(/^privateKeyPem of this TLS cert.* last copy/gm);
    assert.equal(told?.length, 2);
  });
});
