import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { adoptable } from "../cli/adopt";
import type { Item } from "../client/fields";
import { type Emulator, startEmulator } from "../emulator/server";
import schema from "../plugin/schema.json";
import * as providers from "../provider/dynamic/dynamic";
import { kinds } from "../provider/kinds/kinds";
import { schema as certificateInputs } from "../provider/kinds/tlsCertificate";
import { schema as edgeInputs } from "../provider/kinds/tlsEdge";
import { type Lookup, lookups } from "../provider/lifecycle/lookup";
import { Run } from "../provider/run/run";
import { defined } from "../provider/values/properties";
import * as sdk from "../sdk/index";
import { repository } from "../tools/folders";
import { baseNameOf, makeSchema } from "../tools/schema";
import { makePair, type Properties, Stack, setEnvFor } from "./support";

/** A type of the schema, as far as the values of outputs go. */
interface Spec {
  type?: string;
  $ref?: string;
  items?: Spec;
  additionalProperties?: Spec;
  properties?: Record<string, Spec>;
  required?: string[];
}

const types: Record<string, Spec> = schema.types;

/** What a value has that its type does not allow; empty when they agree. */
function problems(value: unknown, spec: Spec, at: string): string[] {
  const { type, properties, required = [], items, additionalProperties } = spec;
  if (spec.$ref) return problems(value, types[spec.$ref.replace("#/types/", "")] ?? {}, at);
  if (items) {
    if (!Array.isArray(value)) return [`${at} is no list`];
    return value.flatMap((item) => problems(item, items, `${at}[]`));
  }
  if (typeof value !== "object" || value === null) {
    const kind = Number.isInteger(value) ? "integer" : typeof value;
    return kind === type ? [] : [`${at} is no ${type}`];
  }
  const set: object = defined(value);
  return [
    ...required.filter((name) => !(name in set)).map((name) => `${at}.${name} is missing`),
    ...Object.entries(set).flatMap(([name, part]) => {
      const own = additionalProperties ?? properties?.[name];
      return own ? problems(part, own, `${at}.${name}`) : [`${at}.${name} is not in the schema`];
    }),
  ];
}

/** Every object of the schema that has a type, by its path. */
function* typedParts(part: unknown, at: string): Generator<[string, Properties]> {
  if (typeof part !== "object" || part === null) return;
  for (const [name, value] of Object.entries(part)) {
    const isMap = ["properties", "inputProperties", "variables"].includes(name);
    if (isMap) {
      for (const [key, own] of Object.entries(value as Properties)) {
        yield [`${at}.${name}.${key}`, own as Properties];
      }
    }
    yield* typedParts(value, `${at}.${name}`);
  }
}

const parts = [...typedParts(schema, "")];
const { "tlsedge:index:TLSEdge": edge, "tlsedge:index:TLSCertificate": certificate } =
  schema.resources;

describe("the schema of the plugin", () => {
  it("C86 is what the types and doc comments say; if not, run `npm run schema`", () => {
    assert.deepEqual(schema, makeSchema());
    const [, logo = ""] = schema.logoUrl.split("/main/");
    assert.ok(existsSync(path.join(repository, logo)), "the logo");
  });

  it("C86 describes every property, type, value of an enum, resource and function, for all languages", () => {
    const groups = [schema.types, schema.resources, schema.functions];
    const named = groups.flatMap((group) => Object.entries<{ description?: string }>(group));
    const values = Object.entries(schema.types).flatMap(([at, type]) =>
      "enum" in type ? type.enum.map((value): [string, Properties] => [at, value]) : [],
    );
    assert.ok(parts.length > 100);
    assert.equal(values.length, 8);
    for (const [at, { description }] of [...parts, ...named, ...values]) {
      assert.match(String(description), /^\S.+\./, at);
      assert.doesNotMatch(String(description), /undefined|api\.md|@link/, at);
      // Each language spells names of several words, and values, in its own way. References to names
      // (`{{% ref … %}}`) are no help: Pulumi before 3.247 shows them as they are, and so do Java and C#.
      const text = String(description).replace(/^```.*?^```$/gms, "");
      assert.doesNotMatch(text, /\b[a-z]+[A-Z]|\w: (?:true|false|")/, at);
    }
  });

  it("C20 C86 says that another chain replaces a certificate", () => {
    const replacing = parts.filter(([, { willReplaceOnChanges }]) => willReplaceOnChanges);
    assert.deepEqual(
      replacing.map(([at]) => at),
      [".resources.tlsedge:index:TLSCertificate.inputProperties.certificatePem"],
    );
  });

  it("C50 C82 marks keys as secret, and has them as inputs alone", () => {
    const isKey = /\.(apiKey|privateKeyPem)$/;
    const found = parts.filter(([at, { secret }]) => secret || isKey.test(at));
    assert.deepEqual(found.map(([at, { secret }]) => [at, secret]).sort(), [
      [".config.variables.apiKey", true],
      [".provider.inputProperties.apiKey", true],
      [".resources.tlsedge:index:TLSCertificate.inputProperties.privateKeyPem", true],
      [".resources.tlsedge:index:TLSSite.inputProperties.privateKeyPem", true],
    ]);
  });

  it("C82 takes no default from the environment, which SDKs would store", () => {
    assert.doesNotMatch(JSON.stringify(schema), /"defaultInfo"|"default"/);
  });

  // The generated code is not compiled.
  it("C86 has each name that its examples in C# use", () => {
    const words = [...JSON.stringify(schema).matchAll(/"(?:tlsedge:index:)?(\w+)":/g)].map(
      ([, word = ""]) => word[0]?.toUpperCase() + word.slice(1),
    );
    const known = new Set(["Id", ...words, ...words.map((word) => `${word}Args`)]);
    const used = /new TlsEdge\.(?:Inputs\.)?(\w+)|(?<!using )\b([A-Z]\w+) = |= [a-z]\w+\.(\w+)/g;
    for (const name of ["tlsCertificate", "tlsEdge", "tlsSite"]) {
      const text = readFileSync(path.join(repository, "plugin", "examples", `${name}.cs`), "utf8");
      const found = [...text.matchAll(used)].map((match) => match.slice(1).find(Boolean));
      assert.ok(found.length > 3, name);
      assert.deepEqual([name, found.filter((one = "") => !known.has(one))], [name, []]);
    }
  });

  it("C12 has the inputs of the resources, without the connection", () => {
    const names = ({ entries }: { entries: object }) =>
      Object.keys(entries).filter((name) => name !== "connection");
    assert.deepEqual(Object.keys(edge.inputProperties), names(edgeInputs).sort());
    assert.deepEqual(Object.keys(certificate.inputProperties), names(certificateInputs).sort());
    assert.deepEqual([edge.requiredInputs, certificate.requiredInputs], [[], ["certificatePem"]]);
  });

  it("C60 has each kind of resource in programs, in dynamic providers and in the commands", () => {
    const names = Object.keys(kinds);
    const classes = names.map((name) => (sdk as Record<string, unknown>)[name]);
    assert.ok(classes.every((value) => typeof value === "function"));
    assert.deepEqual(Object.keys(providers).sort(), names.map(baseNameOf).sort());
    assert.deepEqual(
      Object.values(adoptable)
        .map(({ kind }) => kind.name)
        .sort(),
      names.sort(),
    );
  });

  describe("beside what the provider gives", () => {
    let emulator: Emulator;
    let restore: () => void;
    const account = () => new Run().account();
    const certificates = new Stack(providers.tlsCertificate);
    const edges = new Stack(providers.tlsEdge);

    before(async () => {
      const tunnels = [
        { labels: { app: "web" } },
        { public_url: "tcp://a.example:1", forwards_to: "b:1" },
      ];
      emulator = await startEmulator({ tunnels });
      restore = setEnvFor(emulator);
      const pair = await makePair({ commonName: "a.example" });
      await certificates.up({ ...pair, renewBeforeDays: 21 });
      await edges.up({
        ...{ description: "d", metadata: "m", hostports: ["a.example:443"] },
        ...{ backend: { backendId: "b" }, ipRestriction: { ipPolicyIds: ["i"], enabled: false } },
        ...{ mutualTls: { certificateAuthorityIds: ["c"] }, tlsTermination: {} },
        onModuleRemoval: "replace",
      });
    });
    after(() => {
      restore();
      return emulator.close();
    });

    it("C70 has each property of a state, with its type", () => {
      const stored = ({ state }: Stack) =>
        Object.fromEntries(
          Object.entries(state).filter(([name]) => !name.startsWith("__") && name !== "connection"),
        );
      for (const [stack, resource] of [
        [edges, edge] as const,
        [certificates, certificate] as const,
      ]) {
        assert.deepEqual(problems(stored(stack), resource as Spec, "state"), []);
        assert.deepEqual(
          Object.keys(stored(stack)).sort(),
          Object.keys(resource.properties).sort(),
        );
      }
    });

    it("C60 C61 has each property of what a lookup finds", async () => {
      const asked = { getTLSEdge: edges.id, getTLSCertificate: certificates.id };
      const tunnels = await (lookups.getTunnels as Lookup)(account, {});
      const ids: Record<string, string> = { ...asked, getTunnel: (tunnels as Item[])[0]?.id ?? "" };
      assert.deepEqual(
        Object.keys(schema.functions),
        Object.keys(lookups).map((name) => `tlsedge:index:${name}`),
      );
      for (const [name, lookup] of Object.entries(lookups)) {
        const { outputs } = schema.functions[
          `tlsedge:index:${name}` as keyof typeof schema.functions
        ] as { outputs: Spec };
        const [list = ""] = Object.keys(outputs.properties ?? {});
        const id = ids[name];
        const found = await lookup(account, { ...(id !== undefined && { id }) });
        assert.deepEqual(
          problems(Array.isArray(found) ? { [list]: found } : found, outputs, name),
          [],
        );
      }
    });
  });
});
