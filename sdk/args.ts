import * as pulumi from "@pulumi/pulumi";
import * as shape from "../provider/kinds/shape";

/** The arguments of every resource. */
export interface ObjectArgs {
  /**
   * A description for people. At most 255 bytes of UTF-8. Updates in place. An empty text is the
   * same as none.
   */
  description?: pulumi.Input<string | undefined>;
  /**
   * Any text for machines. At most 4096 bytes of UTF-8. Updates in place. An empty text is the same
   * as none. Lookups can filter by a JSON object of texts, such as `{"owner":"web"}`, which `TLSSite`
   * writes.
   */
  metadata?: pulumi.Input<string | undefined>;
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
