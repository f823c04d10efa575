import type { Severity } from "../kinds/kind";

/**
 * Shows a message to the user.
 *
 * @param about What it is about: `run`, the `resource` of the operation in progress, or a URN.
 */
export type Show = (severity: Severity, text: string, about: string) => void;

/** Shows messages on stderr, which the engine shows of a dynamic provider. */
export const showOnStderr: Show = (severity, text) =>
  console.error(severity === "warning" ? `warning: ${text}` : text);
