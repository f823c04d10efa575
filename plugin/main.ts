import "./checkNode";
import { engineAddress, exitWithEngine } from "../provider/engine";
import { servePlugin } from "./plugin";
import schema from "./schema.json";

/** The process that the engine starts. It reads the port of the plugin from stdout. */
async function main(): Promise<void> {
  if (engineAddress() === "") {
    console.error(
      "pulumi-resource-tlsedge is a plugin that Pulumi starts. To install it, run\n" +
        `  pulumi plugin install resource tlsedge ${schema.version} --file <its archive>`,
    );
    process.exit(1);
  }
  const { port, endRun, stop } = await servePlugin(schema);
  void exitWithEngine(endRun).then(stop);
  console.log(port);
}

void main();
