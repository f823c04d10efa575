/** The connection that is meant when none is named: a namespace of config. */
export const defaultConnection = "tlsedge";

/** The two ways to give a setting. */
export interface WaysToSet {
  /** The name of the environment variable. */
  variable: string;
  /** The full key in stack config, which counts before the variable. */
  configKey: string;
  /** What to do to set it, in one way or the other. */
  text: string;
  /** What to do where stack config has a wrong value: a variable alone would not help. */
  inConfig: string;
}

/** The two ways to give a setting of a connection. */
export function waysToSet(connection: string, key: string): WaysToSet {
  const prefix = connection.toUpperCase().replaceAll("-", "_");
  const variable = `${prefix}_${key.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
  const configKey = `${connection}:${key}`;
  const secret = key === "apiKey" ? " --secret" : "";
  const command = `run \`pulumi config set${secret} ${configKey}\``;
  return {
    variable,
    configKey,
    text: `set ${variable} in the environment, or ${command}`,
    inConfig: `${command}, or remove it with \`pulumi config rm\` and set ${variable}`,
  };
}
