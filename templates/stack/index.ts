import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { TLSCertificate, TLSSite } from "pulumi-tlsedge";
import { readConfig } from "./config";

const wanted = readConfig();

/** What holds for all, and what one says of itself, which wins. */
const metadataOf = (own?: Record<string, string>) => ({
  owner: wanted.owner || undefined,
  ...wanted.metadata,
  ...own,
});

const each = <T, R>(all: Record<string, T>, make: (one: T, name: string) => R) =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, make(one, name)]));

const made = each(
  wanted.certificates,
  ({ chainFile, keyFile, metadata, protect, ...rest }, name) =>
    new TLSCertificate(
      name,
      {
        connection: wanted.connection,
        renewBeforeDays: wanted.renewBeforeDays ?? 21,
        ...rest,
        certificatePem: readFileSync(chainFile, "utf8"),
        privateKeyPem: keyFile
          ? readFileSync(keyFile, "utf8")
          : wanted.privateKeys.apply((keys) => keys[name] as string),
        metadata: JSON.stringify({ environment: pulumi.getStack(), ...metadataOf(metadata) }),
      },
      // Not protected with the whole stack: a renewed certificate replaces the one before.
      { protect },
    ),
);

const sites = each(
  wanted.edges,
  ({ access, certificate, metadata, protect = wanted.protect, ...rest }, name) =>
    new TLSSite(
      name,
      {
        ...rest,
        access: access === "anyone" ? { public: true } : access,
        // The account that has the certificate: no other can serve it.
        connection: wanted.certificates[certificate]?.connection ?? wanted.connection,
        certificate: made[certificate] as TLSCertificate,
        metadata: metadataOf(metadata),
      },
      { protect },
    ),
);

/** The id of each edge, for other stacks: `new pulumi.StackReference(…).requireOutput("edges")`. */
export const edges = each(sites, ({ edge }) => edge.id);
/** The id of each certificate. */
export const certificates = each(made, ({ id }) => id);
/** When each certificate expires. */
export const expires = each(made, ({ notAfter }) => notAfter);
