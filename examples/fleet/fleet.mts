// Runs one command in many stacks, four at a time: node fleet.mts up|preview|destroy [stack…]
import { readdirSync } from "node:fs";
import { CommandError, LocalWorkspace, type Stack } from "@pulumi/pulumi/automation/index.js";

const atOnce = 4;
const workDir = import.meta.dirname;
const configured = readdirSync(workDir)
  .flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? [])
  .sort();

const commands = ["up", "preview", "destroy"] as const;
const [asked, ...named] = process.argv.slice(2);
const command = commands.find((name) => name === asked);
const names = named.length > 0 ? named : configured;
if (!command || names.some((name) => !configured.includes(name))) {
  console.error(`node fleet.mts ${commands.join("|")} [stack…]: of ${configured.join(", ")}`);
  process.exit(2);
}

// One after the other: each selects its stack in a file that all share.
const waiting: Stack[] = [];
for (const stackName of names)
  waiting.push(await LocalWorkspace.createOrSelectStack({ stackName, workDir }));

const ended = new Map<string, "done" | "failed">();

/** Runs one stack after the other. Shows Pulumi's own output, each line with the name of its stack. */
const work = async () => {
  for (let stack = waiting.shift(); stack; stack = waiting.shift()) {
    const { name } = stack;
    let rest = "";
    const show = (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) console.log(`${name}: ${line}`);
    };
    try {
      await stack[command]({ color: "never", onOutput: show, onError: show });
      ended.set(name, "done");
    } catch (error) {
      if (!(error instanceof CommandError)) show(`${error}\n`);
      ended.set(name, "failed");
      waiting.length = 0; // what runs goes on, and no other starts
    }
    if (rest) show("\n");
  }
};

// Pulumi gets Ctrl-C of the terminal, too, and cancels what runs.
process.on("SIGINT", () => {
  waiting.length = 0;
});
await Promise.all(Array.from({ length: atOnce }, work));
for (const name of names) console.log(`${name}: ${ended.get(name) ?? "not started"}`);
process.exitCode = names.every((name) => ended.get(name) === "done") ? 0 : 1;
