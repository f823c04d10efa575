import { isDeepStrictEqual } from "node:util";
import { CallError, type Named, type Properties, type Protocol, type Provider } from "../protocol";
import type { Key } from "./account";

/** The kinds of resources, by the names of their providers. */
export type Kind = "tlsEdge" | "tlsCertificate";

/**
 * How a resource is replaced that has no change: by a taint or `--replace`, where the engine asks for no diff and
 * checks without the old inputs; by `--target-replace`, which leaves the other resources out; by its
 * `replacementTrigger`, where a check with the old inputs comes first; with all others by `--replace '**'`, where
 * another process deletes the old objects.
 */
export type Way = "taint" | "target" | "trigger" | "all";

/** The provider's text. A copy, not an import: every state holds this text, so it never changes. */
const providerText = (kind: Kind) =>
  `exports.handler = () => require("pulumi-tlsedge/provider").${kind}`;

/** One resource of a stack, as the engine stores it and drives it. */
export class Resource {
  id = "";
  inputs: Properties = {};
  state: Properties = {};
  /** The processes that get the calls. */
  readonly providers = {} as Record<Protocol, Provider>;
  /** The protocol that the state was written through: reads and deletes go there. */
  #writer: Protocol;
  replaces: { way: Way; deletesFirst: boolean; old: Resource } | undefined;
  /** Whether a process of its own deletes it. */
  isApart = false;
  /** Created or updated in part: the engine updates it again even if no input has changed. */
  #isPartial = false;
  /** How many creates were asked for. */
  creates = 0;

  /**
   * `name` is unique among the resources of all stacks with the same kind, but for a replaced one. It may change, and
   * so may the protocol of the program.
   */
  constructor(
    readonly kind: Kind,
    public name: string,
    public protocol: Protocol,
    readonly key: Key,
    private readonly stack: string,
  ) {
    this.#writer = protocol;
  }

  /** The same resource without an object. */
  another(name = this.name): Resource {
    return new Resource(this.kind, name, this.protocol, this.key, this.stack);
  }

  /** Those of one home are in one process: it knows them all. The plugin has a process for each provider. */
  get home(): string {
    return this.protocol === "plugin" ? `${this.stack} ${this.key}` : this.stack;
  }

  /** How it is to be replaced, and its old object, as long as it has no new one. */
  get replacement(): Resource["replaces"] {
    return this.id ? undefined : this.replaces;
  }

  /** The protocols that its commands need. */
  get protocols(): Protocol[] {
    return this.id ? [this.#writer, this.protocol] : [this.protocol];
  }

  get #named(): Named {
    const type = `tlsedge:index:${this.kind.replace("tls", "TLS")}`;
    return { type, urn: `urn:pulumi:stack::project::${type}::${this.name}` };
  }

  get #provider(): Provider {
    return this.providers[this.protocol];
  }

  /** In a replacement by a trigger, the old inputs are told first. */
  async #check(args: Properties): Promise<Properties> {
    const news = this.#newsOf(args);
    const { way, old } = this.replacement ?? {};
    if (way === "trigger" && old?.id) await this.#provider.check(this.#named, old.inputs, news);
    const { inputs, failures } = await this.#provider.check(this.#named, this.inputs, news);
    if (failures.length > 0) throw new Error(`the plan fails: ${failures.join("; ")}`);
    return inputs;
  }

  /** `pulumi preview`; a dynamic provider is not asked about a create. */
  async plan(args: Properties): Promise<void> {
    const inputs = await this.#check(args);
    if (this.id) await this.#provider.diff(this.#named, this.id, this.state, inputs, this.inputs);
    else if (this.protocol === "plugin") await this.#provider.create(this.#named, inputs, true);
  }

  /** `pulumi up`; gives what was done. */
  async up(args: Properties): Promise<"create" | "update" | "same"> {
    if (!this.id && this.protocol === "plugin" && args.__import) await this.#import(args);
    const inputs = await this.#check(args);
    if (!this.id) {
      const { old, deletesFirst } = this.replacement ?? {};
      if (deletesFirst && old?.id) await old.destroy();
      this.creates += 1;
      const creating = this.#provider.create(this.#named, inputs);
      const { id, state } = await creating.catch((error) => this.#keepPartial(error, inputs));
      this.#keep(id, inputs, state);
      return "create";
    }
    const { id, state: old, inputs: olds } = this;
    const diff = await this.#provider.diff(this.#named, id, old, inputs, olds);
    if (diff.replaces.length > 0) throw new Error(`no run replaces, but ${diff.replaces} would`);
    const isSame = diff.same || (!diff.changed && isDeepStrictEqual(olds, inputs));
    if (!this.#isPartial && isSame) {
      this.inputs = inputs;
      return "same";
    }
    const updating = this.#provider.update(this.#named, id, old, inputs, olds);
    const state = await updating.catch((error) => this.#keepPartial(error, inputs));
    this.#keep(id, inputs, state);
    return "update";
  }

  #newsOf({ __import, ...args }: Properties): Properties {
    if (this.protocol === "plugin") return args;
    const connection = this.key === "tlsedge" ? {} : { connection: this.key };
    const hidden = { ...(__import ? { __import } : {}), __provider: providerText(this.kind) };
    return { ...args, ...connection, ...hidden };
  }

  /** The engine's own import. */
  async #import({ __import: id }: Properties): Promise<void> {
    const { id: found, state, inputs } = await this.#provider.read(this.#named, String(id));
    if (!found || !inputs) throw new Error(`there is no ${id}`);
    this.#keep(found, inputs, state);
  }

  /** `pulumi refresh`; gives what was found. */
  async refresh(): Promise<"gone" | "drifted" | "same"> {
    const provider = this.providers[this.#writer];
    const found = await provider.read(this.#named, this.id, this.state, this.inputs);
    if (!found.id) {
      this.forget();
      return "gone";
    }
    this.state = found.state;
    const inputs = found.inputs ?? this.inputs;
    const hasDrifted = !isDeepStrictEqual(inputs, this.inputs);
    this.inputs = inputs;
    return hasDrifted ? "drifted" : "same";
  }

  /** `pulumi destroy`. */
  async destroy(): Promise<void> {
    await this.providers[this.#writer].delete(this.#named, this.id, this.state);
    this.forget();
  }

  /** As if the state had never had it. */
  forget(): void {
    this.#keep("", {}, {});
  }

  #keep(id: string, inputs: Properties, state: Properties, isPartial = false): void {
    Object.assign(this, { id, inputs, state });
    this.#writer = this.protocol;
    this.#isPartial = isPartial;
  }

  #keepPartial(error: unknown, inputs: Properties): never {
    if (error instanceof CallError && error.partial) {
      this.#keep(error.partial.id, inputs, error.partial.properties, true);
    }
    throw error;
  }
}
