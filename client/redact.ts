/** A text quotes a secret when it holds this many characters of it in a row. */
const part = 16;
/** Shorter secrets are not looked for: other words hold them by chance. */
const shortestSecret = 8;

/**
 * What a service says, without the secrets that it was sent. A service may quote a secret with other
 * line breaks, in part, in base64 or URL-encoded. A secret that can't be cut out as a whole leaves
 * nothing of the text. Redact before cutting: a part shorter than 16 characters is not found.
 */
export function redact(said: string, secrets: string[]): string {
  const known = secrets.filter(({ length }) => length >= shortestSecret);
  const cut = known.reduce((text, secret) => text.replaceAll(secret, "[secret]"), said);
  return quotes(withoutSpace(cut), known.flatMap(formsOf))
    ? "[left out, as it quotes a secret]"
    : cut;
}

/** The secret parts of PEM text: without the lines that begin and end each block. */
export function secretsOfPem(text = ""): string[] {
  return text.split(/-----[A-Z0-9 ]+-----/).map((block) => block.trim());
}

function formsOf(secret: string): string[] {
  // Base64 depends on where in a group of three bytes the secret begins.
  const encoded = ["", "x", "xx"].map((before) => Buffer.from(before + secret).toString("base64"));
  const plain = withoutSpace(secret);
  return [plain, encodeURIComponent(plain), encodeURIComponent(secret)].concat(
    encoded.map((text) => text.slice(4)),
  );
}

/** Whether a text holds a part of one of the forms, or the whole of a form that is shorter. */
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
  const length = Math.min(part, form.length);
  return Array.from({ length: form.length - length + 1 }, (_, at) => form.slice(at, at + length));
}

const withoutSpace = (text: string) => text.replace(/\s+/g, "");
