/** What a text is, or what is wrong with it, and what to do. The first pattern that fits counts. */
const faults: [RegExp, string][] = [
  [/^$/, "is empty"],
  // A file of UTF-16 that is read as UTF-8 has a NUL beside each character.
  [/-\p{Cc}-\p{Cc}/u, "is UTF-16, as `>` in PowerShell writes it: save the file as UTF-8"],
  [
    /[^\P{Cc}\t\n\r]|\ufffd/u,
    "is no text, but binary, such as DER or PKCS#12: convert it to PEM with " +
      "`openssl x509 -inform der -in …`, `openssl pkey -inform der -in …` or " +
      "`openssl pkcs12 -nodes -in …`",
  ],
  [
    /[\u00a0\u00ad\u200b-\u200f\u2060\ufeff]/,
    "has invisible characters in it: copy the text from the file, not from a page or a chat",
  ],
  [
    /-----(\\r)?\\n/,
    "has a backslash and an n for each line break: replace them, in TypeScript with " +
      'text.replace(/(\\\\r)?\\\\n/g, "\\n")',
  ],
  [
    /-----BEGIN [A-Z0-9 ]+-----[^\S\n]*\S/,
    "is damaged: the line breaks are lost. Give the text as it is in the file",
  ],
  [/\r\r\n/, "has two carriage returns in a line: remove them with `tr -d '\\r' < … > …`"],
  [/^[ \t]+-----(BEGIN|END) /m, "has spaces before its lines: remove them"],
  [
    /-----BEGIN [A-Z ]*CERTIFICATE REQUEST-----/,
    "holds a certificate request (CSR): give the certificate that the authority made from it",
  ],
  [
    /-----BEGIN (PKCS ?#?7( SIGNED DATA)?|CMS)-----/,
    "holds PKCS#7: convert it with `openssl pkcs7 -print_certs -in … -out …`",
  ],
  [
    /-----BEGIN [A-Z ]*PUBLIC KEY-----|^(ssh|ecdsa|sk)-\S+ AAAA/,
    "holds a public key: give the certificate or the private key in its place",
  ],
  [
    /-----BEGIN (X509|TRUSTED) CERTIFICATE-----/,
    "is labelled X509 CERTIFICATE or TRUSTED CERTIFICATE, not CERTIFICATE: convert the whole chain with " +
      "`openssl crl2pkcs7 -nocrl -certfile … | openssl pkcs7 -print_certs -out …`",
  ],
  [
    /-----BEGIN TSS2 /,
    "holds a key that only its TPM can use: request a certificate for a key that is a file",
  ],
  [
    /-----BEGIN OPENSSH PRIVATE KEY-----/,
    "is in the format of OpenSSH: convert it with `ssh-keygen -p -m PKCS8 -f …`",
  ],
  [
    /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED/m,
    "is encrypted: give the decrypted key (`openssl pkey -in …`)",
  ],
  [/^<(!doctype|html|\?xml)/i, "is a web page: download the PEM file again"],
  [/^(77u\/)?(LS0tLS1CRUdJTi|QmFnIEF0dHJp)/, "is PEM text in base64: decode it first"],
  [
    /^MI(.{4}IBAz|ACAQMw)/,
    "is PKCS#12 in base64: decode it, then convert it with `openssl pkcs12 -nodes -in …`",
  ],
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
    "is the description of a value, not the value: pass the output itself",
  ],
  [
    /^(?=.{1,500}$)(.*[\\/].*|.*\.\w{2,4})$/,
    "looks like the path of a file: give the text of the file, or use a TLSSite with chainFile and keyFile",
  ],
];

/**
 * Why a text has no block of PEM that can be used, and what to do. Never quotes the text.
 *
 * @param wanted The block that is missing: "certificate" or "private key".
 */
export function adviceOnMissingBlock(text: string, wanted: string): string {
  const label = wanted.toUpperCase();
  return adviceOnText(
    text,
    `holds no PEM ${wanted} (-----BEGIN ${label}----- … -----END ${label}-----)`,
  );
}

/**
 * Why a text of PEM can't be used, and what to do. Never quotes the text.
 *
 * @param otherwise The answer where nothing more is known.
 */
export function adviceOnText(text: string, otherwise: string): string {
  return faults.find(([pattern]) => pattern.test(text.trim()))?.[1] ?? otherwise;
}
