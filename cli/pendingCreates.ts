import type { ServiceObject } from "../client/fields";
import { plainJson } from "../client/plain";
import { importKey } from "../provider/dynamic/hidden";
import { finderOf, type Kind, propertiesOf } from "../provider/kinds/kind";
import { pluginToken, typeToken } from "../provider/kinds/token";
import { nameInUrn, type Properties, pick } from "../provider/values/properties";
import { defaultConnection } from "../provider/values/setting";
import type { Account } from "./account";
import { adoptable, kinds, type Plan } from "./adopt";

/** A resource in a state. `provider` is the URN of its provider, and the provider's id. */
type Resource = Record<"urn" | "type", string> &
  Partial<Record<"id" | "parent" | "provider", string>> & {
    inputs?: Properties;
    external?: boolean;
  };

/** The state of a stack, as `pulumi stack export` prints it: what is secret is encrypted. */
export interface Deployment {
  resources?: Resource[];
  pending_operations?: { type: string; resource: Resource }[];
}

const dynamicType = typeToken("");
const isDynamic = ({ type }: Resource) => type.startsWith(dynamicType);
type Objects = Pick<Account, "edges" | "certificates">;

/** The names of a stack's resources, by the ids of their objects. What a program only reads is nobody's. */
export function managedIn({ resources = [] }: Deployment): Map<unknown, string> {
  const own = resources.filter(({ external }) => !external);
  return new Map(own.map(({ id, urn }) => [id, nameInUrn(urn)]));
}

/** Finds the objects that equal creates that were cut off, and that no resource of the stack has. */
export function findCreates(stack: Deployment, account: Objects, connection: string) {
  const plan: Plan = { edges: [], certificates: [], skipped: [], unmatched: 0, managed: 0 };
  const found: Resource[] = [];
  const taken = new Set(managedIn(stack).keys());
  for (const key of kinds) {
    const { noun, kind } = adoptable[key];
    const free = account[key].filter(({ id }) => !taken.has(id));
    const creates = createsOf(stack, kind, connection, free);
    const byIds = Map.groupBy(creates, ({ ids }) => ids.join(", "));
    for (const { create, args, secret, ids } of creates) {
      const [name, all] = [nameInUrn(create.urn), ids.join(", ")];
      const skip = (reason: string) =>
        plan.skipped.push({ type: noun, id: "", names: [name], reasons: [reason] });
      const hasTooMany = ids.length > (byIds.get(all)?.length ?? 0);
      // Of creates that equal the same objects, any may get any.
      const id = ids.find((one) => !taken.has(one));
      if (secret) skip(`${secret}: is a secret, so it can't be compared`);
      else if (hasTooMany) skip(`may be any of ${all}: set its option \`import\` to one of them`);
      else if (id) {
        taken.add(id);
        plan[key].push({ id, name, args });
        found.push({ ...create, id });
      }
    }
  }
  return { plan, files: filesOf(found) };
}

/** The creates that were cut off, each with the ids of the objects that equal it, or why it can't be compared. */
function createsOf(stack: Deployment, kind: Kind, connection: string, objects: ServiceObject[]) {
  const types = [typeToken(kind.name), pluginToken(kind.name)];
  const findEqual = finderOf(kind, objects);
  // What the stack has is to be replaced, or was created since.
  const urns = new Set(stack.resources?.map(({ urn }) => urn));
  const creates = (stack.pending_operations ?? [])
    .filter(({ type, resource }) => type === "creating" && types.includes(resource.type))
    // The newest comes first, where a create was cut off twice.
    .filter(({ resource: { urn } }) => !urns.has(urn) && urns.add(urn));
  return creates.flatMap(({ resource: { inputs = {}, ...create } }) => {
    // The inputs of the plugin's resources do not say the account: its provider has it.
    const ownConnection = isDynamic(create) ? (inputs.connection ?? defaultConnection) : connection;
    if (ownConnection !== connection) return [];
    const args = pick(inputs, propertiesOf(kind));
    const secret = Object.keys(args).find((name) => isEncrypted(args[name]));
    const ids = (secret ? [] : findEqual(inputs)).map(({ id }) => id);
    return [{ create, args, secret, ids }];
  });
}

/** Whether a state has a value, or a part of it, encrypted. */
const isEncrypted = (value: unknown) =>
  JSON.stringify(value).includes("4dabf18193072939515e22adb298388d");

/** A file for each protocol: `pulumi import` takes resources of the plugin, and no dynamic one. */
function filesOf(found: Resource[]): Map<string, string> {
  const files = new Map<string, string>();
  const ids = found.filter(isDynamic).map(({ urn, id }) => [urn, id]);
  if (ids.length > 0) files.set("adopted.cjs", moduleThatAdopts(Object.fromEntries(ids)));
  const resources = found
    .filter((one) => !isDynamic(one))
    .map(({ type, urn: name, id, parent, provider }) => ({
      ...{ type, name, logicalName: nameInUrn(name), id, parent },
      provider: provider?.replace(/::[^:]*$/, ""),
    }));
  const urns = resources.flatMap(({ parent, provider }) => [parent, provider]);
  const nameTable = Object.fromEntries(urns.map((urn) => [urn, urn]));
  if (resources.length > 0) files.set("import.json", `${plainJson({ nameTable, resources }, 2)}\n`);
  return files;
}

/** The text of `adopted.cjs`, which a program requires before it makes resources. */
const moduleThatAdopts = (ids: object) => `// Written by \`pulumi-tlsedge adopt --pending-creates\`.
// The next \`pulumi up\` adopts each object for the resource with its URN, and changes nothing. Then remove this file.
const pulumi = require("@pulumi/pulumi");
const ids = ${plainJson(ids, 2)};
pulumi.runtime.registerStackTransformation(({ type, name, props, opts }) => {
  if (!type.startsWith("${dynamicType}")) return undefined;
  // A promise: with an output, the resource would wait for its parent, which waits for the resource.
  const urn = new Promise((resolve) => pulumi.createUrn(name, type, opts.parent).apply(resolve));
  return { props: { ...props, ${importKey}: urn.then((one) => ids[one] ?? props.${importKey}) }, opts };
});
`;
