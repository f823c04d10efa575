import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { TLSCertificate, TLSEdge, type TLSEdgeArgs } from "pulumi-tlsedge";

const config = new pulumi.Config();
const metadata = JSON.stringify({ team: "shop" });

/** Five policies stop this one. */
const violating: TLSEdgeArgs = {
  // edge-access: everyone may connect. owner: no team in the metadata.
  hostports: [
    "shop.example.com:443",
    "eu.shop.example.com:443", // hostport-certificate: no certificate is valid for it.
  ],
  mutualTls: { enabled: false, certificateAuthorityIds: ["ca_2staff"] }, // edge-modules
  tlsTermination: { minVersion: "1.0" }, // edge-tls-version
};

const fixed: TLSEdgeArgs = {
  metadata,
  hostports: ["shop.example.com:443"],
  mutualTls: { certificateAuthorityIds: ["ca_2staff"] },
  tlsTermination: { minVersion: "1.2" },
};

const certificate = new TLSCertificate("shop", {
  metadata,
  certificatePem: readFileSync("certificate/fullchain.pem", "utf8"),
  privateKeyPem: readFileSync("certificate/privkey.pem", "utf8"),
});

const edge = new TLSEdge("shop", config.getBoolean("fixed") ? fixed : violating);

export const certificateId = certificate.id;
export const edgeId = edge.id;
