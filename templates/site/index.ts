import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSSite } from "pulumi-tlsedge";

const config = new pulumi.Config();
const domain = config.require("domain");
const access = config.require("access");
const ids = access.split(",").map((id) => id.trim());
const folder = config.get("certificateFolder");

// An id has a prefix and an underscore.
if (access !== "anyone" && !ids.every((id) => /^[a-z]+_./.test(id)))
  throw new pulumi.RunError(
    "access must be anyone, or ids of IP policies with commas between, such as ipp_1,ipp_2: " +
      "correct it with `pulumi config set access`",
  );

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
    access: access === "anyone" ? { public: true } : { ipPolicyIds: ids },
    owner: config.get("owner"),
  },
  { protect: config.getBoolean("protect") ?? false },
);

export const url = `https://${domain}`;
export const edgeId = site.edgeId;
export const expires = site.expires;
