import { isDeepStrictEqual } from "node:util";
import { CallError, type Properties, type Provider } from "../protocol";

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

  constructor(readonly kind: Kind) {}

  get #provider(): Provider {
    if (!this.provider) throw new Error("the process was killed");
    return this.provider;
  }

  /** `pulumi up`; gives what was done. */
  async up(args: Properties): Promise<"create" | "update" | "same"> {
    const news = { ...args, __provider: providerText(this.kind) };
    const { inputs, failures } = await this.#provider.check(this.inputs, news);
    if (failures.length > 0) throw new Error(`the plan fails: ${failures.join("; ")}`);
    if (!this.id) {
      const creating = this.#provider.create(inputs);
      const { id, state } = await creating.catch((error) => this.#keepPartial(error, inputs));
      this.#keep(id, inputs, state);
      return "create";
    }
    const { same, replaces } = await this.#provider.diff(this.id, this.state, inputs);
    if (replaces.length > 0) throw new Error(`no run replaces, but ${replaces} would`);
    if (!this.#isPartial && (same || isDeepStrictEqual(this.inputs, inputs))) {
      this.inputs = inputs;
      return "same";
    }
    const updating = this.#provider.update(this.id, this.state, inputs);
    const state = await updating.catch((error) => this.#keepPartial(error, inputs));
    this.#keep(this.id, inputs, state);
    return "update";
  }

  /** `pulumi refresh`; gives what was found. */
  async refresh(): Promise<"gone" | "drifted" | "same"> {
    const found = await this.#provider.read(this.id, this.state, this.inputs);
    if (!found.id) {
      this.#keep("", {}, {});
      return "gone";
    }
    this.state = found.state;
    if (!found.inputs) return "same";
    this.inputs = found.inputs;
    return "drifted";
  }

  /** `pulumi destroy`. */
  async destroy(): Promise<void> {
    await this.#provider.delete(this.id, this.state);
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
