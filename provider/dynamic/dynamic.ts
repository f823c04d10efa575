import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";
import * as v from "valibot";
import { text } from "../kinds/inputs";
import {
  driftOf,
  filesKey,
  hiddenArguments,
  inputsOf,
  isUnchanged,
  type Kind,
  keepEqual,
  noneWithId,
  type Problem,
  settingsOf,
  storedSettings,
} from "../kinds/kind";
import { isSameObject, kinds } from "../kinds/kinds";
import { problemsOfShape, prune } from "../kinds/shape";
import { noteObject } from "../lifecycle/account";
import {
  adopt,
  checkImportOption,
  claim,
  findToAdopt,
  idToImport,
  noteAdoption,
  problemsOfAdoption,
} from "../lifecycle/adopt";
import { create } from "../lifecycle/create";
import { planDiff, planWrite } from "../lifecycle/plan";
import {
  incomplete,
  noteSecrets,
  read,
  remove,
  storedState,
  textsOf,
  update,
  warningsOfInputs,
} from "../lifecycle/resource";
import { exitWithEngine } from "../run/engine";
import type { Account, ManagedObject } from "../run/run";
import {
  defined,
  nameInUrn,
  type Properties,
  pick,
  unknownValue,
  withOneMarker,
} from "../values/properties";
import { defaultConnection } from "../values/setting";
import { importKey, secretsKey, type Timed, type Timeouts, timeoutsKey } from "./hidden";
import { currentRun, finishRun } from "./process";
import {
  besideResource,
  currentUrn,
  failureOf,
  hideShownErrors,
  urnOf,
  withoutSecondMessage,
} from "./workarounds";

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
    const timeouts = (properties[timeoutsKey] ?? {}) as Timeouts;
    const secrets = [...secretsOf(properties), ...secretsOf(state)];
    noteSecrets(currentRun(), kind, secrets, properties, state);
    return account.operation(timed && timeouts[timed], hiddenArguments(kind, secrets).length > 0);
  };
  const resource = (inputs: Properties, state: Properties = {}) => {
    const secrets = new Set([...secretsOf(inputs), ...secretsOf(state)]);
    const name = nameInUrn(currentUrn()) || undefined;
    return { account: accountOf(inputs), kind, inputs, secrets, name };
  };
  const readToAdopt = async (wanted: unknown, inputs: Properties): Promise<Found | undefined> => {
    if (typeof wanted !== "string") return undefined;
    const account = operation(inputs);
    const object = account.object(kind, await idToImport(kind, account, wanted));
    claim(object, currentUrn());
    return { object, state: await findToAdopt(object, inputs) };
  };
  /** What a run learns from the diff of a resource of the program. A refresh diffs, too. */
  const enterPlan = async (
    object: ManagedObject,
    state: Properties,
    inputs: Properties,
    replaces: string[],
    isSame: boolean,
  ) => {
    if (!currentRun().isOfProgram(currentUrn())) return;
    // What is replaced may be deleted first, by an old URN of the resource.
    if (replaces.length === 0) claim(object, currentUrn());
    await planDiff(resource(inputs, state), object, state, !isSame);
  };
  return withoutSecondMessage({
    // Don't await here: Pulumi uses a provider before this promise settles.
    configure: async ({ config }: dynamic.ConfigureRequest) => {
      const run = currentRun();
      const isFirst = run.config === undefined;
      run.config = (key) => config.get(key);
      if (!isFirst) return;
      hideShownErrors();
      run.show = besideResource(run.show);
      void exitWithEngine(finishRun);
    },

    check: async (olds: Properties = {}, raw: Properties = {}) => {
      const {
        [importKey]: wanted,
        [secretsKey]: marked,
        [timeoutsKey]: timeouts,
        [filesKey]: files,
        ...args
      } = withOneMarker(raw);
      // Another copy of this package may have registered the resource without the names.
      const secrets: string[] = Array.isArray(marked) ? marked : Object.keys(entries);
      const deployed = Object.keys(olds).length > 0 ? olds : undefined;
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
      const toRead = { ...news, [secretsKey]: secrets };
      const found = deployed ? undefined : await attempt(() => readToAdopt(wanted, toRead));
      // In an adoption, the object's inputs take the place of the old inputs.
      const before = found ? inputsOf(kind, found.state) : deployed;
      const checked = kind.check(news, before, new Date());
      problems.push(...checked.problems);
      const inputs = {
        ...keepEqual(kind, before ?? {}, checked.inputs),
        // The inputs are the only way into a plan, so they have what follows from them.
        ...kind.derived?.(checked.inputs, before),
        ...defined({
          [importKey]: wanted,
          [secretsKey]: keptNames(kind, secrets),
          [timeoutsKey]: timeouts,
        }),
      };
      const run = currentRun();
      run.noteChecked(currentUrn());
      noteSecrets(run, kind, secrets, inputs);
      const isSecret = (name: string) => secrets.includes(name);
      for (const warning of warningsOfInputs(kind, deployed, inputs))
        run.log("warning", warning, urnOf.getStore());
      if (found) problems.push(...compare(found, checked.inputs, problems, secrets));
      else if (!deployed) await attempt(() => planWrite(resource(inputs), true));
      return {
        inputs,
        failures: textsOf(problems, isSecret, files).map(failureOf),
      };
    },

    diff: async (id: string, state: Properties, inputs: Properties) => {
      const object = accountOf(isOfDynamic(state) ? state : inputs).object(kind, id);
      noteObject(object, state);
      const replaces = kind.replaces(state, inputs);
      if (isOfDynamic(state) && connectionOf(state) !== connectionOf(inputs))
        replaces.push("connection");
      checkImport(object, state, inputs, replaces);
      const isSame = replaces.length === 0 && isStored(kind, state, inputs);
      await enterPlan(object, state, inputs, replaces, isSame);
      if (isSame) return { changes: false };
      // The engine itself compares the inputs: so `replaceOnChanges` and `ignoreChanges` work, and
      // fields that the program does not set are no change.
      return replaces.length > 0 ? { replaces } : {};
    },

    create: async (inputs: Properties) => {
      const { [importKey]: wanted } = inputs;
      const account = operation(inputs, "create");
      const adoption = async (name: string) => {
        const object = account.object(kind, await idToImport(kind, account, name));
        claim(object, currentUrn());
        return adopt(object, inputs, secretsOf(inputs));
      };
      const { id, state, problem } = await (typeof wanted === "string"
        ? adoption(wanted)
        : create(kind, account, inputs, currentUrn()));
      const outs = stateOf(kind, account, state, inputs);
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
      const found = await read(account.object(kind, id), stored);
      if (found) return { id, ...refreshed(kind, props, found, account) };
      if (stored) return { id: "" };
      // The engine would accept an empty id as a successful `get`.
      throw new Error(noneWithId(kind.title, id));
    },

    update: async (id: string, stored: Properties, inputs: Properties) => {
      const account = operation(inputs, "update", stored);
      const found = await update(account.object(kind, id), stored, inputs);
      return { outs: stateOf(kind, account, found, inputs) };
    },

    delete: async (id: string, state: Properties) => {
      const object = operation(state, "delete").object(kind, id);
      return remove(object, state, state[importKey] !== undefined, currentUrn());
    },
  });
}

/** An object that a resource is to adopt, and its state. */
interface Found {
  object: ManagedObject;
  state: Properties;
}

/** Why an object can't be adopted. What the check has refused is not compared. */
function compare(
  { object, state }: Found,
  inputs: Properties,
  refused: Problem[],
  secrets: string[],
): Problem[] {
  const unknown = refused.map(({ path }) => [path.split(".", 1)[0], unknownValue]);
  const compared = { ...inputs, ...Object.fromEntries(unknown) };
  const problems = problemsOfAdoption(object, state, compared, secrets);
  if (refused.length + problems.length === 0) noteAdoption(object, secrets);
  return problems;
}

/** Whether these providers have written a state, and not the plugin, which stores no connection. */
const isOfDynamic = (state: Properties): boolean => state.__provider !== undefined;

/** Checks the `import` option of a resource that has an object. */
function checkImport(
  object: ManagedObject,
  state: Properties,
  { [importKey]: wanted }: Properties,
  replaces: string[],
): void {
  const { kind, id } = object;
  const isNamed = wanted === state[importKey] || isSameObject(kind, id, state, wanted);
  checkImportOption(object, wanted, isNamed, replaces);
}

/** Whether an update would change neither the object nor the state: Pulumi needs `__provider` there. */
function isStored(kind: Kind, state: Properties, inputs: Properties): boolean {
  return (
    isOfDynamic(state) &&
    state[importKey] === inputs[importKey] &&
    isDeepStrictEqual(settingsIn(kind, state), settingsIn(kind, inputs)) &&
    isUnchanged(kind, state, inputs)
  );
}

/** The result of a read of an existing object. */
function refreshed(kind: Kind, stored: Properties, found: Properties, account: Account) {
  const props = stateOf(kind, account, found, stored);
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
 * What state has of an object. Other timeouts and marks of secrets alone are no update, as for every resource: so
 * state has them from the next create or update on.
 */
function stateOf(kind: Kind, account: Account, found: Properties, from: Properties): Properties {
  return {
    ...storedState(kind, account, found, from),
    connection: connectionOf(from),
    ...defined(pick(from, [timeoutsKey, secretsKey, importKey])),
  };
}

function connectionOf(properties: Properties): string {
  return String(properties.connection ?? defaultConnection);
}

function problemsOfConnection(connection: string): Problem[] {
  const reason = currentRun().configuration(connection).problem;
  return reason ? [{ path: "", reason }] : [];
}
