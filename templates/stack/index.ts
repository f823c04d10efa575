import * as pulumi from "@pulumi/pulumi";
import { TLSCertificate, TLSSite } from "pulumi-tlsedge";
import { readConfig } from "./config";

const stack = readConfig();
const { connection, owner, renewBeforeDays } = stack;

const forEach = <T, R>(all: Record<string, T>, make: (one: T, name: string) => R) =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, make(one, name)]));

// Not protected: a renewed certificate replaces the one before.
const made = forEach(
  stack.certificates,
  ({ chain, description, metadata }, name) =>
    new TLSCertificate(name, {
      certificatePem: chain,
      privateKeyPem: stack.privateKeys.apply((keys) => keys[name] as string),
      description,
      metadata: JSON.stringify({
        environment: pulumi.getStack(),
        owner,
        ...stack.metadata,
        ...metadata,
      }),
      renewBeforeDays,
      connection,
    }),
);

const sites = forEach(
  stack.edges,
  ({ access, certificate, metadata, protect = stack.protect ?? false, ...rest }, name) =>
    new TLSSite(
      name,
      {
        ...rest,
        access: access === "anyone" ? { public: true } : access,
        certificate: made[certificate] as TLSCertificate,
        metadata: { owner, ...stack.metadata, ...metadata },
        connection,
      },
      { protect },
    ),
);

/** The id of each edge, for other stacks: `new pulumi.StackReference(…).requireOutput("edges")`. */
export const edges = forEach(sites, ({ edgeId }) => edgeId);
/** The id of each certificate. */
export const certificates = forEach(made, ({ id }) => id);
/** When each certificate expires. */
export const expires = forEach(made, ({ notAfter }) => notAfter);
