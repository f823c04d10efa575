import assert from "node:assert/strict";
import { mock } from "node:test";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { type Emulator, type Respond, startEmulator } from "../emulator/server";
import { tlsEdge as dynamicEdge } from "../provider/dynamic";
import { beginRun } from "../provider/process";
import { throughBothDoors } from "./acceptance/doors";
import { pluginProvider } from "./pluginProvider";
import {
  answer,
  failureOf,
  later,
  type Properties,
  type ResourceProvider,
  Stack,
  script,
  setEnv,
  setEnvFor,
  skipPauses,
  takeRequests,
  typedUnknowns,
  unknown,
} from "./support";

/** An edge with everything. */
const full = {
  description: "what it is for",
  metadata: '{"team":"web"}',
  hostports: ["a.example.com:443", "b.example.com:443"],
  backend: { backendId: "bkdtg_1" },
  ipRestriction: { ipPolicyIds: ["ipp_1", "ipp_2"] },
  mutualTls: { certificateAuthorityIds: ["ca_1", "ca_2"] },
  tlsTermination: { terminateAt: "edge", minVersion: "1.3" },
};

/** The module of an answer. */
const termination = (enabled: boolean, terminate_at: string, min_version: string | null) => ({
  tls_termination: { enabled, terminate_at, min_version },
});

throughBothDoors("a TLS edge", (door) => {
  let tlsEdge = dynamicEdge as ResourceProvider;
  let close = () => {};
  let emulator: Emulator;
  let restore: () => void;
  let respond: Respond;
  let stack: Stack;

  before(async () => {
    emulator = await startEmulator({ respond: (body, request) => respond(body, request) });
    restore = setEnvFor(emulator);
    if (door === "plugin") ({ provider: tlsEdge, close } = await pluginProvider("TLSEdge"));
  });
  beforeEach(() => {
    emulator.reset();
    respond = (body) => body;
    stack = new Stack(tlsEdge);
  });
  after(() => {
    close();
    restore();
    return emulator.close();
  });

  const heard = () => takeRequests(emulator);
  const methods = () => heard().map(({ method }) => method);
  const found = () => emulator.tlsEdges.get(stack.id);

  /** What is wrong with inputs; no failure may name a property, whose value would be printed. */
  async function reasons(args: Properties): Promise<string[]> {
    const { failures } = await new Stack(tlsEdge).check(args);
    for (const { property } of failures) assert.equal(property, "");
    assert.deepEqual(emulator.requests, []);
    return failures.map(({ reason }) => reason);
  }

  describe("its inputs", () => {
    it("C12 C13 minVersion with terminateAt upstream is refused, so is mutualTls, if they are known", async () => {
      const upstream = { terminateAt: "upstream" };
      const { mutualTls } = full;
      const rows: [Properties, RegExp | undefined][] = [
        [{ tlsTermination: upstream }, undefined],
        [{ tlsTermination: { ...upstream, minVersion: "1.2" } }, /^tlsTermination\.minVersion: /],
        [{ tlsTermination: upstream, mutualTls }, /^mutualTls: /],
        [{ tlsTermination: { ...upstream, minVersion: unknown } }, undefined],
        [{ tlsTermination: upstream, mutualTls: unknown }, undefined],
        [{ tlsTermination: { terminateAt: unknown, minVersion: "1.2" }, mutualTls }, undefined],
      ];
      for (const [args, said] of rows) {
        const [reason, ...more] = await reasons(args);
        if (said) assert.match(reason ?? "", said);
        else assert.equal(reason, undefined);
        assert.deepEqual(more, []);
      }
    });

    for (const [type, marker] of Object.entries(typedUnknowns)) {
      it(`C13 what an SDK marks as an unknown ${type} is unknown, at any depth`, async () => {
        const marked = {
          description: marker,
          hostports: ["a.example.com:443", marker],
          backend: { backendId: marker, enabled: marker },
          ipRestriction: { ipPolicyIds: marker },
          mutualTls: marker,
        };
        const { inputs, failures } = await stack.check(marked);
        assert.deepEqual(failures, []);
        const text = JSON.stringify(inputs);
        assert.deepEqual([text.includes(marker), text.split(unknown).length - 1], [false, 6]);
      });
    }

    it("C13 a wrong value beside an unknown one, deep inside, is refused by its path", async () => {
      const wrong = await reasons({
        hostports: [unknown, "no port"],
        backend: { backendId: unknown, enabled: "yes" },
        ipRestriction: { ipPolicyIds: [unknown, 7] },
      });
      const paths = wrong.map((reason) => reason.split(": ")[0]);
      assert.deepEqual(paths, ["hostports[1]", "backend.enabled", "ipRestriction.ipPolicyIds[1]"]);
    });

    if (door === "dynamic")
      it("C10 C15 a wrong hostport is shown, unless it is a secret or that is not known", async () => {
        const hostports = ["https://a.example.com"];
        assert.match(
          (await reasons({ hostports, __secrets: ["metadata"] })).join(),
          /"https:\/\/a/,
        );
        for (const more of [{ __secrets: ["hostports"] }, { __secrets: undefined }]) {
          const [reason = ""] = await reasons({ hostports, ...more });
          assert.match(reason, /^hostports\[0\]: is a URL/);
          assert.ok(!reason.includes("a.example.com"), reason);
        }
        const { inputs } = await stack.check({ description: "d", __secrets: ["description"] });
        assert.deepEqual(inputs.__secrets, ["description"]);
      });
  });

  describe("what changes", () => {
    it("C25 a second up of the same program is no change and asks nothing", async () => {
      assert.equal(await stack.up(full), "create");
      assert.equal(stack.state.uri, found()?.uri);
      assert.equal(stack.state.createdAt, found()?.created_at);
      emulator.requests.length = 0;
      assert.equal(await stack.up(full), "same");
      assert.deepEqual(methods(), []);
    });

    it("C25 whatever form the service echoes values in, it stays no change", async () => {
      respond = (body) => {
        const { tls_termination, hostports, ip_restriction, ...edge } = body as TLSEdgeWire;
        return {
          tls_termination: { min_version: "1.3", ...tls_termination, added: true },
          ...edge,
          ip_restriction: ip_restriction && { ip_policies: ip_restriction.ip_policies },
          hostports: hostports?.map((hostport) => hostport.toUpperCase()).reverse(),
          added: { later: true },
        };
      };
      await stack.up(full);
      assert.equal(await stack.up(full), "same");
      assert.equal(await stack.refresh(), "same");
      assert.equal(await stack.up(full), "same");
      assert.deepEqual(methods(), ["POST", "GET"]);
    });

    it("C7 C25 a uri that names another origin, as behind a balancer, stands in no way", async () => {
      respond = (body) => JSON.parse(JSON.stringify(body).replaceAll("https://", "http://"));
      await stack.up(full);
      assert.equal(await stack.up(full), "same");
      assert.equal(await stack.refresh(), "same");
      await stack.destroy();
      assert.deepEqual(methods(), ["POST", "GET", "DELETE"]);
    });

    it("C25 null, absent and empty are the same, in the program and in the answer", async () => {
      respond = (body) => {
        const { description, metadata, hostports, mutual_tls, ...edge } = body as TLSEdgeWire;
        return { ...edge, description: null, hostports: null };
      };
      const nothing = { enabled: null, terminateAt: null, minVersion: null };
      await stack.up({ description: "", metadata: null, hostports: [], tlsTermination: nothing });
      assert.equal(await stack.refresh(), "same");
      assert.equal(await stack.up({ tlsTermination: {} }), "same");
    });

    it("C22 hostports are a set: another order or letter case is no change", async () => {
      await stack.up(full);
      const reordered = { ...full, hostports: ["B.example.com:443", "a.example.com:443"] };
      assert.equal(await stack.up(reordered), "same");
      // The old text stays, so that a plan shows no noise.
      assert.deepEqual(stack.inputs.hostports, full.hostports);
      assert.equal(await stack.up({ ...full, hostports: ["a.example.com:443"] }), "update");
      assert.deepEqual(found()?.hostports, ["a.example.com:443"]);
    });

    const ids = ["ca_1", "ca_2"];
    const upstream = { terminateAt: "upstream" };
    const patches: [change: Properties, body: Properties][] = [
      [{ description: "new" }, { description: "new" }],
      [{ description: undefined }, { description: "" }],
      [{ metadata: "" }, { metadata: "" }],
      [{ hostports: undefined }, { hostports: [] }],
      [{ backend: { backendId: "b" } }, { backend: { enabled: true, backend_id: "b" } }],
      [
        { ipRestriction: { ipPolicyIds: ["i"] } },
        { ip_restriction: { enabled: true, ip_policy_ids: ["i"] } },
      ],
      [
        { mutualTls: { enabled: false, certificateAuthorityIds: ids } },
        { mutual_tls: { enabled: false, certificate_authority_ids: ids } },
      ],
      [
        { tlsTermination: { terminateAt: "edge", minVersion: "1.2" } },
        { tls_termination: { enabled: true, terminate_at: "edge", min_version: "1.2" } },
      ],
      [
        { tlsTermination: upstream, mutualTls: undefined },
        {
          mutual_tls: { enabled: false, certificate_authority_ids: ids },
          tls_termination: { enabled: true, terminate_at: "upstream" },
        },
      ],
    ];
    for (const [change, body] of patches) {
      it(`C22 a change to ${JSON.stringify(change)} sends ${JSON.stringify(body)} and nothing else`, async () => {
        await stack.up(full);
        heard();
        assert.equal(await stack.up({ ...full, ...change }), "update");
        assert.deepEqual(heard(), [{ method: "PATCH", body }]);
        assert.equal(await stack.up({ ...full, ...change }), "same");
      });
    }

    it("C13 known to unknown is a change, and so is a module that becomes unknown", async () => {
      await stack.up(full);
      for (const change of [{ description: unknown }, { backend: { backendId: unknown } }]) {
        assert.equal((await stack.preview({ ...full, ...change })).verdict, "update");
      }
    });

    it("C17 C31 a minVersion left out is the service's to choose, and the state shows it", async () => {
      const { tlsTermination: _, ...rest } = full;
      const args = { ...rest, tlsTermination: { terminateAt: "edge" } };
      await stack.up(args);
      assert.equal(found()?.tls_termination?.min_version, "1.2");
      emulator.tlsEdges.patch(stack.id, termination(true, "edge", "1.0"));
      assert.equal(await stack.refresh(), "same", "the program has no say in it");
      const now = { enabled: true, terminateAt: "edge", minVersion: "1.0" };
      assert.deepEqual(stack.state.tlsTermination, now);
      assert.equal(await stack.up(args), "same");
    });

    it("C22 a minVersion removed goes back to the service's choice", async () => {
      await stack.up(full);
      heard();
      const args = { ...full, tlsTermination: { terminateAt: "edge" } };
      assert.equal(await stack.up(args), "update");
      const body = { tls_termination: { enabled: true, terminate_at: "edge" } };
      assert.deepEqual(heard(), [{ method: "PATCH", body }]);
      assert.equal(found()?.tls_termination?.min_version, "1.2");
      assert.equal(await stack.up(args), "same");
    });
  });

  describe("its state", () => {
    it("C53 holds all that the service holds, and null for what it does not have", async () => {
      await stack.up({ hostports: ["a.example.com:443"], tlsTermination: { terminateAt: "edge" } });
      const { uri, createdAt, accountTag, __provider: _, ...others } = stack.state;
      assert.match(String(accountTag), /^[0-9a-f]{16}$/);
      assert.equal(uri, found()?.uri);
      assert.equal(createdAt, found()?.created_at);
      assert.deepEqual(others, {
        description: null,
        metadata: null,
        hostports: ["a.example.com:443"],
        backend: null,
        ipRestriction: null,
        mutualTls: null,
        tlsTermination: { enabled: true, terminateAt: "edge", minVersion: "1.2" },
        __defaults: ["tlsTermination.minVersion"],
        onModuleRemoval: null,
        ...(door === "dynamic" && { connection: "tlsedge" }),
      });
    });

    it("C53 keeps the program's order of a set that the service tells in another", async () => {
      const args = {
        hostports: ["b.example.com:443", "A.example.com:443"],
        ipRestriction: { ipPolicyIds: ["ipp_2", "ipp_1"] },
      };
      await stack.up(args);
      const refs = ["ipp_1", "ipp_2"].map((id) => ({ id, uri: `https://x/${id}` }));
      emulator.tlsEdges.patch(stack.id, {
        hostports: ["a.example.com:443", "b.example.com:443"],
        ip_restriction: { enabled: true, ip_policies: refs },
      });
      assert.equal(await stack.refresh(), "same");
      assert.deepEqual(stack.state.hostports, args.hostports);
      assert.deepEqual(stack.state.ipRestriction, {
        enabled: true,
        ipPolicyIds: ["ipp_2", "ipp_1"],
      });
    });

    it("C31 an update of something else does not hide what has drifted", async () => {
      const args = { description: "a", hostports: ["a.example.com:443"] };
      await stack.up(args);
      emulator.tlsEdges.patch(stack.id, { description: "by hand" });
      const other = { ...args, hostports: ["b.example.com:443"] };
      assert.equal(await stack.up(other), "update");
      assert.equal(stack.state.description, "a");
      assert.equal(await stack.refresh(), "drifted");
      assert.equal(await stack.up(other), "update");
      assert.equal(found()?.description, "a");
    });
  });

  it("C54 a property that the state does not have is no drift, and a refresh stores it", async () => {
    await stack.up(full);
    const { mutualTls: _, ...state } = stack.state;
    stack.state = state;
    assert.equal(await stack.refresh(), "same");
    assert.deepEqual(stack.state.mutualTls, { enabled: true, ...full.mutualTls });
    assert.equal(await stack.up(full), "same");
  });

  describe("a module that the program no longer has", () => {
    const { backend: _, ...without } = full;

    it("C23 is switched off in place, then equals an absent one, and comes back", async () => {
      await stack.up(full);
      heard();
      assert.equal(await stack.up(without), "update");
      const body = { backend: { enabled: false, backend_id: "bkdtg_1" } };
      assert.deepEqual(heard(), [{ method: "PATCH", body }]);
      assert.equal(await stack.up(without), "same");
      assert.equal(await stack.refresh(), "same");
      assert.equal(await stack.up(without), "same");
      assert.deepEqual(methods(), ["GET"]);
      assert.equal(await stack.up(full), "update");
      assert.equal(found()?.backend?.enabled, true);
    });

    it("C23 upstream, removed at once or before, does not stand in the way of client certificates", async () => {
      const { mutualTls } = full;
      for (const between of [undefined, {}]) {
        stack = new Stack(tlsEdge);
        await stack.up({ tlsTermination: { terminateAt: "upstream" } });
        if (between) await stack.up(between);
        heard();
        await stack.up({ mutualTls });
        assert.deepEqual(methods(), ["PATCH"]);
        const { enabled, terminate_at } = found()?.tls_termination ?? {};
        assert.deepEqual([enabled, terminate_at], [false, "edge"]);
        assert.equal(found()?.mutual_tls?.enabled, true);
        assert.equal(await stack.up({ mutualTls }), "same");
      }
    });

    it("C31 drift in a module that the program has switched off is found", async () => {
      const args = { ...full, ipRestriction: { enabled: false, ipPolicyIds: ["ipp_1"] } };
      await stack.up(args);
      const ip_policies = [{ id: "ipp_9", uri: "https://x/9" }];
      emulator.tlsEdges.patch(stack.id, { ip_restriction: { enabled: false, ip_policies } });
      assert.equal(await stack.refresh(), "drifted");
      // What a refresh shows a person.
      assert.deepEqual(stack.state.ipRestriction, { enabled: false, ipPolicyIds: ["ipp_9"] });
      heard();
      assert.equal(await stack.up(args), "update");
      const body = { ip_restriction: { enabled: false, ip_policy_ids: ["ipp_1"] } };
      assert.deepEqual(heard(), [{ method: "PATCH", body }]);
    });

    for (const enabled of [true, false]) {
      it(`C31 drift from enabled: ${enabled} brings nothing that is left to the service`, async () => {
        const args = { tlsTermination: { terminateAt: "edge", enabled } };
        await stack.up(args);
        emulator.tlsEdges.patch(stack.id, termination(!enabled, "edge", "1.2"));
        assert.equal(await stack.refresh(), "drifted");
        assert.deepEqual(stack.inputs.tlsTermination, { enabled: !enabled, terminateAt: "edge" });
        assert.equal(await stack.up(args), "update");
        assert.equal(found()?.tls_termination?.enabled, enabled);
      });
    }

    it("C23 how modules are removed changes nothing at the service, and outlives drift", async () => {
      const args = { ...full, onModuleRemoval: "replace" };
      await stack.up(full);
      heard();
      assert.equal(await stack.up(args), "update");
      assert.deepEqual(methods(), ["GET"]);
      emulator.tlsEdges.patch(stack.id, { description: "by hand" });
      assert.equal(await stack.refresh(), "drifted");
      assert.equal(stack.inputs.onModuleRemoval, "replace");
      assert.equal(stack.state.onModuleRemoval, "replace");
    });

    it("C23 replaces the edge when so told, unless it is off already", async () => {
      await stack.up({ ...full, onModuleRemoval: "replace" });
      const { verdict, replaces } = await stack.preview({ ...without, onModuleRemoval: "replace" });
      assert.equal(verdict, "replace");
      assert.deepEqual(replaces, ["backend"]);
      await stack.up(without);
      const later = await stack.preview({ ...without, onModuleRemoval: "replace" });
      assert.notEqual(later.verdict, "replace");
    });
  });

  describe("its life", () => {
    it("C30 is one request for each step", async () => {
      await stack.up(full);
      await stack.refresh();
      await stack.up({ ...full, description: "new" });
      await stack.destroy();
      assert.deepEqual(methods(), ["POST", "GET", "PATCH", "DELETE"]);
      assert.deepEqual(emulator.tlsEdges.list(), []);
    });

    it("C50 no refusal shows a secret argument: of a create, an update and a delete", async () => {
      const other = new Stack(tlsEdge);
      await other.up({ hostports: ["S3cret.example.com:443"] });
      const taken = { hostports: ["s3cret.example.com:443"], __secrets: ["hostports"] };
      const backend = { backend: { backendId: "bkdtg_s3cret" }, __secrets: ["backend"] };
      const refuse = (method: "PATCH" | "DELETE", msg: string) =>
        emulator.faults.add({ method, answer: { status: 400, body: JSON.stringify({ msg }) } });
      skipPauses();
      try {
        const created = await failureOf(stack.up(taken), Error);
        await stack.up(backend);
        const both = { ...backend, ...taken, __secrets: ["backend", "hostports"] };
        const updated = await failureOf(stack.up(both), Error);
        for (const { message } of [created, updated]) {
          assert.match(message, /The hostport "\[secret\]" is served by/);
          assert.ok(message.includes(other.id), message);
        }
        refuse("PATCH", "not without bkdtg_s3cret");
        const removed = await failureOf(
          stack.up({ backend: { backendId: "bkdtg_1" }, __secrets: ["backend"] }),
          Error,
        );
        refuse("DELETE", "bkdtg_s3cret has traffic");
        const deleted = await failureOf(stack.destroy(), Error);
        for (const { message } of [created, updated, removed, deleted]) {
          assert.match(message, /\[secret\]/);
          assert.doesNotMatch(message, /s3cret/i);
        }
      } finally {
        mock.reset();
      }
    });

    it("C25 a mark of a secret alone is no change", async () => {
      await stack.up({ description: "mine" });
      heard();
      assert.equal(
        (await stack.preview({ description: "mine", __secrets: ["description"] })).verdict,
        "same",
      );
      assert.deepEqual(methods(), []);
    });

    it("C31 C32 a 404 from what is not the service is not taken for gone", async () => {
      await stack.up(full);
      const lost = answer(404, "<html>");
      const { url, caFile, close } = await script(lost, lost, lost, lost, lost, lost);
      const wrong = { TLSEDGE_BASE_URL: `${url}/wrong`, TLSEDGE_CA_FILE: caFile };
      const restore = setEnv({ ...wrong, TLSEDGE_ACCEPTED_ORIGINS: emulator.url });
      try {
        const changed = { ...full, description: "new" };
        const works = [() => stack.refresh(), () => stack.destroy(), () => stack.up(changed)];
        for (const work of works) {
          const { message } = await failureOf(work(), Error);
          assert.match(message, /check the base URL/);
        }
      } finally {
        restore();
        await close();
      }
      assert.equal(await stack.refresh(), "same");
    });

    const policies = (ids: string[]) => ids.map((id) => ({ id, uri: `https://x/${id}` }));
    const backend = (id: string, enabled = true) => ({
      backend: { enabled, backend: { id, uri: "https://x/b" } },
    });
    const drifts: [string, Partial<TLSEdgeWire>][] = [
      ["description", { description: "by hand" }],
      ["description unset", { description: "" }],
      ["metadata", { metadata: "by hand" }],
      ["hostports", { hostports: ["c.example.com:443"] }],
      ["backend", backend("bkdtg_2")],
      ["backend off", backend("bkdtg_1", false)],
      ["backend removed", { backend: null }],
      ["ipRestriction", { ip_restriction: { enabled: true, ip_policies: policies(["ipp_9"]) } }],
      ["ipRestriction removed", { ip_restriction: null }],
      ["mutualTls", { mutual_tls: { enabled: true, certificate_authorities: policies(["ca_1"]) } }],
      ["terminateAt", termination(true, "upstream", null)],
      ["a terminateAt of tomorrow", termination(true, "agent", null)],
      ["minVersion", termination(true, "edge", "1.0")],
      ["tlsTermination off", termination(false, "edge", "1.3")],
    ];
    for (const [kind, fields] of drifts) {
      it(`C31 drift in ${kind} is found by refresh and put right by up`, async () => {
        await stack.up(full);
        const before = found();
        emulator.tlsEdges.patch(stack.id, fields);
        assert.equal(await stack.refresh(), "drifted");
        heard();
        assert.equal(await stack.up(full), "update");
        const [{ method, body } = { method: "", body: {} }, ...more] = heard();
        assert.equal(method, "PATCH");
        assert.deepEqual(Object.keys(body as object), Object.keys(fields));
        assert.deepEqual(more, []);
        const pure = (edge: unknown) =>
          JSON.parse(JSON.stringify(edge).replace(/"uri":"[^"]*"/g, '"uri":""'));
        assert.deepEqual(pure(found()), pure(before));
        assert.equal(await stack.refresh(), "same");
        assert.equal(await stack.up(full), "same");
      });
    }

    it("C25 a disabled module that someone added is no drift", async () => {
      await stack.up({});
      emulator.tlsEdges.patch(stack.id, {
        ip_restriction: { enabled: false, ip_policies: policies(["ipp_1"]) },
      });
      assert.equal(await stack.refresh(), "same");
      assert.equal(await stack.up({}), "same");
    });

    it("C31 a module that someone added is drift, and up switches it off", async () => {
      await stack.up({});
      emulator.tlsEdges.patch(stack.id, {
        ip_restriction: { enabled: true, ip_policies: policies(["ipp_1"]) },
      });
      assert.equal(await stack.refresh(), "drifted");
      assert.deepEqual(stack.inputs.ipRestriction, { enabled: true, ipPolicyIds: ["ipp_1"] });
      assert.equal(await stack.up({}), "update");
      assert.equal(found()?.ip_restriction?.enabled, false);
    });

    /** The service does not find objects by their ids, so many times for each method. */
    const hide = (times: number) => {
      for (const method of ["GET", "PATCH", "DELETE"] as const) {
        const answer = { status: 404, body: '{"msg":"not found"}' };
        emulator.faults.add({ method, path: "/edges/tls/*", times, answer });
      }
    };
    const works: [string, () => Promise<unknown>, number, unknown?][] = [
      ["a refresh", () => stack.refresh(), 1, "same"],
      ["an update", () => stack.up({ ...full, description: "new" }), 1, "update"],
      ["a delete", () => stack.destroy(), 0],
    ];
    const youth: [string, { date: number; createdAt: number }, () => void][] = [
      ["by the service's clock", { date: -86_400_000, createdAt: -86_410_000 }, beginRun],
      ["because this run has made it", { date: 0, createdAt: -600_000 }, () => {}],
    ];
    for (const [name, work, left, result] of works) {
      for (const [why, clocks, begin] of youth) {
        it(`C39 ${name} asks again for an edge that is young ${why}`, async () => {
          Object.assign(emulator.clocks, clocks);
          await stack.up(full);
          begin();
          hide(3);
          skipPauses();
          assert.equal(await work().finally(() => mock.reset()), result);
          assert.equal(emulator.tlsEdges.list().length, left);
        });

        it(`C39 ${name} of an edge that is young ${why} fails within a minute or so`, async () => {
          Object.assign(emulator.clocks, clocks);
          await stack.up(full);
          begin();
          hide(1000);
          // Lists lag, too.
          respond = (body) => ("tls_edges" in Object(body) ? { tls_edges: [] } : body);
          skipPauses();
          const start = Date.now();
          const { message } = await failureOf(work(), Error).finally(() => {
            const seconds = (Date.now() - start) / 1000;
            mock.reset();
            assert.ok(seconds >= 60 && seconds < 62, `${seconds} s`);
          });
          assert.match(message, /find a new object late.*again two minutes after/);
          assert.ok(message.includes(stack.id));
          // In two minutes it counts as deleted.
          await later(emulator);
          assert.equal(await stack.refresh(), "gone");
        });
      }
    }

    it("C22 an update that the service answers without the edge reads it", async () => {
      await stack.up(full);
      heard();
      const none = { status: 204, body: "", headers: {} };
      emulator.faults.add({ method: "PATCH", work: true, answer: none });
      assert.equal(await stack.up({ ...full, description: "new" }), "update");
      assert.equal(stack.state.description, "new");
      assert.deepEqual(methods(), ["PATCH", "GET"]);
      assert.equal(await stack.up({ ...full, description: "new" }), "same");
    });

    it("C39 C34 a delete whose answer was lost has succeeded when a young edge is not found", async () => {
      await stack.up(full);
      emulator.faults.add({ method: "DELETE", answer: "reset", work: true });
      skipPauses();
      await stack.destroy().finally(() => mock.reset());
      assert.deepEqual(methods().slice(-3), ["DELETE", "DELETE", "GET"]);
    });

    it("C31 an edge removed behind the engine's back is gone, and made anew", async () => {
      await stack.up(full);
      await later(emulator);
      emulator.tlsEdges.delete(stack.id);
      assert.equal(await stack.refresh(), "gone");
      assert.equal(await stack.up(full), "create");
      assert.equal(emulator.tlsEdges.list().length, 1);
    });

    it("C32 deleting what is gone succeeds; updating it names pulumi refresh", async () => {
      await stack.up(full);
      await later(emulator);
      emulator.tlsEdges.delete(stack.id);
      const error = await failureOf(stack.up({ ...full, description: "new" }), Error);
      assert.match(error.message, /pulumi refresh/);
      assert.ok(error.message.includes(stack.id));
      await stack.destroy();
    });

    it("C32 a 404 about a backend is told as the service says it, while the edge is there", async () => {
      await stack.up(full);
      await later(emulator);
      const msg = "backend bkdtg_x does not exist";
      const body = JSON.stringify({ error_code: "ERR_1", status_code: 404, msg });
      emulator.faults.add({ method: "PATCH", answer: { status: 404, body } });
      heard();
      const changed = { ...full, backend: { backendId: "bkdtg_x" } };
      const { message } = await failureOf(stack.up(changed), Error);
      assert.ok(message.includes(`404: ${msg} (ERR_1)`), message);
      assert.deepEqual(methods(), ["PATCH", "GET"]);
      assert.equal(await stack.up(changed), "update");
    });

    it("C35 an update that has nothing to send reads instead", async () => {
      await stack.up(full);
      heard();
      await tlsEdge.update(stack.id, stack.state, stack.inputs, stack.inputs);
      assert.deepEqual(methods(), ["GET"]);
    });

    if (door === "dynamic")
      it("C43 a read that knows the id alone tells everything, and no inputs", async () => {
        await stack.up({ ...full, tlsTermination: {} });
        const { id, props, inputs } = await stack.get(stack.id);
        assert.equal(id, stack.id);
        assert.equal(inputs, undefined);
        assert.deepEqual(props?.tlsTermination, {
          enabled: true,
          terminateAt: "edge",
          minVersion: "1.2",
        });
        assert.deepEqual(props?.hostports, full.hostports);
        const missing = await failureOf(stack.get("edgtls_none"), Error);
        assert.ok(missing.message.includes("edgtls_none"));
      });

    const ref = { id: "ipp_1", uri: "https://x/ipp_1" };
    const shapes: [string, unknown, string[]][] = [
      ["one Ref", ref, ["ipp_1"]],
      ["a list of Ref", [ref, { ...ref, id: "ipp_2" }], ["ipp_1", "ipp_2"]],
      ["null", null, []],
    ];
    for (const [kind, refs, ids] of shapes) {
      it(`C25 IP policies and authorities are read from ${kind}`, async () => {
        respond = (body) => ({
          ...(body as object),
          ip_restriction: { enabled: null, ip_policies: refs },
          mutual_tls: { certificate_authorities: refs },
        });
        // No program can say that there are none.
        const args = ids.length > 0 && {
          ipRestriction: { ipPolicyIds: ids },
          mutualTls: { certificateAuthorityIds: [...ids].reverse() },
        };
        await stack.up(args || {});
        const { props } = await stack.get(stack.id);
        assert.deepEqual(props?.ipRestriction, { enabled: true, ipPolicyIds: ids });
        if (!args) return;
        assert.equal(await stack.up(args), "same");
        assert.equal(await stack.refresh(), "same");
      });
    }
  });
});
