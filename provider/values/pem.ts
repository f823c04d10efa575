import { adviceOnMissingBlock } from "./pemAdvice";

/** A PEM text is invalid. The message never quotes the text. */
export class PemError extends Error {
  override readonly name = "PemError";
}

/** A chain of 100 certificates with large keys has half of this. */
const maxBytes = 256 * 1024;

export interface Pem {
  /** In the order of the text. One that is damaged has no bytes. */
  blocks: { label: string; der: Buffer }[];
  outside: string;
}

/**
 * What a PEM text holds, with at least one block of the kind that is wanted.
 *
 * @throws PemError when the text is too long, a block has no end, or there is no such block.
 */
export function parsePem(text: string, wanted: Wanted): Pem {
  if (Buffer.byteLength(text) > maxBytes) {
    throw new PemError(`is longer than ${maxBytes / 1024} kB`);
  }
  const [outside = "", ...parts] = text.split("-----BEGIN ");
  const blocks = parts.map((part) => {
    // In one part alone: a search for END in the whole text would take quadratic time where many blocks have none.
    const found = /^([A-Z0-9 #]+)-----(.*?)-----END \1-----(.*)$/s.exec(part);
    if (!found) throw new PemError("has a block without an END line: is the text cut off?");
    const [, label = "", body = "", after = ""] = found;
    return { label, der: decoded(body), after };
  });
  const has = (kind: Wanted) => blocks.some(({ label }) => label.endsWith(kind.toUpperCase()));
  if (!has(wanted)) {
    const other = wanted === "certificate" ? "private key" : "certificate";
    throw new PemError(
      has(other)
        ? `holds a ${other}, not a ${wanted}. Are certificatePem and privateKeyPem swapped?`
        : adviceOnMissingBlock(text, wanted),
    );
  }
  return { blocks, outside: [outside, ...blocks.map(({ after }) => after)].join("\n") };
}
type Wanted = "certificate" | "private key";

/** The bytes of a block, as Go reads them: in lines of any length, between which lines may be blank. */
function decoded(body: string): Buffer {
  const lines = /^[ \t]*\r?\n([\s\S]*)\n$/.exec(body)?.[1] ?? "";
  const base64 = lines.replace(/[ \t\r\n]+/g, "");
  const isWhole = /^[A-Za-z0-9+/]*={0,2}$/.test(base64) && base64.length % 4 === 0;
  return Buffer.from(isWhole ? base64 : "", "base64");
}
