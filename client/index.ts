/**
 * The HTTP client of one account, for programs without Pulumi. It sends the requests of the
 * endpoints in `pulumi-tlsedge/client/tlsEdge`, `pulumi-tlsedge/client/tlsCertificate` and
 * `pulumi-tlsedge/client/tunnel`.
 *
 * @module pulumi-tlsedge/client
 */

export type { AnswerSchema, FieldsOf, Ref, Unset } from "./answer";
export { Client } from "./client";
export type { Endpoints, Page } from "./endpoints";
export type { ServiceObject } from "./fields";
export type { ClientOptions, NameOf, SettingKey } from "./options";
