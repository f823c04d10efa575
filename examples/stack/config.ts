import * as pulumi from "@pulumi/pulumi";
import * as v from "valibot";

const ids = v.array(v.pipe(v.string(), v.nonEmpty("must not be empty")));
const file = v.pipe(v.string(), v.nonEmpty("must not be empty"));
const about = {
  description: v.optional(v.string()),
  metadata: v.optional(v.record(v.string(), v.string())),
};

const schema = v.strictObject({
  owner: v.string(),
  certificates: v.record(
    v.string(),
    v.strictObject({
      ...about,
      chainFile: file,
      keyFile: v.optional(file),
      renewBeforeDays: v.optional(v.number()),
    }),
  ),
  edges: v.record(
    v.string(),
    v.strictObject({
      ...about,
      certificate: v.string(),
      hostports: v.pipe(v.array(v.string()), v.nonEmpty("must name one or more")),
      backendId: v.string(),
      access: v.union(
        [
          v.literal("anyone"),
          v.strictObject({
            ipPolicyIds: v.optional(ids),
            certificateAuthorityIds: v.optional(ids),
          }),
        ],
        "must be anyone, or have ipPolicyIds or certificateAuthorityIds",
      ),
      minVersion: v.optional(v.string()),
    }),
  ),
});

/** What the stack is to hold, as its config describes it. */
export type StackConfig = v.InferOutput<typeof schema>;

/** The one setting that is a secret: read apart, so that it stays one. */
const secret = "privateKeys";

/** Pulumi exports this function but not its type. */
const { isConfigSecret } = pulumi.runtime as unknown as {
  isConfigSecret: (key: string) => boolean;
};

/** Reads the stack's config, and refuses all that is wrong with it at once, each by its path. */
export function readConfig(): StackConfig & {
  privateKeys?: pulumi.Output<Record<string, string>>;
} {
  const config = new pulumi.Config();
  const given = Object.keys(pulumi.runtime.allConfig())
    .filter((key) => key.startsWith(`${config.name}:`) && key !== `${config.name}:${secret}`)
    .map((key) => key.slice(config.name.length + 1));
  const read = (name: string) => (name === "owner" ? config.get(name) : config.getObject(name));
  const settings = Object.fromEntries(given.map((name) => [name, read(name)]));
  const { success, output, issues = [] } = v.safeParse(schema, settings);
  const problems = issues.map((issue) => `${v.getDotPath(issue)}: ${reasonOf(issue)}`);
  if (config.get(secret) !== undefined && !isConfigSecret(`${config.name}:${secret}`)) {
    problems.push(`${secret}: stands in config in plain text: set it with --secret`);
  }
  if (success) problems.push(...strangers(output));
  if (!success || problems.length > 0) {
    throw new pulumi.RunError(`the config of ${config.name}:\n  ${problems.join("\n  ")}`);
  }
  return { ...output, privateKeys: config.getSecretObject(secret) };
}

/** Edges whose certificate the stack does not have. */
function strangers({ certificates, edges }: StackConfig): string[] {
  return Object.entries(edges)
    .filter(([, { certificate }]) => !Object.hasOwn(certificates, certificate))
    .map(([name]) => `edges.${name}.certificate: names none of ${Object.keys(certificates)}`);
}

/** Never the value: it may be a secret. */
function reasonOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === "validation" || issue.type === "union") return issue.message;
  if (issue.expected === "never") return "no such setting: is it misspelt?";
  return issue.received === "undefined" ? "is missing" : `must be ${issue.expected}`;
}
