import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import * as v from "valibot";
import { adviceOnMissingBlock, adviceOnText } from "../kinds/pemAdvice";

/** The checks of the settings. No reason has the value, which may be an API key. */

const text = v.string();
const matching = (pattern: RegExp, reason: string) => v.pipe(text, v.regex(pattern, reason));
const wholeNumber = (least: number, most: number) => {
  const reason = `must be a whole number from ${least} to ${most}`;
  const number = v.transform(Number);
  return v.pipe(
    matching(/^\d+$/, reason),
    number,
    v.minValue(least, reason),
    v.maxValue(most, reason),
  );
};
const yesOrNo = v.pipe(
  matching(/^(1|0|true|false)$/, "must be true or false"),
  v.transform((value) => value === "1" || value === "true"),
);

const baseUrl = v.pipe(
  text,
  v.check((value) => !isNotHttps(value), "must start with https://"),
  v.check((value) => !!urlOf(value)?.host, "is not a URL such as https://api.example.com"),
  v.check((value) => {
    const { username, password, search, hash } = new URL(value);
    return !(username || password || search || hash);
  }, "must have only https://, a host and a path"),
  v.transform((value) => new URL(value).href.replace(/\/+$/, "")),
);

const urlOf = (value: string) => (URL.canParse(value) ? new URL(value) : undefined);

/** Whether a text is a URL of another scheme, or a host alone. */
function isNotHttps(value: string): boolean {
  const url = urlOf(value);
  if (url?.host) return url.protocol !== "https:";
  return /^(?!https:)[a-z0-9-]+[.:][a-z0-9/.:-]+$/i.test(value);
}

const apiKey = v.pipe(
  text,
  v.check(
    (value) => !/^(["'\u2018\u201c]).*["'\u2019\u201d]$/s.test(value),
    "has quotation marks around it, which are no part of the key",
  ),
  v.check((value) => !/^bearer\s/i.test(value), "begins with Bearer, which is no part of the key"),
  v.regex(/^[\x21-\x7e]+$/, "has a space, a line break or a character that a key can't have"),
);

const caFile = v.pipe(
  text,
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed && problemOfCaFile(dataset.value);
    if (message) addIssue({ message });
  }),
);

function problemOfCaFile(path: string): string | undefined {
  if (path.includes("-----BEGIN ")) return "is PEM text, but must be the path of a file";
  let pem: string;
  try {
    // A device or a pipe may never end.
    if (!statSync(path).isFile()) return "is no regular file";
    pem = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const from = isAbsolute(path) ? "" : ` from ${process.cwd()}`;
    return `can't be read (${code})${from}`;
  }
  const start = pem.indexOf("-----BEGIN CERTIFICATE-----");
  if (start < 0) return adviceOnMissingBlock(pem, "certificate");
  try {
    new X509Certificate(pem.slice(start));
    return undefined;
  } catch {
    return adviceOnText(pem, "holds a certificate that can't be parsed: copy the whole file again");
  }
}

/** The check of each setting. A reason goes on from the name of the setting, or from "it". */
export const checks = {
  baseUrl,
  apiKey,
  apiVersion: matching(/^\d+$/, "must be a whole number, such as 2"),
  versionHeader: matching(
    /^(?!(?:accept|accept-.*|authorization|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$)[\w-]+$/i,
    "must be the name of a header, such as Service-Version, and none that HTTP itself has",
  ),
  caFile,
  timeoutSeconds: wholeNumber(1, 86_400),
  maxRetries: wholeNumber(0, 1000),
  requestsPerMinute: wholeNumber(0, 1_000_000),
  sameAccount: yesOrNo,
  offlinePlan: yesOrNo,
};

export type Key = keyof typeof checks;

export const keys = Object.keys(checks) as Key[];

/** The values that may be shown. An API key, put there by mistake, is long and no words, no URL and no file's path. */
const harmless: Partial<Record<Key, RegExp>> = {
  apiKey: /(?!)/,
  baseUrl: /^[a-z]+:\/|^(…@)?[a-z0-9.-]+[.:][a-z0-9/.-]+…?$/,
  caFile: /^[^\n]{1,255}\.(pem|crt|cer|ca)$/i,
};

/** A value for messages, without parts that may be secret; undefined for one that is not shown. */
export function shown(key: Key, value: string): string | undefined {
  const bare = value.replace(/^([a-z]+:\/\/)?.*@/is, "$1…@").replace(/[?#].*/s, "…");
  const text = key === "baseUrl" ? bare : value;
  return (harmless[key] ?? /^([\x20-\x7e]{1,7}|[A-Za-z -]{1,20})$/).test(text) ? text : undefined;
}
