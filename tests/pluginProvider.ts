import { servePlugin } from "../plugin/plugin";
import schema from "../plugin/schema.json";
import { type Named, RemoteProvider } from "../tools/protocol";
import { runs } from "./support";

/** The URN and the type of a resource of the plugin. */
export const resourceOf = (type: string, name = "name"): Named => ({
  urn: `urn:pulumi:dev::p::tlsedge:index:${type}::${name}`,
  type: `tlsedge:index:${type}`,
});

/** The plugin, served in this process and called over gRPC. Each run configures it. */
export async function startPlugin() {
  const { port, endRun, close } = await servePlugin(schema);
  const plugin = new RemoteProvider(port);
  const configure = () => plugin.configure();
  runs.add(configure);
  return Object.assign(plugin, {
    endRun,
    close() {
      runs.delete(configure);
      plugin.client.close();
      close();
    },
  });
}
