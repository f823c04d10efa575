// The emulator in a process of its own, so that its work is not in anyone's event loop.
import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type RecordedRequest, startEmulator } from "pulumi-tlsedge-emulator";
import type { Heard } from "./results.ts";

const file = path.join("tools", "bench", "service.ts");
const windowMs = 60_000;

/** What the service does, beside its answers. */
export interface ServiceOptions {
  latencyMs: number;
  requestsPerMinute?: number;
}

interface Address {
  url: string;
  ca: string;
  apiKey: string;
}

/** An emulator in another process. */
export interface Service extends Address {
  /** What it heard since it was last asked. */
  take(): Promise<Heard>;
  /** Waits until the limit counts no request any more, so that the next phase has all of it. */
  rest(): Promise<void>;
  /** Forgets everything. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the emulator in another process. It ends with this one. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const child = fork(path.resolve(file), [JSON.stringify(options)], {
    execArgv: ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"],
  });
  const died = once(child, "exit").then(([code]) => {
    throw new Error(`the emulator's process ended with ${code}`);
  });
  died.catch(() => {});
  const answer = async () => (await Promise.race([once(child, "message"), died]))[0] as unknown;
  const ask = (question: string) => {
    child.send(question);
    return answer();
  };
  const address = (await answer()) as Address;
  return {
    ...address,
    take: () => ask("take") as Promise<Heard>,
    rest: async () => void (await ask("rest")),
    reset: async () => void (await ask("reset")),
    close: async () => {
      child.disconnect();
      await died.catch(() => {});
    },
  };
}

function kindOf({ method, path: target, status }: RecordedRequest): string {
  if (status === 429) return "429";
  return method === "GET" && target.includes("?") ? "GET list" : method;
}

async function serve(options: ServiceOptions): Promise<void> {
  const emulator = await startEmulator(options);
  const { url, ca, apiKey, requests } = emulator;
  // The emulator keeps no times: they are noted as its list grows.
  const times: number[] = [];
  const push = requests.push.bind(requests);
  requests.push = (...added) => {
    times.push(...added.map(() => performance.now()));
    return push(...added);
  };
  let last = Number.NEGATIVE_INFINITY;
  const take = (): Heard => {
    const kinds: Record<string, number> = {};
    for (const kind of requests.splice(0).map(kindOf)) kinds[kind] = (kinds[kind] ?? 0) + 1;
    const taken = times.splice(0);
    last = taken.at(-1) ?? last;
    return { requests: kinds, seconds: taken.length > 0 ? (last - (taken[0] ?? last)) / 1000 : 0 };
  };
  process.on("message", async (question) => {
    if (question === "rest") await delay(Math.max(0, last + windowMs - performance.now()));
    if (question === "reset") {
      emulator.reset();
      take();
      last = Number.NEGATIVE_INFINITY;
    }
    process.send?.(question === "take" ? take() : null);
  });
  process.on("disconnect", () => emulator.close());
  process.send?.({ url, ca, apiKey });
}

if (process.argv[1]?.endsWith(file)) {
  serve(JSON.parse(process.argv[2] as string)).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
