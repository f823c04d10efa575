import * as pulumi from "@pulumi/pulumi";

interface EdgeOutput {
  id: string;
  hostports: string[];
  certificateExpires: string;
}

const config = new pulumi.Config();
const name = config.require("edge");
const stack = new pulumi.StackReference(config.require("edgeStack"));

const edge = stack.requireOutput("edges").apply((edges: Record<string, EdgeOutput>) => {
  const found = edges[name];
  if (found) return found;
  throw new pulumi.RunError(`the stack has no edge ${name}: it has ${Object.keys(edges)}`);
});

export const urls = edge.hostports.apply((hostports) => hostports.map((at) => `https://${at}`));
export const certificateExpires = edge.certificateExpires;
