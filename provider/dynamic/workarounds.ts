import { AsyncLocalStorage } from "node:async_hooks";
import type { Resource } from "@pulumi/pulumi";
import { plainMessage } from "../../client/plain";
import { engineAddress } from "../run/engine";
import type { Show } from "../run/log";

/** What works around faults of Pulumi and Node.js in the process of a provider, each with its fault. */

/** The text of an error that the engine shows. */
const shownByEngine = "[the engine shows this error of pulumi-tlsedge]";

/**
 * The URN of the call in progress. The calls that load this package have none: what they say stands on the stack's row.
 */
export const urnOf = new AsyncLocalStorage<string>();
/** The URN of the call in progress; empty where it is not known. */
export const currentUrn = (): string => urnOf.getStore() ?? "";
/** Settles when the engine has all messages of {@link besideResource}: Pulumi sends one after the other. */
let allShown: Promise<void> | undefined;

/**
 * In most calls, Pulumi's server of dynamic providers also prints an error and its stack on stderr, which
 * the engine would show as a second message. So the errors of these functions have a text that
 * {@link hideShownErrors} leaves out, and a plain message. A function ends after its messages: the engine shows none
 * that comes after its last operation.
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
          Object.defineProperty(error, "toString", {
            value: () => shownByEngine,
            configurable: true,
          });
        }
        throw error;
      } finally {
        await allShown;
      }
    },
  ]);
  return Object.fromEntries(wrapped) as Functions;
}

/** Leaves out of what this process prints the errors that the engine shows: see {@link withoutSecondMessage}. */
export function hideShownErrors(): void {
  const print = console.error;
  console.error = (...parts: unknown[]) => {
    if (!String(parts[0]).startsWith(shownByEngine)) print(...parts);
  };
}

/** The engine would print the value of the property that a failure names, secret or not: so it names none. */
export function failureOf(reason: string): { property: string; reason: string } {
  return { property: "", reason };
}

/**
 * Pulumi's server of dynamic providers connects `pulumi.log` to no engine, and tells a provider no URN. So what is about
 * a resource is logged with a copy of Pulumi's store that has the engine: other packages in this process use the store
 * itself.
 */
export function besideResource(show: Show): Show {
  const engineAddr = engineAddress();
  // Not documented: another version of Pulumi may not have them.
  const { globalStore, asyncLocalStorage } = globalThis as {
    globalStore?: { settings?: { options?: object } };
    asyncLocalStorage?: AsyncLocalStorage<object>;
  };
  if (!engineAddr || !globalStore?.settings || !asyncLocalStorage) return show;
  const { log }: typeof import("@pulumi/pulumi") = require("@pulumi/pulumi");
  const options = { ...globalStore.settings.options, engineAddr };
  const store = { ...globalStore, settings: { ...globalStore.settings, options } };
  recordUrns();
  return (severity, text, about) => {
    const urn = about === "resource" ? urnOf.getStore() : about;
    if (urn === undefined || urn === "run") return show(severity, text, about);
    const resource = { urn: { promise: async () => urn } } as unknown as Resource;
    const write = severity === "warning" ? log.warn : log.info;
    allShown = asyncLocalStorage.run(store, () =>
      write(text ?? "", resource, undefined, severity === "status"),
    );
  };
}

/**
 * Sets {@link urnOf} in each call: the server reads these properties of its request before it calls the provider. Where
 * another version of Pulumi has other classes, nothing is set.
 */
function recordUrns(): void {
  try {
    const messages = require("@pulumi/pulumi/proto/provider_pb");
    for (const call of ["Check", "Diff", "Update", "Create", "Read", "Delete"]) {
      const { prototype } = messages[`${call}Request`];
      const name = "getNews" in prototype ? "getNews" : "getProperties";
      const get = prototype[name];
      prototype[name] = function () {
        urnOf.enterWith(this.getUrn());
        return get.call(this);
      };
    }
  } catch {}
}
