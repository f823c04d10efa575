import { Configuration } from "../provider/run/connection";
import { hasUnknown, nameInUrn, type Properties } from "../provider/values/properties";
import { defaultConnection, isDefaultProvider } from "../provider/values/setting";

// The configuration of a provider: of the stack's own, or of one that a program makes.

/**
 * The settings by which a resource of another provider is in another account; none if it is in the
 * same. Only what that provider's record states is known: the environment may have changed since.
 */
export function differentAccount(olds: Properties, configuration: Configuration): string[] {
  if (configuration.settings.sameAccount) return [];
  return (["baseUrl", "apiKey"] as const).filter((key) => {
    const old = olds[key];
    return typeof old === "string" && !configuration.setting(key).isSetBy(old);
  });
}

/**
 * A default provider has the stack's config, an explicit one has its own properties. If a program names
 * its provider as the engine does, messages name its settings wrong, and a plain-text key is refused.
 */
export function configurationOf(urn: string, values: Properties): Configuration {
  const name = nameInUrn(urn);
  const connection = isDefaultProvider(name) ? defaultConnection : { provider: name };
  return new Configuration(connection, (_, key) =>
    values[key] == null ? undefined : String(values[key]),
  );
}

/** What the engine adds to a provider's settings. */
const engineKeys = ["version", "pluginDownloadURL", "__internal"];

export function problemsOfConfig(configuration: Configuration, values: Properties, urn: string) {
  const names = Object.keys(values).filter((key) => !engineKeys.includes(key));
  const unknown = configuration.unknownSettings(names, String(urn.split("::")[1]));
  const problem = hasUnknown(values) ? undefined : configuration.problem;
  return [unknown, problem].filter((reason) => reason !== undefined);
}
