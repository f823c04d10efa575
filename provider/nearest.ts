/**
 * The known name that a misspelt one most likely stands for. Letter case does not count, and at
 * most a third of the letters may differ; undefined when no known name is that near.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [first] = known
    .map((each) => ({ each, far: distance(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return first && first.far <= name.length / 3 ? first.each : undefined;
}

/** Levenshtein's: how many letters to put in, take out or change to make one of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, count) => count);
  for (const letter of a) {
    const above = row;
    row = [(above[0] as number) + 1];
    for (let at = 0; at < b.length; at++) {
      const changed = (above[at] as number) + (letter === b[at] ? 0 : 1);
      row.push(Math.min(changed, (above[at + 1] as number) + 1, (row[at] as number) + 1));
    }
  }
  return row.at(-1) as number;
}
