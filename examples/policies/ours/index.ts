import { PolicyPack, type ResourceValidationPolicy, validateResourceOfType } from "@pulumi/policy";
import { TLSEdge } from "pulumi-tlsedge";
import { policies } from "pulumi-tlsedge-policy";

const shopHost: ResourceValidationPolicy = {
  name: "shop-host",
  description: "A TLS edge of the shop serves shop.example.com, and no other host.",
  enforcementLevel: "mandatory",
  validateResource: validateResourceOfType(TLSEdge, ({ hostports = [] }, { name }, report) => {
    const isOther = hostports.some((hostport) => !hostport.startsWith("shop.example.com:"));
    // Without the value: a policy can't see which values are secrets.
    if (isOther) report(`The TLS edge "${name}" also serves another host.`);
  }),
};

new PolicyPack("ours", { policies: [...policies, shopHost] });
