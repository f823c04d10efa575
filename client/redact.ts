/** A text quotes a secret when it contains this many consecutive characters of the secret. */
const partLength = 16;
/** Shorter secrets are ignored: other words may contain them by chance. */
const minSecretLength = 8;
/** How often a text is decoded: an error in a URL in an error may be encoded as often. */
const mostEncodings = 3;

/**
 * Gives a function that removes secrets from a text. A service may quote a secret in part, with other
 * line breaks or letter case, with invisible characters in it, in hexadecimal, base64 or URL-encoded:
 * then the whole text is replaced. A part shorter than 16 characters is not found, so redact a text
 * before truncating it, and a message when it is finished.
 */
export function redactor(secrets: string[]): (text: string) => string {
  const known = secrets.filter(({ length }) => length >= minSecretLength);
  const parts = known.flatMap(formsOf).flatMap(partsOf);
  const searches = [visible, joined].map((comparable) => {
    const own = parts.map(comparable).filter(({ length }) => length >= minSecretLength);
    return { comparable, own: new Set(own) };
  });
  return (text) => {
    const cut = known.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
    const texts = decodings(cut);
    const isQuoted = searches.some(({ comparable, own }) =>
      texts.some((one) => hasOneOf(comparable(one), own)),
    );
    return isQuoted ? "[left out, because it quotes a secret]" : cut;
  };
}

/** The secret parts of PEM text: all but the lines that begin and end each block. */
export function secretsOfPem(text = ""): string[] {
  return text.split(/-----[A-Z0-9 ]+-----/).map((block) => block.trim());
}

/** Whether a text holds a private key in PEM, also with lost line breaks or typographic hyphens. */
export const holdsPrivateKey = (text: string) => /PRIVATE KEY\s?\p{Pd}{2}/u.test(text);

function formsOf(secret: string): string[] {
  // The base64 form depends on the secret's position in a group of three bytes, and its first and last
  // characters on what stands before and after it.
  const base64 = ["", "x", "xx"].map((before) =>
    Buffer.from(before + secret)
      .toString("base64")
      .slice(before === "" ? 0 : 4)
      .replace(/.=+$/, ""),
  );
  return [secret, Buffer.from(secret).toString("hex"), ...base64];
}

/** What a terminal obeys and does not show, such as a colour. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const colours = /\x1b\[[0-?]*[ -/]*[@-~]/g;

/**
 * A text without what may differ in a quoted secret: spaces, invisible characters and escapes, letter
 * case, and the two signs that base64 has in URLs. Keys and PEM are visible ASCII.
 */
function visible(text: string): string {
  return text
    .replace(colours, "")
    .replace(/[^\x21-\x7e]+|\\/g, "")
    .toLowerCase()
    .replaceAll("-", "+")
    .replaceAll("_", "/");
}

/** The same without what may stand between parts of a secret, such as the comma of a message. */
const joined = (text: string) => visible(text).replace(/[^a-z0-9+/=.]+/g, "");

/** The text, and what is left when the escapes of URLs and JSON in it are decoded. */
function decodings(text: string): string[] {
  const all = [text];
  for (let times = 0; times < mostEncodings; times++) {
    const last = all.at(-1) as string;
    const decoded = last.replace(
      /(?:%|\\x|\\u00)([0-9a-f]{2})|\\u[0-9a-f]{4}|\\[nrt]/gi,
      (_, hex) => (hex ? String.fromCharCode(Number.parseInt(hex, 16)) : ""),
    );
    if (decoded === last) break;
    all.push(decoded);
  }
  return all;
}

/** Whether a text contains one of the parts, in time proportional to the text. */
function hasOneOf(text: string, parts: Set<string>): boolean {
  const lengths = new Set([...parts].map(({ length }) => length));
  return [...lengths].some((length) => {
    for (let at = 0; at + length <= text.length; at++) {
      if (parts.has(text.slice(at, at + length))) return true;
    }
    return false;
  });
}

/** The parts of a form that may not be shown; the whole of a short form. */
function partsOf(form: string): string[] {
  const length = Math.min(partLength, form.length);
  return Array.from({ length: form.length - length + 1 }, (_, at) => form.slice(at, at + length));
}
