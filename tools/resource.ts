import { isDeepStrictEqual } from "node:util";
import type { dynamic } from "@pulumi/pulumi";

/** Inputs or outputs of a resource, in plain form. */
export type Properties = Record<string, unknown>;

/** A plan that the provider refuses, with everything that it says. */
export class PlanFailure extends Error {
  constructor(readonly failures: dynamic.CheckFailure[]) {
    super(failures.map(({ reason }) => reason).join("\n"));
  }
}

/**
 * What the error of a create or an update has, besides, when it has made or changed the object nevertheless: the engine
 * stores it, and updates it in the next up.
 */
export interface PartialResource {
  id: string;
  properties: Properties;
  inputs?: Properties;
  reasons: string[];
}

/** What a diff and an update are told. `olds` are the inputs of the last deployment. */
type Change = [id: string, state: Properties, inputs: Properties, olds: Properties];

/** A provider of one resource, whatever its protocol. */
export interface ResourceProvider {
  check(olds: Properties, news: Properties): Promise<dynamic.CheckResult>;
  /** If it says nothing of changes, the engine compares the inputs. */
  diff(...change: Change): Promise<dynamic.DiffResult>;
  /** What a plan knows of the outputs of a create. Engines ask a plugin alone. */
  planned?(inputs: Properties): Promise<Properties>;
  create(inputs: Properties): Promise<dynamic.CreateResult>;
  /** Without state and inputs: an import. */
  read(id: string, state?: Properties, olds?: Properties): Promise<dynamic.ReadResult>;
  update(...change: Change): Promise<dynamic.UpdateResult>;
  delete(id: string, state: Properties): Promise<void>;
}

/** One resource of a stack, as the engine keeps it and drives its provider. */
export abstract class Resource {
  id = "";
  inputs: Properties = {};
  state: Properties = {};
  /** Created or updated in part: the next up updates it, even if no input has changed. */
  protected isPartial = false;

  /** The provider of the program. */
  protected abstract readonly provider: ResourceProvider;

  /** The provider that has written the state: reads and deletes go there. */
  protected get writer(): ResourceProvider {
    return this.provider;
  }

  /** The checked inputs, and what is wrong with them. */
  async check(args: Properties, olds = this.inputs) {
    const { inputs, failures = [] } = await this.provider.check(olds, args);
    return { inputs: inputs as Properties, failures };
  }

  /** `pulumi preview`: what would happen, which properties would replace, and the outputs of a create. */
  async preview(args: Properties) {
    const plan = await this.#plan(args);
    const planned = this.id ? undefined : await this.provider.planned?.(plan.inputs);
    return { ...plan, planned };
  }

  async #plan(args: Properties) {
    const { inputs, failures } = await this.check(args);
    if (failures.length > 0) throw new PlanFailure(failures);
    if (!this.id) return { verdict: "create", inputs, replaces: [] as string[] };
    return this.diff(inputs);
  }

  /** What would happen with inputs that were checked. */
  async diff(inputs: Properties) {
    const { id, state, inputs: olds } = this;
    const { changes, replaces = [] } = await this.provider.diff(id, state, inputs, olds);
    const isChanged = changes ?? !isDeepStrictEqual(olds, inputs);
    const inPlace = isChanged || this.isPartial ? "update" : "same";
    return { verdict: replaces.length > 0 ? "replace" : inPlace, inputs, replaces };
  }

  /** `pulumi up`, of everything but replacements; says what it did. */
  async up(args: Properties): Promise<string> {
    const { verdict, inputs, replaces } = await this.#plan(args);
    if (verdict === "replace")
      throw new Error(`this engine can't replace, but the change of ${replaces} does`);
    if (verdict === "same") this.inputs = inputs;
    else await this.write(inputs);
    return verdict;
  }

  /** Creates or updates it. */
  protected async write(inputs: Properties): Promise<void> {
    const { id, state, inputs: olds, provider } = this;
    try {
      const made = await (id ? provider.update(id, state, inputs, olds) : provider.create(inputs));
      this.keep({ id, ...made }, inputs);
    } catch (error) {
      const { id, properties: outs } = error as PartialResource;
      if (id) this.keep({ id, outs }, inputs, true);
      throw error;
    }
  }

  /** `pulumi refresh`: `gone`, `drifted` when it gave other inputs, else `same`. */
  async refresh(): Promise<"gone" | "drifted" | "same"> {
    const { id, state, inputs: olds } = this;
    const { id: found, props = {}, inputs = olds } = await this.writer.read(id, state, olds);
    if (!found) {
      this.forget();
      return "gone";
    }
    Object.assign(this, { state: props, inputs });
    return isDeepStrictEqual(inputs, olds) ? "same" : "drifted";
  }

  /** The delete of a resource that the program has no more. */
  async leave(): Promise<void> {
    await this.writer.delete(this.id, this.state);
  }

  /** As if the state had never had it. */
  forget(): void {
    this.keep({ id: "" }, {});
  }

  protected keep({ id, outs = {} }: dynamic.CreateResult, inputs: Properties, isPartial = false) {
    Object.assign(this, { id, state: outs, inputs, isPartial });
  }
}
