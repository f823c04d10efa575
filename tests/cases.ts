import assert from "node:assert/strict";
import { inspect } from "node:util";
import * as fc from "fast-check";

/** The same cases in every run, unless the environment names others. */
export const seed = Number(process.env.TLSEDGE_TEST_SEED ?? 20_251_121);

/** How many cases each test tries, where the environment says so: for a long run, by hand. */
const runs = Number(process.env.TLSEDGE_TEST_RUNS) || undefined;
/** A CI system tries all cases, a developer's run the first half of them. */
const share = process.env.CI ? 1 : 0.5;

/**
 * Holds for as many cases as this. A failure prints the seed and the smallest case that it found:
 * `TLSEDGE_TEST_SEED` takes that seed, or any other. `TLSEDGE_TEST_RUNS` takes another number.
 *
 * @param count How many cases a CI system tries.
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
  const options = { seed, numRuns: runs ?? Math.ceil(count * share), includeErrorInReport: true };
  return fc.assert(fc.asyncProperty(cases, tried), options);
}

/** Any character but half of one. The unit `binary` of fast-check takes a second to prepare. */
export const character = fc
  .nat({ max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/**
 * A text that others wrote: words between what terminals, Pulumi, CI systems, Markdown and HTML obey
 * or hide, and halves of characters.
 */
export const hostileText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...["\u001b[31m", "\u001b]0;title\u0007", "\u009b2J", "\b", "\r", "\n", "\t", "\u0000"],
        ...["\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\u2029", "\u{e0041}", "\u00ad"],
        ...["<{%reset%}>", "<{%", "%}>", "::add-mask::", "::stop-commands::x", "::", " "],
        ...["##[group]", "##[", "##vso[task.setvariable]", "\n::set-env name=A::b"],
        ...["\ud83d", "\udc00", "👩‍🚀", "e\u0301", "עברית"],
        ...["|", "`", "<script>", "&lt;", "@someone", "*b*", "\\", '"', "'"],
      ),
      fc.string({ maxLength: 6 }),
      fc.string({ unit: character, maxLength: 6 }),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((parts) => parts.join(""))
  .filter((text) => text !== "");

/** What may not reach a terminal or a log: spelt out, because it is what is promised (C90). */
export function assertInert(text: string): void {
  for (const line of text.split("\n")) {
    assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    assert.doesNotMatch(line, /^\s*::[a-z]|##\[|##\w+\[|<\{%/i);
  }
}

/** What JSON can say, with what an answer or a program is likely to get wrong among it. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, "", "x", [], {}, [null], [[]], [{}], [""]),
  fc.jsonValue({ maxDepth: 2, stringUnit: character }),
);

type Path = (string | number)[];

/** The paths of all values inside a value. */
export function pathsIn(value: unknown): Path[] {
  if (typeof value !== "object" || value === null) return [];
  const names = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return names.flatMap((name) => [
    [name],
    ...pathsIn((value as Record<string, unknown>)[name]).map((path) => [name, ...path]),
  ]);
}

/** A copy with other values at some of its places; numbers choose the places. */
export function withOther<T>(value: T, others: [place: number, other: unknown][]): T {
  let copy = structuredClone(value);
  for (const [place, other] of others) {
    const paths = pathsIn(copy);
    const path = paths[place % Math.max(1, paths.length)];
    if (path) copy = withValueAt(copy, path, structuredClone(other));
  }
  return copy;
}

/** A copy with another value at the path. */
export function withValueAt<T>(value: T, path: Path, other: unknown): T {
  const copy = structuredClone(value);
  const parent = path.slice(0, -1).reduce<unknown>((part, name) => Object(part)[name], copy);
  Object(parent)[path.at(-1) as string] = other;
  return copy;
}
