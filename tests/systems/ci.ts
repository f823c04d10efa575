// The recipes for CI of docs/recipes, run in the folder of a project as a CI system runs them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { runInNewContext } from "node:vm";
import { parse } from "yaml";
import type { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";

export type Values = Record<string, string>;

/** A job of GitHub. */
export interface Job {
  if?: string;
  needs?: string;
  permissions?: Values;
  env: Values;
  steps: { uses?: string; with?: Values; run?: string; env?: Values }[];
}

/** A workflow of GitHub. */
export interface Workflow {
  env: Values;
  jobs: Record<string, Job>;
}

export const recipes = path.join(repository, "docs", "recipes");

export const recipe = async (file: string) =>
  parse(await readFile(path.join(recipes, file), "utf8"));

const settings = [
  ...["PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE"],
  ...["TLSEDGE_API_KEY", "TLSEDGE_BASE_URL", "TLSEDGE_CA_FILE"],
];

/** Runs commands as a job does, without the settings that it does not give; and what they wrote. */
export async function runScript(
  project: Project,
  script: string,
  env: Values = {},
  unset: string[] = [],
) {
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const bash = ["bash", "-e", "-o", "pipefail", "-c", script];
  const before = project.emulator.requests.length;
  const args = [...unset.flatMap((name) => ["-u", name]), ...given, ...bash];
  const { code, output } = await project.start(args, "env").done;
  const requests = project.emulator.requests.slice(before).map(({ method }) => method);
  return { code, output, writes: requests.filter((method) => method !== "GET") };
}

/** Runs the steps of a job for a stack, without `npm ci`: the first step that fails ends it. */
export async function runJob(project: Project, { env, jobs }: Workflow, id: string, stack: string) {
  const github = { workspace: project.folder };
  const contexts = { secrets: project.env, vars: project.env, matrix: { stack }, github, env: {} };
  const filled = (values: Values = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        String(value).replace(/\$\{\{(.*?)\}\}/g, (_, text) => runInNewContext(text, contexts)),
      ]),
    );
  contexts.env = { ...filled(env), ...filled(jobs[id]?.env) };
  let done = { code: 0, output: "", writes: [] as string[] };
  for (const { run: script, with: inputs, env } of jobs[id]?.steps ?? []) {
    const command = script ?? (inputs?.command && commandOf(filled(inputs)));
    if (!command || command === "npm ci" || done.code !== 0) continue;
    assert.doesNotMatch(command, /\$\{\{/, "a value in a command could be read as a command");
    const files = { GITHUB_OUTPUT: "output.txt", GITHUB_STEP_SUMMARY: "summary.md" };
    const given = { ...contexts.env, ...filled(env), ...files };
    const step = await runScript(project, command, given, settings);
    const [output, writes] = [done.output + step.output, [...done.writes, ...step.writes]];
    done = { ...step, output, writes };
  }
  return done;
}

/** Runs the script of a job of GitLab for a stack. */
export async function runGitLab(project: Project, file: string, id: string, stack: string) {
  const gitlab = await recipe(file);
  const { script = gitlab[gitlab[id].extends].script, variables } = gitlab[id];
  const PROFILE = stack === "prod" ? "production" : "baseline";
  const own = { STACK: stack, PROFILE, ...variables };
  const env = Object.entries({ ...gitlab.variables, ...own }).map(([name, value]) => [
    name,
    String(value).replace("$CI_PROJECT_DIR", project.folder),
  ]);
  return runScript(project, script.join("\n"), Object.fromEntries(env));
}

/** What pulumi/actions runs for its inputs. */
const commandOf = ({ command, "stack-name": stack, ...inputs }: Values) =>
  [
    `pulumi ${command} --stack ${stack} --non-interactive`,
    ...["diff", "suppress-progress"]
      .filter((name) => inputs[name] === "true")
      .map((name) => `--${name}`),
    `--policy-pack ${inputs.policyPacks} --policy-pack-config ${inputs.policyPackConfigs}`,
  ].join(" ");
