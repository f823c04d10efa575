import { subscribe } from "node:diagnostics_channel";
import { Server } from "node:net";

/** What works around faults of Pulumi and Node.js in the process of a provider, each with its fault. */

/**
 * A write to a closed stderr is an uncaught error. Pulumi's handler of such errors writes to stderr again,
 * which would be an endless loop.
 */
export function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

/**
 * Pulumi's server waits for calls for ever. Without it, the process ends when nobody's work is left: Node.js
 * stays for open connections and timers.
 */
export function letProcessEnd(): void {
  // Not documented.
  const { _getActiveHandles: handles } = process as { _getActiveHandles?: () => unknown[] };
  for (const handle of handles?.() ?? []) if (handle instanceof Server) handle.unref();
}

/**
 * Pulumi's server of dynamic providers answers the engine's call "cancel", and tells no provider. Node.js tells of each
 * call from version 24 on.
 */
export function onCancelCall(listener: () => void): void {
  subscribe("http2.server.stream.created", (message) => {
    const { headers } = message as { headers?: Record<string, unknown> };
    if (headers?.[":path"] === "/pulumirpc.ResourceProvider/Cancel") listener();
  });
}

/**
 * Node.js loads undici, its own HTTP client, for who reads these: 25 ms of processor time. axios does so when it is
 * loaded, and sends requests another way. Nothing in this process may need them, such as `fetch` or Hono.
 */
export function hideUndici(): void {
  for (const name of ["FormData", "Request", "Response"]) Reflect.deleteProperty(globalThis, name);
}
