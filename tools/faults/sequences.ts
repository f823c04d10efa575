import { version as pulumi } from "@pulumi/pulumi/version";
import { version } from "../../package.json";
import type { Protocol } from "../protocol";
import { Account, prepare } from "./account";
import { draw } from "./draw";
import { promises } from "./judge";
import { type Result, runSequence } from "./run";

/** How many runs go on at a time: they spend most of their time waiting. */
const parallel = 6;

/** The result of a run, with the number of the run. */
export interface Numbered extends Result {
  number: number;
}

/**
 * Draws the sequences of a seed with these numbers and runs them, each on an account
 * of its own. `folder` resolves the package; by default it is the built one of the repository.
 */
export async function runSequences(
  seed: number,
  numbers: number[],
  protocol: Protocol = "dynamic",
  folder?: string,
): Promise<Numbered[]> {
  const setup = await prepare(protocol, folder);
  const results: Numbered[] = [];
  const rest = [...numbers];
  const workers = Array.from({ length: Math.min(parallel, rest.length) }, async () => {
    const account = await Account.open(setup);
    try {
      for (let number = rest.shift(); number !== undefined; number = rest.shift()) {
        const result = await runSequence(account, draw(seed, number, setup.certificates));
        results.push({ number, ...result });
        if (results.length % 50 === 0) console.error(`${results.length} of ${numbers.length} runs`);
      }
    } finally {
      await account.close();
    }
  });
  await Promise.all(workers);
  return results.sort((a, b) => a.number - b.number);
}

/** How many runs broke each promise. */
export function countBroken(results: Numbered[]): Map<keyof typeof promises, number> {
  const names = Object.keys(promises) as (keyof typeof promises)[];
  const breaks = (name: string) => (run: Numbered) =>
    run.broken.some((one) => one.promise === name);
  return new Map(names.map((name) => [name, results.filter(breaks(name)).length]));
}

/** The totals for the document, by row. */
export function totalsOf(seed: number, results: Numbered[], minutes: number): [string, string][] {
  const sum = (of: (run: Numbered) => number) =>
    String(results.reduce((total, run) => total + of(run), 0));
  return [
    ["Sequences", String(results.length)],
    ["Sequences that broke a promise", sum(({ broken }) => Number(broken.length > 0))],
    ["Requests that met a fault", sum(({ metFaults }) => metFaults.length)],
    ["Resources created", sum(({ creates }) => creates)],
    ["`up`s until all were created and replaced", sum(({ ups }) => ups)],
    ["At most in one sequence", String(Math.max(...results.map(({ ups }) => ups)))],
    ["Provider processes killed", sum(({ killed }) => Number(killed === "provider"))],
    ["Engines killed", sum(({ killed }) => Number(killed === "engine"))],
    ["Objects that the creates made", sum(({ objects }) => objects)],
    ["Of these in no state, and named by an error or a warning", sum(({ named }) => named)],
    ["Seed", String(seed)],
    ["Minutes", String(minutes)],
    ["pulumi-tlsedge", version],
    ["@pulumi/pulumi", pulumi],
    ["Node.js", process.versions.node],
  ];
}
