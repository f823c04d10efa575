// What a run prints, and what a plan says of a change.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tlsEdges } from "../client/tlsEdge";
import { makeCertificate, startEmulator } from "../emulator/server";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { unknownValue } from "../provider/values/properties";
import { newFolder, repository } from "../tools/folders";
import { Provider } from "../tools/protocol";
import { clientOf, failureOf, type Properties, settingsFor } from "./support";

/** How the engine ends a provider. Engines before 3.250 end a plugin by a signal alone. */
const endings = [
  ["dynamic", "end"],
  ["plugin", "end"],
  ["plugin", "cancel"],
  ["plugin", "cancel", "end"],
] as const;
for (const [protocol, ...ends] of endings) {
  it(`C19 C33: ${protocol}: a run prints what the plan has found once, prints no error, and keeps no file, ended by: ${ends.join(", ")}`, async () => {
    const emulator = await startEmulator();
    const home = newFolder();
    const settings = { ...settingsFor(emulator), TLSEDGE_OFFLINE_PLAN: undefined };
    const env = { ...process.env, ...settings, HOME: home, TMPDIR: home };
    const { id } = await tlsEdges.create(clientOf(emulator), { description: "d" });
    const type = `${protocol === "dynamic" ? "pulumi-nodejs:dynamic/tlsedge" : "tlsedge:index"}:TLSEdge`;
    /** What the class in `sdk/` stores. */
    const __provider = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';
    const inputs = { description: "d", ...(protocol === "dynamic" && { __provider }) };
    const provider = await Provider.start(repository, env, protocol);
    try {
      const urn = `urn:pulumi:dev::test::${type}::e`;
      const { check, planned, read } = provider.resource({ urn, type });
      await check({}, inputs);
      await planned(inputs);
      emulator.faults.add({ method: "GET", path: "/edges/tls/edgtls_1", answer: { status: 403 } });
      await failureOf(read("edgtls_1", inputs), Error);
      for (const end of ends) await provider[end]();
    } finally {
      await provider.kill();
      await emulator.close();
    }
    for (const text of [`${id} (`, `the service is ${new URL(emulator.url).host}`])
      assert.equal(provider.printed.split(text).length, 2, provider.printed);
    // The engine shows the error of a call.
    assert.doesNotMatch(provider.printed, /error|edgtls_1\b/i);
    assert.deepEqual(readdirSync(home), []);
  });
}

describe("tlsCertificate.planWarning", () => {
  const make = (
    names: string[],
    ips: string[] = [],
    notAfter = "2035-01-02",
    commonName = "a.example",
  ) => makeCertificate({ commonName, dnsNames: names, ips, notAfter: new Date(notAfter) });
  const planWarning = (state: object, inputs: object) =>
    tlsCertificate.planWarning?.({ ...state }, { ...inputs });

  it("C14: a plan says of a replaced certificate when it expires and which names differ, in any letter case", async () => {
    const old = await make(["a.example", "b.example"]);
    const [ip, many] = ["10.0.0.1", Array.from({ length: 8 }, (_, n) => `n${n}.example`)];
    const five = many.slice(0, 5).join(", ");
    const bare = await make([], [], undefined, "old.example");
    for (const [state, inputs, text] of [
      [
        old,
        await make(["B.example", "a.example"], [], "2036-03-04"),
        "2035-01-02 → 2036-03-04, same names",
      ],
      [
        old,
        await make(["a.example", "b.example"], [], "2035-01-02T09:00:00Z"),
        "2035-01-02T00:00:00Z → 2035-01-02T09:00:00Z, same names",
      ],
      [
        old,
        await make(["a.example", "c.example"], [ip]),
        `names added: c.example, ${ip}, removed: b.example`,
      ],
      [bare, await make([]), "names added: a.example, removed: old.example"],
      [bare, await make(many), `names added: ${five} and 3 more, removed: old.example`],
      [await make(many), bare, `removed: ${five} and 3 more`],
    ] as const) {
      const { text: found = "", severity } = planWarning(state, inputs) ?? {};
      assert.ok(found.startsWith("expires ") && found.endsWith(text), found);
      assert.equal(severity, "info");
    }
  });

  it("C23: a plan warns of a certificate that expires earlier than the one before", async () => {
    const [early, late] = [await make([], [], "2035-01-01"), await make([])];
    assert.equal(planWarning(late, early)?.severity, "warning");
  });

  it("C13: a plan says nothing of a replaced certificate where a chain is the same, or not known", async () => {
    const state = await make([]);
    for (const certificatePem of [state.certificatePem, unknownValue])
      assert.equal(planWarning(state, { certificatePem }), undefined);
    assert.equal(planWarning({ certificatePem: "no PEM" }, state), undefined);
  });
});

describe("tlsEdge.planWarning", () => {
  const state = {
    backend: { enabled: true, backendId: "b" },
    ipRestriction: { enabled: true, ipPolicyIds: ["i"] },
    mutualTls: { enabled: true, certificateAuthorityIds: ["c"] },
    hostports: ["a:443"],
    tlsTermination: { enabled: true, terminateAt: "edge", minVersion: "1.3" },
  };
  const { backend: _, ipRestriction, ...others } = state;
  const change = (inputs: Properties) => ({ ...state, ...inputs });
  const off = { ...ipRestriction, enabled: false };
  const rows: [inputs: Properties, planWarning?: RegExp][] = [
    [{ ...others, ipRestriction }, /^without its backend, its traffic ends; .*disabled/],
    [change({ ipRestriction: undefined }), /ipRestriction, clients from every/],
    [change({ ipRestriction: off }), /every address may connect$/],
    [change({ mutualTls: undefined }), /mutualTls, clients need no certificate;/],
    [others, /^without its backend, .*, and without its ipRestriction, /],
    [change({ backend: undefined, onModuleRemoval: "replace" }), /; the edge is replaced$/],
    [change({ backend: { enabled: false, backendId: unknownValue } }), /^without its backend/],
    [change({ backend: { backendId: "other" } })],
    [change({ tlsTermination: undefined })],
    [change({ backend: unknownValue })],
    [state],
  ];
  it("C23: a plan warns of what an edge loses, not of what is new, not known yet, or was off before", () => {
    for (const [inputs, planWarning] of rows) {
      const { text = "", severity } = tlsEdge.planWarning?.(state, inputs) ?? {};
      assert.match(text, planWarning ?? /^$/);
      assert.equal(severity, planWarning && "warning");
    }
    const before = { backend: { backendId: "b", enabled: false } };
    assert.equal(tlsEdge.planWarning?.(before, {}), undefined);
  });
});
