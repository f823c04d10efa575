import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSSite } from "pulumi-tlsedge";

const config = new pulumi.Config();
const folder = config.require("certificateFolder");

// The files are read at each run: what the ACME client wrote is picked up by the next `up`.
const site = new TLSSite("app", {
  hostports: [config.require("hostport")],
  chainFile: join(folder, "fullchain.pem"),
  keyFile: join(folder, "privkey.pem"),
  renewBeforeDays: 30,
  backendId: "bkdtg_2rotation",
  access: { public: true },
  owner: "platform",
});

export const expires = site.expires;
export const serialNumber = site.certificate.serialNumber;
