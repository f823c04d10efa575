import * as tlsedge from "pulumi-tlsedge-sdk";

const edge = new tlsedge.TLSEdge("app", {
  hostports: ["app.example.com:443"],
  backend: { backendId: "bkdtg_1" },
  ipRestriction: { ipPolicyIds: ["ipp_1"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
});

export const edgeId = edge.id;
