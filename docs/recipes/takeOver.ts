import * as pulumi from "@pulumi/pulumi";

/** The names that the resources had before, by the last part of their type. */
const before: Record<string, string> = { TLSCertificate: "cert", TLSEdge: "edge" };

/** Makes old resources the parts of a site: new TLSSite("app", …, { transforms: [move] }) */
export const move: pulumi.ResourceTransform = ({ type, props, opts }) => {
  const name = before[type.split(":").at(-1) ?? ""];
  const aliases = [{ name, parent: pulumi.rootStackResource }];
  return name ? { props, opts: { ...opts, aliases } } : undefined;
};
