import assert from "node:assert/strict";
import { mock } from "node:test";
import { inspect } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { ConnectionError, ServiceError } from "../client/errors";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "../emulator/server";
import { ConfigurationError, overruled, readSettings, unknownKeys } from "../provider/connection";
import { tlsCertificate, tlsEdge } from "../provider/dynamic";
import { finishRun } from "../provider/process";
import { Run } from "../provider/run";
import { nearest } from "../provider/values/nearest";
import { checkConnection } from "../sdk/resource";
import { failureOf, fileWith, holdClocks, Stack, setEnv, setEnvFor, ticking } from "./support";

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
  let authority: MadeCertificate;
  before(async () => {
    authority = await makeCertificate({ commonName: "root", isCa: true });
  });

  it("C1 come from stack config, and from the environment where config leaves them out", () => {
    const config = { "tlsedge:baseUrl": "https://b.example/v1/", "tlsedge:apiKey": "from-config" };
    for (const env of [{}, enough]) {
      const { baseUrl, apiKey } = read(env, config);
      assert.deepEqual([baseUrl, apiKey], ["https://b.example/v1", "from-config"]);
    }
    const { "tlsedge:apiKey": _, ...half } = config;
    assert.equal(read(enough, half).baseUrl, "https://b.example/v1");
    assert.equal(read(enough, half).apiKey, "from-environment");
    // An empty value, as CI systems set for a missing secret, says nothing.
    assert.equal(read({ TLSEDGE_API_KEY: "" }, config).apiKey, "from-config");
    assert.equal(read(enough, { "tlsedge:apiKey": "" }).apiKey, "from-environment");
  });

  it("C1 are warned of where both are set and differ: which one counts, and no key", () => {
    const of = (env: NodeJS.ProcessEnv, config: Record<string, string>) =>
      overruled("tlsedge", (key) => config[key], env) ?? "";
    const keys = ["key.in.config", "key.in.environment"];
    const config = { "tlsedge:baseUrl": "https://b.example", "tlsedge:apiKey": keys[0] ?? "" };
    const warning = of({ ...enough, TLSEDGE_API_KEY: keys[1] }, config);
    const whatCounts = /tlsedge:baseUrl \(https:\/\/b\.example\) is used, not TLSEDGE_BASE_URL/;
    assert.match(warning, whatCounts);
    assert.ok(warning.includes("https://a.example"));
    assert.match(warning, /tlsedge:apiKey is used, not TLSEDGE_API_KEY/);
    for (const key of keys) assert.ok(!warning.includes(key));
    // What is set in one place alone, or means the same in both, is nothing to warn of.
    assert.equal(of(enough, {}), "");
    assert.equal(of({}, config), "");
    assert.equal(of(enough, { "tlsedge:baseUrl": "https://a.example/" }), "");
    assert.equal(of({ TLSEDGE_API_KEY: "" }, config), "");
  });

  it("C1 that are malformed in config are refused by that name, whatever a variable says", () => {
    const message = complaint(enough, { "tlsedge:baseUrl": "http://b.example" });
    assert.match(
      message,
      /in tlsedge:baseUrl \(http:\/\/b\.example\) .*config rm.*TLSEDGE_BASE_URL/,
    );
    // What does not count is not judged.
    const settings = read(
      { ...enough, TLSEDGE_TIMEOUT_SECONDS: "soon" },
      { "tlsedge:timeoutSeconds": "5" },
    );
    assert.equal(settings.timeoutSeconds, 5);
  });

  const urls: [string, string | undefined][] = [
    ["https://user:pa?ss#w@rd@a.example/v1?token=1", "(https://a.example/v1)"],
    ["user:word@a.example", "(a.example)"],
    // Perhaps an API key, put there by mistake.
    ["tlse_0123456789ABCDEFGHIJKLMNOPQ", undefined],
    ["2f1a9b8c7d6e5f4a3b2c1d0e", undefined],
    ["eyJhbGciOi.eyJzdWIiOiIx.SflKxwRJSM", undefined],
  ];
  for (const [value, shown] of urls) {
    it(`C1 a base URL ${value} is refused, and shown as ${shown ?? "nothing"}`, () => {
      const message = complaint({ ...enough, TLSEDGE_BASE_URL: value });
      assert.match(message, /in TLSEDGE_BASE_URL /);
      if (shown) assert.ok(message.includes(shown), message);
      else assert.ok(!message.includes(value), message);
      for (const secret of ["word", "pa?ss", "token"])
        assert.ok(!message.includes(secret), message);
    });
  }

  it("C1 that are misspelt in the namespace are refused, with the nearest name", () => {
    const of = (...keys: string[]) => unknownKeys("tlsedge", keys) ?? "";
    assert.match(of("tlsedge:baseurl"), /tlsedge:baseurl .*tlsedge:baseUrl\?/);
    assert.match(of("tlsedge:timeoutSecs"), /tlsedge:timeoutSeconds\?/);
    assert.match(of("tlsedge:apikye", "tlsedge:apiVersion"), /tlsedge:apiKey\?/);
    const far = of("tlsedge:colour", "tlsedge:caFiles");
    for (const name of ["tlsedge:colour", "requestsPerMinute", "tlsedge:caFile?"]) {
      assert.ok(far.includes(name), far);
    }
    const known = ["baseUrl", "apiKey", "apiVersion", "versionHeader", "caFile", "timeoutSeconds"];
    const all = [...known, "maxRetries", "requestsPerMinute", "sameAccount", "takeEqual"];
    assert.equal(of(...all.map((key) => `tlsedge:${key}`)), "");
    // Another namespace is another's: that of a connection is judged when it is used.
    assert.equal(of("tlsedge-staging:baseurl", "app:baseurl"), "");
    assert.match(unknownKeys("tlsedge-staging", ["tlsedge-staging:baseurl"]) ?? "", /baseUrl\?/);
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

  const keySigns = "has a space, a line break or a character that a key can't have";
  const inRange = (variable: string, wrong: string[], range: string) =>
    wrong.map((value): [string, string, string] => [
      variable,
      value,
      `must be a whole number ${range}:`,
    ]);
  /** A mistake: the variable, its value, and what is said of it. */
  const mistakes: [string, string, string][] = [
    ["TLSEDGE_BASE_URL", "api.example.com", "(api.example.com) must start with https://: correct"],
    ["TLSEDGE_BASE_URL", "localhost:8443/v1", "(localhost:8443/v1) must start with https://"],
    ["TLSEDGE_BASE_URL", "http://a.example", "(http://a.example) must start with https://"],
    ["TLSEDGE_BASE_URL", "//a.example", "is not a URL such as https://api.example.com"],
    ["TLSEDGE_BASE_URL", '"https://a.example"', "is not a URL such as https://api.example.com"],
    ["TLSEDGE_BASE_URL", "https://a.example:70000", "is not a URL such as https://api.example.com"],
    ["TLSEDGE_BASE_URL", "https://", "is not a URL such as https://api.example.com"],
    ...["user:tlse_key@a.example", "a.example/?x=tlse_key", "a.example/#tlse_key"].map(
      (rest): [string, string, string] => [
        "TLSEDGE_BASE_URL",
        `https://${rest}`,
        "must have only https://, a host and a path",
      ],
    ),
    ["TLSEDGE_API_KEY", "tlse_key with spaces", keySigns],
    ["TLSEDGE_API_KEY", "tlse_key\nwith-a-break", keySigns],
    ["TLSEDGE_API_KEY", "tlse_keyschlüssel", keySigns],
    ...inRange("TLSEDGE_TIMEOUT_SECONDS", ["0", "soon", "86401"], "from 1 to 86400"),
    ...inRange("TLSEDGE_MAX_RETRIES", ["-1"], "from 0 to 1000"),
    ...inRange("TLSEDGE_REQUESTS_PER_MINUTE", ["1.5"], "from 0 to 1000000"),
    ["TLSEDGE_SAME_ACCOUNT", "perhaps", "must be true or false"],
    ["TLSEDGE_API_KEY", '"tlse_key"', "has quotation marks around it"],
    ["TLSEDGE_API_KEY", "‘tlse_key’", "has quotation marks around it"],
    ["TLSEDGE_API_KEY", "Bearer tlse_key", "begins with Bearer"],
    ["TLSEDGE_API_VERSION", "2.0", "must be a whole number, such as 2"],
    ["TLSEDGE_VERSION_HEADER", "Api: 2", "must be the name of a header, such as Service-Version"],
    ...["Authorization", "host", "Content-Length", "content-type", "Proxy-Authorization"].map(
      (name): [string, string, string] => [
        "TLSEDGE_VERSION_HEADER",
        name,
        "none that HTTP itself has",
      ],
    ),
    ["TLSEDGE_CA_FILE", "ca.pem", `can't be read (ENOENT) from ${process.cwd()}; give an absolute`],
    ["TLSEDGE_CA_FILE", "~/ca.pem", "give an absolute path"],
    [
      "TLSEDGE_CA_FILE",
      "-----BEGIN PRIVATE KEY-----\ntlse_key",
      "is PEM text, but must be the path",
    ],
  ];
  for (const [variable, value, said] of mistakes) {
    it(`C1 with ${variable}=${JSON.stringify(value)} are told: ${said}`, () => {
      const message = complaint({ ...enough, [variable]: value });
      assert.ok(message.includes(` in ${variable} `) && message.includes(said), message);
      // Both ways to set it, and no key.
      assert.match(message, new RegExp(`correct ${variable} .* or run .pulumi config set`));
      assert.ok(!message.includes("tlse_key"), message);
    });
  }

  it("C1 with a CA file that holds no certificate are told what it holds", () => {
    const { certificatePem } = authority;
    const utf16 = Buffer.from(`\ufeff${certificatePem}`, "utf16le").toString("utf8");
    const files: [string, string][] = [
      ["-----BEGIN PRIVATE KEY-----\n", "holds no PEM certificate"],
      ["0\x82\x01\x02", "is no text, but binary, such as DER or PKCS#12"],
      [utf16, "is UTF-16"],
      [certificatePem.replaceAll("\n", "\\n"), "has a backslash and an n"],
      [certificatePem.replace(/\n.{20}/, "\n"), "holds a certificate that can't be parsed"],
    ];
    for (const [text, said] of files) {
      const message = complaint({ ...enough, TLSEDGE_CA_FILE: fileWith(text) });
      assert.ok(message.includes("TLSEDGE_CA_FILE") && message.includes(said), message);
    }
  });

  it("C1 are taken without the white space that files and shells put around them", () => {
    const config = { "tlsedge:timeoutSeconds": " 60\r\n" };
    const env = { TLSEDGE_BASE_URL: " https://a.example/v1/\r\n", TLSEDGE_API_KEY: "key\n" };
    const { baseUrl, apiKey, timeoutSeconds } = read(env, config);
    assert.deepEqual([baseUrl, apiKey, timeoutSeconds], ["https://a.example/v1", "key", 60]);
    // White space alone is no value.
    assert.equal(read(env, { "tlsedge:apiKey": " \n" }).apiKey, "key");
    const inStack: Record<string, string> = { "tlsedge:apiKey": "key" };
    assert.equal(
      overruled("tlsedge", (key) => inStack[key], env),
      undefined,
    );
  });

  it("C4 C50 show of a CA file only what looks like a path", () => {
    const said = (file: string) => complaint({ ...enough, TLSEDGE_CA_FILE: file });
    for (const file of ["/no/such/file.pem", "C:\\no such\\file.crt", "ca.ca-bundle.pem"]) {
      assert.ok(said(file).includes(`(${file})`), said(file));
    }
    const pem = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n";
    for (const key of [pem, pem.replaceAll("\n", " "), "tlse_4bHq9ZrX2mWc7LpD", `x\n${pem}.pem`]) {
      assert.match(said(key), /TLSEDGE_CA_FILE (can't be read|is PEM text)/);
    }
  });

  it("C2 have every option, and leave out what is not set", () => {
    const caFile = fileWith(authority.certificatePem);
    const config = {
      "tlsedge:apiVersion": "1",
      "tlsedge:versionHeader": "Api-Version",
      "tlsedge:caFile": caFile,
      "tlsedge:timeoutSeconds": "5",
      "tlsedge:maxRetries": "0",
      "tlsedge:sameAccount": "true",
    };
    const settings = read({ ...enough, TLSEDGE_REQUESTS_PER_MINUTE: "60" }, config);
    assert.deepEqual(settings, {
      baseUrl: "https://a.example",
      apiKey: "from-environment",
      sameAccount: true,
      apiVersion: "1",
      versionHeader: "Api-Version",
      caFile,
      timeoutSeconds: 5,
      maxRetries: 0,
      requestsPerMinute: 60,
    });
    assert.deepEqual(Object.keys(read(enough)), ["baseUrl", "apiKey"]);
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
      const run = new Run(none);
      const { client } = run.account();
      assert.equal(run.account().client, client);
      const rotated = setEnv({ TLSEDGE_API_KEY: "rotated" });
      assert.notEqual(run.account().client, client);
      rotated();
      assert.equal(run.account().client, client);
      assert.ok(!inspect(client, { depth: 9, showHidden: true }).includes("from-environment"));
    } finally {
      restore();
    }
  });
});

describe("the nearest name", () => {
  const known = ["hostports", "description", "tlsTermination", "mutualTls"];
  const cases: [string, string | undefined][] = [
    ["hostPorts", "hostports"],
    ["hostport", "hostports"],
    ["descripton", "description"],
    ["tlsTerminaton", "tlsTermination"],
    ["mutualTLS", "mutualTls"],
    ["colour", undefined],
    ["", undefined],
  ];
  for (const [name, meant] of cases) {
    it(`of ${JSON.stringify(name)} is ${meant ?? "none"}`, () => {
      assert.equal(nearest(name, known), meant);
      assert.equal(nearest(name, []), undefined);
    });
  }
});

describe("the connection of a program", () => {
  let restore: () => void;
  before(() => {
    restore = setEnv({ ...enough, TLSEDGE_CA_FILE: undefined });
  });
  after(() => restore());
  afterEach(() => pulumi.runtime.setAllConfig({}));

  const refusal = (connection: unknown) => {
    try {
      checkConnection(connection);
    } catch (error) {
      assert.ok(error instanceof pulumi.RunError, String(error));
      return error.message;
    }
    return "";
  };

  it("C1 with a misspelt key in its namespace fails before any resource", () => {
    pulumi.runtime.setAllConfig({ "tlsedge:baseurl": "https://b.example" });
    assert.match(refusal("tlsedge"), /tlsedge:baseUrl\?/);
    pulumi.runtime.setAllConfig({ "other:baseurl": "https://b.example" });
    assert.equal(refusal("tlsedge"), "");
  });

  it("C1 in the namespace of the project's own name leaves the project its keys", () => {
    const project = pulumi.getProject();
    const prefix = project.toUpperCase();
    pulumi.runtime.setAllConfig({ [`${project}:domain`]: "example.com" });
    const settings = { BASE_URL: "https://b.example", API_KEY: "key" };
    const named = Object.entries(settings).map(([name, value]) => [`${prefix}_${name}`, value]);
    const undo = setEnv(Object.fromEntries(named));
    try {
      assert.equal(refusal(project), "");
    } finally {
      undo();
    }
  });

  it("C5 that is an output, a number or null is refused with a sentence", () => {
    for (const connection of [pulumi.output("tlsedge"), Promise.resolve("tlsedge"), 5, null]) {
      assert.match(refusal(connection), /^connection must be a string/);
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
    await Promise.all([production.close(), staging.close(), untold?.close()]);
  });

  let untold: Emulator | undefined;
  /** A service that this process has told nothing of. */
  const startedFor = async () => {
    untold = await startEmulator();
    return untold;
  };

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

  it("C1 a run says once what config overrules, and not which service the state shows", async () => {
    const told = mock.method(console, "error", () => {});
    const another = setEnvFor(await startedFor());
    try {
      const config = { "tlsedge:timeoutSeconds": "77" };
      const undo = setEnv({ TLSEDGE_TIMEOUT_SECONDS: "78" });
      const stack = new Stack(tlsEdge, config);
      const lines = () => told.mock.calls.map((call) => String(call.arguments));
      await stack.preview({ description: "a" });
      assert.deepEqual(lines().length, 1, "an offline plan makes no request");
      assert.match(lines()[0] ?? "", /^warning: .*tlsedge:timeoutSeconds.*TLSEDGE_TIMEOUT_SECONDS/);
      await stack.up({ description: "a" });
      await stack.refresh();
      await new Stack(tlsCertificate, config).check({});
      await stack.destroy();
      assert.equal(lines().length, 1);
      await finishRun();
      assert.ok(
        !lines()
          .join()
          .includes(new URL(process.env.TLSEDGE_BASE_URL ?? "").host),
      );
      assert.ok(
        !lines()
          .join()
          .includes(process.env.TLSEDGE_API_KEY ?? ""),
      );
      undo();
    } finally {
      told.mock.restore();
      another();
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
    assert.deepEqual(methods, ["GET", "POST", "GET", "PATCH", "DELETE"]);
    assert.deepEqual(production.requests, []);
  });

  it("C5 C31 is asked by a refresh, and drift is put right there", async () => {
    const inputs = { description: "a", connection: "tlsedge-staging" };
    const stack = new Stack(tlsEdge);
    await stack.up(inputs);
    staging.tlsEdges.patch(stack.id, { description: "drifted" });
    staging.requests.length = 0;
    await stack.refresh();
    assert.equal(await stack.up(inputs), "update");
    const methods = staging.requests.map(({ method }) => method);
    assert.deepEqual(
      methods.filter((method) => method !== "GET"),
      ["PATCH"],
    );
    assert.equal(staging.tlsEdges.get(stack.id)?.description, "a");
    assert.deepEqual(production.requests, []);
  });

  it("C85 is not missing from a state that the plugin has written: nothing is replaced", async () => {
    for (const args of [{}, { connection: "tlsedge-staging" }]) {
      const stack = new Stack(tlsEdge);
      await stack.up(args);
      const { connection, __provider, ...state } = stack.state;
      Object.assign(stack, { state, inputs: {} });
      assert.deepEqual((await stack.preview(args)).replaces, []);
      assert.equal(await stack.up(args), "update");
      assert.deepEqual([stack.state.connection, stack.state.__provider], [connection, __provider]);
    }
  });

  it("C1 C5 an error names the place that a setting came from: what to change", async () => {
    const refused = async (env: Record<string, string>, config?: Record<string, string>) => {
      const restore = setEnv(env);
      try {
        const made = new Stack(tlsEdge, config).up({ connection: "tlsedge-staging" });
        return (await failureOf(made, ServiceError)).message;
      } finally {
        restore();
      }
    };
    const inEnvironment = await refused({ TLSEDGE_STAGING_API_KEY: "another-key" });
    assert.match(
      inEnvironment,
      /API key in TLSEDGE_STAGING_API_KEY \(the service is localhost:\d+\)$/,
    );
    const inConfig = await refused({}, { "tlsedge-staging:apiKey": "a-third-key" });
    assert.match(inConfig, /API key in tlsedge-staging:apiKey \(the service is localhost:\d+\)$/);
  });

  it("C1 an untrusted certificate names the setting in use, where no authority is set", async () => {
    const refused = async (env: NodeJS.ProcessEnv, config?: Record<string, string>) => {
      const restore = setEnv({ TLSEDGE_CA_FILE: undefined, ...env });
      try {
        return (await failureOf(new Stack(tlsEdge, config).up({}), ConnectionError)).message;
      } finally {
        restore();
      }
    };
    assert.match(await refused({}), /PEM file in TLSEDGE_CA_FILE$/);
    // A client of its own: each keeps the names of its settings.
    const config = { "tlsedge:baseUrl": production.url, "tlsedge:timeoutSeconds": "76" };
    assert.match(await refused({}, config), /PEM file in tlsedge:caFile$/);
    const other = fileWith((await makeCertificate({ commonName: "other" })).certificatePem);
    assert.match(await refused({ TLSEDGE_CA_FILE: other }, config), /PEM file in TLSEDGE_CA_FILE$/);
  });

  it("C5 has an authority of its own: a wrong one fails there alone", async () => {
    const { certificatePem } = await makeCertificate({ commonName: "other" });
    const restore = setEnv({ TLSEDGE_STAGING_CA_FILE: fileWith(certificatePem) });
    try {
      const there = new Stack(tlsEdge).up({ connection: "tlsedge-staging" });
      await failureOf(there, ConnectionError);
      assert.equal(await new Stack(tlsEdge).up({}), "create");
      assert.deepEqual(staging.requests, []);
    } finally {
      restore();
    }
  });

  it("C5 has a limit of its own", async () => {
    const config = { "tlsedge-staging:requestsPerMinute": "2" };
    const restore = setEnv({ TLSEDGE_STAGING_REQUESTS_PER_MINUTE: undefined });
    const warn = mock.method(console, "error", () => {});
    holdClocks(["setTimeout"]);
    try {
      // Equal creates would wait for one another, not for the limit.
      const make = (n: number, connection?: string) =>
        new Stack(tlsEdge, config).up({ connection, description: `limited ${n}` });
      const there = [1, 2, 3, 4].map((n) => make(n, "tlsedge-staging"));
      await Promise.all([1, 2, 3, 4].map((n) => make(n)));
      // The mark, and one create.
      await Promise.any(there);
      assert.equal(production.tlsEdges.list().length, 4);
      assert.equal(staging.requests.length, 2);
      assert.match(String(warn.mock.calls[0]?.arguments), /the limit of 2 requests a minute/);
      await ticking(Promise.all(there), 60_000);
      assert.equal(staging.tlsEdges.list().length, 4);
    } finally {
      mock.reset();
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
