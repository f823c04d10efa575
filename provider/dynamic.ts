import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import * as v from "valibot";
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
  storedSettings,
} from "./kind";
import { idToImport, isNamed, kinds } from "./kinds";
import { judgeAccount } from "./marks";
import { noteDeployed, planUpdate, planWrite } from "./plan";
import { currentRun, finishRun } from "./process";
import { defined, type Properties, pick, unknownValue, withOneMarker } from "./properties";
import { failureOf, printOthers, shownOnce } from "./pulumiFaults";
import {
  check,
  incomplete,
  noteDiff,
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
    const secrets = secretTexts(kind, secretsOf(properties), properties, state);
    return account.operation(timed && timeouts[timed], secrets);
  };
  const resource = (inputs: Properties) => {
    const isSecret = secretsOf(inputs).includes("hostports");
    return { account: accountOf(inputs), kind, inputs, isSecret };
  };
  const readToAdopt = async (wanted: unknown, inputs: Properties) => {
    if (typeof wanted !== "string") return undefined;
    const account = operation(inputs);
    account.memory.isUsed = true;
    const id = await idToImport(kind, account.client, wanted);
    claim(kind, account, id, wanted);
    return { id, state: await findToAdopt(kind, account, id, inputs) };
  };
  return shownOnce({
    // Don't await here: Pulumi uses a provider before this promise settles.
    configure: async ({ config }: dynamic.ConfigureRequest) => {
      const run = currentRun();
      const isFirst = run.config === undefined;
      run.config = (key) => config.get(key);
      if (!isFirst) return;
      printOthers();
      void exitWithEngine(finishRun);
    },

    check: async (olds: Properties = {}, raw: Properties = {}) => {
      const {
        [importKey]: wanted,
        [secretsKey]: marked,
        [timeoutsKey]: timeouts,
        ...args
      } = withOneMarker(raw);
      // Another copy of this package may have registered the resource without the names.
      const secrets: string[] = Array.isArray(marked) ? marked : Object.keys(entries);
      const isNew = Object.keys(olds).length === 0;
      const news = prune({ schema }, args, olds);
      const problems = [
        ...problemsOfShape({ schema }, news),
        ...problemsOfConnection(connectionOf(news)),
      ];
      /** Asks the service, unless the inputs have problems. A failure becomes a problem. */
      const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
        if (problems.length > 0) return undefined;
        return work().catch((error: Error) => {
          problems.push({ path: "", reason: error.message });
          return undefined;
        });
      };
      const found = isNew
        ? await attempt(() => readToAdopt(wanted, { ...news, [secretsKey]: secrets }))
        : undefined;
      // In an adoption, the object's inputs take the place of the old inputs.
      const before = isNew ? found && inputsOf(kind, found.state) : olds;
      const checked = check(currentRun(), kind, news, before);
      problems.push(...checked.problems);
      // The inputs are the only way into a plan, so they have what follows from them.
      const derived = kind.derived?.(checked.inputs, before);
      const inputs = { ...keepEqual(kind, before ?? {}, checked.inputs), ...derived };
      if (found) {
        // What the check refuses is not compared with the object to adopt.
        const refused = problems.map(({ path }) => [path.split(".", 1)[0], unknownValue]);
        const compared = { ...checked.inputs, ...Object.fromEntries(refused) };
        const toAdopt = { ...compared, [secretsKey]: secrets };
        problems.push(...problemsOfAdoption(kind, found.id, found.state, toAdopt));
        if (problems.length === 0) noteAdoption(currentRun(), kind, found.id);
      } else if (isNew) {
        await attempt(() => planWrite(resource({ ...inputs, [secretsKey]: secrets }), true));
      }
      noteDeployed(currentRun(), olds);
      const hidden = {
        [importKey]: wanted,
        [secretsKey]: keptNames(kind, secrets),
        [timeoutsKey]: timeouts,
      };
      return {
        inputs: { ...inputs, ...defined(hidden) },
        failures: textsOf(problems, (name) => secrets.includes(name)).map(failureOf),
      };
    },

    diff: async (id: string, state: Properties, inputs: Properties) => {
      // The plugin stores no connection: its accounts are explicit providers.
      const isOwn = state.__provider !== undefined;
      const account = accountOf(isOwn ? state : inputs);
      noteDiff(kind, account, id, state, inputs);
      const replaces = kind.replaces(state, inputs);
      if (isOwn && connectionOf(state) !== connectionOf(inputs)) replaces.push("connection");
      checkImportOption(kind, accountOf(inputs), id, inputs, {
        replaces,
        isOwn: (wanted) => isNamed(kind, id, state, wanted),
      });
      // An update without changes stores what the plugin does not: Pulumi needs `__provider`.
      const isSame =
        replaces.length === 0 &&
        isOwn &&
        state[importKey] === inputs[importKey] &&
        isDeepStrictEqual(settingsIn(kind, state), settingsIn(kind, inputs)) &&
        isUnchanged(kind, state, inputs);
      if (!isSame) await planUpdate(resource(inputs), id, state);
      // Fail in the plan when the object may belong to another account.
      await judgeAccount(kind, account, id, state, !isSame);
      if (isSame) return { changes: false };
      // The engine itself compares the inputs: so `replaceOnChanges` and `ignoreChanges` work, and
      // fields that the program does not set are no change.
      return replaces.length > 0 ? { replaces } : {};
    },

    create: async (inputs: Properties) => {
      const { [importKey]: wanted, ...rest } = inputs;
      const account = operation(inputs, "create");
      const { id, state, problem } = await (typeof wanted === "string"
        ? adopt(kind, account, await idToImport(kind, account.client, wanted), rest, wanted)
        : create(kind, account, inputs));
      const outs = { ...state, ...storedOf(kind, inputs), accountTag: account.mark };
      if (!problem) return { id, outs };
      // The engine stores these properties in spite of the error; the next update completes them.
      const properties = { ...outs, __provider: inputs.__provider };
      const message = incomplete(kind, id, problem);
      throw Object.assign(new Error(message), { id, properties, reasons: [message] });
    },

    read: async (id: string, props: Properties = {}) => {
      // In a program's `get`, no properties are stored yet.
      const stored = "uri" in props ? props : undefined;
      const account = operation(props, "read");
      const found = await read(kind, account, id, stored);
      if (found) return { id, ...refreshed(kind, props, found, account) };
      if (stored) return { id: "" };
      // The engine would accept an empty id as a successful `get`.
      throw new Error(`no ${kind.title} has the id ${id}`);
    },

    update: async (id: string, stored: Properties, inputs: Properties) => {
      const account = operation(inputs, "update", stored);
      const found = await update(kind, account, id, stored, inputs);
      return { outs: { ...found, ...storedOf(kind, inputs), accountTag: account.mark } };
    },

    delete: async (id: string, state: Properties) =>
      remove(kind, operation(state, "delete"), id, state),
  });
}

/** The result of a read of an existing object. */
function refreshed(kind: Kind, stored: Properties, found: Properties, { mark }: Account) {
  const props = { ...found, ...storedOf(kind, stored), accountTag: mark };
  // Return inputs only after drift. A read does not know the private key, so inputs that it returns
  // would remove the key from the state.
  if (driftOf(kind, stored, found).length === 0) return { props };
  const isDefault = stored.connection === defaultConnection;
  const settings = isDefault ? { ...stored, connection: undefined } : stored;
  const own = defined(pick(settings, [...settingsOf(kind), "connection"]));
  const inputs = inputsOf(kind, found);
  return { props, inputs: { ...inputs, ...kind.derived?.(inputs), ...own } };
}

/** The names of the properties that the program has marked as secrets. */
function secretsOf(properties: Properties): string[] {
  return (properties[secretsKey] ?? []) as string[];
}

/** The names that state has: none of what always is a secret. */
function keptNames({ secrets = [] }: Kind, names: string[]): string[] | undefined {
  const others = names.filter((name) => !secrets.includes(name));
  return others.length > 0 ? others : undefined;
}

function settingsIn(kind: Kind, from: Properties): Properties {
  return { ...storedSettings(kind, from), connection: connectionOf(from) };
}

/**
 * What state has besides the object. Other timeouts and marks of secrets alone are no update, as for every
 * resource: so state has them from the next create or update on.
 */
function storedOf(kind: Kind, from: Properties): Properties {
  return {
    ...settingsIn(kind, from),
    ...defined(pick(from, [timeoutsKey, secretsKey, importKey])),
  };
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
