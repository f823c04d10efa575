import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tlsEdges } from "../client/tlsEdge";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { unknownValue } from "../provider/kinds/properties";
import { tlsCertificate } from "../provider/kinds/tlsCertificate";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { newFolder, repository } from "../tools/folders";
import { Provider } from "../tools/protocol";
import { clientOf, failureOf, type Properties, settingsFor } from "./support";

for (const protocol of ["dynamic", "plugin"] as const) {
  describe(`a process of its own: ${protocol}`, () => {
    let emulator: Emulator;
    let env: NodeJS.ProcessEnv;
    let home: string;

    beforeEach(async () => {
      emulator = await startEmulator();
      home = newFolder();
      env = { ...process.env, ...settingsFor(emulator), HOME: home, TMPDIR: home };
    });
    afterEach(() => emulator.close());

    const isDynamic = protocol === "dynamic";
    const subject = isDynamic ? "a dynamic provider" : "the plugin";
    const type = `${isDynamic ? "pulumi-nodejs:dynamic/tlsedge" : "tlsedge:index"}:TLSEdge`;
    const edge = { urn: `urn:pulumi:dev::test::${type}::e`, type };
    /** What the class in `sdk/` stores. */
    const __provider = 'exports.handler = () => require("pulumi-tlsedge/provider").tlsEdge';
    const inputs = (description: string) => ({ description, ...(isDynamic && { __provider }) });

    /** One run of the engine; gives what it has printed at its end. */
    async function run(
      work: (provider: Provider) => Promise<void>,
      ends: ("cancel" | "end")[] = ["end"],
    ): Promise<string> {
      const provider = await Provider.start(repository, env, protocol);
      try {
        await work(provider);
        for (const end of ends) await provider[end]();
      } finally {
        await provider.kill();
      }
      assert.deepEqual(readdirSync(home), [], "it keeps no file");
      return provider.printed;
    }

    it(`C7: ${subject} explains another service once, and refers to that error in the others`, async () => {
      const all: { id: string; outs?: Properties }[] = [];
      await run(async (provider) => {
        for (const name of ["a", "b", "c"])
          all.push(await provider.resource(edge).create(inputs(name)));
      });
      const other = await startEmulator();
      Object.assign(env, settingsFor(other));
      const texts: string[] = [];
      const printed = await run(async (provider) => {
        const { read, delete: remove } = provider.resource(edge);
        for (const { id, outs = {} } of all) {
          // One after the other: the first one explains.
          texts.push((await failureOf(read(id, outs), Error)).message);
          texts.push((await failureOf(remove(id, outs), Error)).message);
        }
      });
      await other.close();
      const [explained = "", ...others] = texts;
      assert.match(explained, /TLSEDGE_SAME_ACCOUNT=1/);
      for (const text of others) {
        assert.ok(text.length < 170 && text.includes(all[0]?.id ?? "?"), text);
      }
      // The engine shows the error of a call, so it is not printed, too.
      assert.doesNotMatch(printed, /error|edgtls_/i);
    });

    // Engines before 3.250 end a plugin by a signal alone. Later ones show nothing after the call.
    const ends: ("cancel" | "end")[][] = isDynamic
      ? [["end"]]
      : [["end"], ["cancel"], ["cancel", "end"]];
    for (const end of ends) {
      it(`C19 C33: ${subject} prints what the plan has found once, and keeps no file, ended by: ${end.join(", ")}`, async () => {
        const { id } = await tlsEdges.create(clientOf(emulator), { description: "d" });
        delete env.TLSEDGE_OFFLINE_PLAN;
        const printed = await run(async (provider) => {
          const { check, planned } = provider.resource(edge);
          await check({}, inputs("d"));
          await planned(inputs("d"));
        }, end);
        for (const text of [`${id} (`, `the service is ${new URL(emulator.url).host}`]) {
          assert.equal(printed.split(text).length, 2, printed);
        }
      });
    }
  });
}

describe("tlsCertificate.remark", () => {
  const make = (
    names: string[],
    ips: string[] = [],
    notAfter = "2035-01-02",
    commonName = "a.example",
  ) => makeCertificate({ commonName, dnsNames: names, ips, notAfter: new Date(notAfter) });
  const remark = (state: object, inputs: object) =>
    tlsCertificate.remark?.({ ...state }, { ...inputs });

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
      const { text: found = "", severity } = remark(state, inputs) ?? {};
      assert.ok(found.startsWith("expires ") && found.endsWith(text), found);
      assert.equal(severity, "info");
    }
  });

  it("C23: a plan warns of a certificate that expires earlier than the one before", async () => {
    const [early, late] = [await make([], [], "2035-01-01"), await make([])];
    assert.equal(remark(late, early)?.severity, "warning");
  });

  it("C13: a plan says nothing of a replaced certificate where a chain is the same, or not known", async () => {
    const state = await make([]);
    for (const certificatePem of [state.certificatePem, unknownValue])
      assert.equal(remark(state, { certificatePem }), undefined);
    assert.equal(remark({ certificatePem: "no PEM" }, state), undefined);
  });
});

describe("tlsEdge.remark", () => {
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
  const older = { tlsTermination: { ...state.tlsTermination, minVersion: "1.2" } };
  const unknownTLS = { tlsTermination: { minVersion: unknownValue }, hostports: unknownValue };
  const rows: [inputs: Properties, remark?: RegExp][] = [
    [{ ...others, ipRestriction }, /^without its backend, its traffic ends; .*disabled/],
    [change({ ipRestriction: undefined }), /ipRestriction, clients from every/],
    [change({ ipRestriction: off }), /every address may connect$/],
    [change({ mutualTls: undefined }), /mutualTls, clients need no certificate;/],
    [others, /^without its backend, .*, and without its ipRestriction, /],
    [change({ backend: undefined, onModuleRemoval: "replace" }), /; the edge is replaced$/],
    [change({ backend: { enabled: false, backendId: unknownValue } }), /^without its backend/],
    [change({ hostports: [] }), /^without its hostports, it serves noth/],
    [change(older), /^it also accepts TLS 1\.2, until now at least 1\.3$/],
    [change(unknownTLS)],
    [change({ backend: { backendId: "other" } })],
    [change({ tlsTermination: undefined })],
    [change({ backend: unknownValue })],
    [state],
  ];
  it("C23: a plan warns of what an edge loses, not of what is new, not known yet, or was off before", () => {
    for (const [inputs, remark] of rows) {
      const { text = "", severity } = tlsEdge.remark?.(state, inputs) ?? {};
      assert.match(text, remark ?? /^$/);
      assert.equal(severity, remark && "warning");
    }
    const before = { backend: { backendId: "b", enabled: false } };
    assert.equal(tlsEdge.remark?.(before, {}), undefined);
  });
});
