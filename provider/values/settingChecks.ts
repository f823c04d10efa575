import { X509Certificate } from "node:crypto";
import * as v from "valibot";
import { quoted, unset } from "../../client/mistakes";
import { readTextFile } from "./textFile";

/** The checks of the settings. No reason has the value, which may be an API key. */

const text = v.string();
const without = (pattern: RegExp, reason: string) =>
  v.check<string, string>((value) => !pattern.test(value), reason);
const withoutMarks = (what: string) =>
  without(quoted, `has quotation marks around it, which are no part of the ${what}`);
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
  withoutMarks("URL"),
  without(...unset),
  v.check(isBase, "must be https://, a host and perhaps a path, such as https://api.example.com"),
  v.transform((value) => new URL(value).href.replace(/\/+$/, "")),
);

function isBase(value: string): boolean {
  if (!/^https:/i.test(value) || !URL.canParse(value)) return false;
  const { host, username, password, search, hash } = new URL(value);
  return host !== "" && !(username || password || search || hash);
}

const apiKey = v.pipe(
  text,
  withoutMarks("key"),
  without(...unset),
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
  let pem: string;
  try {
    pem = readTextFile(path);
  } catch (error) {
    return `must be the path of a PEM file, and ${(error as Error).message}`;
  }
  try {
    new X509Certificate(pem.slice(pem.indexOf("-----BEGIN CERTIFICATE-----")));
    return undefined;
  } catch {
    return "holds no certificate in PEM (-----BEGIN CERTIFICATE-----) that can be parsed";
  }
}

/** The check of each setting. A reason goes on from the name of the setting, or from "it". */
export const checks = {
  baseUrl,
  apiKey,
  apiVersion: matching(/^\d+$/, "must be a whole number, such as 2"),
  versionHeader: matching(/^[\w-]+$/, "must be the name of a header, such as Service-Version"),
  caFile,
  timeoutSeconds: wholeNumber(1, 86_400),
  maxRetries: wholeNumber(0, 1000),
  requestsPerMinute: wholeNumber(0, 1_000_000),
  sameAccount: yesOrNo,
  offlinePlan: yesOrNo,
};

export type Key = keyof typeof checks;

export const keys = Object.keys(checks) as Key[];
