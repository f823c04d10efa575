import { Configuration } from "../provider/run/connection";
import { hasUnknown, nameInUrn, type Properties } from "../provider/values/properties";
import { defaultConnection, isDefaultProvider } from "../provider/values/setting";

/**
 * The settings of the account that differ from those of a resource's former provider; none for the same account.
 *
 * @param former The inputs of that provider. Of its environment, which may have changed since, nothing is known.
 */
export function changedAccountSettings(former: Properties, configuration: Configuration): string[] {
  // The user says that it is the same account.
  if (configuration.settings.sameAccount) return [];
  return (["baseUrl", "apiKey"] as const).filter((key) => {
    const old = former[key];
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

/** What is wrong with the settings of a provider. Values that are not known yet are not judged. */
export function problemsOfConfig(configuration: Configuration, values: Properties, urn: string) {
  const names = Object.keys(values).filter((key) => !engineKeys.includes(key));
  const [, project = ""] = urn.split("::");
  const ofNames = configuration.unknownSettings(names, project);
  const ofValues = hasUnknown(values) ? undefined : configuration.problem;
  return [ofNames, ofValues].filter((problem) => problem !== undefined);
}
