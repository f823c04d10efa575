import type { dynamic } from "@pulumi/pulumi";
import { type BaseIssue, safeParse } from "valibot";
import type { Client } from "../client/client";
import { ServiceError } from "../client/errors";
import {
  type ConfigReader,
  ConfigurationError,
  connect,
  defaultConnection,
  readSettings,
} from "./connection";
import {
  hasUnknown,
  type Lifecycle,
  type Problem,
  type Properties,
  unknownValue,
} from "./lifecycle";
import { lifecycle as tlsCertificateLifecycle } from "./tlsCertificate";
import { lifecycle as tlsEdgeLifecycle } from "./tlsEdge";

/** What the engine calls for TLS edges. State names this export: it stays for ever. */
export const tlsEdge = dynamicProvider(tlsEdgeLifecycle);
/** What the engine calls for TLS certificates. State names this export: it stays for ever. */
export const tlsCertificate = dynamicProvider(tlsCertificateLifecycle);

/**
 * Serves a lifecycle on Pulumi's dynamic-provider protocol, whose rules are settled here once:
 * values not known yet, gone means gone, and what a refresh gives back.
 */
function dynamicProvider(lifecycle: Lifecycle): dynamic.ResourceProvider {
  let config: ConfigReader = () => undefined;
  const connectionOf = (properties: Properties) =>
    String(properties.connection ?? defaultConnection);
  const client = (properties: Properties): Client => connect(connectionOf(properties), config);

  return {
    // The engine's process uses a provider before this promise settles: nothing may be awaited.
    configure: async (request) => {
      config = (key) => request.config.get(key);
    },

    check: (olds: Properties, raw: Properties) =>
      clean(async () => {
        const before = Object.keys(olds ?? {}).length > 0 ? olds : undefined;
        const news = prune(raw);
        const shape = problemsOfShape(lifecycle, news);
        const { inputs, problems, warnings } = lifecycle.check(news, before, new Date());
        const failures = [
          ...shape,
          ...problems,
          ...problemsOfConnection(connectionOf(news), config),
        ];
        for (const warning of warnings) console.error(`warning: ${warning}`);
        return {
          inputs: keepOld(lifecycle, before ?? {}, inputs),
          // Without a property: the engine would print the property's value, secret or not.
          failures: failures.map(({ path, reason }) => ({
            property: "",
            reason: path ? `${path}: ${reason}` : reason,
          })),
        };
      }),

    diff: (_id: string, state: Properties, inputs: Properties) =>
      clean(async () => {
        const replaces = lifecycle.replaces(state, inputs);
        if ((state.connection ?? defaultConnection) !== (inputs.connection ?? defaultConnection)) {
          replaces.push("connection");
        }
        if (replaces.length > 0) return { replaces };
        const nothing = !hasUnknown(inputs) && lifecycle.unchanged(state, inputs);
        // Otherwise the engine's own comparison of inputs decides: so that `replaceOnChanges` and
        // `ignoreChanges` work, and what the program leaves to the service is no change.
        return nothing ? { changes: false } : {};
      }),

    create: (inputs: Properties) =>
      clean(async () => {
        const { id, state } = await lifecycle.create(client(inputs), inputs);
        return { id, outs: withConnection(state, inputs) };
      }),

    read: (id: string, props: Properties = {}) =>
      clean(async () => {
        const { __provider, ...known } = props;
        const state = "uri" in known ? known : undefined;
        try {
          const found = await lifecycle.read(client(known), id, state);
          const now = keepOld(lifecycle, known, withConnection(found.state, known));
          // Inputs only when something drifted: a read is not told the private key, so returning
          // them always would take the key out of the stored inputs.
          const drifted = state && lifecycle.drifted(state, now);
          return {
            id,
            props: now,
            ...(drifted && { inputs: withConnection(found.inputs, known) }),
          };
        } catch (error) {
          return gone(error, state, `no ${lifecycle.title} has the id ${id}`);
        }
      }),

    update: (id: string, state: Properties, inputs: Properties) =>
      clean(async () => {
        try {
          const outs = await lifecycle.update(client(inputs), id, state, inputs);
          return { outs: withConnection(outs, inputs) };
        } catch (error) {
          if (!isGone(error)) throw error;
          throw new Error(
            `the ${lifecycle.title} ${id} is gone from the service. ` +
              "Run `pulumi refresh`, then `pulumi up` makes it anew",
          );
        }
      }),

    delete: (id: string, state: Properties) =>
      clean(async () => {
        try {
          await lifecycle.delete(client(state), id);
        } catch (error) {
          if (!isGone(error)) throw error;
        }
      }),
  };
}

/** What a read gives back when the service has no such thing. */
function gone(error: unknown, state: Properties | undefined, otherwise: string): { id: "" } {
  if (!isGone(error)) throw error;
  if (state) return { id: "" };
  // Asked for by a program's `get`, which the engine would take for read.
  throw new Error(otherwise);
}

function isGone(error: unknown): boolean {
  return error instanceof ServiceError && error.status === 404;
}

/** The engine prints an error's stack: a person is served by its message alone. */
async function clean<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) error.stack = "";
    throw error;
  }
}

/** Without the provider's own text and what says nothing: null, undefined, an empty description. */
function prune(properties: Properties): Properties {
  const { __provider, ...rest } = properties;
  return Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value != null && value !== ""),
  );
}

function withConnection(properties: Properties, from: Properties): Properties {
  return from.connection === undefined
    ? properties
    : { ...properties, connection: from.connection };
}

/** Where the old value means the same as the new one, the old text stays: no noise in plans. */
function keepOld(lifecycle: Lifecycle, olds: Properties, news: Properties): Properties {
  return Object.fromEntries(
    Object.entries(news).map(([property, value]) => {
      const old = olds[property];
      const same = old !== undefined && !hasUnknown(value) && lifecycle.same(property, old, value);
      return [property, same ? old : value];
    }),
  );
}

function problemsOfConnection(connection: string, config: ConfigReader): Problem[] {
  try {
    readSettings(connection, config, process.env);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return [{ path: "", reason: error.message }];
    throw error;
  }
}

/** What the schema says, less what it says of values that are not known yet. */
function problemsOfShape(lifecycle: Lifecycle, news: Properties): Problem[] {
  const result = safeParse(lifecycle.schema, news);
  return (result.issues ?? [])
    .filter((issue) => !isUnknown(issue))
    .map((issue) => ({ path: pathOf(issue), reason: reasonOf(issue) }));
}

function isUnknown(issue: BaseIssue<unknown>): boolean {
  return issue.input === unknownValue || issue.path?.at(-1)?.value === unknownValue;
}

function pathOf(issue: BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce<string>((path, { key }) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return path ? `${path}.${key}` : String(key);
  }, "");
}

/** Never valibot's own message, which quotes the value. */
function reasonOf(issue: BaseIssue<unknown>): string {
  if (issue.kind === "validation") return issue.message;
  if (issue.type === "strict_object" && issue.expected === "never") {
    return "no such property: is it misspelt?";
  }
  return issue.received === "undefined"
    ? "is missing"
    : `must be ${issue.expected?.replace(/^"(.*)"$/, "$1").toLowerCase()}`;
}
