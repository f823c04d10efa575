import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { type Command, type CommandLineRun, commands } from "./cli.ts";
import type { Part } from "./document.ts";
import type { Played } from "./matrix.ts";
import { countTable, leastHits, markdown, tables } from "./table.ts";

const load = createRequire(path.join(process.cwd(), "package.json"));
const versionOf = (name: string) =>
  (JSON.parse(readFileSync(load.resolve(`${name}/package.json`), "utf8")) as { version: string })
    .version;

/** The command that makes a part again. */
function madeBy(part: Part, seed: number, runs: number): string {
  return `\`\`\`sh\nnpm run test:faults -- --only ${part} --seed ${seed} --runs ${runs}\n\`\`\``;
}

function versions(): string {
  return (
    `pulumi-tlsedge ${versionOf("pulumi-tlsedge")}, @pulumi/pulumi ` +
    `${versionOf("@pulumi/pulumi")}, Node.js ${process.versions.node}`
  );
}

/** What the runs over the protocol have shown. */
export function matrixPart(
  seed: number,
  played: Played[],
  control: Played[],
  duration: string,
): string {
  const broken = played.flatMap((run) => run.broken);
  const left = control.filter(({ duplicates, silent }) => duplicates + silent.length > 0);
  return `## Faults

${madeBy("matrix", seed, played.length)}

${versions()}; ${duration}.

${played.length} runs, each drawn from the seed. A run starts from an account that others use too, on
Pulumi's own server of dynamic providers, spoken to over gRPC as the engine does it, against an
emulator of its own. Its resources, one to five, some of them the same to the letter, are created,
read, updated, deleted or adopted (\`import\`) all at once, while a fault strikes one request or
several: those of the operation itself, or whatever comes, listings too. Before a read, some objects
are changed or deleted behind the engine's back; to be adopted, they are there already. Then the
objects in the service are counted against what the states hold; the fault ends; what an error has
named is deleted, as it says; and all is tried once more, after a refresh or without one: now the
service must have what the program says, each object in one state, what others have untouched, and a
second look must find nothing to do. Silence lasts until the operation's deadline.

The numbers are runs that the fault struck; at least ${leastHits} in each cell. Each counts under the
first of these that happened in it:

- _failed_: an error names the request and what came of it, and all that is left behind.
- _recorded_: the object was made, and stands in the state although its answer could not be used.
- _adopted_: what a lost request had made was found.
- _retried_: more requests than usual, and success.
- _unharmed_: no more requests than usual, and success.

In each of these runs everything that the provider printed (its debug log included) and answered,
and each state's outputs were searched for the API key and the private keys, plain, in base64 and
URL-encoded; and the other origin, of the redirects, was listened to.

${
  broken.length === 0
    ? "No promise was broken: no key was found, nobody came there, nothing was made twice or left unsaid."
    : `**${broken.length} promises were broken.**`
}

${tables(played)}

An _orphan_ is an object of a run's that no state holds and no error names; a _duplicate_ is an
object beyond one for each resource. What an error names is either an id, or, where the service
does not even list what it has, that there may be something to look for. A state may hold more than
the service has: what was deleted and not yet looked at, or whose deletion was not answered. The
service may have more: what could not be adopted yet.

Not drawn: someone else who makes the very same at the same moment. Where a create's answer is lost
just then, and its own request did nothing, theirs can't be told from one's own.

### With reconciliation switched off

The same seed's creates, on a copy of the built package that does not look for what a lost request
has made, but asks again: ${left.length} of ${control.length} runs leave what nobody wants.

${countTable(control)}`;
}

/** What the runs through the command line have shown. */
export function commandLinePart(
  seed: number,
  { runs, version }: { runs: CommandLineRun[]; version: string },
  duration: string,
): string {
  const rows = (Object.keys(commands) as Command[]).map((command) => {
    const own = runs.filter((run) => run.command === command);
    const sum = (of: (run: CommandLineRun) => number) =>
      own.reduce((total, run) => total + of(run), 0);
    return [
      `\`${command}\``,
      own.length,
      own.filter(({ struck }) => struck > 0).length,
      own.filter(({ failed }) => failed).length,
      sum(({ objects }) => objects),
      sum(({ held }) => held),
      sum(({ named }) => named),
      sum(({ silent }) => silent.length),
      own.filter(({ broken }) => broken.length === 0).length,
    ];
  });
  const failed = runs.filter(({ broken }) => broken.length > 0).length;
  const counts = ["Objects", "In the state", "Left, named by an error", "Orphans"];
  return `## Faults on the real engine

${madeBy("cli", seed, runs.length)}

${versions()}, Pulumi CLI ${version}; ${duration}.

${runs.length} runs of a drawn program of edges and certificates through Pulumi's command line. One
fault or two strike a command; its objects are counted; and where it failed, the same command runs
again without a fault. _Equal_ are the runs in which the account then was what the state holds and
what the program says. The console and the stored state of each were searched for the keys.
${failed > 0 ? `\n**In ${failed} runs a promise was broken.**\n` : ""}
${markdown(["Command", "Runs", "Struck", "Failed at first", ...counts, "Equal"], rows)}`;
}
