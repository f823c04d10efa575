import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

/** The parts of the document, each made by a part of the command. */
export const parts = ["matrix", "cli", "crashes"] as const;
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
