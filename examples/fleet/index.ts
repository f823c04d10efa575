import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSSite } from "pulumi-tlsedge";

const config = new pulumi.Config();
const folder = config.require("certificateFolder");

const site = new TLSSite("app", {
  hostports: [config.require("hostport")],
  chainFile: join(folder, "fullchain.pem"),
  keyFile: join(folder, "privkey.pem"),
  backendId: config.require("backendId"),
  access: { public: true },
  owner: "platform",
});

export const hostports = site.hostports;
export const expires = site.expires;
