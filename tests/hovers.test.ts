import assert from "node:assert/strict";
import path from "node:path";
import ts from "typescript";
import { repository } from "../tools/folders";

/** What some of the texts say, so that none is another property's. */
const expected: Record<string, RegExp> = {
  TLSEdge: /^A TLS edge: hostports that serve TLS traffic.*The option `import` adopts/s,
  "TLSEdge.id": /^Assigned by the service, opaque\.$/,
  "TLSEdge.backend": /backend/,
  "TLSCertificate.notAfter": /^End of validity, RFC 3339 in UTC\.$/,
  "TLSCertificateArgs.privateKeyPem": /^The leaf's private key in PEM.*Always a secret\./s,
  "TLSTerminationArgs.minVersion": /^The lowest TLS version\. Not where/,
  "TLSSiteArgs.minVersion": /^The lowest TLS version\. Default `1\.2`\.$/,
  "GetTunnelResult.forwardsTo": /^Where the agent forwards traffic to/,
};

describe("an editor that reads the built declarations", () => {
  it("shows a text at each export and at each of its properties, and the right one", () => {
    const index = path.join(repository, "dist/sdk/index.d.ts");
    const { NodeNext } = ts.ModuleKind;
    const program = ts.createProgram([index], { module: NodeNext, skipLibCheck: true });
    const checker = program.getTypeChecker();
    const texts = new Map<string, string>();
    const note = (name: string, symbol: ts.Symbol) => {
      const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
      // Properties that Pulumi's classes have are Pulumi's to describe.
      const files = (symbol.declarations ?? []).map((one) => one.getSourceFile().fileName);
      if (text || files.some((file) => !file.includes("node_modules"))) texts.set(name, text);
    };
    const source = checker.getSymbolAtLocation(program.getSourceFile(index) as ts.SourceFile);
    for (const exported of checker.getExportsOfModule(source as ts.Symbol)) {
      const isAlias = exported.flags & ts.SymbolFlags.Alias;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      note(symbol.name, symbol);
      if (!(symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))) continue;
      for (const property of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) {
        note(`${symbol.name}.${property.name}`, property);
      }
    }
    assert.ok(texts.size > 100);
    const bare = [...texts].filter(([, text]) => !/^\S.*\.$/s.test(text)).map(([name]) => name);
    assert.deepEqual(bare, []);
    for (const [name, text] of Object.entries(expected)) {
      assert.match(texts.get(name) ?? "", text, name);
    }
  });
});
