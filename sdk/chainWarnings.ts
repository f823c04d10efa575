import * as pulumi from "@pulumi/pulumi";
import { parsedChain, warningsOf } from "../provider/kinds/tlsCertificate";
import { isAsync } from "./args";

/**
 * Warns of a chain that has expired, must be renewed or is refused by some: in the plan, if the plan
 * knows it. The provider does not warn, because the first call of a run can't name its resource: see `urnOf`.
 */
export function warnOfChain(
  resource: pulumi.Resource,
  certificatePem: pulumi.Output<string>,
  renewBeforeDays: pulumi.Input<number | undefined>,
): void {
  const warn = async (pem: string, days: number | undefined) => {
    const chain = parsedChain(pem);
    const warnings = chain ? warningsOf(chain, days, new Date()) : [];
    for (const text of warnings) await pulumi.log.warn(text, resource);
  };
  // Most programs give a plain number, or none: then one output less is needed.
  if (isAsync(renewBeforeDays))
    pulumi.all([certificatePem, renewBeforeDays]).apply((both) => warn(...both));
  else certificatePem.apply((pem) => warn(pem, renewBeforeDays as number | undefined));
}
