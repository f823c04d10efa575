import type * as pulumi from "@pulumi/pulumi";
import type { AccountState } from "../provider/kinds/state";

/** The outputs of a resource: what its state holds, with undefined where state has null. */
export type Outputs<State> = {
  readonly [Name in keyof (State & StoredState)]-?: pulumi.Output<
    (State & StoredState)[Name] extends infer Value ? Unset<Value> : never
  >;
};
type Unset<Value> = Value extends null ? undefined : Value;

/** What state holds beside the object. */
interface StoredState extends AccountState {
  /** The config namespace of the account. */
  connection: string;
}
