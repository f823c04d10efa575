import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { defaultConnection } from "../client/settings";
import {
  adopt,
  checkImportOption,
  deleteUnlessAdopted,
  findToAdopt,
  importKey,
  problemsOfAdoption,
} from "./adoption";
import {
  type ConfigReader,
  ConfigurationError,
  connect,
  overruled,
  readSettings,
  tellOnce,
} from "./connection";
import { noteManaged } from "./createOnce";
import { exitWithEngine } from "./engine";
import { counted } from "./gone";
import {
  defined,
  hasUnknown,
  ifThere,
  type Lifecycle,
  type Problem,
  type Properties,
  pick,
} from "./lifecycle";
import { refuseOtherService } from "./origin";
import { noteAllStored } from "./pendingCreates";
import { problemsOfShape, prune } from "./shape";
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
  const account = (properties: Properties): Client => connect(connectionOf(properties), config);
  /** For an operation that makes requests: a person is told once which service it speaks to. */
  const client = (properties: Properties): Client => {
    const connected = account(properties);
    tellOnce(overruled(connectionOf(properties), config, process.env));
    tellOnce(`${connectionOf(properties)}: the service is ${connected.baseUrl.host}`);
    return connected.operation();
  };
  /** {@link client} for what is stored, which must be of that service. */
  const clientOf = (id: string, state: Properties, properties = state): Client => {
    const operation = client(properties);
    const what = `the ${lifecycle.title} ${id}`;
    refuseOtherService(operation, connectionOf(properties), what, state.uri);
    noteManaged(id);
    return operation;
  };
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
      void exitWithEngine(noteAllStored);
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
        const before = isNew ? found && lifecycle.inputsOf(found) : olds;
        const checked = lifecycle.check(news, before, new Date());
        problems.push(...checked.problems);
        if (found) judgeAdoption(id as string, found, checked.inputs, problems);
        const inputs = keepOld(lifecycle, before ?? {}, checked.inputs);
        return {
          inputs: { ...inputs, ...defined({ [importKey]: id }) },
          failures: problems.map(failureOf),
        };
      }),

    diff: (id: string, state: Properties, inputs: Properties) =>
      clean(async () => {
        noteManaged(id);
        lifecycle.planned?.(id, inputs);
        const replaces = lifecycle.replaces(state, inputs);
        if (connectionOf(state) !== connectionOf(inputs)) replaces.push("connection");
        checkImportOption(lifecycle, () => account(inputs), id, inputs, replaces);
        if (replaces.length > 0) return { replaces };
        const nothing =
          !hasUnknown(inputs) &&
          isWhole(lifecycle, state) &&
          isDeepStrictEqual(settingsOf(lifecycle, state), settingsOf(lifecycle, inputs)) &&
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
        const outs = { ...state, ...settingsOf(lifecycle, inputs) };
        if (!problem) return { id, outs };
        // What the engine records all the same, and goes on from in the next update.
        const properties = { ...outs, __provider: inputs.__provider };
        const said = `the ${lifecycle.title} ${id} was created and is in the state, but ${problem}. The next \`pulumi up\` completes it`;
        throw Object.assign(new Error(said), { id, properties, reasons: [said] });
      }),

    read: (id: string, props: Properties = {}) =>
      clean(async () => {
        // A program's `get` knows nothing yet.
        const stored = "uri" in props ? props : undefined;
        const service = clientOf(id, props);
        const reading = lifecycle.read(service, id, stored);
        const found = await counted(service, ifThere(lifecycle, service, reading));
        if (found) return { id, ...refreshed(lifecycle, props, found) };
        if (stored) return { id: "" };
        // The engine would take gone for read.
        throw new Error(`no ${lifecycle.title} has the id ${id}`);
      }),

    update: (id: string, stored: Properties, inputs: Properties) =>
      clean(async () => {
        const service = clientOf(id, stored, inputs);
        const update = async () => {
          const isKnown = isWhole(lifecycle, stored);
          const state = isKnown ? stored : await lifecycle.read(service, id, stored);
          const [other] = isKnown ? [] : lifecycle.replaces(state, inputs);
          if (other) {
            throw new Error(
              `${other} can't be updated, and the state, which another version of pulumi-tlsedge ` +
                "wrote, does not say what it was. Run `pulumi refresh`, then `pulumi up` again",
            );
          }
          const sent = lifecycle.differences(state, inputs).map(({ property }) => property);
          const found = await lifecycle.update(service, id, state, inputs);
          // What someone else has changed stays in state as it was, so that a refresh finds it.
          const others = driftOf(lifecycle, state, found).filter((name) => !sent.includes(name));
          return { ...found, ...pick(state, others) };
        };
        const found = await ifThere(lifecycle, service, update());
        if (found) return { outs: { ...found, ...settingsOf(lifecycle, inputs) } };
        throw new Error(
          `the ${lifecycle.title} ${id} is gone from the service. ` +
            "Run `pulumi refresh`, then `pulumi up` makes it anew",
        );
      }),

    delete: (id: string, state: Properties) =>
      clean(() => deleteUnlessAdopted(lifecycle, clientOf(id, state), id)),
  };
}

/** What a read stores of an object that is there. */
function refreshed(lifecycle: Lifecycle, stored: Properties, found: Properties) {
  const props = { ...found, ...settingsOf(lifecycle, stored) };
  // Inputs only when something drifted: a read is not told the private key, so returning them
  // always would take the key out of the stored inputs.
  if (driftOf(lifecycle, stored, found).length === 0) return { props };
  const { connection, ...settings } = pick(stored, lifecycle.settings);
  const named = connection === defaultConnection ? undefined : connection;
  const inputs = { ...lifecycle.inputsOf(found), ...defined({ ...settings, connection: named }) };
  return { props, inputs };
}

/** The properties that are not what state says; of one that state does not have, nothing is known. */
function driftOf(lifecycle: Lifecycle, stored: Properties, found: Properties): string[] {
  const [had, has] = [lifecycle.inputsOf(stored), lifecycle.inputsOf(found)];
  return lifecycle.properties.filter(
    (name) => stored[name] !== undefined && !lifecycle.same(name, had[name], has[name]),
  );
}

/** Whether a state holds every property: an earlier version may have stored fewer. */
function isWhole(lifecycle: Lifecycle, state: Properties): boolean {
  return lifecycle.properties.every((name) => state[name] !== undefined);
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

/** Settings that are not sent to the service. They go into the state: read and delete see it alone. */
function settingsOf(lifecycle: Lifecycle, from: Properties): Properties {
  const settings = lifecycle.settings.map((name) => [name, from[name] ?? null]);
  return { ...Object.fromEntries(settings), connection: connectionOf(from) };
}

function connectionOf(properties: Properties): string {
  return String(properties.connection ?? defaultConnection);
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
    tellOnce(overruled(connection, config, process.env));
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return [{ path: "", reason: error.message }];
    throw error;
  }
}
