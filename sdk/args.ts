import * as pulumi from "@pulumi/pulumi";
import type { serviceFields } from "../client/fields";
import type { InputsOf, Table } from "../client/table";
import * as shape from "../provider/kinds/shape";

/** What a program gives for the fields of a table: values, or outputs. */
export type ArgsOf<T extends Table> = Given<InputsOf<T>>;
/** What a program gives for some inputs. */
export type Given<Inputs> = { [K in keyof Inputs]: pulumi.Input<PartsOf<Inputs[K]>> };
/** A value whose parts may be outputs. */
type PartsOf<T> = T extends readonly (infer One)[]
  ? pulumi.Input<One>[]
  : T extends object
    ? Given<T>
    : T;

/** The arguments of every resource. */
export interface ObjectArgs extends ArgsOf<typeof serviceFields> {
  /** The config namespace of the account. Default `tlsedge`; changing it replaces. */
  connection?: string | undefined;
}

/** Whether a value is an output or a promise. */
export function isAsync(value: unknown): boolean {
  return pulumi.Output.isInstance(value) || value instanceof Promise;
}

/** {@link shape.wrongForm}, which also refuses an output or a promise. */
export const wrongForm: typeof shape.wrongForm = (args, ...rest) =>
  shape.wrongForm(isAsync(args) ? undefined : args, ...rest);
