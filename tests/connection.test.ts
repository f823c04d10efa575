import assert from "node:assert/strict";
import { mock } from "node:test";
import { inspect } from "node:util";
import { ServiceError } from "../client/errors";
import { type Emulator, startEmulator } from "../emulator/server";
import { ConfigurationError, connect, readSettings } from "../provider/connection";
import { tlsEdge } from "../provider/dynamic";
import { failureOf, fileWith, Stack, setEnv, setEnvFor } from "./support";

const none = () => undefined;
const read = (
  env: NodeJS.ProcessEnv,
  config: Record<string, string> = {},
  connection = "tlsedge",
) => readSettings(connection, (key) => config[key], env);

const enough = { TLSEDGE_BASE_URL: "https://a.example", TLSEDGE_API_KEY: "from-environment" };

/** What is wrong with the settings. */
function complaint(env: NodeJS.ProcessEnv, config?: Record<string, string>): string {
  try {
    read(env, config);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
  throw new Error("the settings were taken");
}

describe("the settings of a connection", () => {
  it("C1 come from stack config, and the environment wins", () => {
    const config = { "tlsedge:baseUrl": "https://b.example/v1/", "tlsedge:apiKey": "from-config" };
    const fromConfig = read({}, config);
    assert.equal(fromConfig.baseUrl, "https://b.example/v1");
    assert.equal(fromConfig.apiKey, "from-config");
    const fromEnvironment = read(enough, config);
    assert.equal(fromEnvironment.baseUrl, "https://a.example");
    assert.equal(fromEnvironment.apiKey, "from-environment");
    // An empty variable, as CI systems set for a missing secret, says nothing.
    assert.equal(read({ ...enough, TLSEDGE_API_KEY: "" }, config).apiKey, "from-config");
  });

  it("C1 that are missing are named together, with both ways to set each", () => {
    const message = complaint({});
    for (const way of [
      "TLSEDGE_API_KEY",
      "TLSEDGE_BASE_URL",
      "pulumi config set --secret tlsedge:apiKey",
      "pulumi config set tlsedge:baseUrl",
    ]) {
      assert.ok(message.includes(way), message);
    }
  });

  const malformed: [string, string][] = [
    ["TLSEDGE_BASE_URL", "nowhere"],
    ["TLSEDGE_BASE_URL", "https://"],
    ["TLSEDGE_BASE_URL", "https://user:word@a.example"],
    ["TLSEDGE_BASE_URL", "https://a.example/?x=1"],
    ["TLSEDGE_BASE_URL", "https://a.example/#x"],
    ["TLSEDGE_API_KEY", "a key with spaces"],
    ["TLSEDGE_API_KEY", "key\nwith-a-break"],
    ["TLSEDGE_API_KEY", "schlüssel"],
    ["TLSEDGE_API_VERSION", "two"],
    ["TLSEDGE_VERSION_HEADER", "Bad Header:"],
    ["TLSEDGE_CA_FILE", "/no/such/file.pem"],
    ["TLSEDGE_TIMEOUT_SECONDS", "0"],
    ["TLSEDGE_TIMEOUT_SECONDS", "soon"],
    ["TLSEDGE_TIMEOUT_SECONDS", "86401"],
    ["TLSEDGE_MAX_RETRIES", "-1"],
    ["TLSEDGE_REQUESTS_PER_MINUTE", "1.5"],
  ];
  for (const [variable, value] of malformed) {
    it(`C1 with ${variable}=${JSON.stringify(value)} are refused by that name`, () => {
      const message = complaint({ ...enough, [variable]: value });
      assert.ok(message.includes(variable), message);
      if (variable === "TLSEDGE_API_KEY") assert.ok(!message.includes(value));
      assert.ok(!message.includes("word"), message);
    });
  }

  it("C1 with a CA file that holds no certificate are refused", () => {
    const file = fileWith("-----BEGIN PRIVATE KEY-----\n");
    assert.match(complaint({ ...enough, TLSEDGE_CA_FILE: file }), /TLSEDGE_CA_FILE/);
  });

  it("C2 have every option, and leave out what is not set", () => {
    const caFile = fileWith("-----BEGIN CERTIFICATE-----\n");
    const config = {
      "tlsedge:apiVersion": "1",
      "tlsedge:versionHeader": "Api-Version",
      "tlsedge:caFile": caFile,
      "tlsedge:timeoutSeconds": "5",
      "tlsedge:maxRetries": "0",
    };
    const settings = read({ ...enough, TLSEDGE_REQUESTS_PER_MINUTE: "60" }, config);
    assert.deepEqual(settings, {
      baseUrl: "https://a.example",
      apiKey: "from-environment",
      apiVersion: "1",
      versionHeader: "Api-Version",
      caFile,
      timeoutSeconds: 5,
      maxRetries: 0,
      requestsPerMinute: 60,
    });
    const unset = Object.values(read(enough)).filter((value) => value === undefined);
    assert.equal(unset.length, 6);
  });

  it("C3 with an http: base URL are refused", () => {
    const message = complaint({ ...enough, TLSEDGE_BASE_URL: "http://a.example" });
    assert.match(message, /https:\/\//);
  });

  it("C5 of a named connection come from its own config namespace and variables", () => {
    const config = { "tlsedge-staging:apiKey": "staging-key", "tlsedge:apiKey": "other-key" };
    const env = { ...enough, TLSEDGE_STAGING_BASE_URL: "https://staging.example" };
    const settings = read(env, config, "tlsedge-staging");
    assert.equal(settings.baseUrl, "https://staging.example");
    assert.equal(settings.apiKey, "staging-key");
    // Nothing is borrowed from the default connection.
    assert.throws(() => read(enough, {}, "tlsedge-staging"), ConfigurationError);
  });

  it("C5 can't be those of a connection that is no config namespace", () => {
    for (const connection of ["", "Staging", "a:b", "-a", "key with spaces"]) {
      assert.throws(() => read(enough, {}, connection), ConfigurationError);
    }
  });

  it("make one client for each account in a process, so that its limit holds for all", () => {
    const restore = setEnv({ ...enough, TLSEDGE_CA_FILE: undefined });
    try {
      const client = connect("tlsedge", none);
      assert.equal(connect("tlsedge", none), client);
      const rotated = setEnv({ TLSEDGE_API_KEY: "rotated" });
      assert.notEqual(connect("tlsedge", none), client);
      rotated();
      assert.equal(connect("tlsedge", none), client);
      assert.ok(!inspect(client, { depth: 9, showHidden: true }).includes("from-environment"));
    } finally {
      restore();
    }
  });
});

describe("a resource's connection", () => {
  let production: Emulator;
  let staging: Emulator;
  let restores: (() => void)[];
  before(async () => {
    [production, staging] = await Promise.all([startEmulator(), startEmulator()]);
    restores = [setEnvFor(production), setEnvFor(staging, "TLSEDGE_STAGING")];
  });
  beforeEach(() => {
    production.reset();
    staging.reset();
  });
  after(async () => {
    for (const restore of restores) restore();
    await Promise.all([production.close(), staging.close()]);
  });

  it("C1 that is not configured fails the plan, before any request", async () => {
    const restore = setEnv({ TLSEDGE_API_KEY: undefined });
    try {
      const { failures } = await new Stack(tlsEdge).check({});
      assert.equal(failures.length, 1);
      assert.equal(failures[0]?.property, "");
      assert.match(failures[0]?.reason ?? "", /TLSEDGE_API_KEY.*--secret tlsedge:apiKey/);
      assert.deepEqual(production.requests, []);
    } finally {
      restore();
    }
  });

  it("C1 that is configured in the stack serves the plan and the requests", async () => {
    const restore = setEnv({ TLSEDGE_API_KEY: undefined });
    try {
      const stack = new Stack(tlsEdge, { "tlsedge:apiKey": production.apiKey });
      assert.equal(await stack.up({}), "create");
      assert.equal(production.tlsEdges.list().length, 1);
    } finally {
      restore();
    }
  });

  it("C4 is never shown: a refused key fails with no key in the error", async () => {
    const restore = setEnv({ TLSEDGE_API_KEY: "wrong-key" });
    try {
      const error = await failureOf(new Stack(tlsEdge).up({}), ServiceError);
      assert.equal(error.status, 401);
      const shown = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
      assert.ok(!shown.includes("wrong-key"));
    } finally {
      restore();
    }
  });

  it("C4 writes no key into state, and a rotated key works at once", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up({ description: "a" });
    const kept = JSON.stringify([stack.state, stack.inputs]);
    assert.ok(!kept.includes(production.apiKey));
    const wrong = setEnv({ TLSEDGE_API_KEY: "rotated-away" });
    await failureOf(stack.refresh(), ServiceError);
    wrong();
    assert.equal(await stack.refresh(), "same");
  });

  it("C5 is followed by create, read, update and delete", async () => {
    const stack = new Stack(tlsEdge);
    const connection = "tlsedge-staging";
    await stack.up({ connection, description: "a" });
    assert.equal(stack.state.connection, connection);
    await stack.refresh();
    await stack.up({ connection, description: "b" });
    assert.equal(stack.state.connection, connection);
    await stack.destroy();
    const methods = staging.requests.map(({ method }) => method);
    assert.deepEqual(methods, ["POST", "GET", "PATCH", "DELETE"]);
    assert.deepEqual(production.requests, []);
  });

  it("C5 is what an error names the settings of", async () => {
    const restore = setEnv({ TLSEDGE_STAGING_API_KEY: "another-key" });
    try {
      const made = new Stack(tlsEdge).up({ connection: "tlsedge-staging" });
      const { message } = await failureOf(made, ServiceError);
      assert.match(message, /TLSEDGE_STAGING_API_KEY.*tlsedge-staging:apiKey/);
    } finally {
      restore();
    }
  });

  it("C5 has a limit of its own", async () => {
    const config = { "tlsedge-staging:requestsPerMinute": "2" };
    const restore = setEnv({ TLSEDGE_STAGING_REQUESTS_PER_MINUTE: undefined });
    const warn = mock.method(console, "error", () => {});
    // The pace's own timer never fires, so what waits for it waits for ever.
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const make = (connection?: string) => new Stack(tlsEdge, config).up({ connection });
      const there = [1, 2, 3, 4].map(() => make("tlsedge-staging"));
      await Promise.all([1, 2, 3, 4].map(() => make()));
      await Promise.all(there.slice(0, 2));
      assert.equal(production.requests.length, 4);
      assert.equal(staging.requests.length, 2);
      assert.match(String(warn.mock.calls[0]?.arguments), /the limit of 2 requests a minute/);
    } finally {
      mock.timers.reset();
      warn.mock.restore();
      restore();
    }
  }).timeout(30_000);

  it("C5 when it changes, replaces; when the default is spelt out, it does not", async () => {
    const stack = new Stack(tlsEdge);
    await stack.up({});
    const moved = await stack.preview({ connection: "tlsedge-staging" });
    assert.equal(moved.verdict, "replace");
    assert.deepEqual(moved.replaces, ["connection"]);
    assert.notEqual((await stack.preview({ connection: "tlsedge" })).verdict, "replace");
  });

  it("C5 that has no such configuration, or no such name, fails the plan", async () => {
    for (const connection of ["tlsedge-nowhere", "No Name"]) {
      const { failures } = await new Stack(tlsEdge).check({ connection });
      assert.equal(failures.length, 1);
    }
  });
});
