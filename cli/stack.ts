import { spawnSync } from "node:child_process";
import { Setting } from "../provider/values/setting";

/** Gives the JSON that the Pulumi CLI prints about a stack, in the current folder. No error shows it: it may have secrets. */
export function readStack(stack: string, command: string[], env: NodeJS.ProcessEnv) {
  const args = [...command, `--stack=${stack}`, "--non-interactive"];
  const { error, status, stdout, stderr } = spawnSync("pulumi", args, {
    env: { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" },
    encoding: "utf8",
    maxBuffer: Number.POSITIVE_INFINITY,
  });
  if (error) throw new Error(`pulumi does not start: is it on PATH? (${error.message})`);
  try {
    if (status === 0) return JSON.parse(stdout);
  } catch {
    // The error of JSON.parse quotes the text.
  }
  const reason = stderr.replace(/^error: /, "").trim();
  throw new Error(
    `pulumi can't read the stack ${stack}: ${reason.replace(/\s*\n\s*/g, " ")}: run this in the folder of the ` +
      "project, with the backend and the passphrase of `pulumi up`; `pulumi stack ls` lists the stacks",
  );
}

/**
 * Reads the config of a stack.
 *
 * @throws Error when an API key is there in plain text, because the provider refuses it.
 */
export function readConfig(stack: string, connection: string, env: NodeJS.ProcessEnv) {
  const config: Record<string, { value?: string; secret: boolean } | undefined> = readStack(
    stack,
    ["config", "--show-secrets", "--json"],
    env,
  );
  const read = (key: string) => config[key]?.value;
  const apiKey = new Setting("apiKey", { connection, config: read, env });
  if (config[apiKey.configKey]?.secret === false) throw new Error(apiKey.whySecret);
  return read;
}
