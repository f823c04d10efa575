import { connect } from "node:net";

/** Port of the engine that started this process as a provider; 0 in any other process. */
export function enginePort(): number {
  // Pulumi starts dynamic-provider/index.js with the engine's address as its first argument.
  return Number(/^127\.0\.0\.1:(\d+)$/.exec(process.argv[2] ?? "")?.[1] ?? 0);
}

/** Whether the engine at this port accepts a connection. Port 0 (no engine) counts as alive. */
export function isEngineAlive(port = enginePort()): Promise<boolean> {
  if (port === 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const settle = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}
