/** A shorter API key is not cut out of messages: other words may contain it by chance. */
const minKeyLength = 8;
/** A shorter one is not cut out of answers: state must have a name as it is. */
export const minKeyInAnswer = 16;
/** A shorter part of a secret argument is not cut: texts without it would have it by chance. */
const minPartLength = 4;

const cut = "[secret]";

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/**
 * Gives a function that cuts an API key out of a text: as it is, escaped as in JSON or in a URL, in
 * hexadecimal and in base64, in any letter case.
 */
export function withoutApiKey(apiKey: string, minLength = minKeyLength): (text: string) => string {
  if (apiKey.length < minLength) return (text) => text;
  const hex = (text: string) => Buffer.from(text).toString("hex");
  // JSON may stand in a text of JSON.
  const signs = Array.from(
    apiKey,
    (sign) => `(?:${sign === "/" ? "\\\\?/" : literally(sign)}|(?:%|\\\\u00)${hex(sign)})`,
  );
  const base64 = Buffer.from(apiKey).toString("base64url");
  const forms = [signs.join(""), hex(apiKey), base64.replace(/-/g, "[+-]").replace(/_/g, "[/_]")];
  const key = new RegExp(forms.join("|"), "gi");
  return (text) => text.replace(key, cut);
}

/** A copy of a JSON value with other texts; each is given with the name of its field. */
export function withTexts(
  value: unknown,
  write: (text: string, field: string) => string,
  field = "",
): unknown {
  if (typeof value === "string") return write(value, field);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, write, field));
  const named = ([name, item]: [string, unknown]) =>
    [write(name, ""), withTexts(item, write, name)] as const;
  return Object.fromEntries(Object.entries(value).map(named));
}

/**
 * Gives a function that cuts the secret arguments of a resource out of a text of the service: each as a
 * whole, its parts, such as the host of a hostport, and its words, because a service may quote a part.
 */
export function withoutArguments(secrets: string[]): (text: string) => string {
  // The words of a PEM marker are those of any message about a certificate.
  const texts = secrets.flatMap((secret) => secret.split(/-----[A-Z0-9 ]+-----/)).filter(Boolean);
  const parts = texts.flatMap((text) => text.split(/[\s:,"'{}]+/));
  const words = parts.flatMap(
    (part) => part.replace(/\\[nrt]/g, " ").match(/[\p{L}\p{N}_]+/gu) ?? [],
  );
  const known = [...parts, ...words].filter(({ length }) => length >= minPartLength);
  const longestFirst = [...new Set([...texts, ...known])].sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return (text) => text;
  // A word also begins after the escape of a line break.
  const start = "(?<=^|[^\\p{L}\\p{N}_]|\\\\[nrt])";
  const secret = new RegExp(
    `${start}(?:${longestFirst.map(literally).join("|")})(?![\\p{L}\\p{N}_])`,
    "giu",
  );
  return (text) => text.replace(secret, cut);
}

/** Whether a text holds a private key in PEM, also with lost line breaks or typographic hyphens. */
export const holdsPrivateKey = (text: string) => /PRIVATE KEY\s?\p{Pd}{2}/u.test(text);

/** A private key in PEM; its end may be missing. */
const block =
  /-{0,5}BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY[\s\S]*?(?:END [A-Z0-9 ]{0,20}PRIVATE KEY-{0,5}|$)/g;
/** The parts of a text, without spaces and the signs of sentences, lists and code between them. */
const part = /[^\s.,;:"'(){}[\]]+/g;
/** A word, or several in a name, a code or a path, but no hexadecimal: its last letter is f. */
const word = /^\W*(?=.*[g-zG-Z])(?:[A-Za-z][a-z_/-]{2,}|[A-Z_/-]{3,})\W*$/;
/** A longer part is no word. */
const maxWordLength = 100;
/** More than an id, a serial number or a time has. */
const maxRowLength = 40;

/** What an answer must have as it is. */
const chosen = ["id", "certificate_pem"];

/**
 * Gives a function that cuts private keys out of a field of an answer. When the request had a private key,
 * each row of parts without a word between them is cut if they have more than 40 characters, but for
 * what the request has in other fields, and the id of the answer.
 */
export function withoutPrivateKeys(
  request: object = {},
  answer?: unknown,
): (text: string, field: string) => string {
  const { private_key_pem, ...others } = request as Record<string, unknown>;
  const { id } = Object(answer) as { id?: unknown };
  const open = private_key_pem ? [...Object.values(others), id] : [];
  const known = new Set(
    open.flatMap((text) => (typeof text === "string" ? (text.match(part) ?? []) : [])),
  );
  return (text, field) => {
    const rest = text.includes("PRIVATE KEY") ? text.replace(block, cut) : text;
    if (!private_key_pem || chosen.includes(field)) return rest;
    return withoutRows(rest, known);
  };
}

function withoutRows(text: string, known: Set<string>): string {
  let [shown, shownTo, start, end, length] = ["", 0, 0, 0, 0];
  const endRow = () => {
    if (length > maxRowLength) {
      shown += text.slice(shownTo, start) + cut;
      shownTo = end;
    }
    length = 0;
  };
  for (const { 0: one, index } of text.matchAll(part)) {
    if (one.length <= maxWordLength && word.test(one)) endRow();
    else if (!known.has(one)) {
      // A URI ends with the id.
      const last = one.slice(one.lastIndexOf("/") + 1);
      if (length === 0) start = index;
      length += one.length - (known.has(last) ? last.length : 0);
      end = index + one.length;
    }
  }
  endRow();
  return shown + text.slice(shownTo);
}
