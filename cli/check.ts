import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import { escapeCiCommands, plain } from "../client/plain";
import { tlsEdges } from "../client/tlsEdge";
import { unknownVariables } from "../provider/run/connection";
import { type Display, painted, wrapped } from "./table";

/** One thing that a run needs, as `check --format json` prints it. */
export interface Check {
  /** `variables`, `settings`, `service`, `key`, `clock` or `versions`. */
  name: string;
  /** Null when an earlier problem left nothing to look at. */
  ok: boolean | null;
  /** What was found, or what to do. */
  text: string;
}

/** With a larger difference, dates of certificates and new objects are judged wrongly. */
const maxSkewMs = 60_000;

/**
 * Looks at what a run needs: the variables, the settings, the service, the API key, the clock and
 * the versions.
 *
 * @param connect Makes the client, and says where each setting comes from. Throws an error that says which one is wrong.
 */
export async function checksOf(
  connect: () => { client: Client; sources: string },
  version: string,
  env: NodeJS.ProcessEnv,
): Promise<Check[]> {
  let client: Client;
  let page: Promise<unknown>;
  const looks: Record<string, () => string | Promise<string>> = {
    variables() {
      const unknown = unknownVariables(env);
      if (unknown) throw new Error(unknown);
      return "each TLSEDGE_ variable in the environment is a setting";
    },
    settings() {
      const account = connect();
      client = account.client;
      return account.sources;
    },
    async service() {
      page = tlsEdges.list(client).next();
      await page.catch((error) => {
        // Any status is an answer of the service, if it is JSON. The key has a check of its own.
        if (!(error instanceof ServiceError) || error.isOther) throw error;
      });
      return `${client.baseUrl.host} answers, and its certificate is trusted`;
    },
    async key() {
      await page;
      return `${client.baseUrl.host} accepts the API key`;
    },
    clock: () => clock(client.clockSkewMs),
    versions: () => versions(version, env),
  };
  const checks: Check[] = [];
  let obstacle: string | undefined;
  for (const [name, look] of Object.entries(looks)) {
    if (obstacle && name !== "versions") {
      checks.push({ name, ok: null, text: `not looked at: see ${obstacle}` });
      continue;
    }
    try {
      checks.push({ name, ok: true, text: await look() });
    } catch (error) {
      checks.push({ name, ok: false, text: (error as Error).message });
      // Without settings or a service there is neither a key nor a clock to look at.
      if (name === "settings" || name === "service") obstacle = name;
    }
  }
  return checks;
}

function clock(skewMs: number): string {
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= maxSkewMs) return `it differs from the service's by ${seconds} s`;
  const side = skewMs > 0 ? "behind" : "ahead of";
  throw new Error(`it is ${seconds} s ${side} the service's: set the clock of this machine`);
}

async function versions(own: string, env: NodeJS.ProcessEnv): Promise<string> {
  const found = [`pulumi-tlsedge ${own}`, `Node.js ${process.versions.node}`];
  const quiet = { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" };
  const cli = promisify(execFile)("pulumi", ["version"], { env: quiet, timeout: 30_000 });
  const { stdout } = await cli.catch(() => {
    throw new Error(
      `${found.join(", ")}, and no Pulumi CLI on PATH: install it, https://www.pulumi.com/docs/install/`,
    );
  });
  return [...found, `Pulumi CLI ${stdout.trim().replace(/^v/, "")}`].join(", ");
}

const marks = { true: ["ok", "green"], false: ["fail", "red"], null: ["-", undefined] } as const;

/** What `check` prints for people. */
export function checkText(checks: Check[], display: Display): string {
  const lines = checks.map(({ name, ok, text }) => {
    const [mark, paint] = marks[`${ok}`];
    const begin = `${mark.padEnd(5)}${name.padEnd(10)}`;
    const indent = " ".repeat(begin.length);
    const width = display.width - begin.length;
    const message = wrapped(plain(text), width).replaceAll("\n", `\n${indent}`);
    return painted(begin, paint, display) + message;
  });
  return escapeCiCommands(lines.join("\n"));
}
