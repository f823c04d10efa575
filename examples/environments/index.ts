import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSCertificate, TLSSite } from "pulumi-tlsedge";

// What differs between environments stands in Pulumi.<stack>.yaml, and nothing else does.
const config = new pulumi.Config();
const folder = config.require("certificateFolder");
const ipPolicyIds = config.requireObject<string[]>("ipPolicyIds");

// Not a part of the site: a renewal replaces it, and Pulumi replaces nothing that is protected.
const certificate = new TLSCertificate("app", {
  certificatePem: readFileSync(join(folder, "fullchain.pem"), "utf8"),
  privateKeyPem: readFileSync(join(folder, "privkey.pem"), "utf8"),
  metadata: JSON.stringify({ owner: "web", environment: pulumi.getStack() }),
  renewBeforeDays: 21,
});

const site = new TLSSite(
  "app",
  {
    hostports: [`app.${config.require("domain")}:443`],
    certificate,
    backendId: config.require("backendId"),
    access: { ipPolicyIds },
    minVersion: config.require<"1.2" | "1.3">("minVersion", { allowedValues: ["1.2", "1.3"] }),
    owner: "web",
  },
  { protect: config.requireBoolean("protect") },
);

export const hostports = site.hostports;
export const expires = site.expires;
