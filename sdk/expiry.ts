import * as pulumi from "@pulumi/pulumi";
import { expiryOf } from "../provider/tlsCertificate";

/**
 * Warns about a leaf that has expired or must be renewed: in the plan, if the plan knows the expiry
 * date. The provider does not warn, because its output can't name the resource.
 */
export function warnOfExpiry(
  resource: pulumi.Resource,
  notAfter: pulumi.Output<string>,
  renewBeforeDays: pulumi.Input<number | undefined>,
): void {
  pulumi.all([notAfter, renewBeforeDays]).apply(async ([end, days]) => {
    const expiry = end ? expiryOf(end, days, new Date()) : undefined;
    if (expiry) await pulumi.log.warn(expiry, resource);
  });
}
