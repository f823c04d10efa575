import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSSite } from "pulumi-tlsedge";

const config = new pulumi.Config();
const domain = config.require("domain");
const access = config.require("access");
const folder = config.get("certificateFolder");

const site = new TLSSite(
  "site",
  {
    hostports: [`${domain}:443`],
    ...(folder
      ? { chainFile: join(folder, "fullchain.pem"), keyFile: join(folder, "privkey.pem") }
      : {
          certificatePem: config.require("certificatePem"),
          privateKeyPem: config.requireSecret("privateKeyPem"),
        }),
    backendId: config.require("backendId"),
    access: access === "anyone" ? { public: true } : { ipPolicyIds: access.split(/\s*,\s*/) },
    owner: config.get("owner"),
  },
  { protect: config.getBoolean("protect") ?? false },
);

export const url = `https://${domain}`;
export const edgeId = site.edge.id;
export const expires = site.expires;
