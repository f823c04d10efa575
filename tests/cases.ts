import { inspect } from "node:util";
import * as fc from "fast-check";

/** The same cases in every run, unless the environment names others. */
export const seed = Number(process.env.TLSEDGE_TEST_SEED ?? 20_251_121);

/**
 * Holds for as many cases as this. A failure prints the seed and the smallest case that it found:
 * `TLSEDGE_TEST_SEED` takes that seed, or any other.
 */
export function holds<Case>(
  cases: fc.Arbitrary<Case>,
  count: number,
  law: (one: Case) => Promise<void>,
): Promise<void> {
  const tried = async (one: Case) => {
    try {
      await law(one);
    } catch (error) {
      // The provider's errors have no stack, and the report shows nothing else.
      if (error instanceof Error) error.stack ||= inspect(error);
      throw error;
    }
  };
  const options = { seed, numRuns: count, includeErrorInReport: true };
  return fc.assert(fc.asyncProperty(cases, tried), options);
}

/** What JSON can say, with what an answer or a program is likely to get wrong among it. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, "", "x", [], {}, [null], [[]], [{}], [""]),
  fc.jsonValue({ maxDepth: 2, stringUnit: "binary" }),
);
