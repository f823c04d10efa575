import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import type { Client } from "../client/client";
import { defaultConnection } from "../client/settings";
import {
  adopt,
  adoptions,
  checkImportOption,
  deleteUnlessAdopted,
  findToAdopt,
  importKey,
  noteChecked,
  problemsOfAdoption,
} from "./adoption";
import { type ConfigReader, connect, overruled, problemOfSettings } from "./connection";
import { noteManaged } from "./createOnce";
import { exitWithEngine } from "./engine";
import {
  defined,
  hasUnknown,
  type Lifecycle,
  type Problem,
  type Properties,
  pick,
} from "./lifecycle";
import { inform, once, warn } from "./messages";
import { driftOf, incomplete, isWhole, keepEqual, read, textOf, update } from "./operations";
import { refuseOtherService } from "./origin";
import { noteAllStored } from "./pendingCreates";
import { problemsOfShape, prune } from "./shape";
import { lifecycle as tlsCertificateLifecycle } from "./tlsCertificate";
import { lifecycle as tlsEdgeLifecycle } from "./tlsEdge";

/** The provider of TLS edges. Every state names this export, so it is never renamed. */
export const tlsEdge = dynamicProvider(tlsEdgeLifecycle);
/** The provider of TLS certificates. Every state names this export, so it is never renamed. */
export const tlsCertificate = dynamicProvider(tlsCertificateLifecycle);

/**
 * Adapts a lifecycle to Pulumi's dynamic-provider protocol. The rules of the protocol are handled
 * here for all resources: unknown values, deleted objects, and the result of a refresh.
 */
function dynamicProvider(lifecycle: Lifecycle): dynamic.ResourceProvider {
  let config: ConfigReader = () => undefined;
  const account = (properties: Properties): Client => connect(connectionOf(properties), config);
  /** The client of an operation that makes requests. Prints once which service it uses. */
  const client = (properties: Properties): Client => {
    const connected = account(properties);
    once(warn, overruled(connectionOf(properties), config, process.env));
    once(inform, `${connectionOf(properties)}: the service is ${connected.baseUrl.host}`);
    return connected.operation();
  };
  /** {@link client} for an object in state, which must belong to that service. */
  const clientOf = (id: string, state: Properties, properties = state): Client => {
    const operation = client(properties);
    const what = `the ${lifecycle.title} ${id}`;
    refuseOtherService(operation, connectionOf(properties), what, state.uri);
    noteManaged(id);
    return operation;
  };
  /** Reads the object to adopt, unless the inputs have problems. A failure becomes a problem. */
  const readToAdopt = async (id: unknown, inputs: Properties, problems: Problem[]) => {
    if (typeof id !== "string" || problems.length > 0) return undefined;
    try {
      return await findToAdopt(lifecycle, client(inputs), id, inputs);
    } catch (error) {
      problems.push({ path: "", reason: (error as Error).message });
      return undefined;
    }
  };
  return {
    // Don't await here: Pulumi uses a provider before this promise settles.
    configure: async (request) => {
      config = (key) => request.config.get(key);
      void exitWithEngine(() => {
        noteAllStored();
        // Only now is it known that no other adoption follows.
        once(inform, adoptions());
      });
    },

    check: (olds: Properties = {}, raw: Properties = {}) =>
      withoutStack(async () => {
        const { [importKey]: id, ...given } = raw;
        const isNew = Object.keys(olds).length === 0;
        const news = prune(lifecycle, given, olds);
        const problems = [
          ...problemsOfShape(lifecycle, news),
          ...problemsOfConnection(connectionOf(news), config),
        ];
        const found = isNew ? await readToAdopt(id, news, problems) : undefined;
        // In an adoption, the object's inputs take the place of the old inputs.
        const before = isNew ? found && lifecycle.inputsOf(found) : olds;
        const checked = lifecycle.check(news, before, new Date());
        problems.push(...checked.problems);
        if (found) {
          problems.push(...problemsOfAdoption(lifecycle, id as string, found, checked.inputs));
          if (problems.length === 0) noteChecked(lifecycle, id as string);
        }
        const inputs = keepEqual(lifecycle, before ?? {}, checked.inputs);
        return {
          inputs: { ...inputs, ...defined({ [importKey]: id }) },
          failures: problems.map(failureOf),
        };
      }),

    diff: (id: string, state: Properties, inputs: Properties) =>
      withoutStack(async () => {
        noteManaged(id);
        lifecycle.planned?.(id, inputs);
        const replaces = lifecycle.replaces(state, inputs);
        // The plugin stores no connection: its accounts are explicit providers.
        const isOwn = state.__provider !== undefined;
        if (isOwn && connectionOf(state) !== connectionOf(inputs)) replaces.push("connection");
        checkImportOption(lifecycle, () => account(inputs), id, inputs, replaces);
        if (replaces.length > 0) return { replaces };
        // An update without changes stores what the plugin does not: Pulumi needs `__provider`.
        const isUnchanged =
          isOwn &&
          !hasUnknown(inputs) &&
          isWhole(lifecycle, state) &&
          isDeepStrictEqual(settingsOf(lifecycle, state), settingsOf(lifecycle, inputs)) &&
          lifecycle.differences(state, inputs).length === 0;
        // Otherwise the engine itself compares the inputs: so `replaceOnChanges` and
        // `ignoreChanges` work, and fields that the program does not set are no change.
        return isUnchanged ? { changes: false } : {};
      }),

    create: (inputs: Properties) =>
      withoutStack(async () => {
        const { [importKey]: wanted, ...rest } = inputs;
        const { id, state, problem, warning } = await (typeof wanted === "string"
          ? adopt(lifecycle, client(inputs), wanted, rest)
          : lifecycle.create(client(inputs), inputs));
        if (warning) warn(warning);
        const outs = { ...state, ...settingsOf(lifecycle, inputs) };
        if (!problem) return { id, outs };
        // The engine stores these properties in spite of the error; the next update completes them.
        const properties = { ...outs, __provider: inputs.__provider };
        const message = incomplete(lifecycle, id, problem);
        throw Object.assign(new Error(message), { id, properties, reasons: [message] });
      }),

    read: (id: string, props: Properties = {}) =>
      withoutStack(async () => {
        // In a program's `get`, no properties are stored yet.
        const stored = "uri" in props ? props : undefined;
        const found = await read(lifecycle, clientOf(id, props), id, stored);
        if (found) return { id, ...refreshed(lifecycle, props, found) };
        if (stored) return { id: "" };
        // The engine would accept an empty id as a successful `get`.
        throw new Error(`no ${lifecycle.title} has the id ${id}`);
      }),

    update: (id: string, stored: Properties, inputs: Properties) =>
      withoutStack(async () => {
        const service = clientOf(id, stored, inputs);
        const found = await update(lifecycle, service, id, stored, inputs);
        return { outs: { ...found, ...settingsOf(lifecycle, inputs) } };
      }),

    delete: (id: string, state: Properties) =>
      withoutStack(() => deleteUnlessAdopted(lifecycle, clientOf(id, state), id)),
  };
}

/** The result of a read of an existing object. */
function refreshed(lifecycle: Lifecycle, stored: Properties, found: Properties) {
  const props = { ...found, ...settingsOf(lifecycle, stored) };
  // Return inputs only after drift. A read does not know the private key, so inputs that it returns
  // would remove the key from the state.
  if (driftOf(lifecycle, stored, found).length === 0) return { props };
  const isDefault = stored.connection === defaultConnection;
  const settings = isDefault ? { ...stored, connection: undefined } : stored;
  const given = defined(pick(settings, lifecycle.settings));
  return { props, inputs: { ...lifecycle.inputsOf(found), ...given } };
}

/** Leaves `property` empty: the engine would print the value of that property, secret or not. */
function failureOf(problem: Problem): dynamic.CheckFailure {
  return { property: "", reason: textOf(problem) };
}

/** Empties the stack trace of an error: the engine prints it, but users need only the message. */
async function withoutStack<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) error.stack = "";
    throw error;
  }
}

/** The settings, which are not sent to the service. State has them for read and delete. */
function settingsOf(lifecycle: Lifecycle, from: Properties): Properties {
  const settings = lifecycle.settings.map((name) => [name, from[name] ?? null]);
  return { ...Object.fromEntries(settings), connection: connectionOf(from) };
}

function connectionOf(properties: Properties): string {
  return String(properties.connection ?? defaultConnection);
}

function problemsOfConnection(connection: string, config: ConfigReader): Problem[] {
  const reason = problemOfSettings(connection, config);
  if (reason) return [{ path: "", reason }];
  once(warn, overruled(connection, config, process.env));
  return [];
}
