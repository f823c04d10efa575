import type * as tlsedge from "pulumi-tlsedge";

/**
 * The resources that policies judge, of the Node.js package and of the plugin. Of their classes only the
 * types are used: a project in another language does not have that package.
 */
export const TLSEdge = judged<typeof tlsedge.TLSEdge>("TLSEdge");
export const TLSCertificate = judged<typeof tlsedge.TLSCertificate>("TLSCertificate");

/** What Pulumi needs of a class to match resources that have more than one type. */
function judged<Class>(name: string): Class {
  const types = [`pulumi-nodejs:dynamic/tlsedge:${name}`, `tlsedge:index:${name}`];
  const isInstance = (value: { __pulumiType: string }) => types.includes(value.__pulumiType);
  return { isInstance } as Class;
}
