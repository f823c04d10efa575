import assert from "node:assert/strict";
import path from "node:path";
import ts from "typescript";
import { repository } from "../tools/folders";

/** A program with a property or a name of each kind, as an engineer has it in an editor. */
const program = `
import { getTLSCertificate, getTunnel, TLSCertificate, TLSEdge, TLSSite } from "pulumi-tlsedge";
const edge = new TLSEdge("app", {
  description: "d",
  metadata: "m",
  hostports: ["a.example.com:443"],
  backend: { backendId: "bkdtg_1" },
  ipRestriction: { enabled: true, ipPolicyIds: ["ipp_1"] },
  mutualTls: { certificateAuthorityIds: ["ca_1"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
  onModuleRemoval: "disable",
  connection: "tlsedge",
});
const certificate = new TLSCertificate("app", {
  certificatePem: "pem",
  privateKeyPem: "key",
  renewBeforeDays: 21,
});
const site = new TLSSite("app", {
  hostports: ["b.example.com:443"],
  chainFile: "chain.pem",
  keyFile: "key.pem",
  backendId: "bkdtg_1",
  access: { ipPolicyIds: ["ipp_1"], certificateAuthorityIds: ["ca_1"] },
  minVersion: "1.3",
  owner: "web",
});
export const outputs = [edge.id, certificate.fingerprint, site.expires];
export async function found() {
  const { forwardsTo } = await getTunnel({ proto: "tls" });
  const { notAfter } = await getTLSCertificate({ domain: "a.example.com" });
  return [forwardsTo, notAfter];
}
`;

const file = path.join(repository, "tests", "hovers.ts");

/** The compiler, as an editor uses it for a program. */
function serviceFor(program: string): ts.LanguageService {
  const { NodeNext } = ts.ModuleKind;
  return ts.createLanguageService({
    getCompilationSettings: () => ({ module: NodeNext, strict: true, skipLibCheck: true }),
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) => {
      const text = name === file ? program : ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => repository,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
  });
}

/** What the compiler says of a program. */
function problemsOf(service: ts.LanguageService): string[] {
  return service
    .getSemanticDiagnostics(file)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

/** What an editor shows at each property and class of the program, by its name: `TLSEdge.id`. */
function hovers(): Map<string, string> {
  const service = serviceFor(program);
  assert.deepEqual(problemsOf(service), []);
  const shown = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    const isNamed =
      ts.isPropertyAssignment(node) ||
      ts.isPropertyAccessExpression(node) ||
      ts.isBindingElement(node);
    const name = isNamed ? node.name : ts.isNewExpression(node) ? node.expression : undefined;
    if (name) {
      const info = service.getQuickInfoAtPosition(file, name.getStart());
      const text = ts.displayPartsToString(info?.documentation);
      const title = ts.displayPartsToString(info?.displayParts);
      const [, own = name.getText()] = /^\(property\) ([\w.]+)/.exec(title) ?? [];
      shown.set(own, text.replaceAll("\n", " "));
    }
    ts.forEachChild(node, visit);
  };
  visit(service.getProgram()?.getSourceFile(file) as ts.SourceFile);
  return shown;
}

/** What some of the texts say, so that none is another property's. */
const expected: Record<string, RegExp> = {
  TLSEdge: /^A TLS edge: hostports that serve TLS traffic.*The option `import` adopts/,
  TLSCertificate: /^A TLS certificate: a PEM chain with its private key.*The option `import`/,
  TLSSite: /^A certificate and the edge that serves it, with safe defaults/,
  "BackendArgs.backendId": /^The id of the backend\.$/,
  "ModuleArgs.enabled": /^Whether the module is applied to traffic\. Default true\.$/,
  "IpRestrictionArgs.ipPolicyIds": /^The ids of the IP policies/,
  "TlsTerminationArgs.terminateAt": /^`edge`: at the service\. `upstream`: behind it\./,
  "TlsTerminationArgs.minVersion": /^The lowest TLS version\. Not with/,
  "TLSCertificateArgs.privateKeyPem": /^The leaf's private key in PEM.*Always a secret\./,
  "TLSSiteArgs.minVersion": /^The lowest TLS version\. Default `1\.2`\.$/,
  "TLSEdge.id": /^Assigned by the service, opaque\.$/,
  forwardsTo: /^Where the agent forwards traffic to/,
  notAfter: /^End of validity, RFC 3339 in UTC\.$/,
};

describe("an editor that reads the built declarations", () => {
  it("shows a text at each property and class, and the right one", () => {
    const shown = hovers();
    for (const [name, text] of shown) assert.match(text, /^\S.*\.$/, name);
    for (const [name, text] of Object.entries(expected)) {
      assert.match(shown.get(name) ?? "", text, name);
    }
  });

  it("C15 lists the values of a choice at a wrong one", () => {
    const wrong = program
      .replace('minVersion: "1.2"', 'minVersion: "1.4"')
      .replace('minVersion: "1.3"', 'minVersion: "1.5"')
      .replace('terminateAt: "edge"', 'terminateAt: "backend"')
      .replace('onModuleRemoval: "disable"', 'onModuleRemoval: "remove"');
    const said = problemsOf(serviceFor(wrong)).map((text) => text.split("\n")[0]);
    const versions = '"1.0" | "1.1" | "1.2" | "1.3"';
    assert.deepEqual(said.sort(), [
      `Type '"1.4"' is not assignable to type 'Input<${versions} | undefined>'.`,
      `Type '"1.5"' is not assignable to type 'Input<${versions}> | undefined'.`,
      `Type '"backend"' is not assignable to type 'Input<"edge" | "upstream" | undefined>'.`,
      `Type '"remove"' is not assignable to type '"disable" | "replace" | undefined'.`,
    ]);
  });
});
