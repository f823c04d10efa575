import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import type { FieldsOf } from "../../client/answer";
import type { Endpoints } from "../../client/endpoints";
import { text } from "../../client/inputs";
import {
  bodyOf,
  type InputsOf,
  inputsOf,
  type StateOf,
  stateNamesOf,
  stateOf,
  wantedOf,
} from "../../client/table";
import { fields, type TLSCertificateWire, tlsCertificates } from "../../client/tlsCertificate";
import { Chain, type ChainState, chainBytes, chainNames, fingerprintIn } from "../values/chain";
import { type LeafNames, namesOf } from "../values/names";
import { PemError } from "../values/pem";
import { PrivateKey } from "../values/privateKey";
import { defined, isSameJson, type Properties, pick, unknownValue } from "../values/properties";
import { type Kind, listed, type Problem } from "./kind";
import { outputInText } from "./shape";
import type { ServiceState } from "./state";

/** The inputs that no answer has. The last is not sent. */
const others = {
  /**
   * The leaf's private key in PEM: PKCS#8, PKCS#1 or SEC1, not encrypted. Always a secret. State
   * has it once, encrypted. The service never returns it. Required for a new certificate.
   */
  privateKeyPem: v.optional(text),
  /**
   * A plan warns when the leaf expires within this number of days, 1 to 3650. Default 21, or a third of its lifetime
   * where that is shorter. Not sent to the service.
   */
  renewBeforeDays: v.optional(
    v.pipe(
      v.number("must be a number, without quotes"),
      v.check(
        (days) => Number.isInteger(days) && days >= 1 && days <= 3650,
        "must be a whole number from 1 to 3650",
      ),
    ),
  ),
};

/** The inputs of a TLS certificate (api.md §4.2). */
export const schema = v.strictObject({ ...inputsOf(fields), ...others });

/** The inputs of a TLS certificate, all known. */
export interface TLSCertificateInputs extends InputsOf<typeof fields>, FieldsOf<typeof others> {}

/** What state holds of a TLS certificate; null is unset. */
export interface TLSCertificateState extends ServiceState, ChainState, StateOf<typeof fields> {}

/**
 * The state's fingerprint of the chain that was sent, where the service has another with the same leaf:
 * some leave out the root, or add it. A program that still has the chain that was sent has changed nothing.
 */
const sentKey = "__sentChainFingerprint";

/** TLS certificates. Only their description and metadata change in place. */
export const tlsCertificate: Kind<TLSCertificateWire> = {
  name: "TLSCertificate",
  title: "TLS certificate",
  endpoints: tlsCertificates as Endpoints<TLSCertificateWire, object>,
  schema,
  stateNames: { ...stateNamesOf(fields), ...chainNames },
  secrets: ["privateKeyPem"],

  check(news, olds, now) {
    const { certificatePem, privateKeyPem } = news;
    const problems: Problem[] = [];
    const report = (path: string, reason: string) => problems.push({ path, reason });
    // A deployed chain and key were checked before: skip the slow check of signatures and key.
    const isChecked =
      privateKeyPem !== undefined &&
      olds?.certificatePem === certificatePem &&
      olds?.privateKeyPem === privateKeyPem;
    const parse = isChecked ? Chain.parse : Chain.parseOrdered;
    const chain = attempt(certificatePem, parse, (reason) => report("certificatePem", reason));
    const key = isChecked
      ? undefined
      : attempt(privateKeyPem, PrivateKey.parse, (reason) => report("privateKeyPem", reason));
    if (!chain) return { inputs: news, problems };
    const { pem } = chain;
    const isNew = !tlsCertificate.same("certificatePem", olds?.certificatePem, pem);
    // After a refresh, the inputs of an existing certificate may have no key.
    if (isNew && privateKeyPem === undefined)
      report("privateKeyPem", "is missing: a new certificate needs its key");
    const isKeyNew = olds?.privateKeyPem !== privateKeyPem;
    const isOnlyOneNew = olds?.privateKeyPem !== undefined && isKeyNew !== isNew;
    if (key) problems.push(...problemsOfKey(chain, key, isOnlyOneNew));
    // An existing certificate may have expired: that is a warning.
    const isRefused = isNew && isDueWithin(0, chain.validity, now);
    if (isRefused) report("certificatePem", expiredText(chain.validity));
    // A key in another encoding that matches the same leaf is no change.
    const deployedKey = !isNew && key ? olds?.privateKeyPem : undefined;
    return {
      inputs: defined({
        ...news,
        certificatePem: pem,
        privateKeyPem: deployedKey ?? privateKeyPem,
      }),
      problems,
      warnings: isRefused ? [] : warningsOf(chain, news.renewBeforeDays, now),
    };
  },

  derived({ certificatePem }, olds = {}) {
    const isSame = tlsCertificate.same("certificatePem", olds.certificatePem, certificatePem);
    if (isSame && "chainFingerprint" in olds) return pick(olds, Object.keys(chainNames));
    return defined<Properties>({ ...parsedChain(certificatePem)?.toState() });
  },

  same(property, a, b) {
    if (property === "metadata" && isSameJson(a, b)) return true;
    if (property !== "certificatePem") return isDeepStrictEqual(a || null, b || null);
    if (a === b) return true;
    const [one, other] = [attempt(a, chainBytes), attempt(b, chainBytes)];
    return one !== undefined && other !== undefined && one.equals(other);
  },

  // An unknown chain counts as a changed one.
  replaces: (state, inputs) => (isDeployed(state, inputs) ? [] : ["certificatePem"]),

  wanted(state, inputs) {
    const { certificatePem, ...others } = wantedOf(fields, inputs);
    // A chain that is unknown, or that the check has refused, has no difference.
    const isKept = isDeployed(state, inputs) || !parsedChain(certificatePem);
    return { certificatePem: isKept ? undefined : certificatePem, ...others };
  },

  // Of a replaced chain the diff shows the PEM text first, and the dates and names far below.
  planWarning(state, inputs) {
    if (isDeployed(state, inputs)) return undefined;
    const [old, wanted] = [parsedChain(state.certificatePem), parsedChain(inputs.certificatePem)];
    if (!old || !wanted) return undefined;
    const [before, after] = [old.validity.notAfter, wanted.validity.notAfter];
    const days = [before.slice(0, 10), after.slice(0, 10)];
    const shown = days[0] === days[1] ? [before, after] : days;
    const text = `expires ${shown.join(" → ")}, ${renamed(old.names, wanted.names)}`;
    const isEarlier = Date.parse(after) < Date.parse(before);
    if (!isEarlier) return { severity: "info", text };
    return { severity: "warning", text: `${text}: the new certificate expires earlier` };
  },

  forPeople(property, value) {
    const chain = property === "certificatePem" ? parsedChain(value) : undefined;
    if (!chain) return value;
    const [name = chain.serialNumber] = namesOf(chain.names);
    return `${name}, until ${chain.validity.notAfter}, chain fingerprint ${chain.fingerprint}`;
  },

  toBody({ privateKeyPem, ...inputs }) {
    const key = privateKeyPem && PrivateKey.parse(privateKeyPem as string).toPkcs8();
    return defined({ ...bodyOf(fields, inputs), private_key_pem: key });
  },

  /** @throws Error when the chain can't be parsed. */
  toState(wire, known = {}) {
    const chain = chainIn(wire);
    const { pem } = chain;
    const found: TLSCertificateState = {
      ...stateOf(fields, wire),
      ...chain.toState(),
      certificatePem: pem,
    };
    const before = known.certificatePem === pem ? chain : parsedChain(known.certificatePem);
    const isSameLeaf = before?.leafFingerprint === chain.leafFingerprint;
    const sentFingerprint = known[sentKey] ?? before?.fingerprint;
    const isOtherThanSent = isSameLeaf && sentFingerprint !== chain.fingerprint;
    return { ...found, ...(isOtherThanSent && { [sentKey]: sentFingerprint }) };
  },

  contentKey(source: Partial<TLSCertificateInputs & TLSCertificateWire>) {
    const chain = parsedChain(source.certificatePem ?? source.certificate_pem);
    // The leaf alone: a service may leave out the root, or add it.
    return chain && [chain.leafFingerprint, source.description || "", source.metadata || ""];
  },
  names: (state) => namesOf(state as unknown as TLSCertificateState),
  importName: {
    filter: "fingerprint",
    of: ({ fingerprint }) => [fingerprint as string],
    parse: fingerprintIn,
  },
};

/** Parses a known text; undefined for another value, and for PEM that is invalid. The shape reports an output in it. */
function attempt<T>(
  value: unknown,
  parse: (text: string) => T,
  report: (reason: string) => unknown = () => {},
): T | undefined {
  if (typeof value !== "string" || value === unknownValue) return undefined;
  try {
    return parse(value);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    if (!outputInText(value)) report(error.message);
    return undefined;
  }
}

/** A known chain; undefined when it can't be parsed. */
export function parsedChain(certificatePem: unknown): Chain | undefined {
  return attempt(certificatePem, Chain.parse);
}

/** @param isOnlyOneNew Whether the chain or the key, but not both, differs from the last deployment. */
function problemsOfKey(chain: Chain, key: PrivateKey, isOnlyOneNew: boolean): Problem[] {
  if (!key.canSign()) {
    const reason = "is damaged: it can't sign. Copy the whole file again";
    return [{ path: "privateKeyPem", reason }];
  }
  if (key.belongsTo(chain)) return [];
  return [
    {
      path: "certificatePem",
      value: `${listed(namesOf(chain.names))} (serial ${chain.serialNumber})`,
      reason: `does not fit privateKeyPem, which is not the key of the leaf. ${isOnlyOneNew ? adviceToRenewBoth : adviceOnKey(chain)}`,
    },
  ];
}

const adviceToRenewBoth =
  "Only one of the two has changed: renew both. If the resource option `ignoreChanges` names one, name both";

/** What to do about a key that is not the leaf's. */
function adviceOnKey({ leaf }: Chain): string {
  return leaf.ca && !leaf.checkIssued(leaf)
    ? "The first certificate is an authority's: give the whole chain, leaf first (fullchain.pem of certbot, " +
        "not chain.pem)"
    : "Give the key that the certificate was requested with, or the certificate of this key";
}

/** Which names a certificate gains and loses. */
function renamed(before: LeafNames, after: LeafNames): string {
  const setOf = (leaf: LeafNames) => new Set(namesOf(leaf).map((name) => name.toLowerCase()));
  const [had, has] = [setOf(before), setOf(after)];
  const [added, removed] = [[...has.difference(had)], [...had.difference(has)]];
  const changes = Object.entries({ added, removed })
    .filter(([, names]) => names.length > 0)
    .map(([change, names]) => `${change}: ${listed(names)}`);
  return changes.length > 0 ? `names ${changes.join(", ")}` : "same names";
}

const dayMs = 86_400_000;

/** When a certificate is valid. The service may not say since when. */
interface Validity {
  notBefore: string | null;
  notAfter: string;
}

/**
 * A default number of days as that of one certificate: at most a third of its lifetime, so that one default does for
 * certificates of years and of days. A number that a person gives counts as it is.
 */
export function defaultDays(days: number, { notBefore, notAfter }: Validity): number {
  const third = (Date.parse(notAfter) - Date.parse(notBefore ?? "")) / 3 / dayMs;
  return third < days ? Math.max(0, third) : days;
}

/** Whether a certificate has fewer days left. */
export const isDueWithin = (days: number, { notAfter }: Pick<Validity, "notAfter">, now: Date) =>
  Date.parse(notAfter) - now.getTime() < days * dayMs;

const expiredText = ({ notAfter }: Validity) =>
  `the leaf certificate expired on ${notAfter}: renew it`;

/** The message about a leaf that has expired or expires soon; undefined for another leaf. */
export function expiryOf(
  validity: Validity,
  renewBeforeDays: number | undefined,
  now: Date,
): string | undefined {
  const { notAfter } = validity;
  const days = (Date.parse(notAfter) - now.getTime()) / dayMs;
  if (days <= 0) return expiredText(validity);
  if (!isDueWithin(renewBeforeDays ?? defaultDays(21, validity), validity, now)) return undefined;
  const left = days < 2 ? `${Math.floor(days * 24)} hours` : `${Math.floor(days)} days`;
  const within = renewBeforeDays ?? "21, or a third of its lifetime, by default";
  return (
    `the leaf certificate expires on ${notAfter}, in ${left} (renewBeforeDays: ${within}): renew it, and the next ` +
    "`pulumi up` uploads the new chain"
  );
}

/** What a plan warns of in a chain. */
export function warningsOf(chain: Chain, renewBeforeDays: unknown, now: Date): string[] {
  const isUnset = renewBeforeDays === undefined || renewBeforeDays === null;
  // NaN for a number that is not known yet: nothing is due by it.
  const days = isUnset ? undefined : Number(renewBeforeDays);
  const expiry = expiryOf(chain.validity, days, now);
  return [...(expiry ? [expiry] : []), ...chain.warnings(now)];
}

/** Whether the service has the chain of the inputs, or another with its leaf that was made from it. */
function isDeployed(state: Properties, { certificatePem }: Properties): boolean {
  const sent = state[sentKey];
  return (
    tlsCertificate.same("certificatePem", state.certificatePem, certificatePem) ||
    (sent !== undefined && sent === parsedChain(certificatePem)?.fingerprint)
  );
}

function chainIn(wire: TLSCertificateWire): Chain {
  try {
    return Chain.parse(wire.certificate_pem);
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    throw new Error(`certificate_pem of the TLS certificate ${wire.id} ${error.message}`);
  }
}
