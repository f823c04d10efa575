/** Characters that a terminal obeys or hides: controls, formats, separators, half characters. */
export const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const unseenInLine = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const short: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Each UTF-16 unit as JSON and JavaScript escape it: `\u001b`. */
const escaped = (characters: string) =>
  characters.replace(
    /[\s\S]/g,
    (unit) => short[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * A text that others wrote, on one line, for a terminal or a log. Escapes the characters that a
 * terminal obeys or hides, and breaks up what {@link escapeCiCommands} does.
 */
export function plain(text: string): string {
  return escapeCiCommands(text.replace(unseen, escaped));
}

/** {@link plain} for a message of this package that quotes others: its line breaks stay. */
export function plainMessage(text: string): string {
  return escapeCiCommands(text.replace(unseenInLine, escaped));
}

/**
 * Breaks up what Pulumi and CI systems obey in a text: Pulumi's colour tags (`<{%reset%}>`), and the
 * commands of GitHub (`::add-mask::` at the start of a line) and of others (`##[`, `##vso[`). Part
 * of each sign becomes an escape, so that a reader still sees what was there.
 */
export function escapeCiCommands(text: string): string {
  return text
    .replace(/<\{(?=%)/g, "<\\u007b")
    .replace(/##(?=\w*\[)/g, "#\\u0023")
    .replace(/^([^\S\n]*:):(?=[a-z])/gim, "$1\\u003a");
}

/** JSON in which every text is {@link plain} to a terminal, and the same to a parser. */
export function plainJson(value: unknown, indent?: number): string {
  return plainMessage(JSON.stringify(value, null, indent));
}
