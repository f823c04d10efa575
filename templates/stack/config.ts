import * as pulumi from "@pulumi/pulumi";
import { closest, distance } from "fastest-levenshtein";
import * as v from "valibot";

/** These settings and no other: the message of an issue is their names. */
const only = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.strictObject(entries, () => Object.keys(entries).join(", "));

const text = v.pipe(v.string(), v.nonEmpty("must not be empty"));
const texts = v.optional(v.record(v.string(), v.string()));
const ids = v.optional(v.pipe(v.array(text), v.nonEmpty("must have one id or more")));

/** Of each edge. The stack can say it for all of them: the edge's own value wins. */
const ofEdges = {
  certificate: text,
  backendId: text,
  access: v.union(
    [v.literal("anyone"), v.strictObject({ ipPolicyIds: ids, certificateAuthorityIds: ids })],
    "must be anyone, or have ipPolicyIds, certificateAuthorityIds or both",
  ),
  minVersion: v.optional(v.picklist(["1.0", "1.1", "1.2", "1.3"])),
};
const edge = only({
  ...ofEdges,
  hostports: v.pipe(v.array(text), v.nonEmpty("must have one hostport or more")),
  description: v.optional(text),
  metadata: texts,
  protect: v.optional(v.boolean()),
});
const schema = only({
  ...v.partial(v.object(ofEdges)).entries,
  edges: v.record(v.string(), edge),
  certificates: v.record(
    v.string(),
    only({ chain: text, description: v.optional(text), metadata: texts }),
  ),
  privateKeys: v.record(v.string(), text),
  owner: v.optional(text),
  metadata: texts,
  protect: v.optional(v.boolean()),
  renewBeforeDays: v.optional(v.pipe(v.string(), v.digits("must be a number"), v.toNumber())),
  connection: v.optional(text),
});

/** Pulumi has this function, but not its type. */
const { isConfigSecret } = pulumi.runtime as unknown as { isConfigSecret(key: string): boolean };

/** Reads the stack's config. Refuses what is wrong with it, each by its path. */
export function readConfig() {
  const prefix = `${new pulumi.Config().name}:`;
  const values: Record<string, unknown> = { certificates: {}, privateKeys: {}, edges: {} };
  const own = Object.entries(pulumi.runtime.allConfig()).filter(([key]) => key.startsWith(prefix));
  for (const [key, value] of own) values[key.slice(prefix.length)] = asWritten(value);
  const shared = Object.keys(ofEdges).filter((name) => name in values);
  const defaults = Object.fromEntries(shared.map((name) => [name, values[name]]));
  for (const one of Object.values(Object(values.edges)))
    if (one instanceof Object) Object.assign(one, { ...defaults, ...one });

  const { success, output, issues } = v.safeParse(schema, values);
  const problems = success ? unmatched(output) : issues.flatMap(linesOf);
  // With the settings under another name, the stack would be emptied.
  if (own.length === 0)
    problems.push(`no setting begins with ${prefix}, which is the project's name`);
  if (Object.keys(values.privateKeys ?? {}).length > 0 && !isConfigSecret(`${prefix}privateKeys`))
    problems.push("privateKeys: stands in the config in plain text: set it with --secret");
  const encrypted = Object.keys(values).filter((name) => isConfigSecret(prefix + name));
  const others = encrypted.filter((name) => name !== "privateKeys");
  const advice = "has a value that was set with --secret, and the state would have it in clear";
  problems.push(...others.map((name) => `${name}: ${advice}: set it without`));
  if (!success || problems.length > 0)
    throw new pulumi.RunError(`the config of the stack:\n  ${problems.join("\n  ")}`);
  return { ...output, privateKeys: pulumi.secret(output.privateKeys) };
}

/** Pulumi gives each setting as a text: an object, a list and a boolean as JSON. */
function asWritten(value: string): unknown {
  try {
    return /^([[{]|true$|false$)/.test(value) ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

/** Certificates that edges name and that are not there, and those without a key. */
function unmatched({ edges, certificates, privateKeys }: v.InferOutput<typeof schema>): string[] {
  const set = "pulumi config set";
  const chains = Object.entries(edges)
    .filter(([, { certificate }]) => !Object.hasOwn(certificates, certificate))
    .map(([name, { certificate: wanted }]) => {
      const advice = `${set} --path 'certificates["${wanted}"].chain' < fullchain.pem`;
      return `edges.${name}.certificate: there is no certificate "${wanted}": ${advice}`;
    });
  const keys = Object.keys(certificates)
    .filter((name) => !Object.hasOwn(privateKeys, name))
    .map((name) => {
      const advice = `${set} --secret --path 'privateKeys["${name}"]' < privkey.pem`;
      return `privateKeys.${name}: is missing: ${advice}`;
    });
  return [...chains, ...keys];
}

const words: Record<string, string> = { string: "a text", Array: "a list", Object: "a mapping" };

/** A line for an issue. Of the names that are no setting, valibot has the first one of an object: a line for each. */
function linesOf(issue: v.BaseIssue<unknown>): string[] {
  const path = v.getDotPath(issue) ?? "";
  const last = issue.path?.at(-1);
  if (issue.expected !== "never" || !last) return [`${path}: ${reasonOf(issue)}`];
  const known = issue.message.split(", ");
  return Object.keys(Object(last.input))
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = closest(name, known);
      const isNear = distance(name, meant) <= Math.max(1, name.length / 3);
      const advice = isNear ? `did you mean ${meant}?` : `there are ${issue.message}`;
      return `${path.slice(0, path.length - String(last.key).length)}${name}: no such setting: ${advice}`;
    });
}

/** What is wrong, without the value: it may be a key. */
function reasonOf({ kind, type, expected, received, input, message }: v.BaseIssue<unknown>) {
  if (kind === "validation" || type === "union") return message;
  if (received === "undefined") return "is missing";
  const wanted = expected?.replace(/[()]/g, "").replaceAll(" | ", " or ") ?? "";
  const quotes = typeof input === "number" && /string|"/.test(wanted) ? ": put it into quotes" : "";
  return `must be ${words[wanted] ?? wanted}${quotes}`;
}
