import type { Client } from "../client/client";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import type { TunnelWire } from "../client/tunnel";
import type * as provider from "../provider/kind";
import { objectIn } from "../provider/lookup";
import type { Properties } from "../provider/properties";
import { cell, type Line } from "./table";

/** Objects as the service lists them, by the key of their kind. A missing list is empty. */
export interface Lists {
  edges?: TLSEdgeWire[];
  certificates?: TLSCertificateWire[];
  tunnels?: TunnelWire[];
}

/** A kind of object that an account holds. */
export interface Kind<Key extends keyof Lists = keyof Lists> {
  key: Key;
  /** One object: `edge`. */
  noun: string;
  /** The heading of the objects in a report, in lower case: `tunnels online`. */
  heading: string;
  /** All objects of the account, newest first. */
  list(client: Client): AsyncIterable<unknown>;
}

/** A kind of object that a program can adopt. */
export interface AdoptableKind extends Kind<"edges" | "certificates"> {
  /** The resource that it is in a program. */
  resource: provider.Kind;
  candidate(wire: Wire): Candidate;
}

/** What `adopt` reads of an object of any kind. */
export interface Wire {
  id: string;
  description?: string | null;
  metadata?: string | null;
  created_at?: string;
}

/** An object, and how a program would adopt it. */
export interface Candidate {
  /** The names that people know it by, the best name first. */
  names: string[];
  /** The name of its resource, before unsafe characters are replaced. */
  name: string;
  /** The arguments, without `connection`. */
  args: Properties;
  /** The state that an adoption with these arguments finds. */
  state: Properties;
  /** Why it can't be adopted, if the provider's check does not find that. */
  reason?: string;
}

/** What an edge and a certificate have in common in `status --json`. */
export interface ObjectStatus {
  id: string;
  description: string | null;
  createdAt: string | null;
  metadata: string | null;
  /** `environment` in metadata that is JSON, as `TLSSite` writes it. */
  environment: string | null;
  /** `owner` in metadata that is JSON. */
  owner: string | null;
}

/** What an answer says. Twins have equal contents; undefined if a twin is impossible. */
export interface Reading<Status> {
  status: Status;
  content?: object;
}

export function objectStatus({ id, description, metadata, created_at }: Wire): ObjectStatus {
  const found = objectIn(metadata ?? "");
  const textOf = (name: string) => {
    const value = found.get(name);
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    id,
    description: description || null,
    createdAt: created_at ?? null,
    metadata: metadata || null,
    environment: textOf("environment"),
    owner: textOf("owner"),
  };
}

/** What an object is for, and whose it is. */
export function aboutLines({ description, environment, owner }: ObjectStatus): Line[] {
  const people = Object.entries({ environment, owner }).filter(([, text]) => text);
  const texts = [description ?? "", people.map(([name, text]) => `${name}: ${text}`).join(", ")];
  return texts.flatMap((text) => (text ? cell(text, "dim") : []));
}
