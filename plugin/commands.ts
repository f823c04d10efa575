import { fstatSync } from "node:fs";
import { start } from "../cli/main";

// The commands of the Node.js packages, for a team that has only the plugin.
const [command, ...args] = process.argv.slice(2);
if (command === "emulator") {
  // Ctrl-C ends `pulumi plugin run`, and not the server that it runs. It holds the other end of this pipe.
  if (!args.includes("certificate") && fstatSync(0).isFIFO())
    process.stdin
      .once("close", () => process.kill(process.pid, "SIGTERM"))
      .resume()
      .unref();
  // A file of its own: the other commands do not load it.
  require("./emulator.js").start("pulumi-resource-tlsedge emulator", args);
} else start(true);
