/** The connection that is meant when none is named: a namespace of config. */
export const defaultConnection = "tlsedge";

/** The two ways to give a setting. */
export function waysToSet(
  connection: string,
  key: string,
): { variable: string; configKey: string; text: string } {
  const prefix = connection.toUpperCase().replaceAll("-", "_");
  const variable = `${prefix}_${key.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
  const configKey = `${connection}:${key}`;
  const secret = key === "apiKey" ? " --secret" : "";
  const text = `set ${variable} in the environment, or run \`pulumi config set${secret} ${configKey}\``;
  return { variable, configKey, text };
}
