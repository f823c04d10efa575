import * as pulumi from "@pulumi/pulumi";
import { expiryOf } from "../provider/tlsCertificate";
import { isAsync } from "./args";

/**
 * Warns about a leaf that has expired or must be renewed: in the plan, if the plan knows the expiry
 * date. The provider does not warn, because its output can't name the resource.
 */
export function warnOfExpiry(
  resource: pulumi.Resource,
  notAfter: pulumi.Output<string>,
  renewBeforeDays: pulumi.Input<number | undefined>,
): void {
  const warn = async (end: string, days: number | undefined) => {
    const expiry = end ? expiryOf(end, days, new Date()) : undefined;
    if (expiry) await pulumi.log.warn(expiry, resource);
  };
  // Most programs give a plain number, or none: then one output less is needed.
  if (isAsync(renewBeforeDays))
    pulumi.all([notAfter, renewBeforeDays]).apply((both) => warn(...both));
  else notAfter.apply((end) => warn(end, renewBeforeDays as number | undefined));
}
