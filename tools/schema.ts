import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import ts from "typescript";
import ours from "../package.json";
import { type Kind, unsentInputsOf } from "../provider/kinds/kind";
import { kinds, lookupKinds } from "../provider/kinds/kinds";
import { pluginToken as token, typeToken } from "../provider/kinds/token";
import { lookups } from "../provider/lifecycle/lookup";
import { defaultConnection, variableOf } from "../provider/values/setting";
import type { Key } from "../provider/values/settingChecks";
import { repository } from "./folders";

/** Where the schema is. */
export const schemaFile = path.join(repository, "plugin", "schema.json");

/** The base name of a kind's files, such as `tlsEdge` of TLSEdge. */
export const baseNameOf = (kind: string) =>
  kind.replace(/^[A-Z]+(?=[A-Z])|^[A-Z]/, (start) => start.toLowerCase());

/** The languages of the example programs, with the endings of their files. */
const languages = {
  typescript: "ts",
  python: "py",
  go: "go",
  csharp: "cs",
  java: "java",
  yaml: "yaml",
};
const secrets = ["apiKey", ...Object.values<Kind>(kinds).flatMap(({ secrets }) => secrets ?? [])];
/** What each value of an enum means. */
const valueTexts: Record<string, { description: string; deprecationMessage?: string }> = {
  disable: { description: "The module is disabled in place; the edge stays." },
  replace: { description: "The edge is deleted, then created without the module." },
  edge: { description: "The service ends TLS: it needs a certificate for each hostport." },
  upstream: { description: "TLS passes through to the upstream, which ends it." },
  "1.0": {
    description: "TLS 1.0 and newer.",
    deprecationMessage: "TLS 1.0 is not safe (RFC 8996). Use TLS 1.2 or 1.3.",
  },
  "1.1": {
    description: "TLS 1.1 and newer.",
    deprecationMessage: "TLS 1.1 is not safe (RFC 8996). Use TLS 1.2 or 1.3.",
  },
  "1.2": { description: "TLS 1.2 and newer." },
  "1.3": { description: "TLS 1.3 and newer." },
};
/** The input whose change replaces the resource. */
const replacing = "certificatePem";
const examples = path.join(repository, "plugin", "examples");
/** Names of types that are not the name of their property. */
const typeNames: Record<string, string> = { minVersion: "TLSVersion" };

const primitives: [ts.TypeFlags, string][] = [
  [ts.TypeFlags.Boolean, "boolean"],
  [ts.TypeFlags.String, "string"],
  [ts.TypeFlags.Number, "integer"],
];

interface Fields {
  properties: Record<string, Record<string, unknown>>;
  required: string[];
}
/**
 * An output has what the service answers; it may have a value that no enum lists. The arguments of a
 * component are plain where they can't be outputs.
 */
type Side = "input" | "output" | "argument";

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
/** The name of the type of a property. As in `TLSEdge`, acronyms are capital letters. */
const typeName = (property: string) =>
  capitalized(property).replace(/Tls|Ip(?=[A-Z])/g, (acronym) => acronym.toUpperCase());

/** The types and doc comments of this package, in the words of a schema. */
class Source {
  /** The types that the schema has found so far. */
  readonly types: Record<string, object> = {};
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  constructor(...files: string[]) {
    const { config } = ts.readConfigFile(path.join(repository, "tsconfig.json"), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
    const roots = files.map((file) => path.join(repository, file));
    this.#program = ts.createProgram(roots, { ...options, noEmit: true });
    this.#checker = this.#program.getTypeChecker();
  }

  /** What a file exports by a name. */
  export(file: string, name: string): ts.Symbol {
    const source = this.#program.getSourceFile(path.join(repository, file));
    const module = source && this.#checker.getSymbolAtLocation(source);
    const found = module && this.#checker.tryGetMemberInModuleExports(name, module);
    if (!found) throw new Error(`${file} does not export ${name}`);
    return found.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(found) : found;
  }

  type(file: string, name: string): ts.Type {
    return this.#checker.getDeclaredTypeOfSymbol(this.export(file, name));
  }

  /** A doc comment without its tags, as one line for each paragraph. */
  doc(symbol: ts.Symbol | undefined): string {
    return ts
      .displayPartsToString(symbol?.getDocumentationComment(this.#checker))
      .replace(/ \(api\.md [^)]*\)/g, "")
      .replace(/(?<!\n)\n(?!\n)/g, " ");
  }

  /** The properties of a type. */
  fields(type: ts.Type, side: Side): Fields {
    const fields: Fields = { properties: {}, required: [] };
    const symbols = type.getProperties().toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const symbol of symbols) {
      const { name } = symbol;
      const given = this.#checker.getTypeOfSymbol(symbol);
      const value = this.#plain(given);
      // Programs of the plugin use explicit providers in place of connections. What a resource can do
      // is no property, and every SDK adds the URN.
      const isMethod = symbol.flags & ts.SymbolFlags.Method;
      if (name === "connection" || name === "urn" || isMethod) continue;
      const description = this.doc(symbol);
      if (!description) throw new Error(`${name} has no doc comment`);
      const spec = this.#spec(value, name, side, description);
      const secret = secrets.includes(name) && { secret: true };
      // A resource may be the output of another; in SDKs, the parts of a plain object are plain, too.
      const isPlain = side === "argument" && !("$ref" in spec) && !this.#wrapped(given);
      fields.properties[name] = {
        ...spec,
        description,
        ...secret,
        ...(isPlain && { plain: true }),
      };
      const isNullable = this.#checker.getNonNullableType(given) !== given;
      const isOptional = symbol.flags & ts.SymbolFlags.Optional || isNullable;
      if (!isOptional) fields.required.push(name);
    }
    return fields;
  }

  /** What a property, an input or an output holds when it is known. */
  #plain(type: ts.Type): ts.Type {
    const inner = this.#wrapped(type);
    return inner ? this.#plain(inner) : this.#checker.getNonNullableType(type);
  }

  /** What an output or a promise is of; undefined for a type that is never one. */
  #wrapped(type: ts.Type): ts.Type | undefined {
    const parts = type.isUnion() ? type.types : [type];
    const wrapper = parts.find((part) => part.getProperty("apply") ?? part.getProperty("then"));
    return wrapper && (wrapper.aliasTypeArguments ?? this.#typeArguments(wrapper))[0];
  }

  #typeArguments(type: ts.Type): readonly ts.Type[] {
    return this.#checker.getTypeArguments(type as ts.TypeReference);
  }

  #spec(type: ts.Type, name: string, side: Side, description: string): object {
    const primitive = primitives.find(([flag]) => type.flags & flag);
    if (primitive) return { type: primitive[1] };
    if (type.symbol?.name in kinds) return { $ref: `#/resources/${token(type.symbol.name)}` };
    const entry = type.getStringIndexType();
    if (entry) {
      const values = this.#spec(this.#plain(entry), name, side, description);
      return { type: "object", additionalProperties: values };
    }
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#typeArguments(type) as [ts.Type];
      return { type: "array", items: this.#spec(this.#plain(item), name, side, description) };
    }
    if (type.isUnion()) return this.#enum(type, name, side, description);
    const named = type.isClassOrInterface() ? type.symbol : undefined;
    const own = named?.name ?? typeName(name) + (side === "output" ? "State" : "");
    return this.define(own, this.doc(named) || description, this.fields(type, side));
  }

  #enum(type: ts.UnionType, name: string, side: Side, description: string): object {
    if (!type.types.every((one) => one.isStringLiteral())) {
      throw new Error(`${name}: a schema has no type ${this.#checker.typeToString(type)}`);
    }
    if (side === "output") return { type: "string" };
    const values = type.types.map(({ value }) => value).sort();
    const named = values.map((value) => ({
      name: /^\d/.test(value) ? `TLS${value.replace(".", "_")}` : capitalized(value),
      value,
      ...valueTexts[value],
    }));
    const spec = { type: "string", enum: named };
    const own = typeNames[name] ?? typeName(name);
    // The description is that of the first property.
    const known = this.types[token(own)] as { description: string } | undefined;
    const ref = this.define(own, known?.description ?? description, spec);
    // With `string`, programs may write the value in place of the enum's name.
    return { type: "string", oneOf: [{ type: "string" }, ref] };
  }

  /** Adds a type to the schema; gives a reference to it. */
  define(name: string, description: string, spec: object): { $ref: string } {
    const type = { type: "object", description, ...spec };
    const known = this.types[token(name)];
    if (known && !isDeepStrictEqual(known, type)) throw new Error(`two types are named ${name}`);
    this.types[token(name)] = type;
    return { $ref: `#/types/${token(name)}` };
  }
}

/** The Pulumi package schema of the plugin. */
export function makeSchema() {
  const source = new Source("sdk/index.ts", "provider/kinds/state.ts");
  const config = configOf(source);
  return {
    ...metadata(),
    config: { variables: config },
    provider: {
      description: "The account of the service that resources and functions use.",
      inputProperties: config,
    },
    types: source.types,
    resources: {
      ...byToken(Object.keys(kinds).sort(), (name) => resourceOf(source, name)),
      [token("TLSSite")]: siteOf(source),
    },
    functions: byToken(Object.keys(lookups), (name) => functionOf(source, name)),
  };
}

function byToken(names: string[], make: (name: string) => object): Record<string, object> {
  return Object.fromEntries(names.map((name) => [token(name), make(name)]));
}

/** What the schema says about the package as a whole. */
function metadata() {
  const { version, description, license, homepage } = ours;
  const repositoryUrl = ours.repository.url.replace(/^git\+|\.git$/g, "");
  const [owner = ""] = new URL(repositoryUrl).pathname.split("/").filter(Boolean);
  const importBasePath = `${repositoryUrl.replace("https://", "")}/sdk/go/tlsedge`;
  return {
    name: "tlsedge",
    displayName: "TLS Edge",
    version,
    description,
    keywords: [...ours.keywords, "kind/native", "category/network"],
    license,
    homepage,
    repository: repositoryUrl,
    publisher: owner,
    // The SDK for C# holds it, as a PNG.
    logoUrl: `${repositoryUrl.replace("github.com", "raw.githubusercontent.com")}/main/plugin/logo.png`,
    // The archives of a release. Pulumi adds the repository, pulumi-tlsedge, and the tag, v<version>.
    pluginDownloadURL: `github://api.github.com/${owner}`,
    // Without it, a generated SDK for Go has no go.mod.
    meta: { supportPack: true },
    language: {
      // Else `pulumi package add` of a repository calls it after the owner, not as the wheel of a release.
      python: {
        respectSchemaVersion: true,
        pyproject: { enabled: true },
        packageName: "pulumi_tlsedge",
        // That of the oldest version of Pulumi's SDK with which the generated code works.
        pythonRequires: ">=3.10",
        readme: readmeOf("python"),
      },
      go: { respectSchemaVersion: true, importBasePath },
      // Not the names of Pulumi's own packages: @pulumi/… and Pulumi.….
      nodejs: {
        respectSchemaVersion: true,
        packageName: `${ours.name}-sdk`,
        readme: readmeOf("typescript"),
      },
      csharp: {
        respectSchemaVersion: true,
        rootNamespace: (owner.match(/[a-z0-9]+/gi) ?? []).map(capitalized).join(""),
        namespaces: { tlsedge: "TlsEdge" },
        packageReferences: { Pulumi: "3.*" },
      },
      java: {
        buildFiles: "gradle",
        basePackage: `io.github.${owner.replace(/[^a-z0-9]/gi, "").toLowerCase()}`,
      },
    },
  };
}

/** The settings of the provider. No default is read from the environment: SDKs would store it. */
function configOf(source: Source): Fields["properties"] {
  const { properties } = source.fields(
    source.type("provider/run/connection.ts", "Settings"),
    "input",
  );
  for (const [key, property] of Object.entries(properties)) {
    const variable = variableOf(defaultConnection, key as Key);
    property.description += ` Environment variable: \`${variable}\`.`;
  }
  return properties;
}

function resourceOf(source: Source, name: string) {
  const file = baseNameOf(name);
  const settings = unsentInputsOf(kinds[name as keyof typeof kinds] as Kind);
  const inputs = source.type(`provider/kinds/${file}.ts`, `${name}Inputs`);
  const state = source.type(`provider/kinds/${file}.ts`, `${name}State`);
  const given = source.fields(inputs, "input");
  const outputs = source.fields(state, "output");
  const account = source.fields(source.type("provider/kinds/state.ts", "AccountState"), "output");
  outputs.properties = { ...account.properties, ...outputs.properties };
  Object.assign(given.properties[replacing] ?? {}, { willReplaceOnChanges: true });
  for (const setting of settings.filter((setting) => setting in given.properties)) {
    const { oneOf, ...property } = given.properties[setting] ?? {};
    outputs.properties[setting] = property;
  }
  return {
    description: descriptionOf(file),
    ...outputs,
    inputProperties: given.properties,
    requiredInputs: given.required,
    aliases: [{ type: typeToken(name) }],
    listInputs: {},
  };
}

/** The component: its arguments are those of the class, which may be outputs. */
function siteOf(source: Source) {
  const given = source.fields(source.type("sdk/index.ts", "TLSSiteArgs"), "argument");
  const outputs = source.fields(source.type("sdk/index.ts", "TLSSite"), "output");
  return {
    description: descriptionOf("tlsSite"),
    isComponent: true,
    ...outputs,
    inputProperties: given.properties,
    requiredInputs: given.required,
  };
}

function functionOf(source: Source, name: string) {
  const row = lookupKinds.find(([one, all]) => [`get${one}`, `get${all}`].includes(name));
  const [kind, all, { title }] = row as NonNullable<typeof row>;
  const isList = name === `get${all}`;
  const doc = source.doc(source.export("sdk/index.ts", name));
  const rule = isList
    ? "An object must match all filters that are given. Without a filter, the list has all objects; it is empty when none match."
    : "Give an `id`, or filters: the object must match all of them. Without an `id`, the function fails when none or several match, and the error lists up to ten.";
  const description = [doc, rule, "## Example Usage", programsOf("lookups")].join("\n\n");
  // The result of a plugin's function is an object: this property has the list.
  const list = isList && baseNameOf(all);
  const inputs = source.fields(source.type("sdk/index.ts", `${capitalized(name)}Args`), "input");
  const found = source.fields(source.type("sdk/index.ts", `Get${kind}Result`), "output");
  if (!list) return { description, inputs, outputs: found };
  const text = `One ${title} of the account, as the service lists it.`;
  const items = source.define(`Found${kind}`, text, found);
  const properties = { [list]: { type: "array", items, description: doc } };
  return { description, inputs, outputs: { properties, required: [list] } };
}

/** The description of a resource with its example programs, in the form of Pulumi's registry. */
function descriptionOf(file: string): string {
  const text = readFileSync(path.join(examples, `${file}.md`), "utf8");
  return text.replace("<!-- The programs -->", () => programsOf(file).trimEnd());
}

/** What an SDK's README says: registries of packages show it. Only these two generators take one. */
function readmeOf(language: "python" | "typescript"): string {
  const text = readFileSync(path.join(repository, "plugin", "sdk.md"), "utf8");
  return text.replace("<!-- The program -->", () => programOf("tlsSite", language).trimEnd());
}

/** An example program as a block of Markdown; empty where the language has none. */
function programOf(name: string, language: keyof typeof languages): string {
  const file = path.join(examples, `${name}.${languages[language]}`);
  return existsSync(file) ? `\`\`\`${language}\n${readFileSync(file, "utf8")}\`\`\`\n` : "";
}

/** The example programs of this name, in every language that has one. */
function programsOf(name: string): string {
  const names = Object.keys(languages) as (keyof typeof languages)[];
  const programs = names.map((language) => programOf(name, language));
  return `<!--Start PulumiCodeChooser -->\n${programs.join("")}<!--End PulumiCodeChooser -->\n`;
}

async function main(): Promise<void> {
  await writeFile(schemaFile, `${JSON.stringify(makeSchema(), null, 2)}\n`);
}

// Tests import this file.
if (require.main === module) main();
