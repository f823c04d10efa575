import type { Client } from "../client/client";
import type { Endpoints } from "../client/endpoints";
import { ServiceError } from "../client/errors";
import type { ServiceObject, Unset } from "../client/fields";
import { createOnce } from "./creates/createOnce";
import { declareHostports, noteDeleted, planHostports, setHostports } from "./hostports";
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
  type Remark,
  rolesOf,
} from "./lifecycle";
import { readPaged } from "./pages";
import { bodyOf, type Module, stateOf } from "./values/modules";

/** The fields that every kind of edge has in an answer, besides its modules. */
export interface EdgeWire extends ServiceObject {
  hostports?: Unset<string[]>;
}

/** The properties of one kind of edge. */
export interface EdgeKind<Wire extends EdgeWire>
  extends Pick<Lifecycle, "title" | "schema" | "stateNames"> {
  /** The modules, by their names in a program. */
  modules: Record<string, Module>;
  endpoints: Endpoints<Wire, object> & {
    /** Deletes a module. Not every service has this operation. */
    deleteModule(client: Client, id: string, module: string): Promise<void>;
  };
  /** Finds problems that the schema can't express. Default: none. */
  problems?(inputs: Properties): Problem[];
  /** Further changes to a module that the program has removed and an update disables. */
  disabled?(module: Properties, inputs: Properties): Properties;
}

/**
 * The state's list of module fields that the program does not set, such as
 * `tlsTermination.minVersion`. When the service changes such a field, this is no drift; when the
 * program sets it later, this is a change.
 */
const defaultsKey = "__defaults";

/** The lifecycle of one kind of edge: hostports, and modules that an update replaces as a whole. */
export class EdgeLifecycle<Wire extends EdgeWire> implements Lifecycle {
  readonly title: string;
  readonly schema: Lifecycle["schema"];
  readonly stateNames: Lifecycle["stateNames"];
  readonly settings: Lifecycle["settings"];
  readonly properties: Lifecycle["properties"];
  readonly #kind: EdgeKind<Wire>;
  readonly #modules: string[];

  constructor(kind: EdgeKind<Wire>) {
    const { settings, properties } = rolesOf(kind);
    this.title = kind.title;
    this.schema = kind.schema;
    this.stateNames = kind.stateNames;
    this.settings = settings;
    this.properties = properties;
    this.#kind = kind;
    this.#modules = Object.keys(kind.modules);
  }

  check(news: Properties): Checked {
    const inputs: Properties = { ...news };
    for (const module of this.#modules) {
      const value = inputs[module];
      if (!isObject(value) || Array.isArray(value)) continue;
      inputs[module] = { ...value, enabled: value.enabled ?? true };
    }
    declareHostports(inputs.hostports ?? []);
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

  remark(state: Properties, inputs: Properties): Remark | undefined {
    const lost = this.#modules.find(
      (name) => this.#kind.modules[name]?.loss && isOn(state[name]) && inputs[name] === undefined,
    );
    if (!lost) return undefined;
    const how =
      { delete: "the module is deleted", replace: "the edge is replaced" }[
        String(inputs.onModuleRemoval)
      ] ?? "the module is disabled (onModuleRemoval)";
    const loss = this.#kind.modules[lost]?.loss;
    return { severity: "warning", text: `without its ${lost}, ${loss}; ${how}` };
  }

  planned(id: string, state: Properties, inputs: Properties): void {
    planHostports(id, state.hostports ?? [], inputs.hostports ?? []);
  }

  async create(client: Client, inputs: Properties, urn?: string): Promise<Created> {
    const { endpoints } = this.#kind;
    const body = this.#toWire(inputs);
    const isSame = (wire: Wire) => this.isLike(wire, inputs);
    const edge = { hostports: body.hostports, endpoints, isSame };
    const post = (onSend: () => void) =>
      setHostports(client, edge, () => endpoints.create(client, body, onSend));
    const { wire, ...rest } = await createOnce(this, client, inputs, urn, post);
    return { id: wire.id, state: this.toState(wire, inputs), ...rest };
  }

  async read(client: Client, id: string, known: Properties = {}) {
    const wire = await readPaged(this.#kind.endpoints, client, id);
    return this.toState(wire, this.#withoutDefaults(known));
  }

  async update(client: Client, id: string, state: Properties, inputs: Properties) {
    const { endpoints, modules } = this.#kind;
    for (const name of this.#toDelete(state, inputs)) {
      await endpoints.deleteModule(client, id, modules[name]?.wire ?? name).catch(ignoreMissing);
    }
    const changes = this.#changes(state, inputs);
    const patch = this.#toWire(changes);
    const edge = { id, hostports: patch.hostports, endpoints };
    const wire =
      Object.keys(changes).length > 0
        ? await setHostports(client, edge, () => endpoints.update(client, id, patch))
        : await endpoints.get(client, id);
    const updated = this.toState(wire, inputs);
    const [remaining] = this.#toDelete(updated, inputs);
    if (!remaining) return updated;
    throw new Error(
      `the service did not delete the module ${remaining} of the ${this.title} ${id}: ` +
        'set onModuleRemoval to "disable" or "replace"',
    );
  }

  async delete(client: Client, id: string): Promise<void> {
    await this.#kind.endpoints.delete(client, id);
    noteDeleted(id);
  }

  list(client: Client) {
    return this.#kind.endpoints.list(client);
  }

  pages(client: Client) {
    return this.#kind.endpoints.pages(client);
  }

  contentOf({ description, metadata, hostports }: Partial<EdgeWire>): unknown {
    const sorted = (hostports ?? []).map((hostport) => hostport.toLowerCase()).sort();
    return [description || "", metadata || "", sorted];
  }

  isLike(wire: Wire, inputs: Properties): boolean {
    return this.differences(this.toState(wire, inputs), inputs).length === 0;
  }

  /**
   * Converts the service's answer to a state.
   *
   * @param given The inputs. Lists with the same elements keep the order of the inputs. The state
   * lists the module fields that the inputs do not set.
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

  /** Undefined values are omitted from the JSON. */
  #toWire(properties: Properties): Properties & { hostports?: string[] } {
    const { description, metadata, hostports } = properties;
    const body: Properties = { description, metadata, hostports };
    for (const [name, module] of Object.entries(this.#kind.modules)) {
      const given = properties[name];
      if (isObject(given)) body[module.wire] = bodyOf(module, given);
    }
    return body;
  }

  /** The properties that an update sends, each with its whole new value. */
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

  /** The new value of a module that the program has removed; undefined for no change. */
  #disabled(module: unknown, inputs: Properties): Properties | undefined {
    if (!isObject(module) || inputs.onModuleRemoval === "delete") return undefined;
    return { ...module, enabled: false, ...this.#kind.disabled?.(module, inputs) };
  }

  /** The modules that the program has removed and that the service must delete. */
  #toDelete(state: Properties, inputs: Properties): string[] {
    if (inputs.onModuleRemoval !== "delete") return [];
    return this.#modules.filter((name) => isObject(state[name]) && inputs[name] === undefined);
  }

  /** A state without the module fields that the program does not set. */
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

  /** The value, with each list in the order of the given list if both have the same elements. */
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

/**
 * Ignores 404 (the module is gone) and 405 (the service can't delete modules). The service's next
 * answer shows whether the module remains.
 */
function ignoreMissing(error: unknown): void {
  if (error instanceof ServiceError && [404, 405].includes(error.status)) return;
  throw error;
}

/** Whether a value is set and is not a disabled module. */
function isOn(value: unknown): boolean {
  return value !== undefined && value !== null && (value as Properties).enabled !== false;
}

/** The same text for equal values. Ignores the order of lists, and letter case in hostports. */
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
