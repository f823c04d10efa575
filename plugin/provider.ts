import {
  type ConfigReader,
  isSetting,
  problemOf,
  readSettings,
  type Settings,
  unknownKeys,
} from "../provider/run/connection";
import { defined, hasUnknown, nameInUrn, type Properties } from "../provider/values/properties";
import {
  type Connection,
  defaultConnection,
  isDefaultProvider,
  waysToSet,
} from "../provider/values/settings";

// The configuration of a provider: of the stack's own, or of one that a program makes.

/** Where a provider's settings come from. */
export interface Source {
  connection: Connection;
  config: ConfigReader;
}

/**
 * The settings by which a resource of another provider is in another account; none if it is in the
 * same. Only what that provider's record states is known: the environment may have changed since.
 */
export function differentAccount(olds: Properties, settings: Settings): string[] {
  if (settings.sameAccount) return [];
  return (["baseUrl", "apiKey"] as const).filter((key) => {
    const old = olds[key];
    return typeof old === "string" && !isSetting(settings, key, old);
  });
}

/**
 * A default provider has the stack's config, an explicit one has its own properties. If a program names
 * its provider as the engine does, messages name its settings wrong, and a plain-text key is refused.
 */
export function sourceOf(urn: string, values: Properties): Source {
  const name = nameInUrn(urn);
  const connection: Connection = isDefaultProvider(name) ? defaultConnection : { provider: name };
  const settings = new Map<string, string>();
  for (const [key, value] of Object.entries(defined(values))) {
    settings.set(waysToSet(connection, key).configKey, String(value));
  }
  return { connection, config: (configKey) => settings.get(configKey) };
}

/** What the engine adds to a provider's settings. */
const engineKeys = ["version", "pluginDownloadURL", "__internal"];

export function problemsOfConfig({ connection, config }: Source, values: Properties, urn: string) {
  const configKeys = Object.keys(values)
    .filter((key) => !engineKeys.includes(key))
    .map((key) => waysToSet(connection, key).configKey);
  // The namespace with the project's name has the program's own settings, too.
  const isProject = connection === urn.split("::")[1];
  const unknown = isProject ? undefined : unknownKeys(connection, configKeys);
  const problem = hasUnknown(values)
    ? undefined
    : problemOf(() => readSettings(connection, config, process.env));
  return [unknown, problem].filter((reason) => reason !== undefined);
}
