import type { dynamic } from "@pulumi/pulumi";
import * as v from "valibot";
import { text } from "../../client/inputs";
import { filesKey, inputsOf, type Kind, unsentInputsOf } from "../kinds/kind";
import { kinds } from "../kinds/kinds";
import type { Call, Protocol } from "../lifecycle/call";
import { check } from "../lifecycle/check";
import { create } from "../lifecycle/create";
import { diff } from "../lifecycle/diff";
import { endRun } from "../lifecycle/endRun";
import { type FoundObject, read } from "../lifecycle/read";
import { remove } from "../lifecycle/remove";
import { update } from "../lifecycle/update";
import { exitWithEngine } from "../run/engine";
import { defined, type Properties, pick, withOneUnknown } from "../values/properties";
import { defaultConnection } from "../values/setting";
import { importKey, nameKey, secretsKey, type Timed, type Timeouts, timeoutsKey } from "./hidden";
import { currentRun } from "./process";
import {
  besideResource,
  currentUrn,
  failureOf,
  hideShownErrors,
  withoutSecondMessage,
} from "./workarounds";

/** The provider of TLS edges. Every state names this export, so it is never renamed. */
export const tlsEdge = dynamicProvider(kinds.TLSEdge);
/** The provider of TLS certificates. Every state names this export, so it is never renamed. */
export const tlsCertificate = dynamicProvider(kinds.TLSCertificate);

/** The check of a new resource is its plan, and its inputs are what the plan shows. */
const protocol: Protocol = { plansCreate: false, programChecks: true };

/** Translates the calls of Pulumi's dynamic-provider protocol for a kind. */
function dynamicProvider(kind: Kind): dynamic.ResourceProvider {
  const { entries } = kind.schema;
  /** A program of these providers may also name a config namespace. */
  const schema = { ...kind.schema, entries: { ...entries, connection: v.optional(text) } };
  const kindWithConnection: Kind = { ...kind, schema };
  /** @param properties The inputs or, in a read and a delete, the state. */
  const callOf = (properties: Properties, timed?: Timed, state: Properties = {}): Call => {
    const timeouts = (properties[timeoutsKey] ?? {}) as Timeouts;
    return {
      run: currentRun(),
      protocol,
      kind,
      connection: connectionOf(properties),
      urn: currentUrn(),
      secrets: new Set([...secretsOf(properties), ...secretsOf(state)]),
      deadlineMs: timed && timeouts[timed],
    };
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
      void exitWithEngine(() => endRun(currentRun()));
    },

    check: async (olds: Properties = {}, raw: Properties = {}) => {
      const {
        [filesKey]: files,
        [nameKey]: name,
        [importKey]: imports,
        [timeoutsKey]: timeouts,
        [secretsKey]: marked,
        ...args
      } = withOneUnknown(raw);
      // Another version of this package in the program may not send the names: then each argument counts as a secret.
      const secrets: string[] = Array.isArray(marked) ? marked : Object.keys(entries);
      const call: Call = {
        ...callOf({ ...args, [secretsKey]: secrets }),
        kind: kindWithConnection,
        name: name as string | undefined,
      };
      const { inputs, failures } = await check(call, { olds, args, files, imports });
      const hidden = {
        [importKey]: imports,
        [secretsKey]: secretsInState(kind, secrets),
        [timeoutsKey]: timeouts,
      };
      return { inputs: { ...inputs, ...defined(hidden) }, failures: failures.map(failureOf) };
    },

    diff: async (id: string, state: Properties, inputs: Properties) => {
      // The plugin has written a state without `__provider`, and stores no connection.
      const isOfPlugin = state.__provider === undefined;
      const imports = { now: inputs[importKey], before: state[importKey] };
      const change = await diff(callOf(inputs, undefined, state), {
        id,
        state,
        inputs,
        connection: connectionOf(isOfPlugin ? inputs : state),
        isStale: isOfPlugin || imports.now !== imports.before,
        imports,
      });
      if (change === "none") return { changes: false };
      // The engine itself compares the inputs: so `replaceOnChanges` and `ignoreChanges` work, and
      // fields that the program does not set are no change.
      return change === "update" ? {} : change;
    },

    create: async (inputs: Properties) => {
      const call = callOf(inputs, "create");
      const { id, state, problem } = await create(call, inputs, inputs[importKey]);
      const outs = stateOf(state, inputs);
      if (!problem) return { id, outs };
      // The engine stores these properties in spite of the error; the next update completes them.
      const properties = { ...outs, __provider: inputs.__provider };
      throw Object.assign(new Error(problem), { id, properties, reasons: [problem] });
    },

    read: async (id: string, props: Properties = {}) => {
      const found = await read(callOf(props, "read"), id, props);
      return found ? refreshed(kind, props, found) : { id: "" };
    },

    update: async (id: string, state: Properties, inputs: Properties) => {
      const call = callOf(inputs, "update", state);
      return { outs: stateOf(await update(call, id, state, inputs), inputs) };
    },

    delete: async (id: string, state: Properties) =>
      remove(callOf(state, "delete"), id, state, state[importKey] !== undefined),
  });
}

/** The result of a read of an existing object. */
function refreshed(kind: Kind, stored: Properties, { id, state, drifted }: FoundObject) {
  const props = stateOf(state, stored);
  // Return inputs only after drift. A read does not know the private key, so inputs that it returns
  // would remove the key from the state.
  if (drifted.length === 0) return { id, props };
  const unsent = defined(pick(stored, unsentInputsOf(kind)));
  const isDefault = stored.connection === defaultConnection;
  const connection = isDefault ? {} : pick(stored, ["connection"]);
  const inputs = inputsOf(kind, state);
  return { id, props, inputs: { ...inputs, ...kind.derived?.(inputs), ...unsent, ...connection } };
}

/** The names of the properties that the program has marked as secrets. */
function secretsOf(properties: Properties): string[] {
  return (properties[secretsKey] ?? []) as string[];
}

/** The names of marked secrets that state has: none of what always is a secret. Undefined for no name. */
function secretsInState({ secrets = [] }: Kind, names: string[]): string[] | undefined {
  const others = names.filter((name) => !secrets.includes(name));
  return others.length > 0 ? others : undefined;
}

/**
 * What state has of an object. Other timeouts and marks of secrets alone are no update, as for every resource: so
 * state has them from the next create or update on.
 */
function stateOf(state: Properties, from: Properties): Properties {
  const hidden = pick(from, [timeoutsKey, secretsKey, importKey]);
  return { ...state, connection: connectionOf(from), ...defined(hidden) };
}

function connectionOf(properties: Properties): string {
  return String(properties.connection || defaultConnection);
}
