/** The default connection. A connection is a namespace of stack config. */
export const defaultConnection = "tlsedge";

/** The two ways to give a setting. */
export interface WaysToSet {
  /** The name of the environment variable. */
  variable: string;
  /** The full key in stack config. Its value overrides the variable. */
  configKey: string;
  /** How to set it in one of the two places. */
  text: string;
  /** How to correct a wrong value in stack config, which a variable does not override. */
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
