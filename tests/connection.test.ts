import assert from "node:assert/strict";
import { devNull } from "node:os";
import { inspect } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { ConnectionError, ServiceError } from "../client/errors";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import { tlsEdge } from "../provider/dynamic/dynamic";
import { Configuration, ConfigurationError } from "../provider/run/connection";
import { Run } from "../provider/run/run";
import { checkConnection } from "../sdk/connection";
import {
  captureMessages,
  deployed,
  failureOf,
  fileWith,
  holdClocks,
  Stack,
  setEnv,
  setEnvFor,
  takeMethods,
  ticking,
  useEmulator,
} from "./support";

type Config = Record<string, string>;

const read = (env: NodeJS.ProcessEnv, config: Config = {}, connection = "tlsedge") =>
  new Configuration(connection, (key) => config[key], env).settings;

const enough = { TLSEDGE_BASE_URL: "https://a.example", TLSEDGE_API_KEY: "from-environment" };

/** What is wrong with the settings. */
function complaint(env: NodeJS.ProcessEnv, config?: Config): string {
  try {
    read(env, config);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
  throw new Error("the settings were taken");
}

/** Where the settings of an account come from, and which account a resource goes to. */
describe("the settings of a connection", () => {
  let authority: MadeCertificate;
  before(async () => {
    authority = await makeCertificate({ commonName: "root", isCa: true });
  });

  it("C1 come from stack config, and from the environment where config leaves them out", () => {
    const config = { "tlsedge:baseUrl": "https://b.example/v1/", "tlsedge:apiKey": "from-config" };
    const baseUrl = "https://b.example/v1";
    for (const env of [{}, enough])
      assert.deepEqual(read(env, config), { baseUrl, apiKey: "from-config" });
    // An empty value, as CI systems set for a missing secret, says nothing.
    assert.equal(read({ TLSEDGE_API_KEY: "" }, config).apiKey, "from-config");
    assert.equal(read(enough, { ...config, "tlsedge:apiKey": "" }).apiKey, "from-environment");
  });

  it("C1 come each from a place that `check` names, with no key", () => {
    const config = { "tlsedge:baseUrl": "https://b.example", "tlsedge:timeoutSeconds": "60" };
    const env = { ...enough, TLSEDGE_MAX_RETRIES: "" };
    assert.equal(
      new Configuration("tlsedge", (key) => config[key as keyof typeof config], env).sources,
      "baseUrl (https://b.example) from tlsedge:baseUrl, not TLSEDGE_BASE_URL; " +
        "apiKey from TLSEDGE_API_KEY; timeoutSeconds from tlsedge:timeoutSeconds",
    );
  });

  it("C1 that are malformed in config are refused by that name, whatever a variable says", () => {
    const message = complaint(enough, { "tlsedge:baseUrl": "http://b.example" });
    assert.match(message, /^tlsedge:baseUrl must .*from Pulumi\.yaml or .*TLSEDGE_BASE_/);
    // What does not count is not judged.
    const env = { ...enough, TLSEDGE_TIMEOUT_SECONDS: "soon" };
    assert.equal(read(env, { "tlsedge:timeoutSeconds": "5" }).timeoutSeconds, 5);
  });

  it("C1 that are misspelt in the namespace are refused, with the nearest name", () => {
    const configuration = new Configuration("tlsedge", () => undefined, enough);
    const ofNames = (...names: string[]) => configuration.unknownSettings(names, "project") ?? "";
    assert.match(ofNames("baseurl"), /tlsedge:baseurl .*tlsedge:baseUrl\?.*Pulumi\.yaml/);
    const far = ofNames("colour", "caFiles");
    assert.match(far, /tlsedge:colour, .*tlsedge:caFile\?.*requestsPerMinute/);
    assert.equal(ofNames("maxRetries"), "");
  });

  it("C1 that are missing are named together, with both ways to set each", () => {
    const message = complaint({});
    assert.match(message, /TLSEDGE_BASE_URL .*pulumi config set tlsedge:baseUrl/);
    assert.match(message, /TLSEDGE_API_KEY .*pulumi config set --secret tlsedge:apiKey/);
    // The plan fails before it could warn of a misspelt variable.
    assert.match(complaint({ TLSEDGE_BASEURL: "x" }), /BASEURL \(did you mean TLSEDGE_BASE_URL/);
  });

  const url = "must be https://, a host and perhaps a path, such as https://api.example.com";
  const characters = "has a space, a line break or a character that a key can't have";
  const quoted = "has quotation marks around it";
  const unset = "has undefined, null or None in it: a variable was not set";
  const number = "must be a whole number from";
  /** Mistakes by variable: the value, and what is said of it, after the variable. */
  const mistakes: Record<string, [value: string, reason: string][]> = {
    TLSEDGE_BASE_URL: [
      ['"https://a.example"', `${quoted}, which are no part of the URL`],
      ["https://undefined/v2", unset],
      ["https://api.None.example", unset],
      ...[
        ...["api.example.com", "http://a.example", "https://a.example:70000", "https://"],
        ...["https://user:tlse_key@a.example", "https://a.example/?x=tlse_key"],
        // Perhaps an API key, put there by mistake.
        "tlse_key_0123456789ABCDEFGHIJKLMNOPQ",
      ].map((value): [string, string] => [value, url]),
    ],
    TLSEDGE_API_KEY: [
      ["undefined", unset],
      ["tlse_key with spaces", characters],
      ["tlse_key\nwith-a-break", characters],
      ["tlse_keyschlüssel", characters],
      ['"tlse_key"', quoted],
      ["‘tlse_key’", quoted],
    ],
    TLSEDGE_API_VERSION: [["tlse_key_4bHq9Z", "must be a whole number, such as 2"]],
    TLSEDGE_VERSION_HEADER: [["Api: tlse_key", "must be the name of a header"]],
    TLSEDGE_CA_FILE: [
      ["tlse_key/ca.pem", `can't be read from ${process.cwd()} (`],
      ['"tlse_key/ca.pem"', `${quoted}, which are no part of the path`],
      ["file:///tlse_key/ca.pem", "is a URL: write the path alone"],
      ["tlse_key\\ca.pem", "has a \\, which separates no folders"],
      ["tlse_key\fa.pem", "has a control character"],
      ["~/tlse_key/ca.pem", "begins with ~ or $"],
      // As a pipe, another device may never end.
      [devNull, "is no regular file"],
    ].map(([value = "", reason]): [string, string] => [
      value,
      `must be the path of a PEM file, and ${reason}`,
    ]),
    TLSEDGE_TIMEOUT_SECONDS: ["0", "soon", "86401"].map((value) => [value, `${number} 1 to 86400`]),
    TLSEDGE_MAX_RETRIES: [["-1", `${number} 0 to 1000`]],
    TLSEDGE_REQUESTS_PER_MINUTE: [["1.5", `${number} 0 to 1000000`]],
    TLSEDGE_SAME_ACCOUNT: [["perhaps", "must be true or false"]],
    TLSEDGE_OFFLINE_PLAN: [["yes", "must be true or false. Correct"]],
  };
  for (const [variable, rows] of Object.entries(mistakes)) {
    for (const [value, reason] of rows) {
      it(`C1 C4 C50 with ${variable}=${JSON.stringify(value)} are refused: ${reason}`, () => {
        const message = complaint({ ...enough, [variable]: value });
        assert.ok(message.startsWith(`${variable} ${reason}`), message);
        // Both ways to set it, and no key.
        assert.match(message, new RegExp(`Correct ${variable} .* or run .pulumi config set`));
        assert.ok(!message.includes("tlse_key"), message);
      });
    }
  }

  it("C1 are refused where the CA file holds no certificate that can be parsed", () => {
    const { certificatePem } = authority;
    for (const content of [
      "-----BEGIN PRIVATE KEY-----\n",
      certificatePem.replace(/\n.{20}/, "\n"),
    ]) {
      const message = complaint({ ...enough, TLSEDGE_CA_FILE: fileWith(content) });
      assert.match(message, /^TLSEDGE_CA_FILE holds no certificate in PEM/);
    }
  });

  it("C1 are taken without the white space that files and shells put around them", () => {
    const env = { TLSEDGE_BASE_URL: " https://a.example/v1/\r\n", TLSEDGE_API_KEY: "key\n" };
    // White space alone is no value.
    const config = { "tlsedge:timeoutSeconds": " 60\r\n", "tlsedge:apiKey": " \n" };
    const settings = { baseUrl: "https://a.example/v1", apiKey: "key", timeoutSeconds: 60 };
    assert.deepEqual(read(env, config), settings);
  });

  it("C1 have every option, and leave out what is not set", () => {
    const caFile = fileWith(authority.certificatePem);
    const texts = { apiVersion: "1", versionHeader: "Api-Version", caFile };
    const others = { timeoutSeconds: 5, maxRetries: 0, sameAccount: true };
    const config = Object.fromEntries(
      Object.entries({ ...texts, ...others }).map(([key, one]) => [`tlsedge:${key}`, String(one)]),
    );
    const ofEnvironment = { baseUrl: "https://a.example", apiKey: "from-environment" };
    const found = read({ ...enough, TLSEDGE_REQUESTS_PER_MINUTE: "60" }, config);
    assert.deepEqual(found, { ...ofEnvironment, ...texts, ...others, requestsPerMinute: 60 });
    assert.deepEqual(read(enough), ofEnvironment);
  });

  it("C5 of a named connection come from its own config namespace and variables", () => {
    const config = { "tlsedge-staging:apiKey": "staging-key", "tlsedge:apiKey": "other-key" };
    const env = { ...enough, TLSEDGE_STAGING_BASE_URL: "https://staging.example" };
    const settings = { baseUrl: "https://staging.example", apiKey: "staging-key" };
    assert.deepEqual(read(env, config, "tlsedge-staging"), settings);
    // Nothing is borrowed from the default connection.
    assert.throws(() => read(enough, {}, "tlsedge-staging"), ConfigurationError);
  });

  it("C5 can't be those of a connection that is no config namespace", () => {
    for (const connection of ["", "Staging", "a:b", "-a", "key with spaces"])
      assert.throws(() => read(enough, {}, connection), /^ConfigurationError: .* config namespace/);
  });
});

describe("a connection", () => {
  const production = useEmulator();
  const connection = "tlsedge-staging";
  let staging: Emulator;
  before(async () => {
    staging = await startEmulator();
  });
  beforeEach(() => {
    staging.reset();
    setEnvFor(staging, "TLSEDGE_STAGING");
  });
  afterEach(() => pulumi.runtime.setAllConfig({}));
  after(() => staging.close());

  it("C4 has one client for equal settings in a run, and a changed variable counts in the next run", () => {
    const { TLSEDGE_BASE_URL: url, TLSEDGE_API_KEY: key, TLSEDGE_CA_FILE: caFile } = process.env;
    const settings = { TLSEDGE_SAME_API_KEY: key, TLSEDGE_SAME_CA_FILE: caFile };
    const more = { TLSEDGE_SAME_REQUESTS_PER_MINUTE: "0", TLSEDGE_SAME_OFFLINE_PLAN: "1" };
    setEnv({ ...settings, ...more, TLSEDGE_SAME_BASE_URL: `${url}/` });
    const run = new Run();
    const { client } = run.account();
    setEnv({ TLSEDGE_API_KEY: "rotated" });
    assert.equal(run.account().client, client);
    assert.equal(run.account("tlsedge-same").client, client);
    assert.notEqual(run.account(connection).client, client);
    assert.notEqual(new Run().account().client, client);
    const shown = inspect(client, { depth: 9, showHidden: true });
    assert.ok(!shown.includes(production.apiKey));
  });

  describe("in a program", () => {
    const refusal = async (name: unknown, config: Config = {}) => {
      pulumi.runtime.setAllConfig(config);
      return (await failureOf((async () => checkConnection(name))(), pulumi.RunError)).message;
    };

    it("C1 with a misspelt key in its namespace fails before any resource", async () => {
      const misspelt = { "tlsedge:baseurl": "https://b.example" };
      assert.match(await refusal("tlsedge", misspelt), /tlsedge:baseUrl\?/);
      pulumi.runtime.setAllConfig({ "other:baseurl": "https://b.example" });
      checkConnection("tlsedge");
    });

    it("C1 in the namespace of the project's own name leaves the project its keys", () => {
      const project = pulumi.getProject();
      setEnvFor(production, project.toUpperCase());
      pulumi.runtime.setAllConfig({ [`${project}:domain`]: "example.com" });
      checkConnection(project);
    });

    it("C5 that is an output, a number or null is refused with a sentence", async () => {
      for (const name of [pulumi.output("tlsedge"), Promise.resolve("tlsedge"), 5, null]) {
        assert.match(await refusal(name), /^connection must be a string/);
      }
    });
  });

  it("C1 C5 that is not configured, or has no such name, fails the plan, before any request", async () => {
    setEnv({ TLSEDGE_API_KEY: undefined });
    const rows: [args: object, reason: RegExp][] = [
      [{}, /TLSEDGE_API_KEY.*--secret tlsedge:apiKey/],
      [{ connection: "tlsedge-nowhere" }, /TLSEDGE_NOWHERE_API_KEY/],
      [{ connection: "No Name" }, /config namespace/],
    ];
    for (const [args, reason] of rows) {
      const { failures } = await new Stack(tlsEdge).check({ ...args });
      assert.equal(failures.length, 1);
      assert.equal(failures[0]?.property, "");
      assert.match(failures[0]?.reason ?? "", reason);
    }
    assert.deepEqual(production.requests, []);
  });

  it("C1 warns once in a run of a variable that is no setting, with the nearest one", async () => {
    const messages = captureMessages();
    setEnv({ TLSEDGE_OFFLINEPLAN: "1", TLSEDGE_STAGING_API_KEY: "k" });
    for (const _ of [1, 2]) await new Stack(tlsEdge).preview({ description: "a" });
    const [warning = "", ...more] = messages().filter((text) => text.includes("no setting"));
    assert.match(
      warning,
      /^warning: .*TLSEDGE_OFFLINEPLAN \(did you mean TLSEDGE_OFFLINE_PLAN\?\)$/,
    );
    assert.deepEqual(more, []);
  });

  it("C5 C31 is followed by create, read, update and delete, and drift is put right there", async () => {
    const stack = await deployed(tlsEdge, { connection, description: "a" });
    await stack.up({ connection, description: "b" });
    assert.equal(stack.state.connection, connection);
    staging.tlsEdges.patch(stack.id, { description: "drifted" });
    assert.equal(await stack.refresh(), "drifted");
    assert.equal(await stack.up({ connection, description: "b" }), "update");
    assert.equal(staging.tlsEdges.get(stack.id)?.description, "b");
    await stack.destroy();
    assert.equal(takeMethods(staging).join(), "GET,POST,PATCH,GET,PATCH,DELETE");
    assert.deepEqual(production.requests, []);
  });

  it("C85 is not missing from a state that the plugin has written: nothing is replaced", async () => {
    for (const args of [{}, { connection }]) {
      const stack = await deployed(tlsEdge, args);
      const { connection: name, __provider, ...state } = stack.state;
      Object.assign(stack, { state, inputs: {} });
      assert.deepEqual((await stack.preview(args)).replaces, []);
      // The account of the other one is not asked for it.
      await new Stack(tlsEdge).up({ description: "another" });
      assert.equal(await stack.up(args), "update");
      assert.deepEqual([stack.state.connection, stack.state.__provider], [name, __provider]);
    }
  });

  it("C1 C5 is named in an error by the place that a setting came from: what to change", async () => {
    const refused = async (config: Config = {}) => {
      const work = new Stack(tlsEdge, config).up({ connection });
      return (await failureOf(work, ServiceError)).message;
    };
    const service = `(the service is ${new URL(staging.url).host})`;
    const inConfig = await refused({ "tlsedge-staging:apiKey": "another-key" });
    assert.ok(inConfig.endsWith(`API key in tlsedge-staging:apiKey ${service}`), inConfig);
    setEnv({ TLSEDGE_STAGING_API_KEY: "a-third-key" });
    const inEnvironment = await refused();
    assert.ok(inEnvironment.endsWith(`API key in TLSEDGE_STAGING_API_KEY ${service}`));
  });

  it("C1 whose certificate is not trusted names the setting in use, where no authority is set", async () => {
    const refused = async (caFile: string | undefined, config?: Config) => {
      setEnv({ TLSEDGE_CA_FILE: caFile });
      return (await failureOf(new Stack(tlsEdge, config).up({}), ConnectionError)).message;
    };
    const first = await refused(undefined);
    assert.match(first, /PEM file in TLSEDGE_CA_FILE$/);
    assert.doesNotMatch(first, /Node\.js/);
    // A client of its own: each keeps the names of its settings.
    const config = { "tlsedge:baseUrl": production.url, "tlsedge:timeoutSeconds": "76" };
    assert.match(await refused(undefined, config), /PEM file in tlsedge:caFile$/);
    const other = fileWith((await makeCertificate({ commonName: "other" })).certificatePem);
    assert.match(await refused(other, config), /No certificate in the file .* TLSEDGE_CA_FILE /);
  });

  it("C5 has a limit of its own", async () => {
    const config = { "tlsedge-staging:requestsPerMinute": "2" };
    setEnv({ TLSEDGE_STAGING_REQUESTS_PER_MINUTE: undefined });
    const messages = captureMessages();
    holdClocks(["setTimeout"]);
    // Equal creates would wait for one another, not for the limit.
    const create = (name?: string) => (description: string) =>
      new Stack(tlsEdge, config).up({ connection: name, description });
    const there = ["a", "b", "c"].map(create(connection));
    await Promise.all(["a", "b", "c"].map(create()));
    // A list, and one create; one message for all that wait.
    await Promise.any(there);
    assert.equal(staging.requests.length, 2);
    assert.match(
      messages().join("\n"),
      /^.*own limit.*: 2 requests a minute by tlsedge-staging:requestsPerMinute$/,
    );
    await ticking(Promise.all(there), 60_000);
  });

  it("C5 when it changes, replaces; when the default is spelt out, it does not", async () => {
    const stack = await deployed(tlsEdge, {});
    assert.deepEqual((await stack.preview({ connection })).replaces, ["connection"]);
    assert.deepEqual((await stack.preview({ connection: "tlsedge" })).replaces, []);
  });
});
