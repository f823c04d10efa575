import { distance } from "fastest-levenshtein";

/**
 * The known name that a misspelt one most likely stands for. Letter case does not count, and at
 * most a third of the letters may differ; undefined when no known name is that near.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [first] = known
    .map((each) => ({ each, far: distance(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return first && first.far <= Math.max(1, name.length / 3) ? first.each : undefined;
}
