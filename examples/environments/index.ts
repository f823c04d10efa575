import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSSite } from "pulumi-tlsedge";

// What differs between environments stands in Pulumi.<stack>.yaml, and nothing else does.
const config = new pulumi.Config();
const folder = config.require("certificateFolder");
const ipPolicyIds = config.requireObject<string[]>("ipPolicyIds");

const site = new TLSSite(
  "app",
  {
    hostports: [`app.${config.require("domain")}:443`],
    chainFile: join(folder, "fullchain.pem"),
    keyFile: join(folder, "privkey.pem"),
    backendId: config.require("backendId"),
    access: { ipPolicyIds },
    minVersion: config.require<"1.2" | "1.3">("minVersion", { allowedValues: ["1.2", "1.3"] }),
    owner: "web",
  },
  // Protects the edge. A renewal can still replace the certificate.
  { protect: config.requireBoolean("protect") },
);

export const hostports = site.hostports;
export const expires = site.expires;
