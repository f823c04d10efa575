import type { KeyObject, X509Certificate } from "node:crypto";
import * as v from "valibot";
import {
  type TLSCertificateUpdate,
  type TLSCertificateWire,
  tlsCertificates,
} from "../client/tlsCertificate";
import { createOnce } from "./createOnce";
import { digest, digestsOf, isWhole } from "./digests";
import { description, metadata } from "./fields";
import {
  type Difference,
  defined,
  type Lifecycle,
  type Problem,
  type Properties,
  unknownValue,
} from "./lifecycle";
import { readPaged } from "./pages";
import {
  chainFingerprint,
  describeChain,
  describeLeaf,
  formatChain,
  keyType,
  PemError,
  parseChain,
  parseKey,
  parseOrderedChain,
} from "./pem";

/** What a program may say of a TLS certificate (api.md §4.2). */
export const schema = v.strictObject({
  /** What the certificate is for, for people. At most 255 bytes of UTF-8. Updates in place. */
  description,
  /** Anything, for machines. At most 4096 bytes of UTF-8. Updates in place. */
  metadata,
  /** The PEM chain, leaf first, each certificate signed by the next. Changing it replaces. */
  certificatePem: v.string(),
  /**
   * The leaf's private key in PEM: PKCS#8, PKCS#1 or SEC1, not encrypted. Always a secret; kept
   * once, encrypted, and never given back by the service.
   */
  privateKeyPem: v.optional(v.string()),
  /**
   * How many days before the leaf expires a plan starts to warn, 1 to 3650. Default: never. Nothing
   * is sent to the service.
   */
  renewBeforeDays: v.optional(
    v.pipe(
      v.number(),
      v.check((days) => Number.isInteger(days) && days >= 1 && days <= 3650, "must be 1 to 3650"),
    ),
  ),
  /** The config namespace of the account. Default `tlsedge`; changing it replaces. */
  connection: v.optional(v.string()),
});

/** The inputs of a TLS certificate, all known. */
export type TLSCertificateInputs = v.InferInput<typeof schema>;

type Leaf = ReturnType<typeof describeLeaf>;

/** How a TLS certificate lives. */
export const lifecycle: Lifecycle = {
  title: "TLS certificate",
  schema,
  settings: ["connection", "renewBeforeDays"],
  outputs: ["uri", "createdAt", "issuedAt", "keyUsages", "extendedKeyUsages"],
  digested: ["description", "metadata", "chainFingerprint"],

  check(news, olds, now) {
    const { certificatePem, privateKeyPem } = news;
    const problems: Problem[] = [];
    // What was deployed with its key was checked: signatures and keys take time.
    const isKnown =
      privateKeyPem !== undefined &&
      olds?.certificatePem === certificatePem &&
      olds?.privateKeyPem === privateKeyPem;
    const parse = isKnown ? parseChain : parseOrderedChain;
    const chain = attempt(problems, "certificatePem", certificatePem, parse);
    const key = isKnown ? undefined : attempt(problems, "privateKeyPem", privateKeyPem, parseKey);
    if (!chain) return { inputs: news, problems, warnings: [] };
    const leaf = chain[0] as X509Certificate;
    const derived = describeLeaf(leaf);
    // A certificate that is there already may have outlived its leaf, or lost its key to a refresh.
    const isNew = chainOf(olds) !== chainFingerprint(chain);
    problems.push(...problemsOfKey(leaf, key, isNew && privateKeyPem === undefined));
    const expiry = expiryOf(derived.notAfter, news.renewBeforeDays, now);
    if (expiry?.expired && isNew) problems.push({ path: "certificatePem", reason: expiry.text });
    const warns = expiry && !(expiry.expired && isNew);
    return {
      inputs: {
        ...news,
        certificatePem: formatChain(chain),
        // The key that matches the same leaf says nothing new, however it is written.
        ...(!isNew && key && olds?.privateKeyPem ? { privateKeyPem: olds.privateKeyPem } : {}),
        ...planned(derived),
      },
      problems,
      warnings: warns ? [`TLS certificate ${nameOf(derived)}: ${expiry.text}`] : [],
    };
  },

  digest: (_property, value) => digest(value),

  // A chain that is not known yet has no fingerprint.
  replaces: (state, inputs) => (hasChain(state, chainOf(inputs)) ? [] : ["certificatePem"]),

  differences: (state, inputs) => [
    ...differentChain(state, inputs),
    ...Object.keys(changes(state, inputs)).map((property) => ({
      property,
      wanted: inputs[property],
      found: state[property],
    })),
  ],

  async create(client, inputs) {
    const { certificatePem, privateKeyPem, description, metadata } = inputs as TLSCertificateInputs;
    const chain = parseChain(certificatePem);
    const { wire, ...told } = await createOnce(client, {
      title: lifecycle.title,
      content: JSON.stringify([certificatePem, description, metadata]),
      post: (onSend) => {
        const key = { private_key_pem: privateKeyPem ?? "" };
        const upload = { certificate_pem: certificatePem, ...key, description, metadata };
        return tlsCertificates.create(client, upload, onSend);
      },
      list: tlsCertificates.list,
      isMade: (made) =>
        chainOf({ certificatePem: made.certificate_pem }) === chainFingerprint(chain) &&
        lifecycle.differences(toState(made, chain), inputs).length === 0,
    });
    return { id: wire.id, state: toState(wire, chain), ...told };
  },

  async read(client, certificateId, stored, oldestMs) {
    const wire = await readPaged(tlsCertificates, client, certificateId, oldestMs);
    // To describe a leaf takes longer than all else, and state keeps nothing of it.
    if (stored && !isWhole(stored)) {
      return { state: toState(wire, chainIn(wire)), inputs: () => inputsOf(fromWire(wire)) };
    }
    const state = fromWire(wire);
    return { state, inputs: () => inputsOf(state) };
  },

  async update(client, certificateId, state, inputs) {
    const patch = changes(state, inputs);
    const wire =
      Object.keys(patch).length > 0
        ? await tlsCertificates.update(client, certificateId, patch)
        : await tlsCertificates.get(client, certificateId);
    return toState(wire, parseChain(inputs.certificatePem as string));
  },

  delete: (client, certificateId) => tlsCertificates.delete(client, certificateId),
  list: tlsCertificates.list,
};

/** Parses a value that is there and known; what is wrong with it becomes a problem. */
function attempt<T>(
  problems: Problem[],
  path: string,
  value: unknown,
  parse: (text: string) => T,
): T | undefined {
  if (typeof value !== "string" || value === unknownValue) return undefined;
  try {
    return parse(value);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    problems.push({ path, reason: error.message });
    return undefined;
  }
}

function problemsOfKey(
  leaf: X509Certificate,
  key: KeyObject | undefined,
  missing: boolean,
): Problem[] {
  const problems: Problem[] = [];
  if (keyType(leaf) === undefined) {
    problems.push({
      path: "certificatePem",
      reason: "the leaf's key must be rsa, ecdsa or ed25519",
    });
  }
  if (missing) {
    problems.push({ path: "privateKeyPem", reason: "is missing: a new certificate needs its key" });
  }
  if (key && !leaf.checkPrivateKey(key)) {
    problems.push({
      path: "privateKeyPem",
      reason: `is not the key of the leaf certificate (serial ${leaf.serialNumber.toLowerCase()})`,
    });
  }
  return problems;
}

/** A chain in a few words: nobody reads PEM. */
function summary(properties: Properties): string {
  const leaf = properties as Leaf;
  return `${nameOf(leaf)}, until ${leaf.notAfter}, chain fingerprint ${chainOf(properties)}`;
}

/** What people call a certificate: many have names in the SANs alone. */
function nameOf({ subjectCommonName, subjectAlternativeNames, serialNumber }: Leaf): string {
  const { dnsNames, ips } = subjectAlternativeNames;
  return subjectCommonName || dnsNames[0] || ips[0] || serialNumber;
}

/** What to say of a leaf that has expired, or is about to. */
function expiryOf(notAfter: string, renewBeforeDays: unknown, now: Date) {
  const days = (Date.parse(notAfter) - now.getTime()) / 86_400_000;
  if (days <= 0)
    return { expired: true, text: `the leaf certificate expired on ${notAfter}: renew it` };
  if (typeof renewBeforeDays !== "number" || days >= renewBeforeDays) return undefined;
  const left = days < 2 ? `${Math.floor(days * 24)} hours` : `${Math.floor(days)} days`;
  return {
    expired: false,
    text:
      `the leaf certificate expires on ${notAfter}, in ${left} (renewBeforeDays: ` +
      `${renewBeforeDays}): renew it, and the next \`pulumi up\` puts the new chain in its place`,
  };
}

/** What a plan shows of a leaf: it stands in the inputs, so no more than people read. */
function planned(leaf: Leaf): Properties {
  const shown = plannedFields.map((name) => [name, leaf[name] || undefined]);
  return defined(Object.fromEntries(shown));
}

const plannedFields = [
  "subjectCommonName",
  "subjectAlternativeNames",
  "issuerCommonName",
  "serialNumber",
  "notBefore",
  "notAfter",
  "privateKeyType",
  "fingerprint",
  "subjectOrganization",
  "subjectOrganizationalUnit",
  "subjectLocality",
  "subjectProvince",
  "subjectCountry",
] as const satisfies (keyof Leaf)[];

function changes(state: Properties, inputs: Properties): TLSCertificateUpdate {
  const found = digestsOf(lifecycle, state);
  const changed: TLSCertificateUpdate = {};
  for (const property of ["description", "metadata"] as const) {
    const wanted = (inputs[property] ?? "") as string;
    if (lifecycle.digest(property, wanted) !== found[property]) changed[property] = wanted;
  }
  return changed;
}

/** The fingerprint of a chain that is there, known and can be parsed. */
function chainOf({ certificatePem }: Properties = {}): string | undefined {
  if (typeof certificatePem !== "string" || certificatePem === unknownValue) return undefined;
  if (fingerprints.has(certificatePem)) return fingerprints.get(certificatePem);
  const fingerprint = fingerprintOf(certificatePem);
  fingerprints.set(certificatePem, fingerprint);
  return fingerprint;
}

/** By chain: the engine asks of each several times in an update, for which the process lives. */
const fingerprints = new Map<string, string | undefined>();

function fingerprintOf(certificatePem: string): string | undefined {
  try {
    return chainFingerprint(parseChain(certificatePem));
  } catch (error) {
    if (error instanceof PemError) return undefined;
    throw error;
  }
}

function differentChain(state: Properties, inputs: Properties): Difference[] {
  // A chain that is not known yet, or that check did not take, is neither the same nor another.
  if (inputs.fingerprint === undefined || hasChain(state, chainOf(inputs))) return [];
  return [{ property: "certificatePem", wanted: summary(inputs), found: summary(state) }];
}

function hasChain(state: Properties, fingerprint: string | undefined): boolean {
  const found = digestsOf(lifecycle, state).chainFingerprint;
  return found === lifecycle.digest("chainFingerprint", fingerprint);
}

/** What the service adds, and what it can change. */
function toState(wire: TLSCertificateWire, chain: X509Certificate[]) {
  const { description, metadata, issued_at } = wire;
  return defined({
    uri: wire.uri,
    createdAt: wire.created_at,
    description: description || undefined,
    metadata: metadata || undefined,
    issuedAt: issued_at || undefined,
    keyUsages: wire.key_usages ?? [],
    extendedKeyUsages: wire.extended_key_usages ?? [],
    chainFingerprint: chainFingerprint(chain),
  });
}

/** All that the service tells of a certificate, its chain in canonical form. */
export function fromWire(wire: TLSCertificateWire) {
  const chain = chainIn(wire);
  return { ...toState(wire, chain), ...describeChain(chain), certificatePem: formatChain(chain) };
}

function inputsOf(state: ReturnType<typeof fromWire>): Properties {
  const { description, metadata, certificatePem } = state;
  return defined({ description, metadata, certificatePem, ...planned(state) });
}

function chainIn(wire: TLSCertificateWire): X509Certificate[] {
  try {
    return parseChain(wire.certificate_pem);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    throw new Error(`certificate_pem of the TLS certificate ${wire.id} ${error.message}`);
  }
}
