import * as pulumi from "@pulumi/pulumi";
import * as shape from "../provider/values/shape";

/** Whether a value is an output or a promise. */
export function isAsync(value: unknown): boolean {
  return pulumi.Output.isInstance(value) || value instanceof Promise;
}

/** {@link shape.wrongForm}, which also refuses an output or a promise. */
export const wrongForm: typeof shape.wrongForm = (args, ...rest) =>
  shape.wrongForm(isAsync(args) ? undefined : args, ...rest);
