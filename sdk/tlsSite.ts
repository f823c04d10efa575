import * as pulumi from "@pulumi/pulumi";
import { pluginToken } from "../provider/kinds/token";
import { checkedArgs, inputsOf, partsOf, type SiteParts, type TLSSiteArgs } from "./siteParts";
import { TLSCertificate } from "./tlsCertificate";
import { TLSEdge } from "./tlsEdge";

const unprotected: pulumi.CustomResourceOptions = {
  protect: false,
  // A language host that is older than the engine drops the option where it is false.
  transforms: [({ props, opts }) => ({ props, opts: { ...opts, protect: false } })],
};
const classes = { TLSCertificate, TLSEdge, otherType: pluginToken, unprotected };

export interface TLSSite extends SiteParts {}

/**
 * A certificate and the edge that serves it, with safe defaults: TLS ends at the edge, the lowest
 * TLS version is 1.2, and `access` is required. The certificate is created before the edge, and
 * deleted after it.
 *
 * A plan warns about the hostports that the certificate is not valid for.
 *
 * The resource option `protect` protects the edge, and not the site's own certificate: a renewal
 * replaces the certificate, and Pulumi replaces nothing that is protected. Pulumi deletes the
 * certificate after the edge, so with `protect` it deletes neither.
 *
 * @throws pulumi.RunError when an option is misspelt or missing, or a certificate's file can't be
 * read.
 * @example
 * const site = new TLSSite("app", {
 *   hostports: ["app.example.com:443"],
 *   chainFile: "app/fullchain.pem",
 *   keyFile: "app/privkey.pem",
 *   backendId: "bkdtg_…",
 *   access: { ipPolicyIds: ["ipp_…"] },
 *   owner: "web",
 * });
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns the outputs.
export class TLSSite extends pulumi.ComponentResource {
  /** @internal */
  static readonly __pulumiType: string = pluginToken("TLSSite");

  constructor(name: string, args: TLSSiteArgs, opts?: pulumi.ComponentResourceOptions) {
    const checked = checkedArgs(name, args, ["connection"]);
    super(TLSSite.__pulumiType, name, inputsOf(checked), opts);
    const parts = partsOf(this, name, checked, classes);
    Object.assign(this, parts);
    this.registerOutputs(parts);
  }
}
