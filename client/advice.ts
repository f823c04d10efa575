import type { Account } from "./account";
import { type Attempted, ConnectionError, ServiceError } from "./errors";
import {
  type Answer,
  askedMs,
  handshakeFailure,
  type NoAnswer,
  type Outcome,
  wantsCertificate,
} from "./outcome";

/** What an error message needs besides the outcome and the tries. */
interface Context {
  account: Account;
  /** Whether the path names one object: then 404 means that the object is gone. */
  isItem: boolean;
  /** Whether no text of the service is shown, because an argument of the resource is a secret. */
  hidesTexts: boolean;
}

const hiddenReason =
  "the service's reason is not shown, because an argument of this resource is secret";

/** The error for an outcome that is not a success. */
export function errorOf(
  outcome: Outcome,
  tries: Attempted,
  context: Context,
): ServiceError | ConnectionError {
  const { account } = context;
  if (outcome.status === undefined) {
    // The message may quote the server, such as the names in its certificate.
    const message = account.shown(outcome.message) || outcome.code;
    const reason = whyNoAnswer({ ...outcome, message }, account);
    return new ConnectionError(reason, { ...tries, code: outcome.code });
  }
  const { status, json, text } = outcome;
  const body = json as Record<string, unknown> | null | undefined;
  const details = body?.details as { operation_id?: unknown } | null | undefined;
  const ifText = (value: unknown) => (typeof value === "string" ? account.shown(value) : undefined);
  const ids = { code: ifText(body?.error_code), operationId: ifText(details?.operation_id) };
  const reason = ifText(text === undefined ? reasonIn(json) : reasonInText(text)) ?? "";
  return new ServiceError(
    reason && context.hidesTexts ? hiddenReason : reason,
    { ...tries, status, ...ids, isOther: text !== undefined },
    advise(outcome, context),
  );
}

/** Where services have the reason of a refusal: api.md §7 leaves its form open. */
const reasonNames = ["msg", "message", "detail", "title", "error", "error_description", "errors"];

/** The reason in an answer: a text, the first of a list, or the best of the fields that may have one, at any depth. */
function reasonIn(json: unknown): string | undefined {
  if (typeof json === "string") return json.trim() || undefined;
  if (Array.isArray(json)) return reasonIn(json[0]);
  if (typeof json !== "object" || json === null) return undefined;
  const fields = json as Record<string, unknown>;
  return reasonNames.map((name) => reasonIn(fields[name])).find((reason) => reason !== undefined);
}

/** The title of a page, or the beginning of another text. */
function reasonInText(text: string): string {
  const title = /<title[^>]*>([^<]+)/i.exec(text)?.[1];
  return (title ?? text).replace(/\s+/g, " ").trim().slice(0, 200);
}

/** Why a request got no answer, and what to do. */
function whyNoAnswer(failure: NoAnswer, account: Account): string {
  const { code, message, wasSent, alert } = failure;
  const { nameOf, transport } = account;
  const proxy = transport.proxy?.variable;
  if (code === "ETIMEDOUT" && wasSent) {
    const setting = nameOf("timeoutSeconds");
    return `no answer in time (ETIMEDOUT): ${setting} sets the deadline of an operation`;
  }
  const server = failure.isOfProxy ? `the proxy in ${proxy}` : transport.base.host;
  if (alert === handshakeFailure || wantsCertificate(alert)) {
    const orElse = alert === handshakeFailure ? ", or TLS that Node.js does not speak" : "";
    const where = failure.isOfProxy ? proxy : nameOf("baseUrl");
    return (
      `${server} wants a certificate of the client${orElse} (TLS alert ${alert}). There is no setting for a client's ` +
      `certificate: set ${where} to an address that wants none`
    );
  }
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return whyUntrusted(failure, account);
  if (wasSent || code === "EPROXY") return message;
  // Node.js's messages for these two don't help: that of EPROTO names places in the source of OpenSSL.
  const noTls = `${server} does not speak TLS, or none that Node.js accepts (${code})`;
  const reasons: Record<string, string> = { ETIMEDOUT: "no connection in time", EPROTO: noTls };
  const reason = reasons[code] ?? message;
  const network = proxy
    ? `, the network and the proxy in ${proxy} (http:// or https://)`
    : " and the network";
  return `${reason}. Check the base URL in ${nameOf("baseUrl")}${network}`;
}

/** Why the certificate of the service, or of the proxy, is not trusted, and what to do. */
function whyUntrusted({ code, message, isOfProxy }: NoAnswer, account: Account): string {
  const { nameOf, options, transport } = account;
  // Node.js may advise `--use-system-ca`, which has no effect here.
  const what = message.replace(/; if the root CA .*--use-system-ca$/, "");
  const whose = isOfProxy
    ? `the certificate of the proxy in ${transport.proxy?.variable}`
    : "the service's certificate";
  const reason = `${whose} is not trusted (${code}: ${what})`;
  const isSignerUnknown = /SIGN|ISSUER/.test(code);
  // Else it has expired, or has other names: another authority does not help.
  if (!isSignerUnknown) return reason;
  const setting = nameOf("caFile");
  if (options.caFile !== undefined) {
    return `${reason}. No certificate in the file that ${setting} names has signed it`;
  }
  // The file replaces the authorities of Node.js: behind a proxy, it must also have the service's.
  const file = isOfProxy ? "a PEM file with it and the service's" : "that authority's PEM file";
  return `${reason}. If a private authority signed it, give ${file} in ${setting}`;
}

/** What to do about an error status; empty when the service's own message is enough. */
function advise(answer: Answer, { account, isItem }: Context): string {
  const { status, text } = answer;
  const { nameOf, transport, clockSkewMs } = account;
  // Only an answer that is not JSON has the text.
  if (text !== undefined && status >= 400 && status < 500 && status !== 429) {
    const what = /^\s*</.test(text) ? "answered (HTML" : "may have answered (no JSON";
    return (
      `Something else than the service ${what}, ${status}): check the base URL in ${nameOf("baseUrl")}, the proxy and ` +
      "the firewall"
    );
  }
  if (status === 401 || status === 403) {
    return `Check the API key in ${nameOf("apiKey")} (the service is ${transport.base.host})`;
  }
  if (status === 404 && !isItem) return `Check the base URL in ${nameOf("baseUrl")} and its path`;
  if (status === 429) {
    const [limit, deadline] = [nameOf("requestsPerMinute"), nameOf("timeoutSeconds")];
    const ms = askedMs(answer, clockSkewMs);
    const asked = ms ? `, and the service asks to wait ${Math.ceil(ms / 1000)} s` : "";
    return (
      `The account's limit of requests is used up${asked}: other programs use it, too. Try again later, raise the ` +
      `deadline (${deadline}), or lower ${limit} in each of them`
    );
  }
  if (status >= 500) return "The service, or a proxy before it, failed: try again later";
  if (status >= 300 && status < 400) {
    return (
      "Redirects are not followed, because they could send the API key to another server: set " +
      `the base URL in ${nameOf("baseUrl")} to the final address`
    );
  }
  return "";
}
