import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";
import { readConfig } from "../templates/stack/config";

type Values = Record<string, unknown>;

describe("the config of the template stack", () => {
  const namespace = new pulumi.Config().name;
  afterEach(() => pulumi.runtime.setAllConfig({}));

  /** What is wrong with the config, a line each. */
  function problems(values: Values, secrets = ["privateKeys"]): string[] {
    const all = Object.entries(values).map(([name, value]) => [
      `${namespace}:${name}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    const keys = secrets.map((name) => `${namespace}:${name}`);
    pulumi.runtime.setAllConfig(Object.fromEntries(all), keys);
    try {
      readConfig();
      return [];
    } catch (error) {
      assert.ok(error instanceof pulumi.RunError, String(error));
      return error.message.split("\n  ").slice(1);
    }
  }

  const certificates = { wildcard: { chain: "a chain" } };
  const privateKeys = { wildcard: "a key that is not shown" };
  const app = { certificate: "wildcard", hostports: ["app.example.com:443"], backendId: "bkdtg_1" };
  const edgeWith = (more: Values) => ({
    ...{ certificates, privateKeys },
    edges: { app: { ...app, access: "anyone", ...more } },
  });
  const missing = `there is no certificate "wildcard": pulumi config set --path 'certificates["wildcard"].chain' < fullchain.pem`;

  it("is taken when nothing is wrong", () => {
    assert.deepEqual(problems(edgeWith({ minVersion: "1.2", access: { ipPolicyIds: ["i"] } })), []);
    const stack = { renewBeforeDays: "30", protect: "true", connection: "tlsedge-prod" };
    assert.deepEqual(problems({ ...edgeWith({}), ...stack, metadata: { team: "edge" } }), []);
  });

  it("is refused when its settings stand under another name, which would empty the stack", () => {
    const says = `no setting begins with ${namespace}:, which is the project's name`;
    assert.deepEqual(problems({}), [says]);
    assert.deepEqual(problems({ edges: {} }), []);
  });

  for (const stack of ["dev", "staging", "prod"]) {
    it(`has nothing wrong in the file of ${stack}, but the certificate to come`, () => {
      const file = path.join(__dirname, `../templates/stack/Pulumi.${stack}.yaml`);
      const { config } = parse(readFileSync(file, "utf8"));
      const lines = ["admin", "app"].map((name) => `edges.${name}.certificate: ${missing}`);
      assert.deepEqual(problems(config).sort(), lines);
      assert.deepEqual(problems({ ...config, certificates, privateKeys }), []);
    });
  }

  it("may say for all edges what most have", () => {
    const { certificate, backendId, hostports } = app;
    const stack = { certificates, privateKeys, certificate, backendId, access: "anyone" };
    assert.deepEqual(problems({ ...stack, edges: { one: { hostports } } }), []);
    const edges = { one: { hostports, certificate: "other" }, two: {} };
    assert.deepEqual(problems({ ...stack, edges }), ["edges.two.hostports: is missing"]);
    const [line = ""] = problems({ ...stack, edges: { one: edges.one } });
    assert.match(line, /no certificate "other"/);
  });

  const who = "must be anyone, or have ipPolicyIds, certificateAuthorityIds or both";
  const none =
    "no such setting: there are certificate, backendId, access, minVersion, hostports, description, metadata, protect";
  const mistakes: [Values, ...string[]][] = [
    [
      { ...edgeWith({ BackendID: "bkdtg_1", "a.b": 1 }), ownr: "me", protekt: true },
      "edges.app.BackendID: no such setting: did you mean backendId?",
      `edges.app.a.b: ${none}`,
      "ownr: no such setting: did you mean owner?",
      "protekt: no such setting: did you mean protect?",
    ],
    [
      edgeWith({ minVersion: 1.2 }),
      'edges.app.minVersion: must be "1.0" or "1.1" or "1.2" or "1.3": put it into quotes',
    ],
    [
      edgeWith({ metadata: { team: 7 } }),
      "edges.app.metadata.team: must be a text: put it into quotes",
    ],
    [edgeWith({ access: "everybody" }), `edges.app.access: ${who}`],
    [edgeWith({ access: { ipPolicyIDs: ["ipp_1"] } }), `edges.app.access: ${who}`],
    [
      edgeWith({ access: { ipPolicyIds: [""] } }),
      "edges.app.access.ipPolicyIds.0: must not be empty",
    ],
    [edgeWith({ hostports: undefined }), "edges.app.hostports: is missing"],
    [edgeWith({ hostports: "app.example.com:443" }), "edges.app.hostports: must be a list"],
    [{ edges: "app" }, "edges: must be a mapping"],
    [{ renewBeforeDays: "soon" }, "renewBeforeDays: must be a number"],
    [
      { certificates },
      `privateKeys.wildcard: is missing: pulumi config set --secret --path 'privateKeys["wildcard"]' < privkey.pem`,
    ],
  ];
  for (const [values, ...lines] of mistakes)
    it(`C15 is refused: ${lines.join("; ")}`, () => assert.deepEqual(problems(values), lines));

  it("C50 has private keys as secrets, and nothing else, and shows none", () => {
    const plain = "privateKeys: stands in the config in plain text: set it with --secret";
    assert.deepEqual(problems(edgeWith({}), []), [plain]);
    assert.deepEqual(problems({ ...edgeWith({}), owner: "me" }, ["privateKeys", "owner"]), [
      "owner: has a value that was set with --secret, and the state would have it in clear: set it without",
    ]);
    const broken = { ...edgeWith({}), privateKeys: `{${privateKeys.wildcard}` };
    assert.deepEqual(problems(broken), ["privateKeys: must be a mapping"]);
  });
});
