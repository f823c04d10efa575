import type { policies } from "./index";

type Policy = (typeof policies)[number];

/**
 * The same policy, which also prints one warning about the settings in its config that it does not
 * have: the engine ignores them. An unknown policy can't be found so, because Pulumi gives each policy
 * its own config only.
 */
export function withWarning(policy: Policy): Policy {
  const known = Object.keys(policy.configSchema?.properties ?? {});
  let isChecked = false;
  const check = ({ getConfig }: { getConfig(): object }) => {
    if (isChecked) return;
    isChecked = true;
    const unknown = Object.keys(getConfig()).filter((name) => !known.includes(name));
    if (unknown.length === 0) return;
    const settings = known.length > 0 ? `its settings are ${known.join(", ")}` : "it has none";
    console.error(
      `warning: the policy ${policy.name} has no setting ${unknown.join(", ")}: ${settings}`,
    );
  };
  if ("validateStack" in policy) {
    return {
      ...policy,
      validateStack(args, report) {
        check(args);
        return policy.validateStack(args, report);
      },
    };
  }
  return { ...policy, validateResource: [check, ...[policy.validateResource ?? []].flat()] };
}
