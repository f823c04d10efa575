/** A shorter API key is not cut: other words may contain it by chance. */
const minKeyLength = 8;
/** A shorter word of a secret argument is not cut: texts without it would have it by chance. */
const minWordLength = 4;

const cut = "[secret]";

/** Gives a function that cuts an API key out of a text: as it is, URL-encoded, in hex and in base64. */
export function withoutApiKey(apiKey: string): (text: string) => string {
  if (apiKey.length < minKeyLength) return (text) => text;
  // The base64 form depends on the key's position in a group of three bytes, and its first and last
  // characters on what stands before and after it.
  const base64 = ["", "x", "xx"].map((before) =>
    Buffer.from(before + apiKey)
      .toString("base64")
      .slice(before === "" ? 0 : 4)
      .replace(/.=+$/, ""),
  );
  const hex = Buffer.from(apiKey).toString("hex");
  // Some services escape each slash in their JSON.
  const escaped = apiKey.replaceAll("/", "\\/");
  const forms = anyOf([apiKey, escaped, encodeURIComponent(apiKey), hex, ...base64]);
  const pattern = new RegExp(forms, "gi");
  return (text) => text.replace(pattern, cut);
}

/**
 * Gives a function that cuts the secret arguments of a resource out of a text of the service: each as a
 * whole, and each of their words, because a service may quote a part, or write it in another way.
 */
export function withoutArguments(secrets: string[]): (text: string) => string {
  // The words of a PEM marker are those of any message about a certificate.
  const texts = secrets.flatMap((secret) => secret.split(/-----[A-Z0-9 ]+-----/));
  // A host without its port, or a text in JSON.
  const parts = texts.flatMap((text) => text.split(/[\s:,"'{}]+/));
  const known = [
    ...texts.filter(Boolean),
    ...parts.filter(({ length }) => length >= minWordLength),
  ];
  if (known.length === 0) return (text) => text;
  const whole = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${anyOf(known)})(?![\\p{L}\\p{N}_])`, "giu");
  const words = new Set(known.flatMap((text) => text.toLowerCase().match(word) ?? []));
  const isSecret = (one: string) => one.length >= minWordLength && words.has(one.toLowerCase());
  return (text) => text.replace(whole, cut).replace(word, (one) => (isSecret(one) ? cut : one));
}

/** A word, or the escape of a line break or tab before one. */
const word = /\\[nrt]|[\p{L}\p{N}_]+/gu;

/** A pattern for any of the texts, the longest first. */
function anyOf(texts: string[]): string {
  const escaped = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return escaped.sort((a, b) => b.length - a.length).join("|");
}

/** Whether a text holds a private key in PEM, also with lost line breaks or typographic hyphens. */
export const holdsPrivateKey = (text: string) => /PRIVATE KEY\s?\p{Pd}{2}/u.test(text);

/** A private key in PEM; its end may be missing. */
const block =
  /-{0,5}BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY[\s\S]*?(?:END [A-Z0-9 ]{0,20}PRIVATE KEY-{0,5}|$)/g;
/** More characters without a space than an id, a serial number or a time has. Lines may join them. */
const long = /[^ \t.,;"'(){}]{41,}/g;
/** Bytes in a row, in decimal or hexadecimal; more than an IPv6 address has. */
const bytes = /(?:\b[0-9a-fx]{1,4}\b[\s,:;]+){15,}[0-9a-fx]{1,4}/gi;

/** A text without private keys in PEM. */
const withoutBlocks = (text: string) => text.replace(block, cut);

/** What an answer must have as it is. */
const chosen = ["id", "uri", "certificate_pem"];

/**
 * Gives a function that cuts private keys out of a field of an answer. When the request had a private key,
 * the answer may have it in any form: then all that is long enough to be one is cut, but for what the
 * request has in other fields, too.
 */
export function withoutPrivateKeys(request: object = {}): (name: string, text: string) => string {
  const { private_key_pem, ...others } = request as Record<string, unknown>;
  if (!private_key_pem) return (_name, text) => withoutBlocks(text);
  const parts = (text: unknown) => [long, bytes].flatMap((one) => String(text).match(one) ?? []);
  const open = new Set(Object.values(others).flatMap(parts));
  // An error code has words only.
  const cutUnlessOpen = (part: string) =>
    open.has(part) || /^[A-Za-z_-]+$/.test(part) ? part : cut;
  return (name, text) => {
    const rest = withoutBlocks(text);
    if (chosen.includes(name)) return rest;
    return rest.replace(bytes, cutUnlessOpen).replace(long, cutUnlessOpen);
  };
}
