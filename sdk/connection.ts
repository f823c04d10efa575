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
  const apiKey = configuration.setting("apiKey");
  const isInPlainText = apiKey.inConfig !== undefined && !isConfigSecret(apiKey.configKey);
  const prefix = `${connection}:`;
  const keys = Object.keys(config).filter((key) => key.startsWith(prefix));
  const names = keys.map((key) => key.slice(prefix.length));
  const problem =
    (isInPlainText ? apiKey.whySecret : undefined) ??
    configuration.unknown(names, pulumi.getProject()) ??
    // A unit test reaches no account.
    (mocks() ? undefined : configuration.problem);
  if (problem) throw new pulumi.RunError(problem);
  configurations.set(connection, configuration);
  return configuration;
}
