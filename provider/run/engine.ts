import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { ignoreClosedOutput, letProcessEnd, onCancelCall } from "./workarounds";

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

/** The engine's address, which is the last argument of a provider's process; else an empty text. */
export function engineAddress(): string {
  const last = process.argv.at(-1) ?? "";
  return /^127\.0\.0\.1:\d+$/.test(last) ? last : "";
}

/**
 * Whether the engine at this port is alive. Only a refused connection means that it has exited: an
 * engine that is stopped or busy may not answer in time.
 */
export function isEngineAlive(port: number): Promise<boolean> {
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
 * Lets this process end after its engine has exited: Pulumi itself ends its providers only in an orderly
 * exit of the engine. Writes in flight still get their answers; new requests are not sent. The dynamic
 * providers of all packages share a process, so it is not ended, but ends by itself when nobody's work is
 * left. Does nothing in a process that no engine started.
 *
 * @param onOrderlyEnd Called when the engine ends this process in order, before it exits.
 */
export async function exitWithEngine(onOrderlyEnd: () => Promise<void>): Promise<void> {
  const port = Number(engineAddress().split(":")[1] ?? 0);
  if (port === 0) return;
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
  onCancelCall(() => cancel());
  ignoreClosedOutput();
  while (await isEngineAlive(port)) await setTimeout(checkEveryMs, undefined, { ref: false });
  cancel("the engine has exited: this request is not sent");
  process.exitCode = 1;
  letProcessEnd();
}
