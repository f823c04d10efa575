/** So much of a secret is worth hiding; less says nothing, and stands in other words by chance. */
const part = 16;
const shortestSecret = 8;

/**
 * What a service says, without the secrets that it was sent. Services quote them in forms of their
 * own: with other line breaks, in part, in base64, URL-encoded. Whatever can't be cut out cleanly
 * leaves nothing of the text.
 */
export function redact(said: string, secrets: string[]): string {
  const worthy = secrets.filter(({ length }) => length >= shortestSecret);
  // Of several lines, which a quote may end within, none is cut out: what is left would be a part.
  const cut = worthy
    .filter((secret) => !/\s/.test(secret))
    .reduce((text, secret) => text.replaceAll(secret, "[secret]"), said);
  const flat = withoutSpace(cut);
  return worthy.flatMap(formsOf).some((form) => quotes(flat, form))
    ? "[left out, as it quotes a secret]"
    : cut;
}

/** Of the key in PEM text, what is a secret: not what begins and ends it. */
export function secretsOfPem(text = ""): string[] {
  return text.split(/-----[A-Z0-9 ]+-----/).map((block) => block.trim());
}

function formsOf(secret: string): string[] {
  // Where the secret stands in what is encoded shifts the base64 by up to two bytes.
  const encoded = ["", "x", "xx"].map((before) => Buffer.from(before + secret).toString("base64"));
  const plain = withoutSpace(secret);
  return [plain, encodeURIComponent(plain), encodeURIComponent(secret)].concat(
    encoded.map((text) => text.slice(4)),
  );
}

/** Whether a text holds a part of a form, or all of it where it is short. */
function quotes(text: string, form: string): boolean {
  const length = Math.min(part, form.length);
  for (let at = 0; at + length <= text.length; at++) {
    if (form.includes(text.slice(at, at + length))) return true;
  }
  return false;
}

const withoutSpace = (text: string) => text.replace(/\s+/g, "");
