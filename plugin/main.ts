import "../client/checkNode";
import { engineAddress, exitWithEngine } from "../provider/run/engine";
import { hideUndici } from "../provider/run/workarounds";
import { servePlugin } from "./plugin";
import schema from "./schema.json";

/** The process that the engine starts. It reads the port of the plugin from stdout. */
async function main(): Promise<void> {
  if (engineAddress() === "") {
    // A file of its own: a run of the engine does not load it.
    require("./commands.js");
    return;
  }
  hideUndici();
  const { port, endRun, stop } = await servePlugin(schema);
  void exitWithEngine(endRun).then(stop);
  console.log(port);
}

void main();
