import { distance } from "fastest-levenshtein";

/** The known name that a misspelt one is likely to mean. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((one) => ({ one, differs: distance(name.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.differs - b.differs);
  return best && best.differs <= Math.max(1, name.length * 0.4) ? best.one : undefined;
}
