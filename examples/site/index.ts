import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSCertificate, TLSSite } from "pulumi-tlsedge";

const config = new pulumi.Config();
const domain = config.require("domain");
const folder = config.require("certificateFolder");
const backendId = config.require("backendId");

// One certificate for both sites: made once, and given to each.
const certificate = new TLSCertificate("wildcard", {
  description: `*.${domain}`,
  certificatePem: readFileSync(join(folder, "fullchain.pem"), "utf8"),
  privateKeyPem: readFileSync(join(folder, "privkey.pem"), "utf8"),
  renewBeforeDays: 21,
});

const web = new TLSSite("web", {
  hostports: [`www.${domain}:443`, `app.${domain}:443`],
  certificate,
  backendId,
  access: "anyone",
  owner: "web",
});

const internal = new TLSSite("internal", {
  hostports: [`internal.${domain}:443`],
  certificate,
  backendId,
  access: { ipPolicyIds: [config.require("ipPolicyId")] },
  minVersion: "1.3",
  owner: "platform",
});

export const hostports = pulumi.all([web.hostports, internal.hostports]).apply((all) => all.flat());
export const edgeIds = [web.edge.id, internal.edge.id];
export const expires = certificate.notAfter;
