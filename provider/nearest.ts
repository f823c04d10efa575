import { distance } from "fastest-levenshtein";

/** The known name that a misspelt one is likely to mean; wire names are known by their own, too. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll("_", "");
  const wanted = plain(name);
  const [best] = known
    .map((one) => ({ one, differs: distance(wanted, plain(one)) }))
    .sort((a, b) => a.differs - b.differs);
  return best && best.differs <= Math.max(1, wanted.length * 0.4) ? best.one : undefined;
}
