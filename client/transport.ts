import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import type { AxiosInstance } from "axios";
import type { ClientOptions } from "./options";
import { type Answer, alertIn, type Outcome, wantsCertificate } from "./outcome";
import { proxyFor } from "./proxy";
import { cutterOfPrivateKeys, formsOf, mapTexts, withoutSecrets } from "./redact";

/** Loaded with the first request: many plans, and programs without lookups, make none. */
const axios = () => require("axios") as typeof import("axios");

/** How long a connection is kept for the next request. */
const maxIdleMs = 1000;
/** How much of an answer is read, after decompression. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** How much is kept of an answer that is not JSON. */
const maxTextLength = 8000;

/** One request. Each retry sends it unchanged. */
export interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path below the base URL. */
  path: string;
  body?: object;
  /** Whether the path names one object: then 404 means that the object is gone. */
  isItem: boolean;
}

/** The way to the service: HTTPS with the API key, perhaps through a proxy. */
export class Transport {
  readonly #options: ClientOptions;
  readonly base: URL;
  readonly proxy: ReturnType<typeof proxyFor>;
  /** How a text may hold the API key. */
  readonly keyForms: string[];
  #http: AxiosInstance | undefined;

  /** @throws TypeError when the base URL is not `https:`, or the URL of the proxy is malformed. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.base = new URL(options.baseUrl);
    if (this.base.protocol !== "https:") {
      throw new TypeError(
        "the base URL must start with https://, because the API key is sent to it",
      );
    }
    this.proxy = proxyFor(this.base);
    this.keyForms = formsOf(options.apiKey);
  }

  /** Sends a request once and waits for the answer, without keys in it, until the signal is aborted. */
  async send({ method, path, body }: Request, signal: AbortSignal): Promise<Outcome> {
    this.#http ??= this.#connect();
    const { options: agentOptions } = this.#http.defaults.httpsAgent;
    try {
      const { status, headers, data, request } = await this.#http.request<string>({
        method,
        url: path,
        data: body,
        ...(body && { headers: { "Content-Type": "application/json" } }),
        signal,
        // Of a proxy that does not answer, axios keeps the connection, and so the process, for ever.
        ...(this.proxy && { httpsAgent: new Agent({ ...agentOptions, signal }) }),
      });
      // The service answers through TLS. A proxy that does not connect to it has passed nothing on.
      if (request?.socket && !request.socket.encrypted) return this.#refusedByProxy(status);
      return { status, headers, ...this.#parsed(data, body) };
    } catch (error) {
      if (!axios().isAxiosError(error)) throw error;
      const { code = "EUNKNOWN", message } = error;
      const alert = alertIn(message);
      // Node.js sends no part of a request before the TLS handshake has authorized the server.
      const wasSent = error.request?.socket?.authorized === true && !wantsCertificate(alert);
      if (message.startsWith("maxContentLength")) {
        return { code: "EBADANSWER", message: "the answer has more than 32 MiB", wasSent };
      }
      const isOfProxy = this.proxy !== undefined && !error.request?.socket;
      return { code: codes[code] ?? code, message, wasSent, alert, isOfProxy };
    }
  }

  #connect(): AxiosInstance {
    const { baseUrl, apiKey, apiVersion = "2", versionHeader, caFile } = this.#options;
    return axios().create({
      adapter: "http",
      baseURL: baseUrl.replace(/\/+$/, ""),
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${apiKey}`,
        [versionHeader ?? "Service-Version"]: apiVersion,
      },
      httpsAgent: new Agent({
        keepAlive: true,
        // A balancer may close an idle connection just when a POST is sent on it, and the answer would be
        // lost. A request in flight has other timeouts: axios turns this one off. Through a proxy, no
        // connection is kept, and this would limit the time to connect.
        ...(!this.proxy && { timeout: maxIdleMs }),
        maxSockets: 16,
        // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
        rejectUnauthorized: true,
        ...(caFile && { ca: readFileSync(caFile) }),
      }),
      proxy: this.proxy ?? false,
      maxRedirects: 0,
      maxContentLength: maxAnswerBytes,
      validateStatus: () => true,
      responseType: "text",
      transformResponse: (body: unknown) => body,
    });
  }

  #refusedByProxy(status: number): Outcome {
    // Such a status may pass.
    const code = [429, 502, 503, 504].includes(status) ? "ECONNRESET" : "EPROXY";
    const message = `the proxy in ${this.proxy?.variable} refuses the connection with status ${status}`;
    return { code, message, wasSent: false };
  }

  /** The answer to a request with this body, without keys: a service may quote one. */
  #parsed(text: string, body?: object): Pick<Answer, "json" | "text"> {
    if (text.trim() === "") return { json: null };
    const withoutPrivateKeys = cutterOfPrivateKeys(body);
    const withoutKeys = (one: string, field: string) =>
      withoutPrivateKeys(withoutSecrets(one, this.keyForms), field);
    try {
      // Not in the raw text: JSON can write a character in several ways.
      return { json: mapTexts(JSON.parse(text), withoutKeys) };
    } catch {
      return { json: undefined, text: withoutKeys(text, "").slice(0, maxTextLength) };
    }
  }
}

/** Node's codes for those of axios and of other resolvers. */
const codes: Record<string, string> = {
  ERR_CANCELED: "ETIMEDOUT",
  ETIMEOUT: "ETIMEDOUT",
  ERR_BAD_RESPONSE: "ECONNRESET",
};
