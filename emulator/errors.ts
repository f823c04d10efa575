import type { Context } from "hono";
import { newId } from "./wire";

/** Why a request is refused: the HTTP status, and a code that only this reason has. */
export interface Reason {
  status: 400 | 401 | 404 | 405 | 413 | 415 | 500;
  code: string;
}

/** Every reason to refuse a request. Branch on `code`, never on the message. */
export const reasons = {
  keyRefused: { status: 401, code: "ERR_TLSE_101" },
  versionRefused: { status: 400, code: "ERR_TLSE_102" },
  unknownPath: { status: 404, code: "ERR_TLSE_104" },
  wrongMethod: { status: 405, code: "ERR_TLSE_105" },
  notFound: { status: 404, code: "ERR_TLSE_106" },
  contentType: { status: 415, code: "ERR_TLSE_110" },
  bodyTooLarge: { status: 413, code: "ERR_TLSE_111" },
  bodyNotJSON: { status: 400, code: "ERR_TLSE_112" },
  unknownField: { status: 400, code: "ERR_TLSE_113" },
  fieldInvalid: { status: 400, code: "ERR_TLSE_114" },
  fieldTooLong: { status: 400, code: "ERR_TLSE_115" },
  unknownParameter: { status: 400, code: "ERR_TLSE_120" },
  limitInvalid: { status: 400, code: "ERR_TLSE_121" },
  beforeIdUnknown: { status: 400, code: "ERR_TLSE_122" },
  hostportMalformed: { status: 400, code: "ERR_TLSE_216" },
  hostportRepeated: { status: 400, code: "ERR_TLSE_217" },
  hostportTaken: { status: 400, code: "ERR_TLSE_218" },
  minVersionUpstream: { status: 400, code: "ERR_TLSE_221" },
  mutualTLSUpstream: { status: 400, code: "ERR_TLSE_222" },
  certificateMissing: { status: 400, code: "ERR_TLSE_301" },
  certificateUnparsable: { status: 400, code: "ERR_TLSE_302" },
  keyMissing: { status: 400, code: "ERR_TLSE_303" },
  keyUnparsable: { status: 400, code: "ERR_TLSE_304" },
  keyEncrypted: { status: 400, code: "ERR_TLSE_305" },
  keyTypeUnsupported: { status: 400, code: "ERR_TLSE_306" },
  keyMismatch: { status: 400, code: "ERR_TLSE_307" },
  chainOutOfOrder: { status: 400, code: "ERR_TLSE_308" },
  internal: { status: 500, code: "ERR_TLSE_500" },
} as const satisfies Record<string, Reason>;

/**
 * The refusal of a request. The caller gets the message, so the message never contains a key or a
 * value that may be a key.
 */
export class Refusal extends Error {
  constructor(
    readonly reason: Reason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "Refusal";
  }
}

/** The answer to a failed request. Similar services have the same fields in its body. */
export function answerError(error: Error, c: Context): Response {
  const { status, code } = error instanceof Refusal ? error.reason : reasons.internal;
  const details = { operation_id: newId("op") };
  return c.json({ error_code: code, status_code: status, msg: error.message, details }, status);
}
