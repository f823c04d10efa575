import { plainMessage } from "../../client/plain";
import { openArgument, type Problem } from "../kinds/kind";
import { propertyOf } from "../values/properties";

/** What to do about an object that no resource has. Pulumi ignores the option of a component. */
export const howToAdopt = (id: string) =>
  `set the resource option \`import\` to ${id} or, if the resource is a part of a TLSSite or is replaced, delete the ` +
  "object at the service";

/**
 * The texts of the problems of the inputs, for the engine.
 *
 * @param files What the program has instead of a property: see `filesKey`.
 */
export function textsOf(
  problems: readonly Problem[],
  isSecret: (property: string) => boolean,
  files: unknown = {},
): string[] {
  const fileOf = files as Record<string, string>;
  const withFiles = (text: string) => text.replace(/\w+Pem\b/g, (name) => fileOf[name] ?? name);
  return problems.map(({ path, reason, value }) => {
    const property = propertyOf(path);
    const isHidden = property !== openArgument && isSecret(property);
    const text = value === undefined || isHidden ? reason : `${value} ${reason}`;
    return plainMessage(withFiles(path ? `${path}: ${text}` : text));
  });
}
