/** A text quotes a secret when it contains this many consecutive characters of the secret. */
const partLength = 16;
/** Shorter secrets are ignored: other words may contain them by chance. */
const minSecretLength = 8;

/**
 * Removes the request's secrets from a text of the service. A service may quote a secret in part,
 * with other line breaks, in base64 or URL-encoded: then the whole text is replaced. Redact before
 * truncating: a part shorter than 16 characters is not found.
 */
export function redact(text: string, secrets: string[]): string {
  const known = secrets.filter(({ length }) => length >= minSecretLength);
  const cut = known.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
  return quotes(withoutSpace(cut), known.flatMap(formsOf))
    ? "[left out, because it quotes a secret]"
    : cut;
}

/** The secret parts of PEM text: all but the lines that begin and end each block. */
export function secretsOfPem(text = ""): string[] {
  return text.split(/-----[A-Z0-9 ]+-----/).map((block) => block.trim());
}

function formsOf(secret: string): string[] {
  // The base64 form depends on the secret's position in a group of three bytes.
  const encoded = ["", "x", "xx"].map((before) => Buffer.from(before + secret).toString("base64"));
  const plain = withoutSpace(secret);
  return [plain, encodeURIComponent(plain), encodeURIComponent(secret)].concat(
    encoded.map((text) => text.slice(4)),
  );
}

/** Whether a text contains a part of one of the forms, or the whole of a shorter form. */
function quotes(text: string, forms: string[]): boolean {
  const parts = new Set(forms.flatMap(partsOf));
  const lengths = new Set([...parts].map(({ length }) => length));
  return [...lengths].some((length) => {
    for (let at = 0; at + length <= text.length; at++) {
      if (parts.has(text.slice(at, at + length))) return true;
    }
    return false;
  });
}

function partsOf(form: string): string[] {
  const length = Math.min(partLength, form.length);
  return Array.from({ length: form.length - length + 1 }, (_, at) => form.slice(at, at + length));
}

const withoutSpace = (text: string) => text.replace(/\s+/g, "");
