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
    /-----BEGIN [A-Z0-9 ]+-----[^\S\n]*\S/,
    "has lost its line breaks: give the text as it is in the file. Where it has a backslash and an n in their " +
      'place, put them back, in TypeScript with text.replaceAll("\\\\n", "\\n")',
  ],
  [
    /-----BEGIN [A-Z ]*CERTIFICATE REQUEST-----/,
    "holds a certificate request (CSR): give the certificate that the authority made from it",
  ],
  [
    /-----BEGIN X509 CRL-----/,
    "holds a certificate revocation list: give the certificates in its place",
  ],
  [/^arn:/, "is the name of a certificate in AWS: give its text in PEM"],
  [
    /-----BEGIN (PKCS ?#?7( SIGNED DATA)?|CMS)-----/,
    "holds PKCS#7: convert it with `openssl pkcs7 -print_certs -in … -out …`",
  ],
  [
    /-----BEGIN [A-Z ]*PUBLIC KEY-----|^(ssh|ecdsa|sk)-\S+ AAAA/,
    "holds a public key: give the certificate or the private key in its place",
  ],
  [
    /-----BEGIN OPENSSH PRIVATE KEY-----/,
    "is in the format of OpenSSH: convert it with `ssh-keygen -p -m PKCS8 -f …`",
  ],
  [
    /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED/m,
    "is encrypted: give the decrypted key (`openssl pkey -in …`)",
  ],
  [
    /^(?=.{1,500}$)(\.{0,2}\/.*|[A-Z]:.*|.*\.\w{2,4})$/i,
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
 * Why a block of PEM can't be parsed, and what to do. Never quotes the text.
 *
 * @param part The block, where the text has several.
 */
export function adviceOnDamage(text: string, part = ""): string {
  const damaged = "can't be parsed: the text is damaged. Copy the whole file again";
  return adviceOnText(text, part ? `${part} ${damaged}` : damaged);
}

function adviceOnText(text: string, otherwise: string): string {
  return faults.find(([pattern]) => pattern.test(text.trim()))?.[1] ?? otherwise;
}
