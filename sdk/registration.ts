import * as pulumi from "@pulumi/pulumi";
import {
  importKey,
  millisecondsOf,
  nameKey,
  secretsKey,
  timeoutsKey,
} from "../provider/dynamic/hidden";
import { filesKey, type Kind } from "../provider/kinds/kind";
import { typeToken } from "../provider/kinds/token";
import { defined } from "../provider/values/properties";
import { defaultConnection } from "../provider/values/setting";
import { checkConnection } from "./connection";
import { type Owner, program } from "./program";
import { checkResolvable } from "./resolvable";
import { secretsOf } from "./secrets";
import { refuseSharedObject } from "./shared";
import { PausedTraces } from "./workarounds";

/** A kind of resource, and its export in `provider/dynamic/dynamic.ts`. */
interface Registered {
  kind: Kind;
  provider: keyof typeof import("../provider/dynamic/dynamic");
}

/**
 * The registration of a resource, from its constructor. A base class would be less code, but Pulumi
 * takes the fifth frame of the stack for the line of the program, and state has that line.
 */
export class Registration {
  readonly token: string;
  readonly properties: pulumi.Inputs;
  readonly options: pulumi.CustomResourceOptions;
  readonly pausedTraces: PausedTraces;
  readonly #kind: Kind;
  readonly #owner: Owner;
  readonly #program = program();

  constructor(
    { kind, provider }: Registered,
    name: string,
    args: pulumi.Inputs & { connection?: string },
    { import: imported, ...options }: pulumi.CustomResourceOptions,
  ) {
    const { connection = defaultConnection } = args;
    checkConnection(connection);
    checkResolvable();
    if (imported === "") {
      throw new pulumi.RunError("the import option is empty: give the id of the object to adopt");
    }
    const givenSecrets = (kind.secrets ?? []).filter((name) => args[name] !== undefined);
    const outputs = [...Object.keys(kind.stateNames), "connection", "accountTag"];
    this.#kind = kind;
    this.#owner = { kind: `${kind.name} ${connection}`, name, imported };
    this.token = typeToken(kind.name);
    this.properties = {
      // Pulumi makes an output of each property.
      ...Object.fromEntries(outputs.map((output) => [output, undefined])),
      ...args,
      ...Object.fromEntries(givenSecrets.map((name) => [name, pulumi.secret(args[name])])),
      ...timeoutsOf(options.customTimeouts),
      // The provider imports the object: the engine can't import a dynamic resource, so it is not given the option.
      ...(imported && { [importKey]: imported }),
      // A `get` manages nothing.
      ...(!options.id && { [nameKey]: name, [secretsKey]: secretsOf(args, givenSecrets) }),
      // Every state has this text, so it never changes.
      __provider: `exports.handler = () => require("pulumi-tlsedge/provider").${provider}`,
    };
    this.options = options;
    this.pausedTraces = new PausedTraces();
  }

  /** Does what needs the registered resource. */
  done(resource: pulumi.CustomResource): void {
    const { stateNames, secrets = [] } = this.#kind;
    this.pausedTraces.end();
    // A `get` manages nothing.
    if (!this.options.id) this.#claimObject(resource);
    const outputs = resource as unknown as Record<string, pulumi.Output<unknown>>;
    // Pulumi makes each argument a property. An export of the resource must contain no key.
    for (const name of [...secrets, filesKey, nameKey]) delete outputs[name];
    // An unset property is null in state, and undefined in a program.
    const nullable = Object.keys(stateNames).filter((name) => stateNames[name] === "nullable");
    for (const name of [...nullable, "accountTag"]) {
      outputs[name] = (outputs[name] as pulumi.Output<unknown>).apply(
        (value) => value ?? undefined,
      );
    }
  }

  /** Fails the program when another resource has the object, or is to import it. */
  #claimObject(resource: pulumi.CustomResource): void {
    const { imported } = this.#owner;
    if (imported) refuseSharedObject(this.#program, resource, this.#owner, imported);
    resource.id.apply((id) => {
      // A plan changes nothing.
      if (!pulumi.runtime.isDryRun()) this.#program.changedAt = performance.now();
      refuseSharedObject(this.#program, resource, this.#owner, id);
    });
  }
}

/** The deadlines of the operations as an input; none where the option sets none. */
function timeoutsOf(option: pulumi.CustomTimeouts = {}): pulumi.Inputs {
  const timeouts = Object.entries(option).map(([name, text]) => [name, millisecondsOf(`${text}`)]);
  const known = defined(Object.fromEntries(timeouts));
  return Object.keys(known).length > 0 ? { [timeoutsKey]: known } : {};
}
