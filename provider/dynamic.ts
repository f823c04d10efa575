import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import { type BaseIssue, safeParse } from "valibot";
import { pathOf } from "../client/answer";
import type { Client } from "../client/client";
import { defaultConnection } from "../client/settings";
import {
  adopt,
  findToAdopt,
  importKey,
  keepAdopted,
  mustStay,
  problemsOfAdoption,
} from "./adoption";
import { type ConfigReader, ConfigurationError, connect, readSettings } from "./connection";
import { drifted, isWhole, toStore } from "./digests";
import {
  defined,
  type Found,
  hasUnknown,
  ifThere,
  isObject,
  type Lifecycle,
  only,
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
  const client = (properties: Properties): Client =>
    connect(connectionOf(properties), config).operation();
  /** What there is to adopt, unless inputs are wrong; that there is nothing is one more problem. */
  const toAdopt = async (id: unknown, inputs: Properties, problems: Problem[]) => {
    if (typeof id !== "string" || problems.length > 0) return undefined;
    try {
      return await findToAdopt(lifecycle, client(inputs), id, inputs);
    } catch (error) {
      problems.push({ path: "", reason: (error as Error).message });
      return undefined;
    }
  };
  /** The plan shows a create, so it is told when it is none. */
  const judgeAdoption = (
    id: string,
    found: Properties,
    inputs: Properties,
    problems: Problem[],
  ) => {
    problems.push(...problemsOfAdoption(lifecycle, id, found, inputs));
    if (problems.length === 0) console.error(`the ${lifecycle.title} ${id} is adopted as it is`);
  };

  return {
    // The engine's process uses a provider before this promise settles: nothing may be awaited.
    configure: async (request) => {
      config = (key) => request.config.get(key);
    },

    check: (olds: Properties = {}, raw: Properties = {}) =>
      clean(async () => {
        const { [importKey]: id, ...given } = raw;
        const isNew = Object.keys(olds).length === 0;
        const news = prune(lifecycle, given, olds);
        const problems = [
          ...problemsOfShape(lifecycle, news),
          ...problemsOfConnection(connectionOf(news), config),
        ];
        const found = isNew ? await toAdopt(id, news, problems) : undefined;
        // What is to be adopted is as good as what was deployed before.
        const before = isNew ? found?.inputs() : olds;
        const checked = lifecycle.check(news, before, new Date());
        problems.push(...checked.problems);
        if (found) judgeAdoption(id as string, found.state, checked.inputs, problems);
        for (const warning of checked.warnings) console.error(`warning: ${warning}`);
        const inputs = keepOld(lifecycle, before ?? {}, checked.inputs);
        return {
          inputs: { ...inputs, ...defined({ [importKey]: id }) },
          failures: problems.map(failureOf),
        };
      }),

    diff: (id: string, state: Properties, inputs: Properties) =>
      clean(async () => {
        lifecycle.planned?.(id, inputs);
        const replaces = lifecycle.replaces(state, inputs);
        if (connectionOf(state) !== connectionOf(inputs)) replaces.push("connection");
        keepAdopted(lifecycle, () => client(inputs), id, inputs, replaces);
        if (replaces.length > 0) return { replaces };
        const nothing =
          !hasUnknown(inputs) &&
          lifecycle.settings.every((setting) => state[setting] === inputs[setting]) &&
          lifecycle.differences(state, inputs).length === 0;
        // Otherwise the engine's own comparison of inputs decides: so that `replaceOnChanges` and
        // `ignoreChanges` work, and what the program leaves to the service is no change.
        return nothing ? { changes: false } : {};
      }),

    create: (inputs: Properties) =>
      clean(async () => {
        const { [importKey]: wanted, ...rest } = inputs;
        const { id, state, problem, warning } = await (typeof wanted === "string"
          ? adopt(lifecycle, client(inputs), wanted, rest)
          : lifecycle.create(client(inputs), inputs));
        if (warning) console.error(`warning: ${warning}`);
        const outs = withSettings(lifecycle, toStore(lifecycle, state), inputs);
        if (!problem) return { id, outs };
        // What the engine records all the same, and goes on from in the next update.
        const properties = { ...outs, __provider: inputs.__provider };
        const said = `the ${lifecycle.title} ${id} was made, and is recorded: ${problem}. The next \`pulumi up\` goes on from there`;
        throw Object.assign(new Error(said), { id, properties, reasons: [said] });
      }),

    read: (id: string, props: Properties = {}) =>
      clean(async () => {
        const { __provider, ...known } = props;
        // A program's `get` knows nothing yet.
        const state = "uri" in known ? known : undefined;
        const service = client(known);
        const found = await ifThere(lifecycle, service, lifecycle.read(service, id, state));
        if (!found) {
          if (state) return { id: "" };
          // The engine would take gone for read.
          throw new Error(`no ${lifecycle.title} has the id ${id}`);
        }
        return state
          ? { id, ...refreshed(lifecycle, known, found) }
          : { id, props: withSettings(lifecycle, found.state, known) };
      }),

    update: (id: string, state: Properties, inputs: Properties) =>
      clean(async () => {
        const service = client(inputs);
        const updating = lifecycle.update(service, id, state, inputs);
        const found = await ifThere(lifecycle, service, updating);
        if (found) return { outs: withSettings(lifecycle, toStore(lifecycle, found), inputs) };
        throw new Error(
          `the ${lifecycle.title} ${id} is gone from the service. ` +
            "Run `pulumi refresh`, then `pulumi up` makes it anew",
        );
      }),

    delete: (id: string, state: Properties) =>
      clean(async () => {
        const service = client(state);
        if (mustStay(lifecycle, service, id)) {
          console.error(
            `warning: the ${lifecycle.title} ${id} stays on the service, as a resource adopts it by the ` +
              "import option. If this is a replacement that is to make it anew, remove the option",
          );
          return;
        }
        await ifThere(lifecycle, service, lifecycle.delete(service, id));
      }),
  };
}

/** What a refresh stores of what was found. */
function refreshed(lifecycle: Lifecycle, stored: Properties, found: Found) {
  const changed = drifted(lifecycle, stored, found.state);
  // The engine shows of what has drifted what stands in the outputs; of what a program only reads
  // it compares them.
  const kept = isWhole(stored)
    ? only(found.state, [...Object.keys(stored), ...lifecycle.outputs, ...changed])
    : toStore(lifecycle, found.state, changed);
  const props = withSettings(lifecycle, kept, stored);
  // Inputs only when something drifted: a read is not told the private key, so returning them
  // always would take the key out of the stored inputs.
  if (changed.length === 0) return { props };
  return { props, inputs: withSettings(lifecycle, found.inputs(), stored) };
}

/** Without a property: the engine would print the property's value, secret or not. */
function failureOf({ path, reason }: Problem): dynamic.CheckFailure {
  return { property: "", reason: path ? `${path}: ${reason}` : reason };
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

/** Without the provider's own text, what says nothing, and what an earlier check has added. */
function prune(lifecycle: Lifecycle, raw: Properties, olds: Properties): Properties {
  const { __provider, ...rest } = withoutNull(raw) as Properties;
  return Object.fromEntries(
    Object.entries(rest).filter(([property, value]) => {
      // With `ignoreChanges` the engine gives back what check has derived before.
      const derived = !(property in lifecycle.schema.entries) && property in olds;
      return value !== "" && !(derived && isDeepStrictEqual(value, olds[property]));
    }),
  );
}

/** A property that is null says the same as none, at any depth. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value) || !isObject(value)) return value;
  const parts = Object.entries(defined(value));
  return Object.fromEntries(parts.map(([property, part]) => [property, withoutNull(part)]));
}

/** Reads and deletes see state alone, so what tells them how stands there too. */
function withSettings(lifecycle: Lifecycle, properties: Properties, from: Properties): Properties {
  return { ...properties, ...only(from, lifecycle.settings) };
}

/** Where the old value means the same as the new one, the old text stays: no noise in plans. */
function keepOld(lifecycle: Lifecycle, olds: Properties, news: Properties): Properties {
  return Object.fromEntries(
    Object.entries(news).map(([property, value]) => {
      const old = olds[property];
      const same =
        old !== undefined &&
        !hasUnknown(value) &&
        lifecycle.digest(property, old) === lifecycle.digest(property, value);
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
  const rest = structuredClone(news);
  const strays: Problem[] = [];
  for (;;) {
    const issues: BaseIssue<unknown>[] = safeParse(lifecycle.schema, rest).issues ?? [];
    const problems = issues.map((issue) => ({ path: pathOf(issue), reason: reasonOf(issue) }));
    // Of several misspelt properties valibot names the first: it is taken out to see the next.
    const stray = issues.findIndex(isStray);
    const place = issues[stray]?.path?.at(-1);
    if (!place) return [...strays, ...problems.filter((_, index) => !ofUnknown(issues[index]))];
    strays.push(problems[stray] as Problem);
    delete (place.input as Properties)[place.key as string];
  }
}

/** Said of a property that the schema does not have, whatever its value. */
function isStray(issue: BaseIssue<unknown>): boolean {
  return issue.type === "strict_object" && issue.expected === "never";
}

function ofUnknown(issue: BaseIssue<unknown> | undefined): boolean {
  return issue?.input === unknownValue || issue?.path?.at(-1)?.value === unknownValue;
}

/** Never valibot's own message, which quotes the value. */
function reasonOf(issue: BaseIssue<unknown>): string {
  if (issue.kind === "validation") return issue.message;
  if (isStray(issue)) {
    return "no such property: is it misspelt?";
  }
  return issue.received === "undefined"
    ? "is missing"
    : `must be ${issue.expected?.replace(/^"(.*)"$/, "$1").toLowerCase()}`;
}
