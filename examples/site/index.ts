import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { TLSSite } from "pulumi-tlsedge";

const config = new pulumi.Config();
const domain = config.require("domain");
const folder = config.require("certificateFolder");
const backendId = config.require("backendId");

const web = new TLSSite("web", {
  hostports: [`www.${domain}:443`, `app.${domain}:443`],
  chainFile: join(folder, "fullchain.pem"),
  keyFile: join(folder, "privkey.pem"),
  backendId,
  access: { public: true },
  owner: "web",
});

const internal = new TLSSite("internal", {
  hostports: [`internal.${domain}:443`],
  // The same certificate, which is uploaded once.
  certificate: web.certificate,
  backendId,
  access: { ipPolicyIds: [config.require("ipPolicyId")] },
  minVersion: "1.3",
  owner: "platform",
});

export const hostports = pulumi.all([web.hostports, internal.hostports]).apply((all) => all.flat());
export const edgeIds = [web.edgeId, internal.edgeId];
export const expires = web.expires;
