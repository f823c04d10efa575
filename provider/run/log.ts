import type { Severity } from "../kinds/kind";

/**
 * Shows a message to the user. A `status` says why an operation in progress waits: it stands beside the resource until
 * the next one, and in no list of messages. One without a text says that the wait is over.
 *
 * @param about What it is about: `run`, the `resource` of the operation in progress, or a URN.
 */
export type Show = (severity: Severity | "status", text: string | undefined, about: string) => void;

const statusEveryMs = 10_000;

/**
 * Shows messages on stderr, which the engine shows on the stack's row: there a status is shown once in 10 s, for
 * all resources that wait.
 */
export function showOnStderr(): Show {
  let nextStatusAt = 0;
  return (severity, text) => {
    if (severity === "status") {
      if (text === undefined || performance.now() < nextStatusAt) return;
      nextStatusAt = performance.now() + statusEveryMs;
    }
    console.error(severity === "warning" ? `warning: ${text}` : text);
  };
}
