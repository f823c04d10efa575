import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import * as fc from "fast-check";
import ts from "typescript";
import { parse } from "yaml";
import { type Plan, planOf } from "../cli/adopt";
import { type Language, languages, quoted } from "../cli/languages";
import { pluginProjectOf } from "../cli/pluginProgram";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";
import schema from "../plugin/schema.json";
import { newFolder } from "../tools/folders";
import { holds, seed } from "./cases";
import type { Properties } from "./support";

const frame = { project: "adopted", version: "1.2.3", pulumi: {}, warning: undefined };
const wish = { connection: "tlsedge" };

/** What a program may have to say, whoever wrote it. */
const words = fc.oneof(
  fc.constantFrom('"', "'", "\\", "\\u0041", "\\n", "\n", "\r\n", "\t", "\0", "\u007f", "`"),
  fc.constantFrom(
    "$",
    "$$",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it must never become a reference.
    "${a.b}",
    "$${a.b}",
    "{x}",
    "%s",
    "#",
    ": ",
    "- ",
    "&a",
    "*a",
    "!!str",
  ),
  fc.constantFrom("\u0085", "\u2028", "\u202e", "\ufeff", "\ufffe", "\uffff", "\u{e0001}", "🔐"),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const text = fc
  .array(words, { maxLength: 4 })
  .map((parts) => parts.join("").replace(/\p{Surrogate}/gu, ""));
const id = text.filter((value) => value !== "");
const enabled = fc.constantFrom(true, false);
const edge = fc.record({
  description: fc.option(text),
  metadata: fc.option(text),
  hostports: fc.subarray(["a.example:443", "b.example:8443"]),
  backend: fc.option(fc.record({ enabled, backend: id.map((one) => ({ id: one, uri: "" })) })),
  ip_restriction: fc.option(
    fc.record({ enabled, ip_policies: id.map((one) => [{ id: one, uri: "" }]) }),
  ),
  tls_termination: fc.option(fc.record({ enabled, min_version: fc.constantFrom("1.2", null) })),
});
const accounts = fc.record({
  edges: fc.array(edge, { maxLength: 3 }),
  certificates: fc.array(fc.record({ description: fc.option(text) }), { maxLength: 2 }),
});

interface Said {
  type: string;
  name: string;
  args: Properties;
  options: Properties;
}

describe("what adopt writes for the plugin", () => {
  let certificatePem: string;
  before(async () => {
    ({ certificatePem } = await makeCertificate({ commonName: "a.example" }));
  });

  type Account = typeof accounts extends fc.Arbitrary<infer T> ? T : never;
  const planned = ({ edges, certificates }: Account): Plan =>
    planOf(
      {
        edges: edges.map((one, n) => ({ id: `e${n}`, ...told(n), ...one }) as TLSEdgeWire),
        certificates: certificates.map(
          (one, n): TLSCertificateWire => ({
            id: `c${n}`,
            ...told(n),
            certificate_pem: certificatePem,
            ...one,
          }),
        ),
      },
      wish,
    );
  const told = (n: number) => ({ uri: "", created_at: new Date(n).toISOString() });

  /** The resources of a plan; the chain is that of the file. */
  const expected = ({ edges, certificates }: Plan): Said[] => {
    const options = { protect: true };
    return [
      ...edges.map(({ name, args }) => ({ type: "TLSEdge", name, args, options })),
      ...certificates.map(({ name, args }) => ({ type: "TLSCertificate", name, args, options })),
    ];
  };
  const project = (plan: Plan, language: Language) => pluginProjectOf(plan, { ...frame, language });

  it("C81 is a program in YAML that says what the service has", () =>
    holds(accounts, 150, async (account) => {
      const plan = planned(account);
      const files = project(plan, "yaml");
      const program = files.get("Pulumi.yaml") ?? "";
      // What YAML allows, which this parser does not check.
      assert.match(program, /^[\n\x20-\x7e\xa0-\ufffd\u{10000}-\u{10ffff}]*$/u);
      const { resources } = parse(program);
      const said = Object.values<Properties>(resources ?? {}).map((one) => ({
        type: String(one.type).replace("tlsedge:", ""),
        name: one.name,
        args: fromYaml(one.properties ?? {}, files),
        options: one.options,
      }));
      assert.deepEqual(said, expected(plan));
    }));

  it("C81 is a program in TypeScript that says what the service has", () =>
    holds(accounts, 150, async (account) => {
      const plan = planned(account);
      assert.deepEqual(runTypeScript(project(plan, "typescript")), expected(plan));
    }));

  it("C81 is a program in Python that says what the service has", function () {
    if (!has("python3")) this.skip();
    const plans = fc.sample(accounts, { numRuns: 150, seed }).map(planned);
    const programs = plans.map((plan) => Object.fromEntries(project(plan, "python")));
    const said = JSON.parse(run("python3", ["-c", pythonDriver], JSON.stringify(programs)));
    assert.deepEqual(
      said,
      plans.map((plan) => expected(plan).map((one) => ({ ...one, args: snake(one.args) }))),
    );
  });

  it("C81 has texts that Go reads as they are", function () {
    if (!has("go")) this.skip();
    const texts = fc.sample(text, { numRuns: 500, seed });
    const file = path.join(newFolder(), "main.go");
    fs.writeFileSync(
      file,
      `package main

import (
	"encoding/json"
	"os"
)

func main() {
	json.NewEncoder(os.Stdout).Encode([]string{
${texts.map((one) => `${quoted(one)},\n`).join("")}})
}`,
    );
    assert.deepEqual(JSON.parse(run("go", ["run", file])), texts);
  });

  it("C81 protects each resource in Go", () => {
    const edges = [{ hostports: ["a.example:443"] }, {}] as Account["edges"];
    const go = project(planned({ edges, certificates: [{ description: null }] }), "go");
    assert.equal(go.get("main.go")?.match(/, pulumi\.Protect\(true\)\); err != nil/g)?.length, 3);
  });

  it("C81 has a program in Go that gofmt would not change", function () {
    if (!has("gofmt")) this.skip();
    const programs = fc.sample(accounts, { numRuns: 50, seed }).map((account) => {
      const file = path.join(newFolder(), "main.go");
      fs.writeFileSync(file, project(planned(account), "go").get("main.go") ?? "");
      return file;
    });
    assert.equal(run("gofmt", ["-l", ...programs]), "");
  });

  for (const language of languages) {
    it(`C81 has a file for the engine's import, in ${language}`, () => {
      const plan = planned({
        edges: [{ hostports: ["a.example:443"] }, {}] as Account["edges"],
        certificates: [{ description: null }],
      });
      const files = project(plan, language);
      assert.deepEqual(JSON.parse(files.get("import.json") ?? ""), {
        resources: [
          { type: "tlsedge:index:TLSEdge", name: "a.example", id: "e0" },
          { type: "tlsedge:index:TLSEdge", name: "edge", id: "e1" },
          { type: "tlsedge:index:TLSCertificate", name: "a.example", id: "c0" },
        ],
      });
      assert.equal(files.get("certificates/a.example.pem"), certificatePem);
      assert.match(files.get("README.md") ?? "", /pulumi import --file import\.json/);
      assert.match(files.get("README.md") ?? "", /^## Protection$/m);
      assert.ok([...files.values()].every((content) => !content.includes("undefined")));
    });
  }

  it("gives each resource of a YAML program a key of its own", () => {
    const edges = ["a.b:443", "a-b:443", "a-b-2:443"].map((hostport) => ({
      hostports: [hostport],
    }));
    const plan = planned({ edges: edges as Account["edges"], certificates: [] });
    const { resources } = parse(project(plan, "yaml").get("Pulumi.yaml") ?? "");
    assert.deepEqual(Object.keys(resources), ["edge-a-b", "edge-a-b-2", "edge-a-b-3"]);
  });

  it("imports the generated SDK for Go from where the schema says", () => {
    const go = project(planned({ edges: [], certificates: [] }), "go").get("main.go");
    assert.ok(go?.includes(`"${schema.language.go.importBasePath}"`));
  });
});

/** A value of a YAML program, as Pulumi reads it. */
function fromYaml(value: unknown, files: Map<string, string>): Properties {
  const read = (part: unknown): unknown => {
    if (typeof part === "string") {
      assert.doesNotMatch(part.replaceAll("$$", ""), /\$\{/);
      return part.replaceAll("$$", "$");
    }
    if (Array.isArray(part)) return part.map(read);
    if (typeof part !== "object" || part === null) return part;
    if ("fn::readFile" in part) return files.get(String(part["fn::readFile"]));
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, read(one)]));
  };
  return read(value) as Properties;
}

function runTypeScript(files: Map<string, string>): Said[] {
  const said: Said[] = [];
  const recorder = (type: string) =>
    class {
      constructor(name: string, args: Properties, options: Properties) {
        said.push({ type, name, args, options });
      }
    };
  const modules: Properties = {
    "node:fs": { readFileSync: (file: string) => files.get(file) },
    "@pulumi/tlsedge": {
      TLSEdge: recorder("TLSEdge"),
      TLSCertificate: recorder("TLSCertificate"),
    },
  };
  const code = ts.transpile(files.get("index.ts") ?? "", { module: ts.ModuleKind.CommonJS });
  new Function("require", "exports", code)((name: string) => modules[name], {});
  return said;
}

/** Runs programs with a module that records what they make. */
const pythonDriver = `
import json, pathlib, sys, types
programs = json.load(sys.stdin)
result = []
for files in programs:
    said = []
    def recorder(kind):
        return lambda name, opts, **args: said.append(
            {"type": kind, "name": name, "args": args, "options": opts})
    pulumi = types.ModuleType("pulumi")
    pulumi.ResourceOptions = lambda **options: options
    sys.modules["pulumi"] = pulumi
    module = types.ModuleType("pulumi_tlsedge")
    for kind in ("TLSEdge", "TLSCertificate"):
        setattr(module, kind, recorder(kind))
    sys.modules["pulumi_tlsedge"] = module
    pathlib.Path = lambda path: types.SimpleNamespace(read_text=lambda: files[path])
    exec(files["__main__.py"], {})
    result.append(said)
print(json.dumps(result))
`;

/** The names as Python has them, at any depth. */
function snake(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== "object" || value === null) return value;
  const parts = Object.entries(value).map(([name, part]) => [
    name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
    snake(part),
  ]);
  return Object.fromEntries(parts);
}

function run(command: string, args: string[], input = ""): string {
  return execFileSync(command, args, { input, encoding: "utf8", maxBuffer: 1 << 26 });
}

function has(command: string): boolean {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return folders.some((folder) => fs.existsSync(path.join(folder, command)));
}
