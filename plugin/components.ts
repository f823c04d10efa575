import * as pulumi from "@pulumi/pulumi";
import type * as sdk from "../sdk/index";
import { pluginToken, typeToken } from "../sdk/kind";
import { checkArgs, partsOf, type TLSSiteArgs } from "../sdk/siteParts";
import schema from "./schema.json";

// This file is a program of its own: the plugin runs it in a thread when a program has a component.

const { version } = schema;

type ResourceClass<Args, Outputs> = new (
  name: string,
  args: Args | undefined,
  opts: pulumi.CustomResourceOptions,
) => Outputs;

/** A resource of the plugin as a child of a component. */
function resourceOf<Args extends object, Outputs>(kind: string): ResourceClass<Args, Outputs> {
  const token = pluginToken(kind) as keyof typeof schema.resources;
  const names = Object.keys(schema.resources[token].properties);
  const outputs = Object.fromEntries(names.map((name) => [name, undefined]));
  const made = class extends pulumi.CustomResource {
    constructor(name: string, args: Args | undefined, opts: pulumi.CustomResourceOptions) {
      super(token, name, { ...outputs, ...args }, { version, ...opts });
    }
  };
  // Pulumi sets the outputs at run time.
  return made as unknown as ResourceClass<Args, Outputs>;
}

const TLSCertificate = resourceOf<sdk.TLSCertificateArgs, sdk.TLSCertificate>("TLSCertificate");
const TLSEdge = resourceOf<sdk.TLSEdgeArgs, sdk.TLSEdge>("TLSEdge");

// A program may give a certificate that it has made.
pulumi.runtime.registerResourceModule("tlsedge", "index", {
  version,
  construct: (name: string, _type: string, urn: string) =>
    new TLSCertificate(name, undefined, { urn }),
});

class TLSSite extends pulumi.ComponentResource {}

/** Makes a site and its children. */
async function construct(
  name: string,
  type: string,
  inputs: pulumi.Inputs,
  opts: pulumi.ComponentResourceOptions,
): Promise<pulumi.provider.ConstructResult> {
  if (type !== pluginToken("TLSSite")) throw new Error(`there is no component ${type}`);
  const args = inputs as TLSSiteArgs;
  checkArgs(name, args, ["connection"]);
  const site = new TLSSite(type, name, {}, opts);
  const parts = partsOf(site, name, args, { TLSCertificate, TLSEdge, otherType: typeToken });
  return { urn: site.urn, state: { ...parts } };
}

void pulumi.provider.main({ version, construct }, process.argv.slice(2));
