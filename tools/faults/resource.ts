import type { Protocol, Provider } from "../protocol";
import { Resource as Kept, type Properties, type ResourceProvider } from "../resource";
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

/** One resource of a stack, with the ways to replace it and to move it to another protocol. */
export class Resource extends Kept {
  /** The processes that get the calls. */
  readonly providers = {} as Record<Protocol, Provider>;
  /** The protocol that the state was written through: reads and deletes go there. */
  #writer: Protocol;
  replaces: { way: Way; deletesFirst: boolean; old: Resource } | undefined;
  /** Whether a process of its own deletes it. */
  isApart = false;
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
    super();
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

  protected get provider(): ResourceProvider {
    return this.#providerOf(this.protocol);
  }

  protected override get writer(): ResourceProvider {
    return this.#providerOf(this.#writer);
  }

  #providerOf(protocol: Protocol): ResourceProvider {
    const type = `tlsedge:index:${this.kind.replace("tls", "TLS")}`;
    const urn = `urn:pulumi:stack::project::${type}::${this.name}`;
    return this.providers[protocol].resource({ type, urn });
  }

  /** In a replacement by a trigger, the old inputs are told first. */
  override async check(args: Properties) {
    const news = this.#newsOf(args);
    const { way, old } = this.replacement ?? {};
    if (way === "trigger" && old?.id) await super.check(news, old.inputs);
    return super.check(news);
  }

  #newsOf({ __import, ...args }: Properties): Properties {
    if (this.protocol === "plugin") return args;
    const connection = this.key === "tlsedge" ? {} : { connection: this.key };
    const hidden = { ...(__import ? { __import } : {}), __provider: providerText(this.kind) };
    return { ...args, ...connection, ...hidden };
  }

  override async up(args: Properties): Promise<string> {
    if (!this.id && this.protocol === "plugin" && args.__import) await this.#import(args);
    return super.up(args);
  }

  /** The engine's own import. */
  async #import({ __import }: Properties): Promise<void> {
    const { id, props, inputs } = await this.provider.read(String(__import));
    if (!id || !inputs) throw new Error(`there is no ${__import}`);
    this.keep({ id, outs: props }, inputs);
  }

  protected override async write(inputs: Properties): Promise<void> {
    const { old, deletesFirst } = this.replacement ?? {};
    if (deletesFirst && old?.id) await old.destroy();
    if (!this.id) this.creates += 1;
    await super.write(inputs);
  }

  /** `pulumi destroy`. */
  async destroy(): Promise<void> {
    await this.leave();
    this.forget();
  }

  protected override keep(...kept: Parameters<Kept["keep"]>): void {
    super.keep(...kept);
    this.#writer = this.protocol;
  }
}
