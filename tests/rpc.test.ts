import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { Provider } from "../tools/protocol";
import { settingsFor } from "./support";

describe("a message to the engine", () => {
  let emulator: Emulator;
  let proxy: Server;
  let provider: Provider | undefined;
  const open: Socket[] = [];

  before(async () => {
    emulator = await startEmulator();
    // Says nothing, for ever.
    proxy = createServer((socket) => void open.push(socket.on("error", () => {})));
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
  });
  afterEach(() => provider?.kill());
  after(() => {
    for (const socket of open) socket.destroy();
    proxy.close();
    return emulator.close();
  });

  const certificate = {
    urn: "urn:pulumi:dev::p::tlsedge:index:TLSCertificate::c",
    type: "tlsedge:index:TLSCertificate",
  };
  /** A check with a warning: the leaf expires soon. */
  async function check(env: NodeJS.ProcessEnv) {
    const all = { ...process.env, ...settingsFor(emulator), ...env };
    provider = await Provider.start(process.cwd(), all, "plugin");
    const { keyType: _, ...pair } = await makeCertificate({
      commonName: "a.example.com",
      notBefore: new Date(0),
    });
    return provider.resource(certificate).check({}, { ...pair, renewBeforeDays: 3650 });
  }

  it("arrives before the answer, whatever proxies the environment names", async () => {
    const { port } = proxy.address() as AddressInfo;
    for (const name of ["grpc_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]) {
      await check({ [name]: `http://127.0.0.1:${port}`, NO_PROXY: "", no_proxy: "" });
      assert.match(provider?.printed ?? "", /renewBeforeDays/, name);
      await provider?.kill();
    }
    assert.equal(open.length, 0);
  });

  it("C15 arrives before the answer of a dynamic provider, too, for each resource that it is about", async () => {
    provider = await Provider.start(process.cwd(), process.env, "dynamic");
    const edge = (urn: string) => {
      const __provider = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';
      const inputs = { __provider, __secrets: [], backend: { backendId: "cert_1" } };
      return provider?.resource({ urn, type: "edge" }).check({}, inputs);
    };
    // The call that loads the package has no URN: it says this on stderr.
    await edge("first");
    await Promise.all(["one", "other"].map(edge));
    const told = provider.printed.match(/^backend.backendId: "cert_1" is the id of a TLS cert/gm);
    assert.equal(told?.length, 2);
  });
});
