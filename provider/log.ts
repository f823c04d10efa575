/** How a message is shown: `warning` also counts as a warning in the engine's summary. */
export type Severity = "info" | "warning";

/**
 * Shows a message to the user.
 *
 * @param about What it is about: `run`, the `resource` of the operation in progress, or a URN.
 */
export type Show = (severity: Severity, text: string, about: string) => void;

/** Shows messages on stderr, which the engine shows of a dynamic provider. */
export const showOnStderr: Show = (severity, text) =>
  console.error(severity === "warning" ? `warning: ${text}` : text);

/** How many names a message lists. */
const mostListed = 5;

/** Some names for a message, and how many more there are. */
export function listed(names: string[]): string {
  const more = names.length - mostListed;
  return names.slice(0, mostListed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
