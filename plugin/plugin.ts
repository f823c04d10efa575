import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import {
  driftOf,
  filesKey,
  hiddenArguments,
  inputsOf,
  isUnchanged,
  type Kind,
  keepEqual,
  propertiesOf,
} from "../provider/kinds/kind";
import { kinds, lookups } from "../provider/kinds/kinds";
import { problemsOfShape, prune } from "../provider/kinds/shape";
import { noteObject } from "../provider/lifecycle/account";
import { claim, idToImport, refuseImport } from "../provider/lifecycle/adopt";
import { create } from "../provider/lifecycle/create";
import { endRun, planDiff, planWrite } from "../provider/lifecycle/plan";
import {
  incomplete,
  noteSecrets,
  read,
  remove,
  storedState,
  textsOf,
  update,
  warningsOfInputs,
} from "../provider/lifecycle/resource";
import { DeclaredHostports } from "../provider/run/declaredHostports";
import { cancel } from "../provider/run/engine";
import { type Show, showOnStderr } from "../provider/run/log";
import { type Account, Run } from "../provider/run/run";
import { defined, nameInUrn, type Properties, pick } from "../provider/values/properties";
import { type Connection, defaultConnection } from "../provider/values/setting";
import { pluginToken } from "../sdk/kind";
import { components } from "./construct";
import { configurationOf, differentAccount, problemsOfConfig } from "./provider";
import { allShown, IncompleteError, serve, throughEngine } from "./rpc";
import { detailedDiff, fromWire, plannedOutputs, propertyOf, toWire } from "./wire";

/** The Pulumi package schema, as far as this file reads it. */
export interface Schema {
  version: string;
  provider: { inputProperties: SchemaProperties };
  resources: Record<string, { inputProperties: SchemaProperties; properties: object }>;
  functions: Record<string, { outputs: { properties: object } }>;
}

type SchemaProperties = Record<string, { description: string; secret?: boolean }>;

/**
 * Serves the kinds over the engine's plugin protocol.
 *
 * @returns The port; `endRun` says what is known at the end of a run, `stop` ends the thread of components,
 *   and `close` ends the server.
 * @example
 * const { port, endRun, stop, close } = await servePlugin(schema);
 */
export async function servePlugin(
  schema: Schema,
): Promise<{ port: number; endRun(): Promise<void>; stop(): void; close(): void }> {
  const plugin = new Plugin(schema);
  const { port, close } = await serve(plugin);
  return { port, close, endRun: () => plugin.endRun(), stop: () => plugin.stop() };
}

/** Answers the engine's calls. Each public method is a call, by its name in the protocol. */
class Plugin {
  readonly #schema: Schema;
  readonly #components = components();
  #show: Show = showOnStderr();
  #run = new Run(() => undefined, this.#show);
  #connection: Connection = defaultConnection;
  #isConfigured = false;
  /** The provider of this process, as the engine refers to it: its URN and its id. */
  #reference = "";
  /** The service of this process. Any user of the machine can call its port, and configure it again. */
  #origin: string | undefined;
  // The engine starts one process for each provider, and a provider has one account.
  #declared = new DeclaredHostports();

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  get #account(): Account {
    return this.#run.account(this.#connection);
  }

  /** The account for an operation. `seconds` is its deadline by `customTimeouts`; 0 when unset. */
  #operation(seconds = 0, hidden: string[] = []): Account {
    return this.#account.operation(seconds * 1000 || undefined, hidden.length > 0);
  }

  #resource(kind: Kind, urn: string, inputs: Properties, secrets: Set<string>) {
    return { account: this.#account, kind, inputs, name: nameInUrn(urn), secrets };
  }

  /** What is wrong, if another edge of the program has one of the hostports. */
  #sharedHostport({ exclusive }: Kind, urn: string, inputs: Properties, secrets: Set<string>) {
    if (!exclusive) return undefined;
    const isSecret = secrets.has(exclusive);
    return this.#declared.declare(urn, nameInUrn(urn), inputs[exclusive], isSecret);
  }

  #outputsOf(token: string): string[] {
    return Object.keys(this.#schema.resources[token]?.properties ?? {});
  }

  /** Writes inputs. Those that the schema marks are secrets, even if the program gives them plain. */
  #inputsToWire(token: string, inputs: Properties, secrets: Iterable<string>) {
    const known = this.#schema.resources[token]?.inputProperties ?? {};
    return toWire(inputs, [...secrets, ...secretsIn(known)]);
  }

  /** Says what is known at the end of a run, once. Engines before 3.250 end the process without `cancel`. */
  async endRun(): Promise<void> {
    await endRun(this.#run);
    await allShown();
  }

  /** Ends the thread of components. */
  stop(): void {
    void this.#components.stop();
  }

  handshake(request: messages.ProviderHandshakeRequest) {
    this.#show = throughEngine(request.getEngineAddress());
    // The arguments of a component may be outputs, and resources.
    return new messages.ProviderHandshakeResponse()
      .setAcceptSecrets(true)
      .setAcceptOutputs(true)
      .setAcceptResources(true);
  }

  getPluginInfo() {
    return new PluginInfo().setVersion(this.#schema.version);
  }

  getSchema() {
    return new messages.GetSchemaResponse().setSchema(JSON.stringify(this.#schema));
  }

  checkConfig(request: messages.CheckRequest) {
    const { values, secrets } = fromWire(request.getNews());
    const configuration = configurationOf(request.getUrn(), values);
    const problems = problemsOfConfig(configuration, values, request.getUrn());
    this.#isConfigured = false;
    // The engine does not say here which values are secrets, but restores that in the answer. A key
    // of a program always is. A key of the stack's config stays as it is: configure refuses plain text.
    const isStack = configuration.connection === defaultConnection;
    const always = isStack ? [] : secretsIn(this.#schema.provider.inputProperties);
    return new messages.CheckResponse()
      .setInputs(toWire(values, [...secrets, ...always]))
      .setFailuresList(problems.map(failureOf));
  }

  // A provider is never replaced, because that would replace all its resources. Once configured, it
  // is asked about a resource that another provider had, whose account is replaced by its own.
  diffConfig(request: messages.DiffRequest) {
    const olds = fromWire(request.getOldInputs() ?? request.getOlds()).values;
    const news = fromWire(request.getNews()).values;
    const changed = Object.keys({ ...olds, ...news }).filter((key) => olds[key] !== news[key]);
    // A default provider also changes with the version of the package, perhaps with its key.
    const isMove = this.#isConfigured && this.#connection !== defaultConnection;
    const replaces = isMove ? differentAccount(olds, this.#account.configuration) : [];
    return diffResponse([...changed, ...replaces]).setReplacesList(replaces);
  }

  configure(request: messages.ConfigureRequest) {
    const { values, secrets } = fromWire(request.getArgs());
    const configuration = configurationOf(request.getUrn() ?? "", values);
    const { connection, config, problem } = configuration;
    // Settings that can't be used fail the checks of the resources.
    if (!problem) {
      const configured = new URL(configuration.settings.baseUrl).origin;
      this.#origin ??= configured;
      if (configured !== this.#origin)
        throw new Error(
          `this process was configured for ${this.#origin}, and is kept to that service`,
        );
    }
    this.#connection = connection;
    this.#reference = `${request.getUrn()}::${request.getId()}`;
    this.#run = new Run(config, this.#show);
    this.#declared = new DeclaredHostports();
    if (connection === defaultConnection && values.apiKey && !secrets.has("apiKey"))
      throw new Error(configuration.setting("apiKey").whySecret);
    this.#isConfigured = true;
    // Engines before 3.250 read what this plugin can do from here, not from the handshake.
    return new messages.ConfigureResponse()
      .setAcceptsecrets(true)
      .setAcceptoutputs(true)
      .setAcceptresources(true)
      .setSupportspreview(true);
  }

  async check(request: messages.CheckRequest) {
    if (request.getType() === pluginToken("TLSSite")) {
      const { problem } = fromWire(request.getNews()).values;
      return new messages.CheckResponse().setFailuresList([failureOf(String(problem))]);
    }
    const kind = kindOf(request.getType());
    const [olds, news] = [fromWire(request.getOlds()).values, fromWire(request.getNews())];
    const { [filesKey]: files, ...given } = news.values;
    const pruned = prune(kind, given);
    const { inputs, problems, warnings = [] } = kind.check(pruned, olds, new Date());
    const all = [...problemsOfShape(kind, pruned), ...problems];
    const urn = request.getUrn();
    const shared = this.#sharedHostport(kind, urn, inputs, news.secrets);
    if (shared) all.push({ path: "", reason: shared });
    // In a replacement, the engine checks twice.
    const isSecret = (name: string) => news.secrets.has(name);
    for (const text of [...warnings, ...warningsOfInputs(kind, olds, inputs)])
      this.#run.log("warning", text, urn);
    noteSecrets(this.#run, kind, news.secrets, inputs);
    this.#run.noteChecked(urn);
    const stable = keepEqual(kind, olds, inputs);
    return new messages.CheckResponse()
      .setInputs(this.#inputsToWire(request.getType(), stable, news.secrets))
      .setFailuresList(textsOf(all, isSecret, files).map(failureOf));
  }

  async diff(request: messages.DiffRequest) {
    const kind = kindOf(request.getType());
    const { values: state, secrets: old } = fromWire(request.getOlds());
    const { values: inputs, secrets } = fromWire(request.getNews());
    const { values: olds } = fromWire(request.getOldInputs());
    const [id, urn] = [request.getId(), request.getUrn()];
    // An import is diffed, too. A refresh without a program is not, nor an old name of a resource.
    const isOfProgram = this.#run.isOfProgram(urn);
    const object = this.#account.object(kind, id);
    noteObject(object, state);
    const replaces = kind.replaces(state, inputs);
    const paths = detailedDiff(withoutOthers(kind, olds), inputs, replaces);
    const changed = [...new Set([...paths.keys()].map(propertyOf))];
    const isSame =
      replaces.length === 0 &&
      changed.every((name) => propertiesOf(kind).includes(name)) &&
      isUnchanged(kind, state, inputs);
    const isChanged = changed.length > 0 && !isSame;
    if (isOfProgram) {
      // What is replaced may be deleted first, by an old URN of the resource. `replaceOnChanges` may replace each change.
      if (!isChanged) claim(object, urn);
      const resource = this.#resource(kind, urn, inputs, secrets.union(old));
      await planDiff(resource, object, state, isChanged);
    }
    // A dynamic provider has written this state: an update without changes rewrites it.
    if (!isChanged) return diffResponse("__provider" in state ? ["__provider"] : []);
    const response = diffResponse(changed)
      .setReplacesList(replaces)
      // Without a property that replaces, too: `replaceOnChanges` may name others.
      .setDeletebeforereplace(kind.exclusive !== undefined)
      .setHasdetaileddiff(true);
    for (const [path, change] of paths) response.getDetaileddiffMap().set(path, change);
    return response;
  }

  async create(request: messages.CreateRequest) {
    const kind = kindOf(request.getType());
    const { values: inputs, secrets } = fromWire(request.getProperties());
    await planWrite(this.#resource(kind, request.getUrn(), inputs, secrets), true);
    if (request.getPreview()) {
      const known = { ...inputs, ...kind.derived?.(inputs) };
      const planned = plannedOutputs(kind, this.#outputsOf(request.getType()), known);
      const outputs = { ...planned, accountTag: this.#account.tag };
      return new messages.CreateResponse().setProperties(toWire(outputs, secrets));
    }
    noteSecrets(this.#run, kind, secrets, inputs);
    const service = this.#operation(request.getTimeout(), hiddenArguments(kind, secrets));
    const { id, state, problem } = await create(kind, service, inputs, request.getUrn());
    const outputs = toWire(storedState(kind, service, state, inputs), secrets);
    if (!problem) return new messages.CreateResponse().setId(id).setProperties(outputs);
    const message = incomplete(kind, id, problem);
    const details = new messages.ErrorResourceInitFailed()
      .setId(id)
      .setProperties(outputs)
      .setInputs(this.#inputsToWire(request.getType(), inputs, secrets))
      .setReasonsList([message]);
    throw new IncompleteError(message, details);
  }

  async read(request: messages.ReadRequest) {
    const kind = kindOf(request.getType());
    const props = fromWire(request.getProperties());
    const old = fromWire(request.getInputs());
    // An import and a program's `get` have no state.
    const stored = "uri" in props.values ? props.values : undefined;
    const id = stored
      ? request.getId()
      : await idToImport(kind, this.#operation(request.getTimeout()), request.getId());
    noteSecrets(this.#run, kind, props.secrets, props.values);
    const service = this.#operation(request.getTimeout(), hiddenArguments(kind, props.secrets));
    const object = service.object(kind, id);
    const found = await read(object, stored);
    if (!found && !stored) await refuseImport(object);
    if (!found) return new messages.ReadResponse();
    const inputs = stored
      ? withDrift(kind, stored, found, withoutOthers(kind, old.values))
      : importedInputs(kind, found);
    const outputs = storedState(kind, service, found, old.values);
    const secrets = new Set([...props.secrets, ...old.secrets]);
    return new messages.ReadResponse()
      .setId(id)
      .setProperties(toWire(outputs, secrets))
      .setInputs(this.#inputsToWire(request.getType(), inputs, old.secrets));
  }

  async update(request: messages.UpdateRequest) {
    const kind = kindOf(request.getType());
    const { values: state, secrets: old } = fromWire(request.getOlds());
    const { values: inputs, secrets } = fromWire(request.getNews());
    // Of an argument, the program says whether it is a secret; of other outputs, the state does.
    const marked = [...secrets, ...[...old].filter((name) => !(name in inputs))];
    if (request.getPreview()) {
      const olds = withoutOthers(kind, fromWire(request.getOldInputs()).values);
      const names = this.#outputsOf(request.getType());
      const planned = plannedOutputs(kind, names, inputs, { state, inputs: olds });
      const outputs = { ...planned, accountTag: this.#account.tag };
      return new messages.UpdateResponse().setProperties(toWire(outputs, marked));
    }
    const all = [...secrets, ...old];
    noteSecrets(this.#run, kind, all, inputs, state);
    const service = this.#operation(request.getTimeout(), hiddenArguments(kind, all));
    const object = service.object(kind, request.getId());
    claim(object, request.getUrn());
    const found = await update(object, state, inputs);
    const outputs = storedState(kind, service, found, inputs);
    return new messages.UpdateResponse().setProperties(toWire(outputs, marked));
  }

  async delete(request: messages.DeleteRequest) {
    const kind = kindOf(request.getType());
    const { values: state, secrets } = fromWire(request.getProperties());
    noteSecrets(this.#run, kind, secrets, state);
    const service = this.#operation(request.getTimeout(), hiddenArguments(kind, secrets));
    await remove(service.object(kind, request.getId()), state, false, request.getUrn());
    return new Empty();
  }

  construct(request: messages.ConstructRequest) {
    // Without it, an SDK that names a download URL would give a site and its parts two default
    // providers, so two processes: neither would know the other's hostports.
    const providers = request.getProvidersMap();
    if (!providers.has("tlsedge")) providers.set("tlsedge", this.#reference);
    return this.#components.construct(request);
  }

  /** A lookup. One that gives a list gives it as the only property of its result. */
  async invoke(request: messages.InvokeRequest) {
    const token = request.getTok();
    const lookup = lookups[token.replace(pluginToken(""), "")];
    const described = this.#schema.functions[token];
    if (!lookup || !described) throw new Error(`there is no function ${token}`);
    const { values: args, secrets } = fromWire(request.getArgs());
    const result = await lookup(() => this.#operation().client, args, {
      isSecret: secrets.size > 0,
    });
    const [name = ""] = Object.keys(described.outputs.properties);
    const outputs = Array.isArray(result) ? { [name]: result } : (result as Properties);
    return new messages.InvokeResponse().setReturn(toWire(outputs));
  }

  /** The engine calls this at the end of every run, too. */
  async cancel() {
    try {
      await this.endRun();
    } finally {
      cancel();
    }
    return new Empty();
  }
}

function secretsIn(properties: SchemaProperties): string[] {
  return Object.keys(properties).filter((name) => properties[name]?.secret);
}

/** Says that these properties have changed; no property: nothing has. */
function diffResponse(changed: string[]): messages.DiffResponse {
  const { DIFF_SOME, DIFF_NONE } = messages.DiffResponse.DiffChanges;
  return new messages.DiffResponse()
    .setChanges(changed.length > 0 ? DIFF_SOME : DIFF_NONE)
    .setDiffsList(changed);
}

function kindOf(token: string): Kind {
  const kind = Object.values(kinds).find(({ name }) => pluginToken(name) === token);
  if (!kind) throw new Error(`there is no resource ${token}`);
  return kind;
}

/** The inputs without what a dynamic provider adds to them, when it has written the state. */
function withoutOthers({ schema }: Kind, inputs: Properties): Properties {
  return pick(inputs, Object.keys(schema.entries));
}

/**
 * The inputs of an object that is imported: the engine writes a program from them. A disabled module
 * with an empty list is left out, because the schema refuses an empty list.
 */
function importedInputs(kind: Kind, found: Properties): Properties {
  const inputs = inputsOf(kind, found);
  const refused = problemsOfShape(kind, inputs).map(({ path }) => propertyOf(path));
  const accepted = Object.entries(inputs).filter(
    ([name, value]) => !refused.includes(name) || !kind.same(name, value, undefined),
  );
  return Object.fromEntries(accepted);
}

/** The inputs with the service's values where those have drifted. */
function withDrift(
  kind: Kind,
  stored: Properties,
  found: Properties,
  inputs: Properties,
): Properties {
  const drifted = driftOf(kind, stored, found);
  const service = inputsOf(kind, found);
  return defined({
    ...inputs,
    ...Object.fromEntries(drifted.map((name) => [name, service[name]])),
  });
}

/** Leaves `property` empty: the engine would print the value of that property, secret or not. */
function failureOf(reason: string): messages.CheckFailure {
  return new messages.CheckFailure().setReason(reason);
}
