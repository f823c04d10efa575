import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import * as v from "valibot";
import { plainMessage } from "../client/plain";
import { defaultConnection } from "../client/settings";
import {
  adopt,
  checkImportOption,
  claim,
  findToAdopt,
  importKey,
  noteAdoption,
  problemsOfAdoption,
  secretsKey,
} from "./adopt";
import { problemOf } from "./connection";
import { create } from "./create";
import { exitWithEngine } from "./engine";
import {
  driftOf,
  inputsOf,
  isUnchanged,
  type Kind,
  keepEqual,
  type Problem,
  settingsOf,
} from "./kind";
import { idToImport, isNamed, kinds } from "./kinds";
import { type AccountState, accountState, judgeAccount } from "./marks";
import { askBefore, askBeforeUpdate, noteDeployed } from "./plan";
import { currentRun, finishRun } from "./process";
import { defined, type Properties, pick, unknownValue, withOneMarker } from "./properties";
import {
  check,
  incomplete,
  noteDiff,
  noteInState,
  read,
  remove,
  secretTexts,
  textsOf,
  update,
} from "./resource";
import type { Account } from "./run";
import { type Timed, type Timeouts, timeoutsKey } from "./timeouts";
import { text } from "./values/inputs";
import { problemsOfShape, prune } from "./values/shape";

/** Whether this process is prepared: the engine configures each provider. */
let isPrepared = false;

/** The provider of TLS edges. Every state names this export, so it is never renamed. */
export const tlsEdge = dynamicProvider(kinds.TLSEdge);
/** The provider of TLS certificates. Every state names this export, so it is never renamed. */
export const tlsCertificate = dynamicProvider(kinds.TLSCertificate);

/**
 * Adapts a kind to Pulumi's dynamic-provider protocol. The rules of the protocol are handled
 * here for all resources: unknown values, deleted objects, and the result of a refresh.
 */
function dynamicProvider(kind: Kind): dynamic.ResourceProvider {
  const { entries } = kind.schema;
  /** A program of these providers may also name a config namespace. */
  const schema = { ...kind.schema, entries: { ...entries, connection: v.optional(text) } };
  const accountOf = (properties: Properties): Account =>
    currentRun().account(connectionOf(properties));
  /** The account for an operation that makes requests. */
  const operation = (properties: Properties, timed?: Timed, state: Properties = {}): Account => {
    const account = accountOf(properties);
    currentRun().sayOverruled(connectionOf(properties));
    const timeouts = (properties[timeoutsKey] ?? {}) as Timeouts;
    const names = (properties[secretsKey] ?? []) as string[];
    const secrets = secretTexts(kind, names, properties, state);
    return account.operation(timed && timeouts[timed], secrets);
  };
  /** {@link operation} on an object in state. */
  const operationOn = (
    id: string,
    timed: Timed,
    state: Properties,
    properties = state,
  ): Account => {
    const account = operation(properties, timed, state);
    noteInState(kind, account, id, state);
    return account;
  };
  const resource = (inputs: Properties) => {
    const isSecret = ((inputs[secretsKey] ?? []) as string[]).includes("hostports");
    return { account: accountOf(inputs), kind, inputs, isSecret };
  };
  /** Reads the object to adopt, unless the inputs have problems. A failure becomes a problem. */
  const readToAdopt = async (wanted: unknown, inputs: Properties, problems: Problem[]) => {
    if (typeof wanted !== "string" || problems.length > 0) return undefined;
    try {
      const account = operation(inputs);
      account.memory.isUsed = true;
      const id = await idToImport(kind, account.client, wanted);
      claim(kind, account, id, wanted);
      return { id, state: await findToAdopt(kind, operation(inputs), id, inputs) };
    } catch (error) {
      problems.push({ path: "", reason: (error as Error).message });
      return undefined;
    }
  };
  const checkAdoption = (id: string, found: Properties, inputs: Properties, all: Problem[]) => {
    all.push(...problemsOfAdoption(kind, id, found, inputs));
    if (all.length === 0) noteAdoption(currentRun(), kind, id);
  };
  /** Asks the service before a create, unless the inputs have problems. A failure becomes one. */
  const askFor = async (inputs: Properties, problems: Problem[]) => {
    if (problems.length > 0) return;
    try {
      await askBefore(resource(inputs), true);
    } catch (error) {
      problems.push({ path: "", reason: (error as Error).message });
    }
  };
  return {
    // Don't await here: Pulumi uses a provider before this promise settles.
    configure: async (request) => {
      currentRun().config = (key) => request.config.get(key);
      if (isPrepared) return;
      isPrepared = true;
      printOthers();
      void exitWithEngine(finishRun);
    },

    check: (olds: Properties = {}, raw: Properties = {}) =>
      toldOnce(async () => {
        const {
          [importKey]: wanted,
          [secretsKey]: marked,
          [timeoutsKey]: timeouts,
          ...given
        } = withOneMarker(raw);
        const secrets = namesOf(kind, marked);
        const isNew = Object.keys(olds).length === 0;
        const news = prune({ schema }, given, olds);
        const problems = [
          ...problemsOfShape({ schema }, news),
          ...problemsOfConnection(connectionOf(news)),
        ];
        const found = isNew
          ? await readToAdopt(wanted, { ...news, [secretsKey]: secrets }, problems)
          : undefined;
        // In an adoption, the object's inputs take the place of the old inputs.
        const before = isNew ? found && inputsOf(kind, found.state) : olds;
        const checked = check(currentRun(), kind, news, before);
        problems.push(...checked.problems);
        // The inputs are the only way into a plan, so they have what follows from them.
        const derived = kind.derived?.(checked.inputs, before);
        const inputs = { ...keepEqual(kind, before ?? {}, checked.inputs), ...derived };
        // What the check refuses is not compared with the object to adopt.
        const refused = problems.map(({ path }) => [path.split(".", 1)[0], unknownValue]);
        const toAdopt = {
          ...checked.inputs,
          ...Object.fromEntries(refused),
          [secretsKey]: secrets,
        };
        if (found) checkAdoption(found.id, found.state, toAdopt, problems);
        else if (isNew) await askFor({ ...inputs, [secretsKey]: secrets }, problems);
        currentRun().hasProgram = true;
        noteDeployed(currentRun(), olds);
        const kept = {
          [importKey]: wanted,
          [secretsKey]: keptNames(kind, secrets),
          [timeoutsKey]: timeouts,
        };
        return {
          inputs: { ...inputs, ...defined(kept) },
          failures: textsOf(problems, (name) => secrets.includes(name)).map(failureOf),
        };
      }),

    diff: (id: string, state: Properties, inputs: Properties) =>
      toldOnce(async () => {
        // The plugin stores no connection: its accounts are explicit providers.
        const isOwn = state.__provider !== undefined;
        const account = accountOf(isOwn ? state : inputs);
        noteDiff(kind, account, id, state, inputs);
        const replaces = kind.replaces(state, inputs);
        if (isOwn && connectionOf(state) !== connectionOf(inputs)) replaces.push("connection");
        const isOwnName = (wanted: unknown) => isNamed(kind, id, state, wanted);
        checkImportOption(kind, () => accountOf(inputs), id, inputs, {
          replaces,
          isOwn: isOwnName,
        });
        // An update without changes stores what the plugin does not: Pulumi needs `__provider`.
        const isSame =
          replaces.length === 0 &&
          isOwn &&
          state[importKey] === inputs[importKey] &&
          isDeepStrictEqual(storedSettings(kind, state), storedSettings(kind, inputs)) &&
          isUnchanged(kind, state, inputs);
        // Fail in the plan when the object may belong to another account.
        if (isSame) {
          await judgeAccount(kind, account, id, state, false);
          return { changes: false };
        }
        await askBeforeUpdate(resource(inputs), id, state);
        await judgeAccount(kind, account, id, state, true);
        if (replaces.length > 0) return { replaces };
        // The engine itself compares the inputs: so `replaceOnChanges` and `ignoreChanges` work, and
        // fields that the program does not set are no change.
        return {};
      }),

    create: (inputs: Properties) =>
      toldOnce(async () => {
        currentRun().isUpdate = true;
        const { [importKey]: wanted, ...rest } = inputs;
        const service = operation(inputs, "create");
        const { id, state, problem, warning } = await (typeof wanted === "string"
          ? adopt(kind, service, await idToImport(kind, service.client, wanted), rest, wanted)
          : create(kind, service, inputs));
        currentRun().say("warning", warning, "resource");
        const outs = { ...state, ...storedOf(kind, inputs), ...accountState(service) };
        if (!problem) return { id, outs };
        // The engine stores these properties in spite of the error; the next update completes them.
        const properties = { ...outs, __provider: inputs.__provider };
        const message = incomplete(kind, id, problem);
        throw Object.assign(new Error(message), { id, properties, reasons: [message] });
      }),

    read: (id: string, props: Properties = {}) =>
      toldOnce(async () => {
        // In a program's `get`, no properties are stored yet.
        const stored = "uri" in props ? props : undefined;
        const service = operationOn(id, "read", props);
        const found = await read(kind, service, id, stored);
        if (found) return { id, ...refreshed(kind, props, found, accountState(service)) };
        if (stored) return { id: "" };
        // The engine would accept an empty id as a successful `get`.
        throw new Error(`no ${kind.title} has the id ${id}`);
      }),

    update: (id: string, stored: Properties, inputs: Properties) =>
      toldOnce(async () => {
        currentRun().isUpdate = true;
        const service = operationOn(id, "update", stored, inputs);
        const found = await update(kind, service, id, stored, inputs);
        return { outs: { ...found, ...storedOf(kind, inputs), ...accountState(service) } };
      }),

    delete: (id: string, state: Properties) =>
      toldOnce(() => {
        currentRun().isUpdate = true;
        return remove(kind, operationOn(id, "delete", state), id, state);
      }),
  };
}

/** The result of a read of an existing object. */
function refreshed(kind: Kind, stored: Properties, found: Properties, account: AccountState) {
  const props = { ...found, ...storedOf(kind, stored), ...account };
  // Return inputs only after drift. A read does not know the private key, so inputs that it returns
  // would remove the key from the state.
  if (driftOf(kind, stored, found).length === 0) return { props };
  const isDefault = stored.connection === defaultConnection;
  const settings = isDefault ? { ...stored, connection: undefined } : stored;
  const given = defined(pick(settings, [...settingsOf(kind), "connection"]));
  const inputs = inputsOf(kind, found);
  return { props, inputs: { ...inputs, ...kind.derived?.(inputs), ...given } };
}

/** Leaves `property` empty: the engine would print the value of that property, secret or not. */
function failureOf(reason: string): dynamic.CheckFailure {
  return { property: "", reason };
}

/** The text of an error that the engine shows: {@link printOthers} does not print it again. */
const told = "[the engine shows this error of pulumi-tlsedge]";

/**
 * Makes the message of an error plain, because the engine shows it. In most calls, Pulumi's server
 * also prints the error and its stack on stderr, which the engine would show as a second message.
 */
async function toldOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) {
      Object.assign(error, { message: plainMessage(error.message), stack: "" });
      // Several calls may fail with one error.
      Object.defineProperty(error, "toString", { value: () => told, configurable: true });
    }
    throw error;
  }
}

/** Leaves out of what this process prints the errors that the engine shows. */
function printOthers(): void {
  const print = console.error;
  console.error = (...parts: unknown[]) => {
    if (!String(parts[0]).startsWith(told)) print(...parts);
  };
}

/** The names of the secrets. Another copy of this package may have registered the resource without them. */
function namesOf({ schema }: Kind, marked: unknown): string[] {
  return Array.isArray(marked) ? marked : Object.keys(schema.entries);
}

/** The names that state has: none of what always is a secret. */
function keptNames({ secrets = [] }: Kind, names: string[]): string[] | undefined {
  const others = names.filter((name) => !secrets.includes(name));
  return others.length > 0 ? others : undefined;
}

/** The settings, which are not sent to the service. State has them for read and delete. */
function storedSettings(kind: Kind, from: Properties): Properties {
  const settings = settingsOf(kind).map((name) => [name, from[name] ?? null]);
  return { ...Object.fromEntries(settings), connection: connectionOf(from) };
}

/**
 * What state has besides the object. Other timeouts and marks of secrets alone are no update, as for every
 * resource: so state has them from the next create or update on.
 */
function storedOf(kind: Kind, from: Properties): Properties {
  const others = defined(pick(from, [timeoutsKey, secretsKey, importKey]));
  return { ...storedSettings(kind, from), ...others };
}

function connectionOf(properties: Properties): string {
  return String(properties.connection ?? defaultConnection);
}

function problemsOfConnection(connection: string): Problem[] {
  const reason = problemOf(() => currentRun().account(connection));
  if (reason) return [{ path: "", reason }];
  currentRun().sayOverruled(connection);
  return [];
}
