import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { filesKey, type Kind } from "../provider/kinds/kind";
import { kinds } from "../provider/kinds/kinds";
import { pluginToken } from "../provider/kinds/token";
import type { Call, Protocol } from "../provider/lifecycle/call";
import { check } from "../provider/lifecycle/check";
import { create } from "../provider/lifecycle/create";
import { diff } from "../provider/lifecycle/diff";
import { endRun } from "../provider/lifecycle/endRun";
import { lookups } from "../provider/lifecycle/lookup";
import { planWrite } from "../provider/lifecycle/plan";
import { read } from "../provider/lifecycle/read";
import { remove } from "../provider/lifecycle/remove";
import { update } from "../provider/lifecycle/update";
import { cancel } from "../provider/run/engine";
import { type Show, showOnStderr } from "../provider/run/log";
import { Run } from "../provider/run/run";
import type { Properties } from "../provider/values/properties";
import { type Connection, defaultConnection } from "../provider/values/setting";
import { components } from "./construct";
import { importedInputs, ownInputs, type Schema, secretsIn, withDrift } from "./inputs";
import { changedAccountSettings, configurationOf, problemsOfConfig } from "./provider";
import { withPythonNames } from "./pythonNames";
import { allShown, IncompleteError, serve, throughEngine } from "./rpc";
import {
  changedProperties,
  changesIn,
  type Deployed,
  detailedDiff,
  fromWire,
  plannedOutputs,
  type Received,
  toWire,
} from "./wire";

/**
 * Serves the kinds over the engine's plugin protocol.
 *
 * @returns The port; `endRun` says what is known at the end of a run, `stop` ends the thread of components,
 *   and `close` ends the server.
 */
export async function servePlugin(
  schema: Schema,
): Promise<{ port: number; endRun(): Promise<void>; stop(): void; close(): void }> {
  const plugin = new Plugin(schema);
  const { port, close } = await serve(plugin);
  return { port, close, endRun: () => plugin.endRun(), stop: () => plugin.stop() };
}

/** A plan calls `create`, too, and a program in any language checks nothing. */
const protocol: Protocol = { plansCreate: true, programChecks: false };

/** A request about a resource. */
interface AnyRequest {
  getType(): string;
  getUrn(): string;
  getTimeout?(): number;
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
  /** The service of this process. */
  #origin: string | undefined;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** @param properties What the call is about: the inputs, the state or both. */
  #call(request: AnyRequest, ...properties: Received[]): Call {
    return {
      run: this.#run,
      protocol,
      kind: kindOf(request.getType()),
      connection: this.#connection,
      urn: request.getUrn(),
      secrets: new Set(properties.flatMap(({ secrets }) => [...secrets])),
      // 0 when unset.
      deadlineMs: (request.getTimeout?.() ?? 0) * 1000 || undefined,
    };
  }

  /** Writes inputs. Those that the schema marks are secrets, even if the program gives them plain. */
  #inputsToWire(token: string, inputs: Properties, secrets: Iterable<string>) {
    const described = this.#schema.resources[token]?.inputProperties ?? {};
    return toWire(inputs, [...secrets, ...secretsIn(described)]);
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
    const configuration = this.#run.configuration(this.#connection);
    const replaces = isMove ? changedAccountSettings(olds, configuration) : [];
    return diffResponse([...changed, ...replaces]).setReplacesList(replaces);
  }

  configure(request: messages.ConfigureRequest) {
    const { values, secrets } = fromWire(request.getArgs());
    const configuration = configurationOf(request.getUrn() ?? "", values);
    const { connection, config, problem } = configuration;
    // Settings that can't be used fail the checks of the resources.
    if (!problem) {
      const { origin } = new URL(configuration.settings.baseUrl);
      this.#origin ??= origin;
      // Any user of the machine can call this port: no other service may be sent the key.
      if (origin !== this.#origin)
        throw new Error(
          `this process was configured for ${this.#origin}, and is kept to that service`,
        );
    }
    this.#connection = connection;
    this.#reference = `${request.getUrn()}::${request.getId()}`;
    this.#run = new Run(config, this.#show);
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
    // Stands for a site with wrong arguments: see components.ts.
    if (request.getType() === pluginToken("TLSSite")) {
      const { problem } = fromWire(request.getNews()).values;
      return new messages.CheckResponse().setFailuresList([failureOf(String(problem))]);
    }
    const news = fromWire(request.getNews());
    const { [filesKey]: files, ...args } = news.values;
    const olds = fromWire(request.getOlds()).values;
    const { inputs, failures } = await check(this.#call(request, news), { olds, args, files });
    return new messages.CheckResponse()
      .setInputs(this.#inputsToWire(request.getType(), inputs, news.secrets))
      .setFailuresList(failures.map(failureOf));
  }

  async diff(request: messages.DiffRequest) {
    const [old, news] = [fromWire(request.getOlds()), fromWire(request.getNews())];
    const [state, inputs] = [old.values, news.values];
    const call = this.#call(request, old, news);
    const olds = ownInputs(call.kind, fromWire(request.getOldInputs()).values);
    const changes = changesIn(olds, inputs);
    const changed = changedProperties(changes);
    // A dynamic provider has written this state.
    const isStale = "__provider" in state;
    const compared = { id: request.getId(), state, inputs, changed, isStale };
    const change = await diff(call, compared);
    if (change === "none") return diffResponse([]);
    const replaces = change === "update" ? [] : change.replaces;
    const names = [...new Set([...changed, ...replaces])];
    // Without a changed input, the update is of a state that a dynamic provider has written.
    const response = diffResponse(names.length > 0 ? names : ["__provider"])
      .setReplacesList(replaces)
      // Without a property that replaces, too: `replaceOnChanges` may name others.
      .setDeletebeforereplace(call.kind.exclusive !== undefined)
      .setHasdetaileddiff(true);
    for (const [path, change] of detailedDiff(changes, replaces))
      response.getDetaileddiffMap().set(path, change);
    return response;
  }

  async create(request: messages.CreateRequest) {
    const given = fromWire(request.getProperties());
    const { values: inputs, secrets } = given;
    const call = this.#call(request, given);
    if (request.getPreview()) {
      await planWrite(call, inputs, true);
      const known = { ...inputs, ...call.kind.derived?.(inputs) };
      return new messages.CreateResponse().setProperties(this.#planned(request, known, secrets));
    }
    const { id, state, problem } = await create(call, inputs);
    const outputs = toWire(state, secrets);
    if (!problem) return new messages.CreateResponse().setId(id).setProperties(outputs);
    const details = new messages.ErrorResourceInitFailed()
      .setId(id)
      .setProperties(outputs)
      .setInputs(this.#inputsToWire(request.getType(), inputs, secrets))
      .setReasonsList([problem]);
    throw new IncompleteError(problem, details);
  }

  async read(request: messages.ReadRequest) {
    const props = fromWire(request.getProperties());
    const old = fromWire(request.getInputs());
    const call = this.#call(request, props);
    const found = await read(call, request.getId(), props.values, old.values);
    if (!found) return new messages.ReadResponse();
    // A refresh gives the state, an import nothing.
    const isImport = !("uri" in props.values);
    const inputs = isImport
      ? importedInputs(call.kind, found.state)
      : withDrift(call.kind, found, ownInputs(call.kind, old.values));
    const secrets = new Set([...props.secrets, ...old.secrets]);
    return new messages.ReadResponse()
      .setId(found.id)
      .setProperties(toWire(found.state, secrets))
      .setInputs(this.#inputsToWire(request.getType(), inputs, old.secrets));
  }

  async update(request: messages.UpdateRequest) {
    const [old, news] = [fromWire(request.getOlds()), fromWire(request.getNews())];
    const [state, inputs] = [old.values, news.values];
    // Of an argument, the program says whether it is a secret; of other outputs, the state does.
    const marked = [...news.secrets, ...[...old.secrets].filter((name) => !(name in inputs))];
    const call = this.#call(request, old, news);
    if (request.getPreview()) {
      const olds = ownInputs(call.kind, fromWire(request.getOldInputs()).values);
      const deployed = { state, inputs: olds };
      const outputs = this.#planned(request, inputs, marked, deployed);
      return new messages.UpdateResponse().setProperties(outputs);
    }
    const outputs = await update(call, request.getId(), state, inputs);
    return new messages.UpdateResponse().setProperties(toWire(outputs, marked));
  }

  /** The outputs that a plan shows. */
  #planned(
    request: AnyRequest,
    inputs: Properties,
    secrets: Iterable<string>,
    deployed?: Deployed,
  ) {
    const names = Object.keys(this.#schema.resources[request.getType()]?.properties ?? {});
    const planned = plannedOutputs(kindOf(request.getType()), names, inputs, deployed);
    const { tag } = this.#run.account(this.#connection);
    return toWire({ ...planned, accountTag: tag }, secrets);
  }

  async delete(request: messages.DeleteRequest) {
    const state = fromWire(request.getProperties());
    await remove(this.#call(request, state), request.getId(), state.values);
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
    const account = () => this.#run.account(this.#connection).operation();
    // Another process of the run may have written: each reading begins after the question.
    const since = performance.now();
    const result = await lookup(account, args, { isSecret: secrets.size > 0, since });
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

/** Leaves `property` empty: the engine would print the value of that property, secret or not. */
function failureOf(reason: string): messages.CheckFailure {
  return new messages.CheckFailure().setReason(withPythonNames(reason));
}
