// Rolls one program out to many stacks: see README.md, or node fleet.mts --help.
import { readdirSync } from "node:fs";
import { styleText } from "node:util";
import * as automation from "@pulumi/pulumi/automation/index.js";
import Table from "cli-table3";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { Listr, type ListrTask } from "listr2";

type Action = "up" | "preview" | "destroy";
type Outcome = {
  stack: string;
  result: "done" | "failed" | "not started";
  seconds: number;
  /** Resources by what was done with them: `{ create: 2, same: 1 }`. */
  changes: Record<string, number>;
  /** What went wrong, in one line. */
  error?: string;
};

const workDir = import.meta.dirname;

/** The stacks that have a config file here. */
const configured = () =>
  readdirSync(workDir).flatMap((name) => /^Pulumi\.(.+)\.yaml$/.exec(name)?.[1] ?? []);

/** The engine's own first error, or the first policy that stopped it, in one line. */
function firstError({ message }: Error): string {
  const lines = message.split("\n").map((line) => line.trim());
  const at = lines.findIndex((line) => /^error: (?!(preview|update) failed$)/.test(line));
  const said = lines[at]?.replace(/^error: /, "") ?? "";
  // What failed stands in the line after one that ends so.
  if (said) return said.endsWith(":") ? `${said} ${lines[at + 1]}` : said;
  const policy = lines.find((line) => line.includes("[mandatory]"));
  return policy?.replace(/^- /, "") ?? lines.findLast((line) => line) ?? "no reason was given";
}

/** Carries the action out, and counts what is done as it is done: a failure may come half-way. */
async function run(
  stack: automation.Stack,
  action: Action,
  changes: Outcome["changes"],
  tell: (line: string) => void,
): Promise<void> {
  const quiet = { onOutput: () => {}, onError: () => {} };
  // Policies of whole stacks stop a plan, and come too late without one.
  if (action === "up") {
    tell("plan");
    await stack.preview(quiet);
  }
  const onEvent = ({ resourcePreEvent, resOutputsEvent, summaryEvent }: automation.EngineEvent) => {
    const { op, type = "pulumi:", urn = "" } = resourcePreEvent?.metadata ?? {};
    if (op !== "same" && !type.startsWith("pulumi:")) {
      tell(`${op} ${type.split(":").at(-1)} ${urn.split("::").at(-1)}`);
    }
    const done = resOutputsEvent?.metadata.op;
    if (done) changes[done] = (changes[done] ?? 0) + 1;
    if (summaryEvent?.resourceChanges) {
      for (const known of Object.keys(changes)) delete changes[known];
      Object.assign(changes, summaryEvent.resourceChanges);
    }
  };
  await stack[action]({ ...quiet, onEvent } as automation.UpOptions);
}

/** Runs the action in each stack; after a failure no other is started, unless told to carry on. */
async function rollOut(
  action: Action,
  names: string[],
  { concurrency, carryOn, json }: { concurrency: number; carryOn: boolean; json: boolean },
): Promise<Outcome[]> {
  const outcomes = names.map<Outcome>((stack) => ({
    stack,
    result: "not started",
    seconds: 0,
    changes: {},
  }));
  // One after the other: each selects its stack in a file that all share.
  const stacks: (automation.Stack | undefined)[] = [];
  for (const stackName of names) {
    // What is not there needs no destroying; a plan needs a stack, be it an empty one.
    const way = action === "destroy" ? "selectStack" : "createOrSelectStack";
    const opening = automation.LocalWorkspace[way]({ stackName, workDir });
    const stack = opening.catch((error) => {
      if (error instanceof automation.StackNotFoundError) return undefined;
      throw error;
    });
    stacks.push(await stack);
  }
  // A signal stops what has not started. On Ctrl-C the terminal tells those under way, too.
  let signal: string | undefined;
  for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => (signal = name));
  const stopped = () => {
    const failed = carryOn ? undefined : outcomes.find(({ result }) => result === "failed");
    return signal ?? (failed && `${failed.stack} failed`);
  };
  const tasks = outcomes.map<ListrTask>((outcome, place) => ({
    title: outcome.stack,
    task: async (_, task) => {
      const why = stopped();
      if (why) return task.skip(`${outcome.stack}: not started (${why})`);
      // One line for each stack; where it can't be drawn anew, no more than its start and end.
      const tell = (line: string) => {
        if (process.stdout.isTTY) task.title = `${outcome.stack}: ${line}`;
      };
      const started = Date.now();
      try {
        const stack = stacks[place];
        if (stack) await run(stack, action, outcome.changes, tell);
        outcome.result = "done";
        task.title = `${outcome.stack}: ${told(outcome.changes) || "nothing to do"}`;
      } catch (error) {
        outcome.result = "failed";
        outcome.error =
          error instanceof automation.ConcurrentUpdateError
            ? `the stack is locked: another update runs, or was killed. If none runs, unlock it: pulumi cancel --yes --stack ${outcome.stack}`
            : firstError(error as Error);
        throw new Error(`${outcome.stack}: ${outcome.error}`);
      } finally {
        outcome.seconds = Math.round((Date.now() - started) / 100) / 10;
      }
    },
  }));
  await new Listr(tasks, {
    concurrent: concurrency,
    exitOnError: false,
    renderer: json ? "silent" : "default",
    fallbackRenderer: "simple",
    // Its own would end this process and leave deployments half-way.
    registerSignalListeners: false,
  }).run();
  return outcomes;
}

/** `4 create, 1 same`. */
const told = (changes: Outcome["changes"]) =>
  Object.entries(changes)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");

function summary(outcomes: Outcome[]): string {
  const colours = { done: "green", failed: "red", "not started": "yellow" } as const;
  const table = new Table({
    head: ["stack", "result", "changes", "seconds"],
    style: { head: [], border: [] },
  });
  for (const { stack, result, changes, seconds } of outcomes) {
    table.push([stack, styleText(colours[result], result), told(changes), seconds.toFixed(1)]);
  }
  const done = outcomes.filter(({ result }) => result === "done").length;
  const errors = outcomes.flatMap(({ stack, error }) => (error ? [`${stack}: ${error}`] : []));
  return [table.toString(), ...errors, `${done} of ${outcomes.length} done`].join("\n");
}

function atLeastOne(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 999.");
}

const command = new Command("node fleet.mts")
  .description("Rolls the program in this folder out to each stack that has a Pulumi.<stack>.yaml.")
  .addArgument(new Argument("<action>").choices(["up", "preview", "destroy"]))
  .argument("[stacks...]", "only these, in this order (default: all, by name)")
  .addOption(new Option("--concurrency <n>", "how many at a time").default(4).argParser(atLeastOne))
  .option("--carry-on", "start the others when one fails (default: stop)", false)
  .option("--json", "print the summary as JSON", false)
  .action(async (action: Action, asked: string[], options) => {
    const known = configured();
    const strange = asked.filter((stack) => !known.includes(stack));
    if (strange.length > 0) {
      command.error(`error: no Pulumi.${strange[0]}.yaml here: there are ${known.join(", ")}`);
    }
    const outcomes = await rollOut(action, asked.length > 0 ? [...new Set(asked)] : known, options);
    console.log(options.json ? JSON.stringify(outcomes, null, 2) : `\n${summary(outcomes)}`);
    process.exitCode = outcomes.every(({ result }) => result === "done") ? 0 : 1;
  });

await command.parseAsync().catch((error: Error) => {
  console.error(`error: ${firstError(error)}`);
  process.exitCode = 1;
});
