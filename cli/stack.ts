import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Configuration } from "../provider/run/connection";

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
 * Reads the settings of a connection from the config of a stack, and from the environment.
 *
 * @throws Error for what the provider refuses, too: an API key in plain text, and what is no setting.
 */
export function readConfiguration(
  stack: string,
  connection: string,
  env: NodeJS.ProcessEnv,
): Configuration {
  const config: Record<string, { value?: string; secret: boolean } | undefined> = readStack(
    stack,
    ["config", "--show-secrets", "--json"],
    env,
  );
  const configuration = new Configuration(connection, (key) => config[key]?.value, env);
  const isSecret = (key: string) => config[key]?.secret === true;
  const problem = configuration.problemOfConfig(Object.keys(config), isSecret, projectName());
  if (problem) throw new Error(problem);
  return configuration;
}

/** The name of the project in the current folder; empty where no Pulumi.yaml says it. */
function projectName(): string {
  try {
    return /^name:\s*["']?([\w.-]+)/m.exec(readFileSync("Pulumi.yaml", "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}
