import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import {
  type Connection,
  defaultConnection,
  isDefaultProvider,
  waysToSet,
} from "../client/settings";
import { sharedObject } from "../provider/adopt";
import {
  type ConfigReader,
  isSetting,
  plainKey,
  problemOf,
  readSettings,
  type Settings,
  unknownKeys,
} from "../provider/connection";
import { create } from "../provider/create";
import { DeclaredHostports } from "../provider/declaredHostports";
import { cancel } from "../provider/engine";
import {
  driftOf,
  inputsOf,
  isUnchanged,
  type Kind,
  keepEqual,
  propertiesOf,
  storedSettings,
} from "../provider/kind";
import { idToImport, kinds, lookups, refuseImport } from "../provider/kinds";
import { type Show, showOnStderr } from "../provider/log";
import { judgeAccount } from "../provider/marks";
import { endRun, planUpdate, planWrite } from "../provider/plan";
import { defined, hasUnknown, nameInUrn, type Properties, pick } from "../provider/properties";
import {
  check,
  incomplete,
  noteDiff,
  read,
  remove,
  secretTexts,
  textsOf,
  update,
} from "../provider/resource";
import { type Account, type KnownObject, Run } from "../provider/run";
import { problemsOfShape, prune } from "../provider/values/shape";
import { components } from "./construct";
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

const kindsByToken = new Map<string, Kind>(
  Object.entries(kinds).map(([name, kind]) => [`tlsedge:index:${name}`, kind]),
);

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
  const { list, endRun, stop, ...handlers } = handlersOf(schema);
  return { ...(await serve(handlers, list)), endRun, stop };
}

function handlersOf(schema: Schema) {
  const { construct, stop } = components();
  let show: Show = showOnStderr;
  let run = new Run(() => undefined, show);
  let connection: Connection = defaultConnection;
  let isConfigured = false;
  /** The provider of this process, as the engine refers to it: its URN and its id. */
  let reference = "";
  /** The service of this process. Any user of the machine can call its port, and configure it again. */
  let origin: string | undefined;
  // The engine starts one process for each provider, and a provider has one account.
  let declared = new DeclaredHostports();
  /** The URNs that were checked: those of the program. */
  const checked = new Set<string>();

  const account = (): Account => run.account(connection);
  /** The account for an operation. `seconds` is its deadline by `customTimeouts`; 0 when unset. */
  const operation = (seconds = 0, secrets: string[] = []): Account =>
    account().operation(seconds * 1000 || undefined, secrets);
  const resource = (kind: Kind, urn: string, inputs: Properties, secrets: Set<string>) => {
    const isSecret = secrets.has("hostports");
    return { account: account(), kind, inputs, name: nameInUrn(urn), isSecret };
  };
  /** Notes which resource of the program has an object; refuses a second one. */
  const noteOwner = (request: messages.DiffRequest) => {
    const [id, urn] = [request.getId(), request.getUrn()];
    const kind = kindOf(request.getType());
    const object = account().known(kind, id);
    // What was imported has a diff, what a program's `get` has read has none.
    if (object.isImported) object.isKept = true;
    object.owner ??= urn;
    if (object.owner === urn) return;
    const names = [nameInUrn(object.owner), nameInUrn(urn)] as const;
    const advice =
      "remove one from the program, and run `pulumi up` without --target: the object stays";
    throw new Error(sharedObject(...names, id, advice));
  };
  /** Notes whether the update of an object, or its replacement, is still to come. */
  const noteChange = (kind: Kind, request: messages.DiffRequest, isToChange: boolean) => {
    if (checked.has(request.getUrn()))
      account().known(kind, request.getId()).isToChange = isToChange;
  };
  /**
   * The name of another resource of the program that has an object. When an alias renames a resource and a
   * change replaces it, the engine deletes the old object under the old name: then there is no other.
   */
  const otherOwner = ({ owner, isToChange }: KnownObject, urn: string) =>
    owner && owner !== urn && !isToChange ? nameInUrn(owner) : undefined;
  const outputsOf = (token: string) => Object.keys(schema.resources[token]?.properties ?? {});
  /** Writes inputs. Those that the schema marks are secrets, even if the program gives them plain. */
  const inputsToWire = (token: string, inputs: Properties, secrets: Iterable<string>) => {
    const known = schema.resources[token]?.inputProperties ?? {};
    return toWire(inputs, [...secrets, ...secretsIn(known)]);
  };

  /** Says what is known at the end of a run, once. Engines before 3.250 end the process without `cancel`. */
  const end = async () => {
    await endRun(run);
    await allShown();
  };

  return {
    endRun: end,
    stop,

    handshake(request: messages.ProviderHandshakeRequest) {
      show = throughEngine(request.getEngineAddress());
      // The arguments of a component may be outputs, and resources.
      return new messages.ProviderHandshakeResponse()
        .setAcceptSecrets(true)
        .setAcceptOutputs(true)
        .setAcceptResources(true);
    },

    getPluginInfo: () => new PluginInfo().setVersion(schema.version),

    getSchema: () => new messages.GetSchemaResponse().setSchema(JSON.stringify(schema)),

    checkConfig(request: messages.CheckRequest) {
      const { values, secrets } = fromWire(request.getNews());
      const from = sourceOf(request.getUrn(), values);
      const problems = problemsOfConfig(from, values, request.getUrn());
      isConfigured = false;
      // The engine does not say here which values are secrets, but restores that in the answer. A key
      // of a program always is. A key of the stack's config stays as it is: configure refuses plain text.
      const isStack = from.connection === defaultConnection;
      const always = isStack ? [] : secretsIn(schema.provider.inputProperties);
      return new messages.CheckResponse()
        .setInputs(toWire(values, [...secrets, ...always]))
        .setFailuresList(problems.map(failureOf));
    },

    // A provider is never replaced, because that would replace all its resources. Once configured, it
    // is asked about a resource that another provider had, whose account is replaced by its own.
    diffConfig(request: messages.DiffRequest) {
      const olds = fromWire(request.getOldInputs() ?? request.getOlds()).values;
      const news = fromWire(request.getNews()).values;
      const changed = Object.keys({ ...olds, ...news }).filter((key) => olds[key] !== news[key]);
      // A default provider also changes with the version of the package, perhaps with its key.
      const isMove = isConfigured && connection !== defaultConnection;
      const settings = isMove ? account().settings : undefined;
      const replaces = settings ? differentAccount(olds, settings) : [];
      return diffResponse([...changed, ...replaces]).setReplacesList(replaces);
    },

    configure(request: messages.ConfigureRequest) {
      const { values, secrets } = fromWire(request.getArgs());
      const source = sourceOf(request.getUrn() ?? "", values);
      // Settings that can't be used fail the checks of the resources.
      problemOf(() => {
        const { baseUrl } = readSettings(source.connection, source.config, process.env);
        const configured = new URL(baseUrl).origin;
        origin ??= configured;
        if (configured !== origin)
          throw new Error(`this process was configured for ${origin}, and is kept to that service`);
      });
      ({ connection } = source);
      reference = `${request.getUrn()}::${request.getId()}`;
      run = new Run(source.config, show);
      checked.clear();
      declared = new DeclaredHostports();
      if (connection === defaultConnection) {
        if (values.apiKey && !secrets.has("apiKey")) throw new Error(plainKey(connection));
        run.sayOverruled(connection);
      }
      isConfigured = true;
      // Engines before 3.250 read what this plugin can do from here, not from the handshake.
      return new messages.ConfigureResponse()
        .setAcceptsecrets(true)
        .setAcceptoutputs(true)
        .setAcceptresources(true)
        .setSupportspreview(true);
    },

    async check(request: messages.CheckRequest) {
      const kind = kindOf(request.getType());
      const [olds, news] = [fromWire(request.getOlds()).values, fromWire(request.getNews())];
      const pruned = prune(kind, news.values);
      const before = Object.keys(olds).length > 0 ? olds : undefined;
      const { inputs, problems, warnings = [] } = check(run, kind, pruned, before);
      const all = [...problemsOfShape(kind, pruned), ...problems];
      const urn = request.getUrn();
      const isSecret = news.secrets.has("hostports");
      const shared = declared.declare(urn, nameInUrn(urn), inputs.hostports, isSecret);
      if (shared) all.push({ path: "", reason: shared });
      // In a replacement, the engine checks twice.
      for (const text of warnings) run.say("warning", text, urn);
      checked.add(urn);
      const stable = keepEqual(kind, olds, inputs);
      return new messages.CheckResponse()
        .setInputs(inputsToWire(request.getType(), stable, news.secrets))
        .setFailuresList(textsOf(all, (name) => news.secrets.has(name)).map(failureOf));
    },

    async diff(request: messages.DiffRequest) {
      const kind = kindOf(request.getType());
      const { values: state } = fromWire(request.getOlds());
      const { values: inputs, secrets } = fromWire(request.getNews());
      const { values: olds } = fromWire(request.getOldInputs());
      const [id, urn] = [request.getId(), request.getUrn()];
      // An import is diffed, too. A refresh without a program is not, nor an old name of a resource.
      if (checked.has(urn)) noteOwner(request);
      if (connection === defaultConnection) refuseConnection(state);
      noteDiff(kind, account(), id, state, inputs);
      const replaces = kind.replaces(state, inputs);
      const paths = detailedDiff(withoutOthers(kind, olds), inputs, replaces);
      const changed = [...new Set([...paths.keys()].map(propertyOf))];
      const isSame =
        replaces.length === 0 &&
        changed.every((name) => propertiesOf(kind).includes(name)) &&
        isUnchanged(kind, state, inputs);
      const isChanged = changed.length > 0 && !isSame;
      noteChange(kind, request, isChanged);
      if (isChanged) await planUpdate(resource(kind, urn, inputs, secrets), id, state);
      // Fail in the plan when the object may belong to another account.
      await judgeAccount(kind, account(), id, state, isChanged);
      // A dynamic provider has written this state: an update without changes rewrites it.
      if (!isChanged) return diffResponse("__provider" in state ? ["__provider"] : []);
      const response = diffResponse(changed)
        .setReplacesList(replaces)
        // Without a property that replaces, too: `replaceOnChanges` may name others.
        .setDeletebeforereplace(kind.exclusive !== undefined)
        .setHasdetaileddiff(true);
      for (const [path, change] of paths) response.getDetaileddiffMap().set(path, change);
      return response;
    },

    async create(request: messages.CreateRequest) {
      const kind = kindOf(request.getType());
      const { values: inputs, secrets } = fromWire(request.getProperties());
      await planWrite(resource(kind, request.getUrn(), inputs, secrets), true);
      if (request.getPreview()) {
        const known = { ...inputs, ...kind.derived?.(inputs) };
        const planned = plannedOutputs(kind, outputsOf(request.getType()), known);
        const outputs = { ...planned, accountTag: account().mark };
        return new messages.CreateResponse().setProperties(toWire(outputs, secrets));
      }
      const service = operation(request.getTimeout(), secretTexts(kind, secrets, inputs));
      const { id, state, problem } = await create(kind, service, inputs);
      const stored = { ...state, ...storedSettings(kind, inputs), accountTag: service.mark };
      const outputs = toWire(stored, secrets);
      if (!problem) return new messages.CreateResponse().setId(id).setProperties(outputs);
      const message = incomplete(kind, id, problem);
      const details = new messages.ErrorResourceInitFailed()
        .setId(id)
        .setProperties(outputs)
        .setInputs(inputsToWire(request.getType(), inputs, secrets))
        .setReasonsList([message]);
      throw new IncompleteError(message, details);
    },

    async read(request: messages.ReadRequest) {
      const kind = kindOf(request.getType());
      const props = fromWire(request.getProperties());
      const old = fromWire(request.getInputs());
      // An import and a program's `get` have no state.
      const stored = "uri" in props.values ? props.values : undefined;
      const id = stored
        ? request.getId()
        : await idToImport(kind, operation(request.getTimeout()).client, request.getId());
      const texts = secretTexts(kind, props.secrets, props.values);
      const service = operation(request.getTimeout(), texts);
      const found = await read(kind, service, id, stored);
      if (!found && !stored) await refuseImport(kind, service.client, id);
      if (!found) return new messages.ReadResponse();
      if (!stored) service.known(kind, id).isImported = true;
      const inputs = stored
        ? withDrift(kind, stored, found, withoutOthers(kind, old.values))
        : importedInputs(kind, found);
      const settings = storedSettings(kind, old.values);
      const outputs = { ...found, ...settings, accountTag: service.mark };
      const secrets = new Set([...props.secrets, ...old.secrets]);
      return new messages.ReadResponse()
        .setId(id)
        .setProperties(toWire(outputs, secrets))
        .setInputs(inputsToWire(request.getType(), inputs, old.secrets));
    },

    async update(request: messages.UpdateRequest) {
      const kind = kindOf(request.getType());
      const { values: state, secrets: old } = fromWire(request.getOlds());
      const { values: inputs, secrets } = fromWire(request.getNews());
      if (request.getPreview()) {
        const olds = withoutOthers(kind, fromWire(request.getOldInputs()).values);
        const names = outputsOf(request.getType());
        const planned = plannedOutputs(kind, names, inputs, { state, inputs: olds });
        const outputs = { ...planned, accountTag: account().mark };
        return new messages.UpdateResponse().setProperties(toWire(outputs, [...secrets, ...old]));
      }
      const texts = secretTexts(kind, [...secrets, ...old], inputs, state);
      const service = operation(request.getTimeout(), texts);
      service.known(kind, request.getId()).isToChange = false;
      const found = await update(kind, service, request.getId(), state, inputs);
      const outputs = { ...found, ...storedSettings(kind, inputs), accountTag: service.mark };
      return new messages.UpdateResponse().setProperties(toWire(outputs, [...secrets, ...old]));
    },

    async delete(request: messages.DeleteRequest) {
      const kind = kindOf(request.getType());
      const { values: state, secrets } = fromWire(request.getProperties());
      const service = operation(request.getTimeout(), secretTexts(kind, secrets, state));
      const other = otherOwner(service.known(kind, request.getId()), request.getUrn());
      await remove(kind, service, request.getId(), state, other);
      return new Empty();
    },

    construct(request: messages.ConstructRequest) {
      // Without it, an SDK that names a download URL would give a site and its parts two default
      // providers, so two processes: neither would know the other's hostports.
      const providers = request.getProvidersMap();
      if (!providers.has("tlsedge")) providers.set("tlsedge", reference);
      return construct(request);
    },

    /** A lookup. One that gives a list gives it as the only property of its result. */
    async invoke(request: messages.InvokeRequest) {
      const token = request.getTok();
      const lookup = lookups[token.replace("tlsedge:index:", "")];
      const described = schema.functions[token];
      if (!lookup || !described) throw new Error(`there is no function ${token}`);
      const { values: args, secrets } = fromWire(request.getArgs());
      const result = await lookup(() => operation().client, args, { isSecret: secrets.size > 0 });
      const [name = ""] = Object.keys(described.outputs.properties);
      const outputs = Array.isArray(result) ? { [name]: result } : (result as Properties);
      return new messages.InvokeResponse().setReturn(toWire(outputs));
    },

    /** The engine calls this at the end of every run, too. */
    async cancel() {
      try {
        await end();
      } finally {
        cancel();
      }
      return new Empty();
    },

    /** All objects of a kind in the account, newest first. */
    async *list(request: messages.ListRequest) {
      const kind = kindOf(request.getToken());
      let left = request.getLimit() || Number.POSITIVE_INFINITY;
      for await (const object of kind.endpoints.list(operation().client)) {
        if (left-- <= 0) break;
        const { id, description } = object as { id: string; description?: string };
        const result = new messages.ListResponse.Result().setId(id).setName(description || id);
        yield new messages.ListResponse().setResult(result);
      }
    },
  };
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
  const kind = kindsByToken.get(token);
  if (kind) return kind;
  if (token !== "tlsedge:index:TLSSite") throw new Error(`there is no resource ${token}`);
  const parts = [...kindsByToken.keys()].join(" and a ");
  throw new Error(
    `a TLSSite is a component, which has no object of its own. Import its parts: a ${parts}`,
  );
}

/** Refuses the state of a dynamic provider for another account: a default provider has no other. */
function refuseConnection({ connection = defaultConnection }: Properties): void {
  if (connection === defaultConnection) return;
  throw new Error(
    `the resource is in the account of the connection ${connection}. Give the resource an explicit ` +
      "provider for that account, with the resource option `provider`",
  );
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

/** Where a provider's settings come from. */
interface Source {
  connection: Connection;
  config: ConfigReader;
}

/**
 * The settings by which a resource of another provider is in another account; none if it is in the
 * same. Only what that provider's record states is known: the environment may have changed since.
 */
function differentAccount(olds: Properties, settings: Settings): string[] {
  if (settings.sameAccount) return [];
  return (["baseUrl", "apiKey"] as const).filter((key) => {
    const old = olds[key];
    return typeof old === "string" && !isSetting(settings, key, old);
  });
}

/**
 * A default provider has the stack's config, an explicit one has its own properties. If a program names
 * its provider as the engine does, messages name its settings wrong, and a plain-text key is refused.
 */
function sourceOf(urn: string, values: Properties): Source {
  const name = nameInUrn(urn);
  const connection: Connection = isDefaultProvider(name) ? defaultConnection : { provider: name };
  const settings = new Map<string, string>();
  for (const [key, value] of Object.entries(defined(values))) {
    settings.set(waysToSet(connection, key).configKey, String(value));
  }
  return { connection, config: (configKey) => settings.get(configKey) };
}

/** What the engine adds to a provider's settings. */
const engineKeys = ["version", "pluginDownloadURL", "__internal"];

function problemsOfConfig({ connection, config }: Source, values: Properties, urn: string) {
  const configKeys = Object.keys(values)
    .filter((key) => !engineKeys.includes(key))
    .map((key) => waysToSet(connection, key).configKey);
  // The namespace with the project's name has the program's own settings, too.
  const isProject = connection === urn.split("::")[1];
  const unknown = isProject ? undefined : unknownKeys(connection, configKeys);
  const problem = hasUnknown(values)
    ? undefined
    : problemOf(() => readSettings(connection, config, process.env));
  return [unknown, problem].filter((reason) => reason !== undefined);
}
