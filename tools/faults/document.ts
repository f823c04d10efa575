import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { promises } from "./judge.ts";
import { faultKinds, nameOf } from "./kinds.ts";
import type { Played } from "./sequences.ts";

/** The parts of the document, each made by a part of the command. */
export const parts = ["sequences", "cases", "crashes"] as const;
export type Part = (typeof parts)[number];

const file = path.join(process.cwd(), "docs", "reliability.md");

const blank = `# Reliability

What becomes of a stack when the service, the network or a process fails: shown by runs of the code
as it is built, with no part of it mocked. Each part below was made by \`npm run test:faults\`, which
fails when a promise is broken.
`;

/** Puts a part in the place of the one that is there, or at the end. */
export async function writePart(part: Part, markdown: string): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return blank;
    throw error;
  });
  const [begin, end] = [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`];
  const own = `${begin}\n\n${markdown.trim()}\n\n${end}`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const isThere = from >= 0 && to > from;
  await writeFile(
    file,
    isThere
      ? `${text.slice(0, from)}${own}${text.slice(to + end.length)}`
      : `${text.trimEnd()}\n\n${own}\n`,
  );
}

const load = createRequire(path.join(process.cwd(), "package.json"));
const versionOf = (name: string) =>
  (JSON.parse(readFileSync(load.resolve(`${name}/package.json`), "utf8")) as { version: string })
    .version;

const sum = (played: Played[], of: (run: Played) => number) =>
  played.reduce((total, run) => total + of(run), 0);

/** What the drawn runs have shown. */
export function sequencesPart(seed: number, played: Played[], minutes: number): string {
  const kills = (victim: string) => played.filter(({ killed }) => killed === victim).length;
  const creates = sum(played, (run) => run.creates);
  return `## Drawn sequences

\`\`\`sh
npm run test:faults -- --only sequences --seed ${seed} --runs ${played.length}
\`\`\`

pulumi-tlsedge ${versionOf("pulumi-tlsedge")}, @pulumi/pulumi ${versionOf("@pulumi/pulumi")}, Node.js
${process.versions.node}; ${minutes} minutes.

${played.length} runs, each drawn from the seed. A run has one stack or two on one machine and in one account,
each with a provider process of its own: Pulumi's server of dynamic providers, spoken to over gRPC as
the engine does it. Each stack creates up to three equal resources, and perhaps one more, all at
once. One to four of their requests meet a fault: a create, or a list that is read to look for what
a lost create has made. In some runs a process, or the engine of one, is killed while its create is
under way. Then a person tries again with new processes, in half of the runs under the faults that
are left, and adopts or deletes what an error names. At last come updates, reads and deletes, with up
to two faults more.

The service's own store is compared with the states: once all creates have succeeded, and in the end.

| Promise | Runs that broke it |
| ------- | ------------------ |
${Object.entries(promises)
  .map(([promise, text]) => {
    const broken = played.filter((run) => run.broken.some((one) => one.promise === promise));
    return `| ${text} | ${broken.length} |`;
  })
  .join("\n")}

${creates} resources were created, in ${sum(played, ({ ups }) => ups)} \`up\`s; ${kills("provider")} provider processes and ${kills("engine")} engines were killed. The
creates made ${sum(played, ({ objects }) => objects)} objects, of which ${sum(played, ({ named }) => named)} were in no state and named by an error or a
warning.

| Fault | Requests struck |
| ----- | --------------- |
${strikesTable(played)}

Not drawn: a service that goes on with the work after a proxy has answered, and a machine other than
the one on which a process has died.`;
}

/** How often each fault struck, in the order of the kinds; a read does no work. */
function strikesTable(played: Played[]): string {
  const struck = played.flatMap((run) => run.struck);
  const titles = [
    ...faultKinds.flatMap((kind) => kind.timings.map((timing) => nameOf(kind, timing))),
    ...faultKinds.map(({ title }) => `${title}, of a read`),
  ];
  return titles
    .map((title) => `| ${title} | ${struck.filter((one) => one === title).length} |`)
    .join("\n");
}
