import * as tlsedge from "pulumi-tlsedge-sdk";

const edge = tlsedge.getTLSEdgeOutput({ hostport: "app.example.com:443" });
const certificate = tlsedge.getTLSCertificateOutput({ domain: "app.example.com" });
const tunnel = tlsedge.getTunnelOutput({ labels: { app: "web" } });

const expiring = tlsedge.getTLSCertificatesOutput({ expiresBefore: "2100-01-01T00:00:00Z" });

export const edgeId = edge.id;
export const expires = certificate.notAfter;
export const forwardsTo = tunnel.forwardsTo;
export const edges = tlsedge.getTLSEdgesOutput({ metadata: { owner: "web" } }).tlsEdges;
export const certificates = expiring.tlsCertificates;
export const tunnels = tlsedge.getTunnelsOutput({ proto: "https" }).tunnels;
