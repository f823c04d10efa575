import { plainMessage } from "../../client/plain";

/** What works around faults of Pulumi and Node.js in the process of a provider, each with its fault. */

/** The text of an error that the engine shows. */
const shown = "[the engine shows this error of pulumi-tlsedge]";

/**
 * In most calls, Pulumi's server of dynamic providers also prints an error and its stack on stderr, which
 * the engine would show as a second message. So the errors of these functions have a text that
 * {@link hideShownErrors} leaves out, and a plain message.
 */
export function withoutSecondMessage<Functions extends object>(functions: Functions): Functions {
  const wrapped = Object.entries(functions).map(([name, work]) => [
    name,
    async (...args: unknown[]) => {
      try {
        return await work(...args);
      } catch (error) {
        if (error instanceof Error) {
          Object.assign(error, { message: plainMessage(error.message), stack: "" });
          // Several calls may fail with one error.
          Object.defineProperty(error, "toString", { value: () => shown, configurable: true });
        }
        throw error;
      }
    },
  ]);
  return Object.fromEntries(wrapped) as Functions;
}

/** Leaves out of what this process prints the errors that the engine shows: see {@link withoutSecondMessage}. */
export function hideShownErrors(): void {
  const print = console.error;
  console.error = (...parts: unknown[]) => {
    if (!String(parts[0]).startsWith(shown)) print(...parts);
  };
}

/** The engine would print the value of the property that a failure names, secret or not: so it names none. */
export function failureOf(reason: string): { property: string; reason: string } {
  return { property: "", reason };
}
