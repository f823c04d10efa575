/** What a block of another kind is, by its label, and what to do. */
const others: [RegExp, string][] = [
  [
    /-----BEGIN [A-Z ]*CERTIFICATE REQUEST-----/,
    "holds a certificate request (CSR): give the certificate that the authority made from it",
  ],
  [
    /-----BEGIN (PKCS ?#?7|CMS)-----/,
    "holds PKCS#7: convert it with `openssl pkcs7 -print_certs -in … -out …`",
  ],
  [
    /-----BEGIN (TRUSTED|X509) CERTIFICATE-----/,
    "holds an old form of PEM: convert it with `openssl x509 -in … -out …`",
  ],
  [
    /-----BEGIN [A-Z ]*PUBLIC KEY-----/,
    "holds a public key, which is neither a certificate nor a private key",
  ],
];

/** What a text without a block is, and what to do. */
const shapes: [RegExp, string][] = [
  [/^$/, "is empty"],
  // A file of UTF-16 that is read as UTF-8 has a NUL beside each character.
  [/-\p{Cc}-\p{Cc}/u, "is UTF-16, as `>` in PowerShell writes it: save the file as UTF-8"],
  [
    /[^\P{Cc}\t\n\r]|\ufffd/u,
    "is no text, but binary, such as DER or PKCS#12: convert it to PEM with " +
      "`openssl x509 -inform der -in …`, `openssl pkey -inform der -in …` or " +
      "`openssl pkcs12 -nodes -in …`",
  ],
  [/^LS0tLS1CRUdJTi/, "is PEM text in base64: decode it first"],
  [
    /^M[A-Z][\w+/=\s]{60,}$/,
    "has no BEGIN line and no END line around its base64: give the whole text of the PEM file",
  ],
  [
    /(?<!-----)BEGIN [A-Z]/,
    "has no five hyphens on both sides of BEGIN … and END …: copy the file again",
  ],
  [
    /^\[object |Output<T>|^\$\{/,
    "is the description of a value, not the value: pass the output itself, or use " +
      "pulumi.interpolate",
  ],
  [
    /^(?=.{1,500}$)(.*[\\/].*|.*\.\w{2,4})$/,
    "looks like the path of a file: give the text of the file, in TypeScript " +
      'readFileSync(path, "utf8"), or give a TLSSite its chainFile and keyFile',
  ],
];

/** What can be wrong with a block, and what to do. */
const damages: [RegExp, string][] = [
  [
    /-----\\n/,
    "each line break is a backslash and an n: replace them, in TypeScript with " +
      'text.replaceAll("\\\\n", "\\n")',
  ],
  [
    /-----BEGIN [A-Z0-9 ]+-----[^\S\n]*\S/,
    "the line breaks are lost: give the text as it is in the file",
  ],
  [/^[ \t]+\S/m, "there are spaces before the lines: remove them"],
];

/**
 * Why a text has no block of PEM that can be used, and what to do. Never quotes the text.
 *
 * @param wanted The block that is missing: "certificate" or "private key".
 */
export function whyNoBlock(text: string, wanted: string): string {
  const label = wanted.toUpperCase();
  return (
    firstOf(others, text) ??
    firstOf(shapes, text.trim()) ??
    `holds no PEM ${wanted} (-----BEGIN ${label}----- … -----END ${label}-----)`
  );
}

/** Why the blocks of a text can't be parsed, and what to do. Never quotes the text. */
export function whyDamaged(text: string): string {
  return firstOf(damages, text) ?? "the text is damaged: copy the whole file again";
}

function firstOf(table: [RegExp, string][], text: string): string | undefined {
  return table.find(([pattern]) => pattern.test(text))?.[1];
}
