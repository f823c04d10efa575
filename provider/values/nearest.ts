import { distance } from "fastest-levenshtein";

/**
 * The known name that is nearest to a misspelt one, without regard to letter case. Undefined when
 * more than a third of the letters differ.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [first] = known
    .map((each) => ({ each, far: distance(name.toLowerCase(), each.toLowerCase()) }))
    .sort((a, b) => a.far - b.far);
  return first && first.far <= Math.max(1, name.length / 3) ? first.each : undefined;
}
