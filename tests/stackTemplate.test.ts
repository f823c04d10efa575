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
  function complaints(values: Values, secrets: string[] = []): string[] {
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
      return error.message
        .split("\n")
        .slice(1)
        .map((line) => line.trim());
    }
  }

  const edgeWith = (more: Values) => ({
    certificates: { app: { chainFile: __filename, keyFile: __filename } },
    edges: {
      app: {
        certificate: "app",
        hostports: ["app.example.com:443"],
        backendId: "bkdtg_1",
        access: "anyone",
        ...more,
      },
    },
  });

  it("is taken when nothing is wrong", () => {
    assert.deepEqual(complaints(edgeWith({ minVersion: "1.2" })), []);
  });

  for (const stack of ["dev", "staging", "prod"]) {
    it(`has nothing wrong in the template's file of ${stack}, but certificates to come`, () => {
      const file = path.join(__dirname, `../templates/stack/Pulumi.${stack}.yaml`);
      const { config } = parse(readFileSync(file, "utf8"));
      const folder = `certificates/${stack}`;
      assert.deepEqual(complaints(config), [
        `certificates.wildcard.chainFile: ${folder}/fullchain.pem can't be read (ENOENT)`,
        `certificates.wildcard.keyFile: ${folder}/privkey.pem can't be read (ENOENT)`,
      ]);
    });
  }

  it("is taken when the stack says of all edges what most have", () => {
    const { edges, certificates } = edgeWith({ certificate: undefined, minVersion: "1.3" });
    const { access, backendId, hostports } = edges.app;
    const all = { certificates, certificate: "app", access, backendId };
    const own = { hostports, access: { ipPolicyIds: ["ipp_1"] }, minVersion: "1.3" };
    assert.deepEqual(complaints({ ...all, edges: { one: { hostports }, two: own } }), []);
    assert.deepEqual(complaints({ ...all, certificate: "ap", edges: { one: { hostports } } }), [
      "edges.one.certificate: no certificate has this name; the names are: app",
    ]);
    assert.deepEqual(complaints({ ...all, edges: { one: {} } }), [
      "edges.one.hostports: is missing",
    ]);
  });

  const mistakes: [Values, string][] = [
    [
      edgeWith({ minVerion: "1.2" }),
      "edges.app.minVerion: no such setting: did you mean minVersion?",
    ],
    [{ ownr: "web" }, "ownr: no such setting: did you mean owner?"],
    [
      edgeWith({ access: { ipPolicyIDs: ["ipp_1"], certificateAuthorityIds: ["ca_1"] } }),
      "edges.app.access.ipPolicyIDs: no such setting: did you mean ipPolicyIds?",
    ],
    [
      edgeWith({ colour: "red" }),
      "edges.app.colour: no such setting: known are metadata, protect, certificate, backendId, " +
        "access, minVersion, description, hostports",
    ],
    [edgeWith({ minVersion: 1.2 }), "edges.app.minVersion: is the number 1.2: put it into quotes"],
    [
      edgeWith({ minVersion: "1.4" }),
      'edges.app.minVersion: must be "1.0" or "1.1" or "1.2" or "1.3"',
    ],
    [{ metadata: { team: 7 } }, "metadata.team: is the number 7: put it into quotes"],
    [edgeWith({ access: "everybody" }), 'edges.app.access: must be "anyone"'],
    [
      edgeWith({ access: { ipPolicyIds: [""] } }),
      "edges.app.access.ipPolicyIds.0: must not be empty",
    ],
    [edgeWith({ hostports: undefined }), "edges.app.hostports: is missing"],
    [
      edgeWith({ certificate: "wild" }),
      "edges.app.certificate: no certificate has this name; the names are: app",
    ],
    [
      { certificates: { app: { chainFile: __filename } } },
      "certificates.app: give exactly one: keyFile, or a key in privateKeys",
    ],
    [
      { certificates: { app: { chainFile: "-----BEGIN not shown", keyFile: __filename } } },
      "certificates.app.chainFile: must be a path, not PEM text",
    ],
    [{ renewBeforeDays: "soon" }, "renewBeforeDays: must be number"],
  ];
  for (const [values, said] of mistakes) {
    it(`C15 is told: ${said}`, () => assert.deepEqual(complaints(values), [said]));
  }

  it("C15 is told a misspelt setting once, not as missing, too, and what else is wrong with it", () => {
    const [once, ...more] = complaints(edgeWith({ backendId: undefined, backendID: "bkdtg_1" }));
    assert.match(once ?? "", /backendID: .*backendId\?$/);
    assert.deepEqual(more, []);
    const twice = complaints(edgeWith({ minVerion: 1.2 })).join();
    assert.match(twice, /minVerion: .*minVersion\?,edges\.app\.minVersion: is the number 1\.2/);
  });

  it("C50 has private keys as secrets, each for a certificate", () => {
    const privateKeys = { wildcrad: "not to be shown" };
    const unmatched = "privateKeys.wildcrad: no certificate has this name; the names are: none";
    assert.deepEqual(complaints({ privateKeys }, ["privateKeys"]), [unmatched]);
    const plain = "privateKeys: stands in config in plain text: set it with --secret";
    assert.deepEqual(complaints({ privateKeys }), [unmatched, plain]);
  });

  it("C10 is not shown where it is a secret", () => {
    const { certificates, edges } = edgeWith({ minVersion: 1.2 });
    const said = "edges.app.minVersion: is a number: put it into quotes";
    assert.deepEqual(complaints({ certificates, edges }, ["edges"]), [said]);
  });
});
