/** The default connection: a namespace of stack config. */
export const defaultConnection = "tlsedge";

/**
 * Where an account's settings are: in a namespace of stack config, such as `tlsedge-staging`, or in
 * the properties of an explicit provider of that name.
 */
export type Connection = string | { provider: string };

/**
 * Whether a provider of the plugin is the stack's own and no explicit one.
 * The engine says it by the name alone: `default`, or with the version (and then the server) of the
 * plugin. A program may give such a name to a provider of its own.
 */
export const isDefaultProvider = (name: string): boolean =>
  /^(default(_\d+_\d+_\d+(_.*)?)?)?$/.test(name);

/** The two ways to give a setting. */
export interface WaysToSet {
  /** The name of the environment variable. */
  variable: string;
  /** The full key in stack config, or the provider's property. Its value overrides the variable. */
  configKey: string;
  /** How to set it in one of the two places. */
  text: string;
  /** How to correct a wrong value in the config, which a variable does not override. */
  inConfig: string;
}

/**
 * The files to delete a key of config from. `pulumi config rm` leaves what Pulumi.yaml sets, and the engine does
 * not say which file it is.
 */
export const configFiles = "Pulumi.yaml or Pulumi.<stack>.yaml";

/** The two ways to give a setting of a connection. */
export function waysToSet(connection: Connection, key: string): WaysToSet {
  const namespace = typeof connection === "string" ? connection : defaultConnection;
  const prefix = namespace.toUpperCase().replaceAll("-", "_");
  const variable = `${prefix}_${key.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
  if (typeof connection !== "string") {
    const configKey = `${key} of the provider ${connection.provider}`;
    const command = `set ${configKey}`;
    const text = `${command}, or ${variable} in the environment`;
    return { variable, configKey, text, inConfig: `correct ${configKey}` };
  }
  const configKey = `${connection}:${key}`;
  const secret = key === "apiKey" ? " --secret" : "";
  const command = `run \`pulumi config set${secret} ${configKey}\``;
  return {
    variable,
    configKey,
    text: `set ${variable} in the environment, or ${command}`,
    inConfig: `${command}, or delete it from ${configFiles} and set ${variable}`,
  };
}
