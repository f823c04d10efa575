import { isDeepStrictEqual } from "node:util";
import { Failure, type Properties, type Provider } from "./protocol.ts";

export type Kind = "tlsEdge" | "tlsCertificate";

/** The provider's text. Spelt out: it stands in every state, so it is a fact and never changes. */
export const providerText = (kind: Kind) =>
  `exports.handler = () => require("pulumi-tlsedge/provider").${kind}`;

/** One resource of a stack: what the engine keeps of it, and what the engine asks for it. */
export class Resource {
  readonly kind: Kind;
  id = "";
  inputs: Properties = {};
  state: Properties = {};
  /** The process that is asked. */
  provider: Provider | undefined;
  /** Half made, so that the engine updates it even when nothing has changed. */
  #unfinished = false;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  get #asked(): Provider {
    if (!this.provider) throw new Error("the process was killed");
    return this.provider;
  }

  /** `pulumi up`: what was done. */
  async up(args: Properties): Promise<"create" | "update" | "same"> {
    const __provider = providerText(this.kind);
    const news = { ...args, __provider };
    const { inputs, failures } = await this.#asked.check(this.inputs, news);
    if (failures.length > 0) throw new Error(`the plan fails: ${failures.join("; ")}`);
    if (!this.id) {
      const made = this.#asked.create(inputs);
      const { id, state } = await made.catch((error) => this.#record(error, inputs));
      this.#keep(id, inputs, state);
      return "create";
    }
    const { same, replaces } = await this.#asked.diff(this.id, this.state, inputs);
    if (replaces.length > 0) throw new Error(`no run replaces, but ${replaces} would`);
    if (!this.#unfinished && (same || isDeepStrictEqual(this.inputs, inputs))) {
      this.inputs = inputs;
      return "same";
    }
    const updated = this.#asked.update(this.id, this.state, inputs);
    const state = await updated.catch((error) => this.#record(error, inputs));
    this.#keep(this.id, inputs, state);
    return "update";
  }

  /** `pulumi refresh`: what was found. */
  async refresh(): Promise<"gone" | "drifted" | "same"> {
    const found = await this.#asked.read(this.id, this.state, this.inputs);
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
    await this.#asked.delete(this.id, this.state);
    this.#keep("", {}, {});
  }

  #keep(id: string, inputs: Properties, state: Properties): void {
    Object.assign(this, { id, inputs, state });
    this.#unfinished = false;
  }

  #record(error: unknown, inputs: Properties): never {
    if (error instanceof Failure && error.recorded) {
      this.#keep(error.recorded.id, inputs, error.recorded.properties);
      this.#unfinished = true;
    }
    throw error;
  }
}
