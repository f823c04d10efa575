import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import * as v from "valibot";

const text = v.pipe(v.string(), v.nonEmpty("must not be empty"));
const ids = v.optional(v.pipe(v.array(text), v.nonEmpty("must name one or more")));
/** Of the whole stack, or of one certificate or edge, whose own value wins. */
const common = {
  metadata: v.optional(v.record(v.string(), v.string())),
  protect: v.optional(v.boolean()),
};
/** Of the whole stack, or of one certificate. */
const ofCertificates = {
  connection: v.optional(text),
  renewBeforeDays: v.optional(v.number()),
};

const schema = v.strictObject({
  ...common,
  ...ofCertificates,
  owner: v.optional(v.string()),
  certificates: v.optional(
    v.record(
      v.string(),
      v.strictObject({
        ...common,
        ...ofCertificates,
        description: v.optional(v.string()),
        chainFile: text,
        keyFile: v.optional(text),
      }),
    ),
    {},
  ),
  edges: v.optional(
    v.record(
      v.string(),
      v.strictObject({
        ...common,
        description: v.optional(v.string()),
        certificate: v.string(),
        hostports: v.pipe(v.array(v.string()), v.nonEmpty("must name one or more")),
        backendId: text,
        access: v.lazy((value) =>
          typeof value === "object" && value !== null
            ? v.pipe(
                v.strictObject({ ipPolicyIds: ids, certificateAuthorityIds: ids }),
                v.check(
                  (access) => Object.keys(access).length > 0,
                  "must have ipPolicyIds or certificateAuthorityIds",
                ),
              )
            : v.literal("anyone"),
        ),
        minVersion: v.optional(v.picklist(["1.0", "1.1", "1.2", "1.3"])),
      }),
    ),
    {},
  ),
  /** A secret, and read as one: here are the names alone. */
  privateKeys: v.optional(v.record(v.string(), v.literal("a secret"))),
});

/** What the stack is to hold, as its config describes it. */
export type StackConfig = Omit<v.InferOutput<typeof schema>, "privateKeys"> & {
  /** Keys in PEM, by the certificate's name. */
  privateKeys: pulumi.Output<Record<string, string>>;
};

/** Pulumi exports this function but not its type. */
const { isConfigSecret } = pulumi.runtime as unknown as {
  isConfigSecret: (key: string) => boolean;
};

/** Reads the stack's config, and refuses all that is wrong with it at once, each by its path. */
export function readConfig(): StackConfig {
  const { name: namespace } = new pulumi.Config();
  const prefix = `${namespace}:`;
  const given = Object.entries(pulumi.runtime.allConfig())
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, value]) => [key.slice(prefix.length), value] as const);
  const values = Object.fromEntries(given.map(([name, value]) => [name, parsed(name, value)]));
  const { privateKeys: keys, connection = "tlsedge" } = values;
  if (connection === namespace) {
    throw new pulumi.RunError(
      `rename the project: the config of ${namespace} has the settings of the account`,
    );
  }
  const settings = { ...values, ...("privateKeys" in values && { privateKeys: hidden(keys) }) };
  const problems = [...misspelt(settings), ...unmatchedNames(settings), ...unreadable(settings)];
  const { success, output, issues = [] } = v.safeParse(schema, settings);
  problems.push(...issues.map((issue) => `${v.getDotPath(issue)}: ${reasonOf(issue)}`));
  if (keys && !isConfigSecret(`${prefix}privateKeys`)) {
    problems.push("privateKeys: stands in config in plain text: set it with --secret");
  }
  if (!success || problems.length > 0) {
    throw new pulumi.RunError(`the config of ${namespace}:\n  ${problems.join("\n  ")}`);
  }
  const privateKeys = pulumi.secret((keys ?? {}) as Record<string, string>);
  return { ...output, privateKeys };
}

/** Takes out what the schema has no place for. Of several, valibot names the first. */
function misspelt(settings: Record<string, unknown>): string[] {
  const { issues = [] } = v.safeParse(schema, settings);
  const issue = issues.find(
    ({ type, expected }) => type === "strict_object" && expected === "never",
  );
  const place = issue?.path?.at(-1);
  if (!issue || !place) return [];
  delete (place.input as Record<string, unknown>)[place.key as string];
  return [`${v.getDotPath(issue)}: no such setting: is it misspelt?`, ...misspelt(settings)];
}

/** An object is kept as JSON; whatever else a value is, the schema says that it must be one. */
function parsed(name: string, value: string): unknown {
  if (name === "owner" || name === "connection") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The same with no key in it. */
function hidden(keys: unknown): unknown {
  if (!isRecord(keys)) return "a secret";
  return Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, typeof key === "string" ? "a secret" : key]),
  );
}

/** Names that stand in one place and not in the other: certificates of edges, and private keys. */
function unmatchedNames(settings: Record<string, unknown>): string[] {
  const [certificates, edges, keys] = ["certificates", "edges", "privateKeys"].map((name) =>
    named(settings[name]),
  ) as [Named, Named, Named];
  const names = Object.keys(certificates);
  const isNone = `no certificate has this name; the names are: ${names.join(", ") || "none"}`;
  const wanted = Object.entries(edges)
    .map(([name, edge]): [string, unknown] => [name, isRecord(edge) ? edge.certificate : undefined])
    .filter(([, wanted]) => typeof wanted === "string" && !names.includes(wanted))
    .map(([name]) => `edges.${name}.certificate: ${isNone}`);
  const unused = Object.keys(keys)
    .filter((name) => !names.includes(name))
    .map((name) => `privateKeys.${name}: ${isNone}`);
  const keyless = Object.entries(certificates)
    .filter(([name, one]) => isRecord(one) && Boolean(one.keyFile) === Object.hasOwn(keys, name))
    .map(([name]) => `certificates.${name}: give exactly one: keyFile, or a key in privateKeys`);
  return [...wanted, ...unused, ...keyless];
}

/** Files that can't be read. */
function unreadable(settings: Record<string, unknown>): string[] {
  return Object.entries(named(settings.certificates)).flatMap(([name, one]) =>
    ["chainFile", "keyFile"].flatMap((setting) => {
      const file = named(one)[setting];
      if (typeof file !== "string" || !file) return [];
      try {
        readFileSync(file);
        return [];
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // The value may be a private key.
        const isPem = file.includes("-----BEGIN");
        const reason = isPem ? "must be a path, not PEM text" : `${file} can't be read (${code})`;
        return [`certificates.${name}.${setting}: ${reason}`];
      }
    }),
  );
}

type Named = Record<string, unknown>;

function isRecord(value: unknown): value is Named {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands in a record by name; nothing if the value is none. */
function named(value: unknown): Named {
  return isRecord(value) ? value : {};
}

/** Never the value: it may be a secret. */
function reasonOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === "validation") return issue.message;
  return issue.received === "undefined" ? "is missing" : `must be ${issue.expected}`;
}
