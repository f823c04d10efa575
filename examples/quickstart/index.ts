import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { getTunnelOutput, TLSCertificate, TLSEdge } from "pulumi-tlsedge";

const config = new pulumi.Config();
const domain = config.get("domain") ?? "app.example.com";
const folder = config.get("certificateFolder") ?? "certificate";
const pem = (file: string) => readFileSync(join(folder, file), "utf8");

const certificate = new TLSCertificate("app", {
  description: `Serves ${domain}`,
  certificatePem: pem("chain.pem"),
  privateKeyPem: pem("key.pem"),
});

const edge = new TLSEdge("app", {
  description: `TLS for ${domain}`,
  metadata: JSON.stringify({ owner: "platform", environment: pulumi.getStack() }),
  hostports: [`${domain}:443`],
  backend: { backendId: "bkdtg_2quickstart" },
  ipRestriction: { ipPolicyIds: ["ipp_2office"] },
  mutualTls: { certificateAuthorityIds: ["ca_2clients"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
});

const tunnel = getTunnelOutput({ labels: { app: "web" } });

export const edgeId = edge.id;
export const hostports = edge.hostports;
export const certificateId = certificate.id;
export const certificateValidFor = certificate.subjectAlternativeNames.dnsNames;
export const certificateExpires = certificate.notAfter;
export const tunnelForwardsTo = tunnel.forwardsTo;
