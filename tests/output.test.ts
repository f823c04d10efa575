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
  const of = async (dnsNames: string[], ips: string[] = []) => {
    const { certificatePem } = await makeCertificate({ commonName: "a.example", dnsNames, ips });
    return { certificatePem };
  };
  const remark = (state: Properties, inputs: Properties) =>
    tlsCertificate.remark?.(state, inputs)?.text ?? "";

  it("C14: a plan says of a replaced certificate when it expires and which names differ, in any letter case", async () => {
    const make = async (notAfter: string, ...dnsNames: string[]) =>
      makeCertificate({ commonName: "a.example", dnsNames, notAfter: new Date(notAfter) });
    const old = await make("2035-01-02", "a.example", "b.example");
    const remarkOf = async (...names: string[]) =>
      remark({ ...old }, { ...(await make("2036-03-04", ...names)) });
    const sameDay = { ...(await make("2035-01-02T09:00:00Z", "a.example", "b.example")) };
    assert.equal(
      remark({ ...old }, sameDay),
      "expires 2035-01-02T00:00:00Z → 2035-01-02T09:00:00Z, same names",
    );
    assert.equal(
      await remarkOf("B.example", "a.example"),
      "expires 2035-01-02 → 2036-03-04, same names",
    );
    assert.equal(
      await remarkOf("a.example", "c.example", "d.example"),
      "expires 2035-01-02 → 2036-03-04, names added: c.example, d.example, removed: b.example",
    );
    assert.equal(remark({ ...old }, { ...old }), "");
  });

  it("C14: a plan shows at most five added and five removed names of a replaced certificate, addresses too", async () => {
    const many = Array.from({ length: 8 }, (_, n) => `n${n}.example`);
    const [none, all] = [await of([]), await of(["b.example"], ["10.0.0.1"])];
    assert.match(remark(none, all), /, names added: b\.example, 10\.0\.0\.1, removed: a\.example/);
    const added = many.slice(0, 5).join(", ");
    assert.ok(
      remark(none, await of(many)).includes(
        `, names added: ${added} and 3 more, removed: a.example`,
      ),
    );
    assert.ok(remark(await of(many), none).includes(`, removed: ${added} and 3 more`));
  });

  it("C14: a plan compares the common names of replaced certificates without other names", async () => {
    const [old, next] = await Promise.all(
      ["old.example", "new.example"].map((commonName) =>
        makeCertificate({ commonName, dnsNames: [] }),
      ),
    );
    assert.match(
      remark({ ...old }, { ...next }),
      /names added: new\.example, removed: old\.example/,
    );
  });

  it("C23: a plan warns of a certificate that expires earlier than the one before", async () => {
    const [early, late] = await Promise.all(
      [30, 60].map((days) => {
        const notAfter = new Date(Date.now() + days * 86_400_000);
        return makeCertificate({ commonName: "a.example", notAfter });
      }),
    );
    const severity = (state: object = {}, inputs: object = {}) =>
      tlsCertificate.remark?.({ ...state }, { ...inputs })?.severity;
    assert.deepEqual([severity(late, early), severity(early, late)], ["warning", "info"]);
  });

  it("C13: a plan says nothing of a replaced certificate where a chain is not known", async () => {
    const state = await of([]);
    assert.equal(remark(state, { certificatePem: unknownValue }), "");
    assert.equal(remark({ certificatePem: "no PEM" }, state), "");
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
  const off = { ...ipRestriction, enabled: false };
  const rows: [what: string, inputs: Properties, remark?: RegExp][] = [
    [
      "loses its backend",
      { ...others, ipRestriction },
      /^without its backend, its traffic ends; .*disabled/,
    ],
    [
      "loses its IP restriction",
      { ...state, ipRestriction: undefined },
      /ipRestriction, clients from every/,
    ],
    [
      "gets its IP restriction turned off",
      { ...state, ipRestriction: off },
      /every address may connect$/,
    ],
    [
      "loses mutual TLS",
      { ...state, mutualTls: undefined },
      /mutualTls, clients need no certificate;/,
    ],
    ["loses two modules", others, /^without its backend, .*, and without its ipRestriction, /],
    [
      "loses its backend and is replaced",
      { ...state, backend: undefined, onModuleRemoval: "replace" },
      /; the edge is replaced$/,
    ],
    [
      "gets a backend that is off and has an unknown id",
      { ...state, backend: { enabled: false, backendId: unknownValue } },
      /^without its backend/,
    ],
    ["loses its hostports", { ...state, hostports: [] }, /^without its hostports, it serves noth/],
    [
      "accepts an older TLS",
      { ...state, tlsTermination: { ...state.tlsTermination, minVersion: "1.2" } },
      /^it also accepts TLS 1\.2, until now at least 1\.3$/,
    ],
    [
      "accepts only a newer TLS, or what is not known yet",
      { ...state, tlsTermination: { minVersion: unknownValue }, hostports: unknownValue },
    ],
    ["gets another backend", { ...state, backend: { backendId: "other" } }],
    ["loses its TLS termination", { ...state, tlsTermination: undefined }],
    ["gets a backend that is not known yet", { ...state, backend: unknownValue }],
  ];
  for (const [what, inputs, remark] of rows) {
    it(`C23: a plan ${remark ? "warns" : "says nothing"} of an edge that ${what}`, () => {
      assert.match(tlsEdge.remark?.(state, inputs)?.text ?? "", remark ?? /^$/);
    });
  }

  it("C23: a plan says nothing of a module that was off before", () => {
    const before = { backend: { backendId: "b", enabled: false } };
    assert.equal(tlsEdge.remark?.(before, {}), undefined);
  });
});
