import { createRequire } from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { ownStore } from "./workarounds";

/** Fails if the engine can't load the provider, which it loads from the folder of the project's program. */
export function checkResolvable(): void {
  // The folder of an inline program or of a component's program is known to the engine alone, whose error names what
  // it can't load.
  if (ownStore()) return;
  const folder = process.cwd();
  try {
    createRequire(join(folder, "index.js")).resolve("pulumi-tlsedge/provider");
  } catch {
    throw new pulumi.RunError(
      `pulumi-tlsedge can't be found from ${folder}, where the engine looks for it: add pulumi-tlsedge to the ` +
        "dependencies there",
    );
  }
}
