import * as pulumi from "@pulumi/pulumi";
import * as tlsedge from "pulumi-tlsedge-sdk";

const site = new tlsedge.TLSSite("app", {
  hostports: ["app.example.com:443"],
  chainFile: "app/fullchain.pem",
  keyFile: "app/privkey.pem",
  backendId: new pulumi.Config().require("backendId"),
  access: { ipPolicyIds: ["ipp_1"] },
  owner: "web",
});

export const edgeId = site.edgeId;
export const expires = site.expires;
