import * as pulumi from "@pulumi/pulumi";
import { expiryOf } from "../provider/tlsCertificate";

/**
 * Warns about a leaf that has expired or must be renewed: in the plan, if its end is known there.
 * The provider can't do this, because its output names no resource.
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
