import * as pulumi from "@pulumi/pulumi";
import { plainKey, problemOf, readSettings, unknownKeys } from "../provider/run/connection";
import { waysToSet } from "../provider/values/settings";
import { program } from "./program";
import { isConfigSecret, mocks } from "./workarounds";

/** Checks a connection in the program, so that a problem is reported once, not per resource. */
export function checkConnection(connection: unknown): void {
  if (typeof connection !== "string") {
    throw new pulumi.RunError(
      "connection must be a string with the name of a config namespace, not an output",
    );
  }
  const { connections } = program();
  if (connections.has(connection)) return;
  const { configKey } = waysToSet(connection, "apiKey");
  const config = pulumi.runtime.allConfig();
  if (config[configKey] !== undefined && !isConfigSecret(configKey)) {
    throw new pulumi.RunError(plainKey(connection));
  }
  // The namespace with the project's name has the program's own settings, too.
  const isProject = connection === pulumi.getProject();
  const problem = isProject ? undefined : unknownKeys(connection, Object.keys(config));
  if (problem) throw new pulumi.RunError(problem);
  // A unit test reaches no account.
  if (mocks()) return;
  const wrong = problemOf(() => readSettings(connection, (key) => config[key], process.env));
  if (wrong) throw new pulumi.RunError(wrong);
  connections.add(connection);
}
