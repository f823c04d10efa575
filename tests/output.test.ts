import assert from "node:assert/strict";
import { type Emulator, makeCertificate, startEmulator } from "../emulator/server";
import { unknownValue } from "../provider/properties";
import { tlsCertificate } from "../provider/tlsCertificate";
import { tlsEdge } from "../provider/tlsEdge";
import { newFolder, repository } from "../tools/folders";
import { type CallError, type Properties, Provider } from "../tools/protocol";
import { settingsFor } from "./support";

/** A resource's state, and the inputs that a program has now. */
interface Change {
  state: Properties;
  inputs: Properties;
}

/** What the classes in `sdk/` store. */
const textOf = (kind: string) =>
  `exports.handler = () => require("pulumi-tlsedge/provider").${kind}`;

for (const door of ["dynamic", "plugin"] as const) {
  describe(`what the process of a provider prints: ${door}`, () => {
    let emulator: Emulator;
    let env: NodeJS.ProcessEnv;

    beforeEach(async () => {
      emulator = await startEmulator();
      env = { ...process.env, ...settingsFor(emulator), PULUMI_HOME: newFolder() };
    });
    afterEach(() => emulator.close());

    const type = {
      dynamic: (kind: string) => `pulumi-nodejs:dynamic/tlsedge:${kind}`,
      plugin: (kind: string) => `tlsedge:index:${kind}`,
    }[door];
    const resource = (name: string, kind = "TLSEdge") => ({
      urn: `urn:pulumi:dev::test::${type(kind)}::${name}`,
      type: type(kind),
    });
    const given = (inputs: Properties, kind = "tlsEdge"): Properties => ({
      ...inputs,
      ...(door === "dynamic" && { __provider: textOf(kind) }),
    });
    /** One run of the engine; gives what it has printed at its end. */
    async function run(work: (provider: Provider) => Promise<void>): Promise<string> {
      const provider = await Provider.start(repository, env, door);
      try {
        await work(provider);
        if (door === "plugin") await provider.cancel();
        await provider.end();
      } finally {
        await provider.kill();
      }
      return provider.printed;
    }
    const refusal = (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => assert.fail("it was not refused"),
        ({ message }: CallError) => message,
      );
    /** The edges of an earlier run. */
    async function deployed(...all: Properties[]) {
      const made: { id: string; state: Properties }[] = [];
      await run(async (provider) => {
        for (const [index, inputs] of all.entries()) {
          made.push(await provider.create(resource(`e${index}`), given(inputs)));
        }
      });
      return made;
    }

    const edges = ["a", "b", "c"].map((description) => ({ description }));

    it("C7 explains another service once, and names that error in the others", async () => {
      const made = await deployed(...edges);
      const other = await startEmulator();
      Object.assign(env, settingsFor(other));
      const texts: string[] = [];
      const printed = await run(async (provider) => {
        for (const { id, state } of made) {
          texts.push(await refusal(provider.read(resource("e"), id, state)));
          texts.push(await refusal(provider.delete(resource("e"), id, state)));
        }
      });
      await other.close();
      const [explained = "", ...others] = texts;
      assert.match(explained, /TLSEDGE_SAME_ACCOUNT=1/);
      for (const text of others) {
        assert.ok(text.length < 170 && text.includes(made[0]?.id ?? "?"), text);
      }
      // The engine shows the error of a call, so it is not printed, too.
      assert.doesNotMatch(printed, /error|edgtls_/i);
    });

    it("says which service it uses when no state shows it, once, and in a plan of a new stack", async () => {
      const { host } = new URL(emulator.url);
      const says = (printed: string) => printed.split(`the service is ${host}`).length - 1;
      const [one, two] = [resource("one"), resource("two")];
      const of = (description: string) => given({ description });
      let state: Properties = {};
      let id = "";
      const first = await run(async (provider) => {
        for (const each of [one, two]) await provider.check(each, {}, of("a"));
        ({ id, state } = await provider.create(one, of("a")));
        await provider.create(two, of("a"));
      });
      assert.equal(says(first), 1, first);
      const plan = await run(async (provider) => {
        await provider.check(one, {}, of("a"));
        if (door === "plugin") await provider.create(one, of("a"), true);
      });
      assert.equal(says(plan), 1, plan);
      const later = await run(async (provider) => {
        await provider.check(two, {}, of("b"));
        await provider.create(two, of("b"));
        await provider.diff(one, id, state, of("b"), of("a"));
        await provider.update(one, id, state, of("b"), of("a"));
        await provider.read(one, id, state);
        await provider.delete(one, id, state);
      });
      assert.equal(says(later), 0, later);
    });

    /** What the diffs of changes say in one run, by their ids. Each is asked twice. */
    async function saidOf(kind: "TLSEdge" | "TLSCertificate", changes: Record<string, Change>) {
      const text = kind === "TLSEdge" ? "tlsEdge" : "tlsCertificate";
      const printed = await run(async (provider) => {
        for (const [id, { state, inputs }] of Object.entries(changes)) {
          const of = resource(id, kind);
          const { backend = null } = state;
          const old = given(backend ? { backend } : {}, text);
          const checked = await provider.check(of, old, given(inputs, text));
          assert.deepEqual(checked.failures, []);
          for (let times = 0; times < 2; times++) {
            await provider.diff(of, id, state, checked.inputs, old);
          }
        }
      });
      const lines = printed.split("\n");
      return (id: string) => lines.filter((line) => line.includes(`${id}: `));
    }

    it("C23 warns of an edge that loses its backend, once, and of no other change", async () => {
      const backend = { backendId: "bkdtg_1" };
      const off = { ...backend, enabled: false };
      const [made] = await deployed({ backend, hostports: ["a.example.com:443"] });
      const { state = {} } = made ?? {};
      const said = await saidOf("TLSEdge", {
        unset: { state, inputs: {} },
        disable: { state, inputs: { onModuleRemoval: "disable" } },
        replace: { state, inputs: { onModuleRemoval: "replace" } },
        wasOff: { state: { ...state, backend: off }, inputs: {} },
        same: { state, inputs: { backend } },
        switchedOff: { state, inputs: { backend: off } },
        other: { state, inputs: { backend: { backendId: "bkdtg_2" } } },
      });
      const verbs = {
        unset: "disabled",
        disable: "disabled",
        replace: "replaced",
        switchedOff: "",
      };
      for (const [id, verb] of Object.entries(verbs)) {
        const [line = "", ...more] = said(id);
        assert.match(line, new RegExp(`backend.*traffic.*${verb}`));
        assert.deepEqual(more, []);
      }
      for (const id of ["wasOff", "same", "other"]) assert.deepEqual(said(id), []);
    });

    it("C14 says of a replaced certificate in one line when it ends and which names differ", async () => {
      const day = 86_400_000;
      const make = async (days: number, ...dnsNames: string[]) => {
        const notAfter = new Date(Date.now() + days * day);
        const options = { commonName: "a.example.com", dnsNames, notAfter };
        const { certificatePem, privateKeyPem } = await makeCertificate(options);
        return { inputs: { certificatePem, privateKeyPem }, end: isoDay(notAfter) };
      };
      const isoDay = (date: Date) => date.toISOString().slice(0, 10);
      const [old, same, other] = await Promise.all([
        make(30, "a.example.com", "b.example.com"),
        make(90, "B.example.com", "a.example.com"),
        make(60, "a.example.com", "c.example.com", "d.example.com"),
      ]);
      let state: Properties = {};
      await run(async (provider) => {
        const of = resource("c", "TLSCertificate");
        ({ state } = await provider.create(of, given(old.inputs, "tlsCertificate")));
      });
      const change = ({ inputs }: typeof old): Change => ({ state, inputs });
      const changes = { same: change(same), other: change(other), old: change(old) };
      const said = await saidOf("TLSCertificate", changes);
      const about = (id: string) => `the TLS certificate ${id}: expires ${old.end} → `;
      assert.deepEqual(said("same"), [`${about("same")}${same.end}, same names`]);
      assert.deepEqual(said("other"), [
        `${about("other")}${other.end}, names added: c.example.com, d.example.com, ` +
          "removed: b.example.com",
      ]);
      assert.deepEqual(said("old"), []);
    });
  });
}

describe("what a plan says of a replaced certificate", () => {
  const of = async (dnsNames: string[], ips: string[] = []) => {
    const { certificatePem } = await makeCertificate({ commonName: "a.example", dnsNames, ips });
    return { certificatePem };
  };
  const remark = (state: Properties, inputs: Properties) =>
    tlsCertificate.remark?.(state, inputs)?.text ?? "";

  it("C14 has five names of each kind, addresses too", async () => {
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

  it("C14 compares the common names of certificates without other names", async () => {
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

  it("C23 warns of one that expires earlier than the one before", async () => {
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

  it("C13 is nothing where a chain is not known", async () => {
    const state = await of([]);
    assert.equal(remark(state, { certificatePem: unknownValue }), "");
    assert.equal(remark({ certificatePem: "no PEM" }, state), "");
  });
});

describe("what a plan says of an edge that loses a module", () => {
  const state = {
    backend: { enabled: true, backendId: "b" },
    ipRestriction: { enabled: true, ipPolicyIds: ["i"] },
    mutualTls: { enabled: true, certificateAuthorityIds: ["c"] },
    tlsTermination: { enabled: true, terminateAt: "edge" },
  };
  const { backend: _, ipRestriction, ...others } = state;
  const off = { ...ipRestriction, enabled: false };
  const rows: [what: string, inputs: Properties, said: RegExp][] = [
    [
      "its backend",
      { ...others, ipRestriction },
      /^without its backend, its traffic ends; .*disabled/,
    ],
    [
      "its IP restriction",
      { ...state, ipRestriction: undefined },
      /ipRestriction, clients from every/,
    ],
    [
      "an IP restriction that is off",
      { ...state, ipRestriction: off },
      /every address may connect$/,
    ],
    ["mutual TLS", { ...state, mutualTls: undefined }, /mutualTls, clients need no certificate;/],
    ["two", others, /^without its backend, .*, and without its ipRestriction, /],
    ["nothing", { ...state, tlsTermination: undefined }, /^$/],
    ["what is not known", { ...state, backend: unknownValue }, /^$/],
  ];
  for (const [what, inputs, said] of rows) {
    it(`C23 warns: ${what}`, () => {
      assert.match(tlsEdge.remark?.(state, inputs)?.text ?? "", said);
    });
  }
});
