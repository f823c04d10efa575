import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import * as tlsedge from "pulumi-tlsedge-sdk";

const certificate = new tlsedge.TLSCertificate("app", {
  certificatePem: readFileSync("app.pem", "utf8"),
  privateKeyPem: new pulumi.Config().requireSecret("appKey"),
  renewBeforeDays: 21,
});

export const expires = certificate.notAfter;
