import * as pulumi from "@pulumi/pulumi";
import { expiryOf } from "../provider/tlsCertificate";

/**
 * Warns, beside the resource, of a leaf that has expired or is to be renewed; in a plan as soon as
 * its end is known. The provider can't: what it prints names no resource.
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
