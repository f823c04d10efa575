import { inputsOf, type Kind } from "../provider/kinds/kind";
import { problemsOfShape } from "../provider/kinds/shape";
import type { FoundObject } from "../provider/lifecycle/read";
import { defined, type Properties, pick, propertyOf } from "../provider/values/properties";

/** The Pulumi package schema, as far as the plugin reads it. */
export interface Schema {
  version: string;
  provider: { inputProperties: SchemaProperties };
  resources: Record<string, { inputProperties: SchemaProperties; properties: object }>;
  functions: Record<string, { outputs: { properties: object } }>;
}

/** The properties of a resource or a provider in the schema. */
type SchemaProperties = Record<string, { description: string; secret?: boolean }>;

/** The names of the properties that the schema marks as secrets. */
export function secretsIn(properties: SchemaProperties): string[] {
  return Object.keys(properties).filter((name) => properties[name]?.secret);
}

/** The inputs without what a dynamic provider adds to them, when it has written the state. */
export function ownInputs({ schema }: Kind, inputs: Properties): Properties {
  return pick(inputs, Object.keys(schema.entries));
}

/**
 * The inputs of an object that is imported: the engine writes a program from them. A disabled module
 * with an empty list is left out, because the schema refuses an empty list.
 */
export function importedInputs(kind: Kind, found: Properties): Properties {
  const inputs = inputsOf(kind, found);
  const refused = problemsOfShape(kind, inputs).map(({ path }) => propertyOf(path));
  const accepted = Object.entries(inputs).filter(
    ([name, value]) => !refused.includes(name) || !kind.same(name, value, undefined),
  );
  return Object.fromEntries(accepted);
}

/** The inputs with the service's values where those have drifted. */
export function withDrift(
  kind: Kind,
  { state, drifted }: FoundObject,
  inputs: Properties,
): Properties {
  const service = inputsOf(kind, state);
  const values = drifted.map((name) => [name, service[name]]);
  return defined({ ...inputs, ...Object.fromEntries(values) });
}
