import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { makeCertificate } from "../emulator/server";
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
