import type { Client } from "../client/client";
import type { Lifecycle, Properties } from "../provider/lifecycle";
import type { SubjectAlternativeNames } from "../provider/values/pem";
import type { Line, Row } from "./table";

/** An object as the service lists it: the fields that the commands use of every kind. */
export interface Wire {
  id: string;
  description?: string | null;
  metadata?: string | null;
  created_at?: string;
}

/** An object as `status --json` prints it: the fields that the report uses of every kind. */
export interface ObjectStatus {
  id: string;
  /** For people. */
  description?: string | null;
  /** When it was made. */
  createdAt?: string | null;
  /** For machines. */
  metadata?: string | null;
  /** `environment` in metadata that is JSON. */
  environment?: string | null;
  /** `owner` in metadata that is JSON. */
  owner?: string | null;
  /** The hostports for which no certificate of the account is valid now. */
  uncoveredHostports?: string[];
  /** Whole days until it expires, rounded down; null when the date is not known. */
  daysLeft?: number | null;
  /**
   * The edges that a certificate is valid for now, each with the hostports that it covers. When
   * several certificates cover a hostport, each of them has it: the service chooses one.
   */
  edges?: ServedEdge[];
}

/** An edge that a certificate serves. */
export interface ServedEdge {
  id: string;
  /** Those of its hostports that the certificate covers, in the order of the edge. */
  hostports: string[];
}

/** What an answer of the service says. */
export interface Reading<S> {
  /** Its status, with empty lists where other objects decide: uncovered hostports, edges. */
  status: S;
  /** The hostports that need a certificate. */
  needs?: string[];
  /** The names that a certificate is valid for. Undefined unless it is valid now. */
  validFor?: SubjectAlternativeNames;
  /** Everything that a program can set: equal in twins. Undefined if a twin is impossible. */
  twinContent?: object;
}

/** What a report says besides its objects. */
export interface Report {
  /** When the days were counted. */
  at: string;
  /** The days given with `--fail-within`. */
  failWithin: number | null;
  /**
   * The ids of the certificates that make the exit code 2, most urgent first: those that are due, and
   * those with no known expiry date.
   */
  failing: string[];
}

/** A kind of object that an account holds: a row of the table in `kinds.ts`. */
export interface Kind<Key = string, W = Wire, S = ObjectStatus> {
  /** The property of the JSON that lists the objects: `edges`. */
  key: Key;
  /** One object: `edge`. */
  noun: string;
  /** The heading of the objects in a report, in lower case: `tunnels online`. */
  heading: string;
  /** All objects of the account, newest first. */
  list(client: Client): AsyncIterable<W>;
  /** Reads an answer once, for everything that a report says of it. */
  read(wire: W, now: Date): Reading<S>;
  /** Compares two objects for the order of a report. Default: the order of the list. */
  order?(a: S, b: S, now: Date): number;
  /** The heads of the table: that of the ids, then one for each cell of a row. */
  heads: string[];
  row(status: S, report: Report): Row;
  /** What an object refers to, by id: a line for each kind of what it refers to. */
  uses?(status: S): Line[];
  /** More cells for reports with room for them, HTML and Markdown, by their heads. */
  columns?(status: S): Record<string, Line[]>;
  /** Texts for the HTML report, by their names, which are shown when they are asked for. */
  details?(status: S): Record<string, string | null>;
  /** Why an object is of no use now; undefined for one that is used. */
  unused?(status: S, report: Report): string | undefined;
  /** A text after the number of objects in the totals, if there is one. */
  note?(statuses: S[], report: Report): string | undefined;
}

/** A kind of object that a program can adopt. */
export interface AdoptableKind<Key = string, W = Wire, S = ObjectStatus> extends Kind<Key, W, S> {
  adoption: {
    /** The class of the resource: `TLSEdge`. */
    className: string;
    lifecycle: Lifecycle;
    candidate(wire: W): Candidate;
  };
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

/** Objects as the service lists them, by the key of their kind. A missing list is empty. */
export type Lists<K extends Kind> = { [T in K as T["key"]]?: Parameters<T["read"]>[0][] };

/** Objects as `status --json` prints them, by the key of their kind. */
export type Statuses<K extends Kind> = {
  [T in K as T["key"]]: ReturnType<T["read"]>["status"][];
};
