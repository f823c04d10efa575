import { isDeepStrictEqual } from "node:util";
import { CallError, type Named, type Properties, type Protocol, type Provider } from "../protocol";

/** The kinds of resources, by the names of their providers. */
export type Kind = "tlsEdge" | "tlsCertificate";

/** The provider's text. A copy, not an import: every state holds this text, so it never changes. */
const providerText = (kind: Kind) =>
  `exports.handler = () => require("pulumi-tlsedge/provider").${kind}`;

/** One resource of a stack, as the engine stores it and drives it. */
export class Resource {
  id = "";
  inputs: Properties = {};
  state: Properties = {};
  /** The process that gets the calls. */
  provider: Provider | undefined;
  /** Created or updated in part: the engine updates it again even if no input has changed. */
  #isPartial = false;
  /** How many creates were asked for. */
  creates = 0;

  /** `name` is unique among the resources of all stacks with the same kind. It may change. */
  constructor(
    readonly kind: Kind,
    public name: string,
    readonly protocol: Protocol,
  ) {}

  get #named(): Named {
    const type = `tlsedge:index:${this.kind.replace("tls", "TLS")}`;
    return { type, urn: `urn:pulumi:stack::project::${type}::${this.name}` };
  }

  get #provider(): Provider {
    if (!this.provider) throw new Error("the process was killed");
    return this.provider;
  }

  /** `pulumi preview`; a dynamic provider is not asked about a create. */
  async plan(args: Properties): Promise<void> {
    const { inputs } = await this.#provider.check(this.#named, this.inputs, this.#newsOf(args));
    if (this.id) await this.#provider.diff(this.#named, this.id, this.state, inputs, this.inputs);
    else if (this.protocol === "plugin") await this.#provider.create(this.#named, inputs, true);
  }

  /** `pulumi up`; gives what was done. */
  async up(args: Properties): Promise<"create" | "update" | "same"> {
    if (!this.id && this.protocol === "plugin" && args.__import) await this.#import(args);
    const news = this.#newsOf(args);
    const { inputs, failures } = await this.#provider.check(this.#named, this.inputs, news);
    if (failures.length > 0) throw new Error(`the plan fails: ${failures.join("; ")}`);
    if (!this.id) {
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
    return { ...args, ...(__import ? { __import } : {}), __provider: providerText(this.kind) };
  }

  /** The engine's own import. */
  async #import({ __import: id }: Properties): Promise<void> {
    const { id: found, state, inputs } = await this.#provider.read(this.#named, String(id));
    if (!found || !inputs) throw new Error(`there is no ${id}`);
    this.#keep(found, inputs, state);
  }

  /** `pulumi refresh`; gives what was found. */
  async refresh(): Promise<"gone" | "drifted" | "same"> {
    const found = await this.#provider.read(this.#named, this.id, this.state, this.inputs);
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
    await this.#provider.delete(this.#named, this.id, this.state);
    this.forget();
  }

  /** As if the state had never had it. */
  forget(): void {
    this.#keep("", {}, {});
  }

  #keep(id: string, inputs: Properties, state: Properties, isPartial = false): void {
    Object.assign(this, { id, inputs, state });
    this.#isPartial = isPartial;
  }

  #keepPartial(error: unknown, inputs: Properties): never {
    if (error instanceof CallError && error.partial) {
      this.#keep(error.partial.id, inputs, error.partial.properties, true);
    }
    throw error;
  }
}
