import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSCertificate, TLSSite } from "pulumi-tlsedge";
import { readConfig } from "./config";

const wanted = readConfig();
const owner = wanted.owner || undefined;

/** Paths in config are meant from where Pulumi.yaml is. */
function pem(setting: string, file: string): string {
  try {
    return readFileSync(resolve(__dirname, "..", "..", file), "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new pulumi.RunError(`${setting}: ${file} can't be read (${code})`);
  }
}

const each = <T, R>(all: Record<string, T>, tell: (one: T) => R) =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, tell(one)]));

const made = Object.fromEntries(
  Object.entries(wanted.certificates).map(([name, { chainFile, keyFile, metadata, ...rest }]) => {
    const path = `certificates.${name}`;
    const certificate = new TLSCertificate(name, {
      ...rest,
      certificatePem: pem(`${path}.chainFile`, chainFile),
      privateKeyPem: keyFile
        ? pem(`${path}.keyFile`, keyFile)
        : wanted.privateKeys.apply((keys) => keys[name] as string),
      metadata: JSON.stringify({ owner, environment: pulumi.getStack(), ...metadata }),
    });
    return [name, certificate];
  }),
);

const sites = Object.fromEntries(
  Object.entries(wanted.edges).map(([name, { certificate, ...rest }]) => [
    name,
    new TLSSite(name, { ...rest, owner, certificate: made[certificate] as TLSCertificate }),
  ]),
);

/** What other stacks may count on, by name: see examples/consumer. */
export const edges = each(sites, ({ edge, expires }) => ({
  id: edge.id,
  hostports: edge.hostports,
  certificateExpires: expires,
}));
/** By name, too. */
export const certificates = each(made, ({ id, notAfter, subjectAlternativeNames }) => ({
  id,
  expires: notAfter,
  domains: subjectAlternativeNames.dnsNames,
}));
