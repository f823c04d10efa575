import * as pulumi from "@pulumi/pulumi";
import { Configuration } from "../provider/run/connection";
import { program } from "./program";
import { isConfigSecret, mocks } from "./workarounds";

/**
 * The settings of a connection, read and checked once in a program, so that a problem is reported once, not per
 * resource.
 */
export function checkConnection(connection: unknown): Configuration {
  if (typeof connection !== "string") {
    throw new pulumi.RunError(
      "connection must be a string with the name of a config namespace, not an output",
    );
  }
  const { configurations } = program();
  const known = configurations.get(connection);
  if (known) return known;
  const config = pulumi.runtime.allConfig();
  const configuration = new Configuration(connection, (key) => config[key]);
  const problem =
    configuration.problemOfConfig(Object.keys(config), isConfigSecret, pulumi.getProject()) ??
    // A unit test reaches no account.
    (mocks() ? undefined : configuration.problem);
  if (problem) throw new pulumi.RunError(problem);
  configurations.set(connection, configuration);
  return configuration;
}
