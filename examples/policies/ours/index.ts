import { PolicyPack, type ResourceValidationPolicy, validateResourceOfType } from "@pulumi/policy";
import { TLSEdge } from "pulumi-tlsedge";
import { policies } from "pulumi-tlsedge-policy";

const shopHost: ResourceValidationPolicy = {
  name: "shop-host",
  description: "A TLS edge of the shop serves shop.example.com, and no other host.",
  enforcementLevel: "mandatory",
  validateResource: validateResourceOfType(TLSEdge, ({ hostports = [] }, { name }, report) => {
    const others = hostports.filter((hostport) => !hostport.startsWith("shop.example.com:"));
    if (others.length > 0) report(`The TLS edge "${name}" also serves ${others.join(", ")}.`);
  }),
};

new PolicyPack("ours", { policies: [...policies, shopHost] });
