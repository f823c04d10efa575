const cut = "[secret]";
/** A shorter text is not cut: other words may contain it by chance. */
const minLength = 8;

/** A text without these secrets, each as it is. The longest goes first, because it may contain another. */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  const found = [...secrets].filter((one) => one.length >= minLength && text.includes(one));
  found.sort((one, other) => other.length - one.length);
  return found.reduce((rest, one) => rest.replaceAll(one, cut), text);
}

/** An API key as a service may quote it: as it is, in JSON, in a URL and in base64. */
export function formsOf(apiKey: string): string[] {
  const json = JSON.stringify(apiKey).slice(1, -1);
  const base64url = Buffer.from(apiKey).toString("base64url");
  const base64 = base64url.replaceAll("-", "+").replaceAll("_", "/");
  return [apiKey, json, encodeURIComponent(apiKey), base64, base64url];
}

/**
 * A copy of a JSON value with each text replaced, also the names of fields. `replace` gets a text and the field that
 * has it; `""` for a name.
 */
export function mapTexts(
  value: unknown,
  replace: (text: string, field: string) => string,
  field = "",
): unknown {
  if (typeof value === "string") return replace(value, field);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace, field));
  const parts = Object.entries(value);
  return Object.fromEntries(
    parts.map(([name, item]) => [replace(name, ""), mapTexts(item, replace, name)]),
  );
}

/** Whether a text holds a private key in PEM, also with lost line breaks or typographic hyphens. */
export const holdsPrivateKey = (text: string) => /PRIVATE KEY\s?\p{Pd}{2}/u.test(text);

/** A private key in PEM; its end may be missing. */
const block =
  /-{0,5}BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY[\s\S]*?(?:END [A-Z0-9 ]{0,20}PRIVATE KEY-{0,5}|$)/g;
/** A shorter line of a key may be a word. */
const minLineLength = 16;

/**
 * Makes a function that cuts private keys out of a field of an answer: all in PEM, and the lines of the request's key.
 * A line that the chain also has is public, because both hold the modulus of an RSA key: it stays.
 */
export function cutterOfPrivateKeys(request: object = {}): (text: string, field: string) => string {
  const { private_key_pem = "", certificate_pem = "" } = request as Record<string, string>;
  const chain = certificate_pem.replace(/\s/g, "");
  const lines = private_key_pem
    .split(/\s+/)
    .filter((line) => line.length >= minLineLength && !chain.includes(line));
  return (text, field) => {
    const rest = text.includes("PRIVATE KEY") ? text.replace(block, cut) : text;
    return field === "certificate_pem" ? rest : withoutSecrets(rest, lines);
  };
}
