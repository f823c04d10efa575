/** Quotation marks around a text, which come from a file or a shell. */
export const quoted = /^(["'\u2018\u201c]).*["'\u2019\u201d]$/s;

/** What languages write into a text for a variable that is not set: the whole text, or a label of a host. */
export const unset: [pattern: RegExp, reason: string] = [
  /(^|[./:])(undefined|null|None)($|[./:])/,
  "has undefined, null or None in it: a variable was not set when the text was made",
];
