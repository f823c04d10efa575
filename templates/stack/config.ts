import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { closest, distance } from "fastest-levenshtein";
import * as v from "valibot";

/** An object with no other settings than these. The message of an issue of it is their names. */
const only = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.strictObject(entries, () => Object.keys(entries).join(", "));

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

/** Of the whole stack, or of one edge. */
const ofEdges = {
  certificate: v.string(),
  backendId: text,
  access: v.lazy((value) =>
    typeof value === "object" && value !== null
      ? v.pipe(
          only({ ipPolicyIds: ids, certificateAuthorityIds: ids }),
          v.check(
            (access) => Object.keys(access).length > 0,
            "must have ipPolicyIds or certificateAuthorityIds",
          ),
        )
      : v.literal("anyone"),
  ),
  minVersion: v.optional(v.picklist(["1.0", "1.1", "1.2", "1.3"])),
};

const schema = only({
  ...common,
  ...ofCertificates,
  ...v.partial(v.object(ofEdges)).entries,
  owner: v.optional(v.string()),
  certificates: v.optional(
    v.record(
      v.string(),
      only({
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
      only({
        ...common,
        ...ofEdges,
        description: v.optional(v.string()),
        hostports: v.pipe(v.array(v.string()), v.nonEmpty("must name one or more")),
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
  const settings: Named = {
    ...values,
    ...("privateKeys" in values && { privateKeys: hidden(keys) }),
  };
  const problems = misspelt(settings);
  settings.edges = filledUp(settings);
  problems.push(...unmatchedNames(settings), ...unreadable(settings));
  const { success, output, issues = [] } = v.safeParse(schema, settings);
  const isSecret = (name: unknown) => isConfigSecret(`${prefix}${name}`);
  problems.push(...issues.map((issue) => `${v.getDotPath(issue)}: ${reasonOf(issue, isSecret)}`));
  if (keys && !isConfigSecret(`${prefix}privateKeys`)) {
    problems.push("privateKeys: stands in config in plain text: set it with --secret");
  }
  if (!success || problems.length > 0) {
    throw new pulumi.RunError(`the config of ${namespace}:\n  ${problems.join("\n  ")}`);
  }
  const privateKeys = pulumi.secret((keys ?? {}) as Record<string, string>);
  return { ...output, privateKeys };
}

/**
 * Takes out what the schema has no place for, and puts it where it was meant to be. Of several,
 * valibot names the first.
 */
function misspelt(settings: Record<string, unknown>): string[] {
  const { issues = [] } = v.safeParse(schema, settings);
  const issue = issues.find(
    ({ type, expected }) => type === "strict_object" && expected === "never",
  );
  const place = issue?.path?.at(-1);
  if (!issue || !place) return [];
  const { key: name, input } = place as { key: string; input: Record<string, unknown> };
  const meant = nearest(name, issue.message.split(", "));
  if (meant && !Object.hasOwn(input, meant)) input[meant] = input[name];
  delete input[name];
  const advice = meant ? `did you mean ${meant}?` : `known are ${issue.message}`;
  return [`${v.getDotPath(issue)}: no such setting: ${advice}`, ...misspelt(settings)];
}

/** The edges, each with what the stack says of all and the edge does not. */
function filledUp(settings: Named): unknown {
  if (!isRecord(settings.edges)) return settings.edges;
  const names = Object.keys(ofEdges).filter((name) => name in settings);
  const defaults = Object.fromEntries(names.map((name) => [name, settings[name]]));
  const filled = Object.entries(settings.edges).map(([name, edge]) => [
    name,
    isRecord(edge) ? { ...defaults, ...edge } : edge,
  ]);
  return Object.fromEntries(filled);
}

/** The nearest name; undefined when more than a third of the letters differ. */
function nearest(name: string, known: string[]): string | undefined {
  const meant = closest(name, known);
  return distance(name, meant) <= Math.max(1, name.length / 3) ? meant : undefined;
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

/** Never the value of a secret. */
function reasonOf(issue: v.BaseIssue<unknown>, isSecret: (name: unknown) => boolean): string {
  const { expected, input, path } = issue;
  if (issue.kind === "validation") return issue.message;
  if (issue.received === "undefined") return "is missing";
  // In YAML, 1.2 without quotes is a number.
  if (typeof input === "number" && /string|"/.test(expected ?? "")) {
    const number = isSecret(path?.[0]?.key) ? "a number" : `the number ${input}`;
    return `is ${number}: put it into quotes`;
  }
  return `must be ${expected?.replace(/[()]/g, "").replaceAll(" | ", " or ")}`;
}
