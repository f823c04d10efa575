import type { KeyObject, X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import {
  type TLSCertificateUpdate,
  type TLSCertificateWire,
  tlsCertificates,
} from "../client/tlsCertificate";
import { createOnce } from "./creates/createOnce";
import {
  type Difference,
  defined,
  type Lifecycle,
  type Problem,
  type Properties,
  pick,
  rolesOf,
  unknownValue,
} from "./lifecycle";
import { listed } from "./log";
import { readPaged } from "./pages";
import { type NamesOf, type ServiceState, serviceNames } from "./state";
import { description, metadata } from "./values/inputs";
import {
  type ChainState,
  chainFingerprint,
  chainNames,
  describeChain,
  doubtsOf,
  endOf,
  formatChain,
  formatKey,
  isConsistent,
  keyType,
  PemError,
  parseChain,
  parseKey,
  parseOrderedChain,
} from "./values/pem";

/** The inputs of a TLS certificate (api.md §4.2). `TLSCertificateArgs` in the sdk describes them. */
export const schema = v.strictObject({
  description,
  metadata,
  certificatePem: v.string(),
  privateKeyPem: v.optional(v.string()),
  renewBeforeDays: v.optional(
    v.pipe(
      v.number(),
      v.check(
        (days) => Number.isInteger(days) && days >= 1 && days <= 3650,
        "must be a whole number from 1 to 3650",
      ),
    ),
  ),
  connection: v.optional(v.string()),
});

/** The inputs of a TLS certificate, all known. */
export type TLSCertificateInputs = v.InferInput<typeof schema>;

/** What state holds of a TLS certificate; null is unset. */
export interface TLSCertificateState extends ServiceState, ChainState {
  /** The PEM chain, leaf first. */
  certificatePem: string;
  /** When the service issued the certificate itself; unset for an uploaded one. */
  issuedAt: string | null;
  /** What the key may be used for, in the service's names. */
  keyUsages: string[];
  /** The extended key usages, in the service's names. */
  extendedKeyUsages: string[];
}

/** The names of {@link TLSCertificateState}. */
export const stateNames: NamesOf<TLSCertificateState> = {
  ...serviceNames,
  ...chainNames,
  certificatePem: "always",
  issuedAt: "nullable",
  keyUsages: "always",
  extendedKeyUsages: "always",
};

/** The inputs that an update sends. The service has them under the same names. */
const updatable: Record<keyof TLSCertificateUpdate, true> = { description: true, metadata: true };
const texts = Object.keys(updatable) as (keyof TLSCertificateUpdate)[];

/**
 * The state's fingerprint of the chain that was sent, where the service has another with the same leaf:
 * some leave out the root, or add it. A program that still has the chain that was sent has changed nothing.
 */
const sentKey = "__sentChainFingerprint";

const roles = { schema, stateNames, secrets: ["privateKeyPem"] };

/** The lifecycle of TLS certificates. */
export const lifecycle: Lifecycle = {
  title: "TLS certificate",
  ...roles,
  ...rolesOf(roles),

  check(news, olds, now) {
    const { certificatePem, privateKeyPem } = news;
    const problems: Problem[] = [];
    // A deployed chain and key were checked before: skip the slow check of signatures and key.
    const isChecked =
      privateKeyPem !== undefined &&
      olds?.certificatePem === certificatePem &&
      olds?.privateKeyPem === privateKeyPem;
    const parse = isChecked ? parseChain : parseOrderedChain;
    const chain = attempt(problems, "certificatePem", certificatePem, parse);
    const key = isChecked ? undefined : attempt(problems, "privateKeyPem", privateKeyPem, parseKey);
    if (!chain) return { inputs: news, problems };
    // An existing certificate may have expired and, after a refresh, may have no key in the inputs.
    const pem = formatChain(chain);
    const isNew = !lifecycle.same("certificatePem", olds?.certificatePem, pem);
    const notAfter = endOf(chain);
    problems.push(...problemsOfKey(chain, key, isNew && privateKeyPem === undefined));
    const expired = isNew ? expiryOf(notAfter, undefined, now) : undefined;
    if (expired) problems.push({ path: "certificatePem", reason: expired });
    return {
      inputs: {
        ...news,
        certificatePem: pem,
        // A key in another encoding that matches the same leaf is no change.
        ...(!isNew && key && olds?.privateKeyPem ? { privateKeyPem: olds.privateKeyPem } : {}),
      },
      problems,
      warnings: expired ? [] : warningsOf(chain, news.renewBeforeDays, now),
    };
  },

  derived(inputs, olds = {}) {
    const isSame = lifecycle.same("certificatePem", olds.certificatePem, inputs.certificatePem);
    if (isSame && "chainFingerprint" in olds) return pick(olds, Object.keys(chainNames));
    const chain = parsedChain(inputs.certificatePem);
    return chain ? defined<Properties>({ ...describeChain(chain) }) : {};
  },

  same(property, a, b) {
    if (property !== "certificatePem") return isDeepStrictEqual(a || null, b || null);
    return a === b || (chainOf(a) !== undefined && chainOf(a) === chainOf(b));
  },

  inputsOf: (state) => defined(pick(state, lifecycle.properties)),

  // An unknown chain counts as a changed one.
  replaces: (state, inputs) =>
    state.certificatePem === undefined || isDeployed(state, inputs) ? [] : ["certificatePem"],

  differences: (state, inputs) => [
    ...differentChain(state, inputs),
    ...Object.keys(changes(state, inputs)).map((property) => ({
      property,
      wanted: inputs[property],
      found: state[property],
    })),
  ],

  // Of a replaced chain the diff shows the PEM text first, and the dates and names far below.
  remark(state, inputs) {
    if (lifecycle.replaces(state, inputs).length === 0) return undefined;
    const [old, wanted] = [state, inputs].map(({ certificatePem }) => parsedChain(certificatePem));
    if (!old || !wanted) return undefined;
    const [before, after] = [describeChain(old), describeChain(wanted)];
    const dates = `${dayOf(before)} → ${dayOf(after)}`;
    return { severity: "info", text: `${dates}, ${renamed(before, after)}` };
  },

  async create(client, inputs, urn) {
    const { certificatePem, privateKeyPem } = inputs as TLSCertificateInputs;
    const key = { private_key_pem: privateKeyPem ? formatKey(privateKeyPem) : "" };
    const upload = { certificate_pem: certificatePem, ...key, ...pick(inputs, texts) };
    const post = (onSend: () => void) => tlsCertificates.create(client, upload, onSend);
    const { wire, ...rest } = await createOnce(lifecycle, client, inputs, urn, post);
    if (chainOf(wire.certificate_pem)) {
      return { id: wire.id, state: withSent(toState(wire), inputs), ...rest };
    }
    // The certificate was created, so state must have it: with the chain that was sent.
    const state = toState({ ...wire, certificate_pem: certificatePem });
    return { id: wire.id, state, problem: "its certificate_pem can't be read", ...rest };
  },

  async read(client, certificateId, known = {}) {
    const found = toState(await readPaged(tlsCertificates, client, certificateId));
    // Of an object that is adopted, nobody knows what was sent.
    return "uri" in known ? withSent(found, known) : found;
  },

  async update(client, certificateId, state, inputs) {
    const patch = changes(state, inputs);
    const wire =
      Object.keys(patch).length > 0
        ? await tlsCertificates.update(client, certificateId, patch)
        : await tlsCertificates.get(client, certificateId);
    return withSent(toState(wire), state);
  },

  delete: (client, certificateId) => tlsCertificates.delete(client, certificateId),
  list: tlsCertificates.list,
  pages: tlsCertificates.pages,
  contentOf(given: Partial<TLSCertificateInputs & TLSCertificateWire>) {
    const leaf = leafOf(given.certificatePem ?? given.certificate_pem);
    return leaf && [leaf, ...texts.map((name) => given[name] || "")];
  },
  isLike: (wire, inputs) => {
    const other = wire as TLSCertificateWire;
    const state = withSent(toState(other), inputs);
    return isDeployed(state, inputs) && Object.keys(changes(state, inputs)).length === 0;
  },
};

/** Parses a known value. A PemError becomes a problem. */
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
  chain: X509Certificate[],
  key: KeyObject | undefined,
  missing: boolean,
): Problem[] {
  const problems: Problem[] = [];
  const leaf = chain[0] as X509Certificate;
  if (keyType(leaf) === undefined) {
    problems.push({
      path: "certificatePem",
      reason: "the leaf's key must be rsa, ecdsa or ed25519",
    });
  }
  if (missing) {
    problems.push({ path: "privateKeyPem", reason: "is missing: a new certificate needs its key" });
  }
  if (key && !isConsistent(key)) {
    const reason = "is damaged: its parts do not fit each other. Copy the whole file again";
    problems.push({ path: "privateKeyPem", reason });
  } else if (key && !leaf.checkPrivateKey(key)) {
    const owner = chain.findIndex((certificate) => certificate.checkPrivateKey(key)) + 1;
    const others =
      leaf.ca && !leaf.checkIssued(leaf)
        ? "The first certificate is an authority's: give the whole chain, leaf first (fullchain.pem of certbot, " +
          "not chain.pem)"
        : "Give the key that the certificate was requested with, or the certificate of this key";
    const advice = owner
      ? `It is the key of certificate ${owner}: the leaf comes first, and its key is needed`
      : others;
    const what = "is not the key of the leaf certificate";
    problems.push({
      path: "privateKeyPem",
      reason: `${what}. ${advice}`,
      quoting: { property: "certificatePem", reason: `${what}, ${described(leaf)}. ${advice}` },
    });
  }
  return problems;
}

/** What a certificate is for, to tell it from others. */
function described(certificate: X509Certificate): string {
  const leaf = describeChain([certificate]);
  return `which is for ${listed(namesOf(leaf))} (serial ${leaf.serialNumber})`;
}

/** The names that a certificate is for: its common name only when it has no others. */
function namesOf({
  subjectAlternativeNames,
  subjectCommonName,
}: Pick<ChainState, "subjectAlternativeNames" | "subjectCommonName">): string[] {
  const names = [...subjectAlternativeNames.dnsNames, ...subjectAlternativeNames.ips];
  return names.length > 0 ? names : [subjectCommonName];
}

/** A short description of a chain, shown in place of its PEM. */
function summary(chain: X509Certificate[]): string {
  const leaf = describeChain(chain);
  return `${labelOf(leaf)}, until ${leaf.notAfter}, chain fingerprint ${leaf.chainFingerprint}`;
}

/** The name of a certificate. Many certificates have names only in the SANs. */
function labelOf({ subjectCommonName, subjectAlternativeNames, serialNumber }: ChainState): string {
  const { dnsNames, ips } = subjectAlternativeNames;
  return subjectCommonName || dnsNames[0] || ips[0] || serialNumber;
}

const dayOf = ({ notAfter }: ChainState) => notAfter.slice(0, 10);

/** Which names a certificate gains and loses. */
function renamed(before: ChainState, after: ChainState): string {
  const [had, has] = [before, after].map((leaf) =>
    namesOf(leaf).map((name) => name.toLowerCase()),
  ) as [string[], string[]];
  const [old, wanted] = [new Set(had), new Set(has)];
  const added = has.filter((name) => !old.has(name));
  const removed = had.filter((name) => !wanted.has(name));
  const changes = [
    ...(added.length > 0 ? [`added: ${listed(added)}`] : []),
    ...(removed.length > 0 ? [`removed: ${listed(removed)}`] : []),
  ];
  return changes.length > 0 ? `names ${changes.join(", ")}` : "same names";
}

/** The message about a leaf that has expired or expires soon; undefined for another leaf. */
export function expiryOf(
  notAfter: string,
  renewBeforeDays: number | undefined,
  now: Date,
): string | undefined {
  const days = (Date.parse(notAfter) - now.getTime()) / 86_400_000;
  if (days <= 0) return `the leaf certificate expired on ${notAfter}: renew it`;
  if (renewBeforeDays === undefined || days >= renewBeforeDays) return undefined;
  const left = days < 2 ? `${Math.floor(days * 24)} hours` : `${Math.floor(days)} days`;
  return (
    `the leaf certificate expires on ${notAfter}, in ${left} (renewBeforeDays: ` +
    `${renewBeforeDays}): renew it, and the next \`pulumi up\` uploads the new chain`
  );
}

/** What a plan warns of in a chain. */
export function warningsOf(
  chain: X509Certificate[],
  renewBeforeDays: unknown,
  now: Date,
): string[] {
  const days = typeof renewBeforeDays === "number" ? renewBeforeDays : undefined;
  const expiry = expiryOf(endOf(chain), days, now);
  return [...(expiry ? [expiry] : []), ...doubtsOf(chain, now)];
}

/** The texts that an update sends. */
function changes(state: Properties, inputs: Properties): TLSCertificateUpdate {
  const wanted = texts.map((property) => [property, inputs[property] ?? ""] as const);
  const changed = wanted.filter(
    ([property, text]) => !lifecycle.same(property, text, state[property]),
  );
  return Object.fromEntries(changed);
}

/** The fingerprint of a chain; undefined when the chain is unknown or can't be parsed. */
function chainOf(certificatePem: unknown): string | undefined {
  const chain = parsedChain(certificatePem);
  return chain && chainFingerprint(chain);
}

/** The fingerprint of the leaf; undefined when the chain is unknown or can't be parsed. */
function leafOf(certificatePem: unknown): string | undefined {
  return parsedChain(certificatePem)?.[0]?.fingerprint256;
}

/** A known chain; undefined when it can't be parsed. */
export function parsedChain(certificatePem: unknown): X509Certificate[] | undefined {
  if (typeof certificatePem !== "string" || certificatePem === unknownValue) return undefined;
  try {
    return parseChain(certificatePem);
  } catch (error) {
    if (error instanceof PemError) return undefined;
    throw error;
  }
}

/** Whether the service has the chain of the inputs, or another with its leaf that was made from it. */
function isDeployed(state: Properties, { certificatePem }: Properties): boolean {
  const sent = state[sentKey];
  return (
    lifecycle.same("certificatePem", state.certificatePem, certificatePem) ||
    (sent !== undefined && sent === chainOf(certificatePem))
  );
}

/**
 * The state of what was found, with the fingerprint of the chain that was sent if the service has
 * another one with the same leaf.
 *
 * @param known The inputs that were sent, or the state before.
 */
function withSent(found: TLSCertificateState & Properties, known: Properties): Properties {
  if (known.certificatePem === found.certificatePem && !(sentKey in known)) return found;
  const before = parsedChain(known.certificatePem);
  const sent = known[sentKey] ?? (before && chainFingerprint(before));
  const isSame = leafOf(known.certificatePem) === leafOf(found.certificatePem);
  return isSame && sent !== found.chainFingerprint ? { ...found, [sentKey]: sent } : found;
}

function differentChain(state: Properties, inputs: Properties): Difference[] {
  // A chain that is unknown, or that the check has refused, has no difference.
  const chain = parsedChain(inputs.certificatePem);
  if (!chain || isDeployed(state, inputs)) return [];
  const found = summary(parseChain(state.certificatePem as string));
  return [{ property: "certificatePem", wanted: summary(chain), found }];
}

/**
 * Converts the service's answer to a state, with the chain in canonical form. Properties of the
 * leaf are read from the chain, as in plans.
 *
 * @throws Error when the chain can't be parsed.
 */
export function toState(wire: TLSCertificateWire): TLSCertificateState & Properties {
  const chain = chainIn(wire);
  return { ...unparsedState(wire), ...describeChain(chain), certificatePem: formatChain(chain) };
}

/** The properties that are not read from the chain. */
export function unparsedState(wire: TLSCertificateWire) {
  return {
    uri: wire.uri,
    createdAt: wire.created_at,
    description: wire.description || null,
    metadata: wire.metadata || null,
    issuedAt: wire.issued_at || null,
    keyUsages: wire.key_usages ?? [],
    extendedKeyUsages: wire.extended_key_usages ?? [],
  };
}

function chainIn(wire: TLSCertificateWire): X509Certificate[] {
  try {
    return parseChain(wire.certificate_pem);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    throw new Error(`certificate_pem of the TLS certificate ${wire.id} ${error.message}`);
  }
}
