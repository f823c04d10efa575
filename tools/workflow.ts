import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";
import { newFolder } from "./folders";

/** What GitHub gives a run: the context `github`, and the settings of each environment. */
export interface Trigger {
  /** With `event_name`, and `event` as the webhook sends it. */
  github: { event_name: string; event: Record<string, unknown>; repository: string };
  /** The contexts `secrets` and `vars` of the jobs in an environment, by its name. */
  environments: Record<string, Contexts>;
}

/** A job that has run: once for each entry of its matrix. */
export interface JobRun {
  /** The job's name, and after it the values of its matrix: `preview (staging, baseline)`. */
  name: string;
  /** The exit code of the last command that was run. */
  code: number;
}

/** What the jobs of a run did, in their order, and all that they printed. */
export interface Jobs {
  runs: JobRun[];
  output: string;
}

/** Where the jobs run. */
export interface Runner {
  /** The checkout, which all jobs share. */
  cwd: string;
  /** The variables of the machine. */
  env: NodeJS.ProcessEnv;
  /** Commands that are left out: what they would have made is there. */
  without: string[];
}

type Contexts = Record<string, unknown>;
type JobContexts = Contexts & Pick<Trigger, "github">;

interface Workflow {
  on: Record<string, object | null> & { schedule: { cron: string }[] };
  defaults: { run: { shell: string } };
  jobs: Record<string, Job>;
}

interface Job {
  if?: string;
  needs?: string;
  strategy?: { matrix: { include: Record<string, string>[] } };
  environment: string;
  env?: Record<string, string>;
  steps: { uses?: string; run?: string; env?: Record<string, string> }[];
}

/**
 * Runs the commands of a GitHub workflow as its runner does, one job after another: with the contexts
 * of each, in the shell that `shell: bash` stands for. Actions are not run: the checkout has what they
 * would have made.
 */
export async function runWorkflow(
  file: string,
  { github, environments }: Trigger,
  runner: Runner,
): Promise<Jobs> {
  const { on, defaults, jobs } = parse(await readFile(file, "utf8")) as Workflow;
  assert.equal(defaults.run.shell, "bash");
  assert.ok(starts(github, on), `${JSON.stringify(github)} does not start ${file}`);
  const done: Jobs = { runs: [], output: "" };
  const succeeded = new Set<string>();
  for (const [id, job] of Object.entries(jobs)) {
    if (job.needs && !succeeded.has(job.needs)) continue;
    if (job.if && (await evaluate(job.if, { github })) !== "true") continue;
    const all = job.strategy?.matrix.include ?? [{}];
    for (const matrix of all) {
      const environment = await fill(job.environment, { matrix });
      const contexts = { github, matrix, ...environments[environment] };
      const { code, output } = await runSteps(job, contexts, runner);
      const values = Object.values(matrix).join(", ");
      done.runs.push({ name: values ? `${id} (${values})` : id, code });
      done.output += output;
    }
    if (done.runs.slice(-all.length).every(({ code }) => code === 0)) succeeded.add(id);
  }
  return done;
}

/** Whether a workflow has the event, and the times of a schedule that its jobs ask for. */
function starts({ event_name, event }: Trigger["github"], on: Workflow["on"]): boolean {
  if (event_name !== "schedule") return event_name in on;
  return on.schedule.some(({ cron }) => cron === event.schedule);
}

async function runSteps(job: Job, contexts: JobContexts, { cwd, env, without }: Runner) {
  let [output, code] = ["", 0];
  for (const { run, env: own } of job.steps) {
    if (run === undefined || without.includes(run)) continue;
    assert.doesNotMatch(run, /\$\{\{/, "a value in a command could be read as a command");
    const given: NodeJS.ProcessEnv = {
      ...env,
      GITHUB_REPOSITORY: contexts.github.repository,
      GITHUB_STEP_SUMMARY: path.join(cwd, "summary.md"),
    };
    for (const [name, text] of Object.entries({ ...job.env, ...own })) {
      given[name] = await fill(text, contexts);
    }
    const bash = ["--noprofile", "--norc", "-eo", "pipefail", "-c", run];
    const done = await runProgram("bash", bash, { cwd, env: given });
    output += done.output;
    code = done.code;
    if (code !== 0) break;
  }
  return { code, output };
}

async function runProgram(
  command: string,
  args: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ code: number; output: string }> {
  const child = spawn(command, args, options);
  child.stdin.end();
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const code = await new Promise<number>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exit) => resolve(exit ?? -1));
  });
  return { code, output };
}

/** A text with the values of its expressions; each must have one. */
async function fill(text: string, contexts: Contexts): Promise<string> {
  const parts = text.split(/\$\{\{(.*?)\}\}/);
  for (let at = 1; at < parts.length; at += 2) {
    const expression = parts[at] ?? "";
    const value = await evaluate(expression, contexts);
    assert.notEqual(value, "", `${expression.trim()} has no value`);
    parts[at] = value;
  }
  return parts.join("");
}

async function evaluate(expression: string, contexts: Contexts): Promise<string> {
  const { data, Evaluator, Lexer, Parser } = await import("@actions/expressions");
  const { tokens } = new Lexer(expression.trim()).lex();
  const parsed = new Parser(tokens, Object.keys(contexts), []).parse();
  const values = JSON.parse(JSON.stringify(contexts), data.reviver);
  return new Evaluator(parsed, values).evaluate().coerceString();
}

/**
 * Runs the jobs of a GitLab pipeline with gitlab-ci-local, which checks the file against GitLab's JSON
 * schema and evaluates its rules, in the shell instead of the file's image. It needs rsync.
 *
 * @param variables CI/CD variables of the project, by environment where they differ: `production*`.
 */
export async function runPipeline(
  file: string,
  variables: Record<string, string | { values: Record<string, string> }>,
  { cwd, env, without }: Runner,
): Promise<Jobs> {
  const settings = path.join(newFolder(), "variables.yml");
  await writeFile(settings, stringify(variables));
  const text = await readFile(file, "utf8");
  const own = without.reduce(
    (left, command) => {
      assert.ok(left.includes(`- ${command}\n`), `${command} is not in ${file}`);
      return left.replaceAll(`- ${command}\n`, "- echo left out\n");
    },
    text.replace(/^ *image: .*\n/gm, ""),
  );
  await writeFile(path.join(cwd, ".gitlab-ci.yml"), own);
  const args = [require.resolve("gitlab-ci-local"), "--no-color", "--concurrency", "1"];
  const { output } = await runProgram(
    process.execPath,
    [...args, "--variables-file", settings, "--ignore-predefined-vars", "CI_PIPELINE_SOURCE"],
    { cwd, env },
  );
  await rm(settings);
  const ends = output.matchAll(
    /^(?!pipeline )(\w+)(?:: \[(.*)\])? +finished in .*?(?:FAIL (\d+) *)?$/gm,
  );
  const runs = Array.from(ends, ([, name, matrix, code = "0"]) => ({
    name: matrix ? `${name} (${matrix.replaceAll(",", ", ")})` : String(name),
    code: Number(code),
  }));
  assert.notEqual(runs.length, 0, output);
  return { runs, output };
}
