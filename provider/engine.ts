import { connect, Server } from "node:net";
import { setTimeout } from "node:timers/promises";

const checkEveryMs = 1000;
const connectTimeoutMs = 5000;

const cancelled = new AbortController();
/** Aborted when the user has cancelled the update, or the engine has exited. */
export const cancelSignal: AbortSignal = cancelled.signal;

/**
 * Ends all waits and reads of this process, and sends no other request. A write in flight still gets its
 * answer.
 */
export function cancel(reason = "the update was cancelled"): void {
  cancelled.abort(new Error(reason));
}

/** The engine's address, which is the last argument of a provider's process. */
export function engineAddress(): string {
  const last = process.argv.at(-1) ?? "";
  return /^127\.0\.0\.1:\d+$/.test(last) ? last : "";
}

/** Port of the engine that started this process as a provider; 0 in any other process. */
function enginePort(): number {
  return Number(engineAddress().split(":")[1] ?? 0);
}

/**
 * Whether the engine at this port is alive. Only a refused connection means that it has exited: an
 * engine that is stopped or busy may not answer in time. Port 0 means no engine, and gives true.
 */
export function isEngineAlive(port = enginePort()): Promise<boolean> {
  if (port === 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: connectTimeoutMs });
    const settle = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.once("connect", () => settle(true));
    socket.once("timeout", () => settle(true));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => settle(code !== "ECONNREFUSED"));
  });
}

/**
 * Lets this process end after its engine has exited. Pulumi itself ends its providers only in an
 * orderly exit of the engine. Writes in flight still get their answers; new requests are not sent.
 * The dynamic providers of all packages share a process, so it is not ended, but ends by itself
 * when nobody's work is left: Node.js stays for open connections and timers, and no longer for the
 * server that waits for calls. Does nothing in a process that no engine started.
 *
 * @param onOrderlyEnd Called when the engine ends this process in order, before it exits.
 */
export async function exitWithEngine(onOrderlyEnd: () => Promise<void>): Promise<void> {
  if (enginePort() === 0) return;
  // In an orderly exit, the engine sends SIGINT after it has stored all answers. On Windows it sends
  // SIGBREAK, which never comes elsewhere.
  for (const signal of ["SIGINT", "SIGBREAK"] as const) {
    process.once(signal, () => {
      void onOrderlyEnd().finally(() => {
        // A listener keeps the process from ending, so another one's says when it ends.
        if (process.listenerCount(signal) === 0) process.exit(0);
      });
    });
  }
  // A write to a closed stderr is an uncaught error. Pulumi's handler of such errors writes to
  // stderr again, which would be an endless loop.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  while (await isEngineAlive()) await setTimeout(checkEveryMs, undefined, { ref: false });
  cancel("the engine has exited: this request is not sent");
  process.exitCode = 1;
  // Not documented; without it, the process stays.
  const { _getActiveHandles: handles } = process as { _getActiveHandles?: () => unknown[] };
  for (const handle of handles?.() ?? []) if (handle instanceof Server) handle.unref();
}
