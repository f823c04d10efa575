import * as pulumi from "@pulumi/pulumi";
import { pluginToken, typeToken } from "../provider/kinds/token";
import { defined } from "../provider/values/properties";
import type * as sdk from "../sdk/index";
import {
  checkedArgs,
  inputsOf,
  partsOf,
  type ResourceClass,
  type SiteParts,
  type TLSSiteArgs,
} from "../sdk/siteParts";
import schema from "./schema.json";

// This file is a program of its own: the plugin runs it in a thread when a program has a component.

const { version } = schema;

/** A resource of this package as a child of a component. */
function resourceOf<Args extends object, Outputs>(token: string): ResourceClass<Args, Outputs> {
  const own = pluginToken(token.split(":").pop() ?? "") as keyof typeof schema.resources;
  // Pulumi makes an output of each property.
  const names = Object.keys(schema.resources[own].properties);
  const outputs = Object.fromEntries(names.map((name) => [name, undefined]));
  const type = class extends pulumi.CustomResource {
    constructor(name: string, args: Args, opts: pulumi.CustomResourceOptions) {
      super(token, name, { ...outputs, ...args }, opts);
    }
  };
  // Pulumi sets the outputs at run time.
  return type as unknown as ResourceClass<Args, Outputs>;
}

const TLSCertificate = resourceOf<sdk.TLSCertificateArgs, sdk.TLSCertificate>(
  pluginToken("TLSCertificate"),
);
const TLSEdge = resourceOf<sdk.TLSEdgeArgs, sdk.TLSEdge>(pluginToken("TLSEdge"));

// A program may give a certificate that it has made, or another resource by mistake.
const resourceModule = {
  version,
  construct: (name: string, type: string, urn: string) =>
    new (resourceOf<object, pulumi.Resource>(type))(name, {}, { urn }),
};
pulumi.runtime.registerResourceModule("tlsedge", "index", resourceModule);
// With the Node.js package: the parts of its type tokens.
pulumi.runtime.registerResourceModule("pulumi-nodejs", "dynamic/tlsedge", resourceModule);

// No transform: in a plugin, Pulumi's SDK takes the marks of secrets from what a transform returns.
const unprotected = { protect: false };
const classes = { TLSCertificate, TLSEdge, otherType: typeToken, unprotected };

class TLSSite extends pulumi.ComponentResource {
  readonly parts: SiteParts;

  constructor(name: string, args: TLSSiteArgs, opts: pulumi.ComponentResourceOptions) {
    super(pluginToken("TLSSite"), name, inputsOf(args), opts);
    this.parts = partsOf(this, name, args, classes);
    this.registerOutputs(this.parts);
  }
}

/** Stands for a site with wrong arguments: see {@link construct}. */
class Refused extends pulumi.CustomResource {}

/** What Pulumi's types leave out of an output. */
type Deployed = pulumi.Output<unknown> & {
  isKnown: Promise<boolean>;
  promise(): Promise<unknown>;
  allResources(): Promise<Set<pulumi.Resource>>;
};

/** The certificate that a program gives, which may be an output. */
async function certificateOf(certificate: unknown): Promise<unknown> {
  if (!pulumi.Output.isInstance(certificate)) return certificate;
  const output = certificate as Deployed;
  if (await output.isKnown) return output.promise();
  // What is not known and comes from one certificate alone is an output of it, such as its id: `checkedArgs` refuses it.
  const [from, ...more] = await output.allResources();
  const urn = await (from?.urn as Deployed | undefined)?.promise();
  const tokens = [pluginToken, typeToken].map((tokenOf) => tokenOf("TLSCertificate"));
  const isOfOne = more.length === 0 && tokens.some((token) => String(urn).includes(`${token}::`));
  if (isOfOne) return output;
  // In a plan, this output stands for the certificate: what is read of it is not known either.
  return Object.assign(output, { __pulumiType: pluginToken("TLSCertificate") });
}

/**
 * Makes a site and its children. With wrong arguments, makes a resource in place of the site: the plugin's check of it
 * fails with the problem. Where a component itself fails, a program in Python ends with 60 lines of gRPC, and one in
 * TypeScript with a stack.
 */
async function construct(
  name: string,
  type: string,
  inputs: pulumi.Inputs,
  opts: pulumi.ComponentResourceOptions,
): Promise<pulumi.provider.ConstructResult> {
  if (type !== pluginToken("TLSSite")) throw new Error(`there is no component ${type}`);
  const certificate = await certificateOf(inputs.certificate);
  try {
    const args = checkedArgs(name, { ...inputs, certificate } as TLSSiteArgs);
    const { urn, parts } = new TLSSite(name, args, opts);
    return { urn, state: { ...parts } };
  } catch (error) {
    if (!pulumi.RunError.isInstance(error)) throw error;
    const { parent, providers } = opts;
    const { tlsedge: provider } = providers as Record<string, pulumi.ProviderResource>;
    const options = defined({ parent, provider });
    return { urn: new Refused(type, name, { problem: error.message }, options).urn, state: {} };
  }
}

void pulumi.provider.main({ version, construct }, process.argv.slice(2));
