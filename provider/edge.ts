import type { Client } from "../client/client";
import type { Endpoints } from "../client/endpoints";
import { ServiceError } from "../client/errors";
import { createOnce } from "./createOnce";
import { planHostports, setHostports } from "./hostports";
import {
  type Checked,
  type Created,
  type Difference,
  defined,
  isObject,
  type Lifecycle,
  type Problem,
  type Properties,
  pick,
} from "./lifecycle";
import { bodyOf, type Module, stateOf } from "./modules";
import { readPaged } from "./pages";

/** What the service answers of every kind of edge, beside its modules. */
export interface EdgeWire {
  id: string;
  uri: string;
  created_at: string;
  description?: string | null;
  metadata?: string | null;
  hostports?: string[] | null;
}

/** What one kind of edge has of its own. */
export interface EdgeKind<Wire extends EdgeWire> extends Pick<Lifecycle, "title" | "schema"> {
  /** By their names in a program. */
  modules: Record<string, Module>;
  endpoints: Endpoints<Wire, object> & {
    /** An operation that not every service has. */
    deleteModule(client: Client, id: string, module: string): Promise<void>;
  };
  /** What is wrong with inputs that the schema can't say. Default: nothing. */
  problems?(inputs: Properties): Problem[];
  /** More changes to a module that is disabled because the program no longer has it. */
  disabled?(module: Properties, inputs: Properties): Properties;
}

/**
 * Where a state lists the fields of modules that the program leaves to the service, such as
 * `tlsTermination.minVersion`: a change of one is no drift, and setting one later is a change.
 */
const defaultsKey = "__defaults";

/** The lifecycle of one kind of edge: hostports, and modules that an update replaces as a whole. */
export class EdgeLifecycle<Wire extends EdgeWire> implements Lifecycle {
  readonly title: string;
  readonly schema: Lifecycle["schema"];
  readonly settings = ["connection", "onModuleRemoval"];
  readonly properties: string[];
  readonly #kind: EdgeKind<Wire>;
  readonly #modules: string[];

  constructor(kind: EdgeKind<Wire>) {
    this.title = kind.title;
    this.schema = kind.schema;
    this.#kind = kind;
    this.#modules = Object.keys(kind.modules);
    this.properties = ["description", "metadata", "hostports", ...this.#modules];
  }

  check(news: Properties): Checked {
    const inputs: Properties = { ...news };
    for (const module of this.#modules) {
      const value = inputs[module];
      if (!isObject(value) || Array.isArray(value)) continue;
      inputs[module] = { ...value, enabled: value.enabled ?? true };
    }
    return { inputs, problems: this.#kind.problems?.(news) ?? [] };
  }

  same(property: string, a: unknown, b: unknown): boolean {
    const [one, other] = [canonical(property, a), canonical(property, b)];
    // Disabled equals absent, but two disabled modules with different settings differ.
    return one === other || ((one === "" || other === "") && !isOn(a) && !isOn(b));
  }

  inputsOf(state: Properties): Properties {
    return defined(pick(this.#withoutDefaults(state), this.properties));
  }

  replaces(state: Properties, inputs: Properties): string[] {
    if (inputs.onModuleRemoval !== "replace") return [];
    return this.#modules.filter((name) => isOn(state[name]) && inputs[name] === undefined);
  }

  differences(state: Properties, inputs: Properties): Difference[] {
    const changed = Object.keys(this.#changes(state, inputs));
    return [...changed, ...this.#toDelete(state, inputs)].map((property) => ({
      property,
      wanted: inputs[property],
      found: state[property],
    }));
  }

  planned(id: string, inputs: Properties): void {
    planHostports(id, inputs.hostports ?? []);
  }

  async create(client: Client, inputs: Properties): Promise<Created> {
    const { endpoints } = this.#kind;
    const body = this.#toWire(inputs);
    const isMade = (wire: Wire) =>
      this.differences(this.toState(wire, inputs), inputs).length === 0;
    const edge = { hostports: body.hostports, list: endpoints.list, isSame: isMade };
    const { wire, ...rest } = await createOnce(client, {
      title: this.title,
      content: JSON.stringify(body),
      post: (onSend) => setHostports(client, edge, () => endpoints.create(client, body, onSend)),
      list: endpoints.list,
      isMade,
    });
    return { id: wire.id, state: this.toState(wire, inputs), ...rest };
  }

  async read(client: Client, id: string, known: Properties = {}, oldestMs?: number) {
    const wire = await readPaged(this.#kind.endpoints, client, id, oldestMs);
    return this.toState(wire, this.#withoutDefaults(known));
  }

  async update(client: Client, id: string, state: Properties, inputs: Properties) {
    const { endpoints, modules } = this.#kind;
    for (const name of this.#toDelete(state, inputs)) {
      await endpoints.deleteModule(client, id, modules[name]?.wire ?? name).catch(ifMissing);
    }
    const changes = this.#changes(state, inputs);
    const patch = this.#toWire(changes);
    const edge = { id, hostports: patch.hostports, list: endpoints.list };
    const wire =
      Object.keys(changes).length > 0
        ? await setHostports(client, edge, () => endpoints.update(client, id, patch))
        : await endpoints.get(client, id);
    const updated = this.toState(wire, inputs);
    const [left] = this.#toDelete(updated, inputs);
    if (!left) return updated;
    throw new Error(
      `the service did not delete ${left} of the ${this.title} ${id}: ` +
        'set onModuleRemoval to "disable" or "replace"',
    );
  }

  delete(client: Client, id: string): Promise<void> {
    const { endpoints } = this.#kind;
    const edge = { id, hostports: [], list: endpoints.list };
    return setHostports(client, edge, () => endpoints.delete(client, id));
  }

  list(client: Client) {
    return this.#kind.endpoints.list(client);
  }

  /**
   * The state that the service's answer describes.
   *
   * @param given What the program says: sets that mean the same keep its order, and fields that it
   * leaves to the service are listed as such.
   */
  toState(wire: Wire, given: Properties = {}): Properties {
    const found: Properties = {
      uri: wire.uri,
      createdAt: wire.created_at,
      description: wire.description || null,
      metadata: wire.metadata || null,
      hostports: wire.hostports ?? [],
    };
    const defaults: string[] = [];
    for (const [name, module] of Object.entries(this.#kind.modules)) {
      const value = stateOf(module, (wire as unknown as Properties)[module.wire]);
      found[name] = value;
      const wanted = given[name];
      if (!value || !isObject(wanted)) continue;
      const chosen = Object.keys(module.fields).filter(
        (field) => field in value && wanted[field] === undefined,
      );
      defaults.push(...chosen.map((field) => `${name}.${field}`));
    }
    const inOrder = Object.entries(found).map(([property, value]) => [
      property,
      this.#inOrderOf(given[property], value, property),
    ]);
    return {
      ...Object.fromEntries(inOrder),
      ...(defaults.length > 0 && { [defaultsKey]: defaults }),
    };
  }

  /** What is undefined here is left out of the JSON. */
  #toWire(properties: Properties): Properties & { hostports?: string[] } {
    const { description, metadata, hostports } = properties;
    const body: Properties = { description, metadata, hostports };
    for (const [name, module] of Object.entries(this.#kind.modules)) {
      const given = properties[name];
      if (isObject(given)) body[module.wire] = bodyOf(module, given);
    }
    return body;
  }

  /** The properties that an update sends, each whole. */
  #changes(state: Properties, inputs: Properties): Properties {
    const found = this.#withoutDefaults(state);
    const wanted: Properties = {
      description: inputs.description ?? "",
      metadata: inputs.metadata ?? "",
      hostports: inputs.hostports ?? [],
    };
    for (const name of this.#modules) {
      wanted[name] = inputs[name] ?? this.#disabled(found[name], inputs);
    }
    return Object.fromEntries(
      Object.entries(wanted).filter(
        ([property, value]) =>
          value !== undefined &&
          canonical(property, value) !== canonical(property, found[property]),
      ),
    );
  }

  /** What a module becomes that the program no longer has; undefined: it stays as it is. */
  #disabled(module: unknown, inputs: Properties): Properties | undefined {
    if (!isObject(module) || inputs.onModuleRemoval === "delete") return undefined;
    return { ...module, enabled: false, ...this.#kind.disabled?.(module, inputs) };
  }

  /** The modules that the program no longer has and that the service is to delete. */
  #toDelete(state: Properties, inputs: Properties): string[] {
    if (inputs.onModuleRemoval !== "delete") return [];
    return this.#modules.filter((name) => isObject(state[name]) && inputs[name] === undefined);
  }

  /** A state without the fields that the program leaves to the service. */
  #withoutDefaults({ [defaultsKey]: defaults = [], ...state }: Properties): Properties {
    for (const name of this.#modules) {
      const module = state[name];
      if (!isObject(module)) continue;
      const given = Object.entries(module).filter(
        ([field]) => !(defaults as string[]).includes(`${name}.${field}`),
      );
      state[name] = Object.fromEntries(given);
    }
    return state;
  }

  /** A value with its sets in the order of another value, where they mean the same. */
  #inOrderOf(given: unknown, value: unknown, property: string): unknown {
    if (Array.isArray(given)) return this.same(property, given, value) ? given : value;
    if (!isObject(value) || Array.isArray(value) || !isObject(given)) return value;
    const parts = Object.entries(value).map(([name, part]) => [
      name,
      this.#inOrderOf(given[name], part, property),
    ]);
    return Object.fromEntries(parts);
  }
}

/** The module is gone already, or the service can't delete it: its next answer shows which. */
function ifMissing(error: unknown): void {
  if (error instanceof ServiceError && [404, 405].includes(error.status)) return;
  throw error;
}

/** Whether a value is there and is not a disabled module. */
function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && (value as Properties).enabled !== false;
}

/** One text for all values that mean the same: a list is a set, and a host has no letter case. */
function canonical(property: string, value: unknown): string {
  const isUnset = value === undefined || value === null || value === "";
  if (isUnset || (Array.isArray(value) && value.length === 0)) return "";
  return JSON.stringify(value, (_key, part) => {
    if (Array.isArray(part)) {
      const parts = property === "hostports" ? part.map((p) => String(p).toLowerCase()) : part;
      return [...parts].sort();
    }
    return isObject(part) ? Object.fromEntries(Object.entries(part).sort()) : part;
  });
}
