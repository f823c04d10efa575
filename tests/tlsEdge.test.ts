import assert from "node:assert/strict";
import { mock } from "node:test";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun, currentRun } from "../provider/dynamic/process";
import { tlsEdge as kind } from "../provider/kinds/tlsEdge";
import {
  deployed,
  fullEdge as full,
  later,
  messageOf,
  type Properties,
  Stack,
  skipPauses,
  takeMethods,
  takeRequests,
  typedUnknowns,
  unknown,
  useEmulator,
} from "./support";

/** What an edge needs beside a change of its properties: what is no change, its modules, and its life. */
describe("a TLS edge", () => {
  const emulator = useEmulator();

  const methods = () => takeMethods(emulator);
  const found = ({ id }: Stack) => emulator.tlsEdges.get(id);
  const deploy = async (args: Properties) => {
    const stack = await deployed(tlsEdge, args);
    takeRequests(emulator);
    return stack;
  };
  const reasons = async (args: Properties) => {
    const { failures } = await new Stack(tlsEdge).check(args);
    return failures.map(({ reason }) => reason);
  };

  describe("its inputs", () => {
    it("C12 C13: minVersion and mutual TLS are refused with terminateAt upstream, if they are known", async () => {
      const upstream = { terminateAt: "upstream" };
      const { mutualTls } = full;
      const rows: [Properties, path: string | undefined][] = [
        [{ tlsTermination: upstream }, undefined],
        [{ tlsTermination: { ...upstream, minVersion: "1.2" } }, "tlsTermination.minVersion"],
        [{ tlsTermination: upstream, mutualTls }, "mutualTls"],
        [{ tlsTermination: { ...upstream, minVersion: unknown } }, undefined],
        [{ tlsTermination: upstream, mutualTls: unknown }, undefined],
        [{ tlsTermination: upstream, mutualTls: { ...mutualTls, enabled: false } }, undefined],
        [{ tlsTermination: upstream, mutualTls: { ...mutualTls, enabled: unknown } }, undefined],
        [{ tlsTermination: { terminateAt: unknown, minVersion: "1.2" }, mutualTls }, undefined],
      ];
      for (const [args, path] of rows) {
        const paths = (await reasons(args)).map((reason) => reason.split(": ")[0]);
        assert.deepEqual(paths, path ? [path] : []);
      }
    });

    it("C13: each marker of an unknown value is one, at any depth", async () => {
      for (const marker of Object.values(typedUnknowns)) {
        const { inputs, failures } = await new Stack(tlsEdge).check({
          description: marker,
          hostports: ["a.example.com:443", marker],
          backend: { backendId: marker, enabled: marker },
          ipRestriction: { ipPolicyIds: marker },
          mutualTls: marker,
        });
        assert.deepEqual(failures, []);
        const text = JSON.stringify(inputs);
        assert.deepEqual([text.includes(marker), text.split(unknown).length - 1], [false, 6]);
      }
    });
  });

  describe("what is no change", () => {
    const refs = ["ipp_1", "ipp_2"].map((id) => ({ id, uri: `https://x/${id}` }));
    /** Forms in which a service may answer, for an edge with these arguments. */
    const forms: [what: string, args: Properties, form: (edge: TLSEdgeWire) => object][] = [
      [
        "in another order and letter case, with added fields",
        full,
        ({ tls_termination, hostports, ip_restriction, ...edge }) => ({
          tls_termination: { min_version: "1.3", ...tls_termination, added: true },
          ...edge,
          // Enabled, because nothing else is said.
          ip_restriction: { ip_policies: [ip_restriction?.ip_policies].flat().reverse() },
          hostports: hostports?.map((one) => one.toUpperCase()).reverse(),
          added: { later: true },
        }),
      ],
      [
        "with null and nothing for what is empty",
        { description: "", metadata: null, hostports: [], tlsTermination: { minVersion: null } },
        ({ metadata, mutual_tls, ...edge }) => ({ ...edge, description: null, hostports: null }),
      ],
      [
        "with one reference in place of a list",
        {
          ipRestriction: { ipPolicyIds: ["ipp_1"] },
          mutualTls: { certificateAuthorityIds: ["ipp_1"] },
        },
        (edge) => ({
          ...edge,
          ip_restriction: { enabled: null, ip_policies: refs[0] },
          mutual_tls: { certificate_authorities: refs[0] },
        }),
      ],
    ];
    for (const [what, args, form] of forms) {
      it(`C25 C30: an answer ${what} is no change, and each step is one request`, async () => {
        emulator.respond = (body) => form(body as TLSEdgeWire);
        const stack = await deployed(tlsEdge, args);
        assert.equal(await stack.up(args), "same");
        assert.equal(await stack.refresh(), "same");
        // In the order and the letter case of the program.
        assert.deepEqual(stack.state.hostports, args.hostports ?? []);
        assert.equal(await stack.up(args), "same");
        await stack.destroy();
        assert.deepEqual(methods(), ["GET", "POST", "GET", "DELETE"], "the mark, and one for each");
      });
    }

    it("C25: a module with null in place of its list has none, and one that does not say is on", async () => {
      emulator.respond = (body) => ({ ...(body as object), ip_restriction: { ip_policies: null } });
      const { state } = await deployed(tlsEdge, {});
      assert.deepEqual(state.ipRestriction, { enabled: true, ipPolicyIds: [] });
    });

    it("C22: hostports in another order or letter case are the same", async () => {
      const stack = await deploy(full);
      const reordered = { ...full, hostports: ["B.example.com:443", "a.example.com:443"] };
      assert.equal(await stack.up(reordered), "same");
      // The old text stays, so that a plan shows no noise.
      assert.deepEqual(stack.inputs.hostports, full.hostports);
      const more = { ...full, hostports: [...full.hostports, unknown] };
      assert.equal((await stack.preview(more)).verdict, "update");
    });

    it("C17 C31: what the service chooses for minVersion is no drift, and the state shows it", async () => {
      const args = { tlsTermination: { terminateAt: "edge" } };
      const stack = await deploy(args);
      const lowered = { enabled: true, terminate_at: "edge", min_version: "1.0" };
      emulator.tlsEdges.patch(stack.id, { tls_termination: lowered });
      assert.equal(await stack.refresh(), "same");
      const now = { enabled: true, terminateAt: "edge", minVersion: "1.0" };
      assert.deepEqual(stack.state.tlsTermination, now);
      assert.equal(await stack.up(args), "same");
      // Drift of another field of the module does not bring it into the inputs.
      emulator.tlsEdges.patch(stack.id, { tls_termination: { ...lowered, enabled: false } });
      assert.equal(await stack.refresh(), "drifted");
      assert.deepEqual(stack.inputs.tlsTermination, { enabled: false, terminateAt: "edge" });
    });
  });

  describe("its state", () => {
    it("C53: the state of an edge holds all that the service holds, and null for what it does not have", async () => {
      const stack = await deploy({
        hostports: ["a.example.com:443"],
        tlsTermination: { terminateAt: "edge" },
      });
      const { uri, createdAt, accountTag: _, __provider, ...others } = stack.state;
      assert.deepEqual([uri, createdAt], [found(stack)?.uri, found(stack)?.created_at]);
      assert.deepEqual(others, {
        ...{ description: null, metadata: null },
        hostports: ["a.example.com:443"],
        ...{ backend: null, ipRestriction: null, mutualTls: null },
        tlsTermination: { enabled: true, terminateAt: "edge", minVersion: "1.2" },
        __defaults: ["tlsTermination.minVersion"],
        ...{ onModuleRemoval: null, connection: "tlsedge" },
      });
      const nullable = Object.entries(kind.stateNames).filter(([, value]) => value === "nullable");
      assert.deepEqual(
        nullable.map(([name]) => name),
        ["description", "metadata", "backend", "ipRestriction", "mutualTls", "tlsTermination"],
      );
    });
  });

  describe("a module that the program no longer has", () => {
    const { backend: _, ...without } = full;

    it("C23: a removed upstream, at once or before, does not stand in the way of client certificates", async () => {
      const { mutualTls } = full;
      for (const between of [undefined, {}]) {
        const stack = await deploy({ tlsTermination: { terminateAt: "upstream" } });
        if (between) await stack.up(between);
        assert.equal(await stack.up({ mutualTls }), "update");
        assert.equal(found(stack)?.tls_termination?.enabled, false);
        assert.equal(await stack.up({ mutualTls }), "same");
      }
    });

    it("C23 C25: a module that somebody added is drift where it is on, and the update disables it", async () => {
      const policies = { ip_policies: [{ id: "ipp_1", uri: "https://x/ipp_1" }] };
      const stack = await deploy({});
      emulator.tlsEdges.patch(stack.id, { ip_restriction: { enabled: false, ...policies } });
      assert.equal(await stack.refresh(), "same");
      assert.equal(await stack.up({}), "same");
      emulator.tlsEdges.patch(stack.id, { ip_restriction: { enabled: true, ...policies } });
      assert.equal(await stack.refresh(), "drifted");
      assert.deepEqual(stack.inputs.ipRestriction, { enabled: true, ipPolicyIds: ["ipp_1"] });
      assert.equal(await stack.up({}), "update");
      assert.equal(found(stack)?.ip_restriction?.enabled, false);
    });

    it("C31: a module that is off has drifted when the service has other ids in it", async () => {
      const args = { ipRestriction: { ipPolicyIds: ["ipp_1"], enabled: false } };
      const stack = await deploy(args);
      const ip_policies = [{ id: "ipp_9", uri: "https://x/ipp_9" }];
      emulator.tlsEdges.patch(stack.id, { ip_restriction: { enabled: false, ip_policies } });
      assert.equal(await stack.refresh(), "drifted");
      takeRequests(emulator);
      assert.equal(await stack.up(args), "update");
      const body = { ip_restriction: { enabled: false, ip_policy_ids: ["ipp_1"] } };
      assert.deepEqual(takeRequests(emulator), [{ method: "PATCH", body }]);
    });

    it("C23: onModuleRemoval replaces the edge, unless the module is off already, and is not sent", async () => {
      const onModuleRemoval = "replace";
      const stack = await deploy(full);
      assert.equal(await stack.up({ ...full, onModuleRemoval }), "update");
      assert.deepEqual(methods(), ["GET"], "a setting is not sent");
      emulator.tlsEdges.patch(stack.id, { description: "by hand" });
      assert.equal(await stack.refresh(), "drifted");
      const settings = [stack.inputs.onModuleRemoval, stack.state.onModuleRemoval];
      assert.deepEqual(settings, [onModuleRemoval, onModuleRemoval], "it outlives drift");
      const plan = await stack.preview({ ...without, onModuleRemoval });
      assert.deepEqual([plan.verdict, plan.replaces], ["replace", ["backend"]]);
      await stack.up(without);
      assert.equal((await stack.preview({ ...without, onModuleRemoval })).verdict, "update");
    });
  });

  describe("its life", () => {
    it("C50: no refusal shows a secret argument: of a create, a read, an update and a delete", async () => {
      const args = { backend: { backendId: "bkdtg_s3cret" }, __secrets: ["backend"] };
      const stack = await deploy(args);
      const other = await deploy({ description: "another" });
      const whole = /because an argument of this resource is secret \(ERR_1\)/;
      for (const [method, work, shown] of [
        ["POST", () => deploy(args), whole],
        // Of another edge, in the same run.
        ["POST", () => deploy({ description: "open" }), /400: not \[secret\]/],
        ["GET", () => stack.refresh(), whole],
        // The state has the mark that the program has taken off.
        ["PATCH", () => stack.up({ backend: { backendId: "bkdtg_1" } }), whole],
        ["DELETE", () => stack.destroy(), whole],
        // In the same run, which has no check.
        ["DELETE", () => other.leave(), /400: not \[secret\]/],
      ] as const) {
        const body = '{"msg":"not bkdtg_s3cret","error_code":"ERR_1"}';
        emulator.faults.add({ method, answer: { status: 400, body } });
        const message = await messageOf(work());
        assert.match(message, shown);
        assert.doesNotMatch(message, /s3cret/);
      }
    });

    it("C31 C32: a 404 beside a list that can't be read does not mean gone", async () => {
      const stack = await deploy(full);
      await later(emulator);
      emulator.faults.add({ path: "/edges/tls/*", answer: { status: 404 }, times: 99 });
      const list = { status: 200, body: "{}" };
      emulator.faults.add({ method: "GET", path: "/edges/tls", answer: list, times: 99 });
      const changed = { ...full, description: "new" };
      for (const work of [() => stack.refresh(), () => stack.leave(), () => stack.up(changed)]) {
        assert.match(await messageOf(work()), /can't be read either, so.*check the base URL/);
      }
    });

    /** The service does not find objects by their ids, so many times for each method. */
    const hide = (times: number) => {
      for (const method of ["GET", "PATCH", "DELETE"] as const)
        emulator.faults.add({ method, path: "/edges/tls/*", times, answer: { status: 404 } });
    };
    const works: [string, (stack: Stack) => Promise<unknown>, result?: string][] = [
      ["a refresh", (stack) => stack.refresh(), "same"],
      ["an update", (stack) => stack.up({ description: "new" }), "update"],
      ["a delete", (stack) => stack.leave()],
    ];
    for (const [name, work, result] of works) {
      it(`C34 C39: ${name} of a young edge that is not found asks again for a minute, then fails; the row says the wait`, async () => {
        const young = async () => {
          mock.reset();
          emulator.reset();
          // Its age goes by the service's clock.
          Object.assign(emulator.clocks, { date: -86_400_000, createdAt: -86_410_000 });
          beginRun();
          const stack = await deploy({ description: "young" });
          beginRun();
          skipPauses();
          return stack;
        };
        const late = await young();
        hide(3);
        assert.equal(await work(late), result);
        assert.equal(found(late) === undefined, name === "a delete");
        const missing = await young();
        hide(1000);
        // Lists lag, too.
        const none = { fields: { tls_edges: [] } };
        emulator.faults.add({ path: "/edges/tls", times: 1000, answer: none });
        const statuses: string[] = [];
        currentRun().show = (severity, text = "over") => {
          if (severity === "status") statuses.push(text);
        };
        const start = Date.now();
        const message = await messageOf(work(missing));
        const seconds = (Date.now() - start) / 1000;
        assert.ok(seconds >= 60 && seconds < 62, `${seconds} s`);
        assert.match(message, /find a new object late.*again two minutes after/);
        assert.ok(message.includes(missing.id), message);
        const waits = `waits 15 s for the TLS edge ${missing.id}, which the service may find late`;
        assert.deepEqual(statuses.slice(-2), [waits, "over"]);
      });
    }

    it("C34 C39: a delete whose answer was lost has succeeded when a young edge is not found", async () => {
      const stack = await deploy(full);
      emulator.faults.add({ method: "DELETE", answer: "reset", work: true });
      skipPauses();
      await stack.destroy();
      assert.deepEqual(methods(), ["DELETE", "DELETE", "GET"]);
    });

    it("C32: a 404 about a backend is shown as the service says it, while the edge is there", async () => {
      const stack = await deploy(full);
      await later(emulator);
      const msg = "backend bkdtg_x does not exist";
      const body = JSON.stringify({ error_code: "ERR_1", status_code: 404, msg });
      emulator.faults.add({ method: "PATCH", answer: { status: 404, body } });
      const changed = { ...full, backend: { backendId: "bkdtg_x" } };
      const message = await messageOf(stack.up(changed));
      assert.ok(message.includes(`404: ${msg} (ERR_1)`), message);
      assert.deepEqual(methods(), ["PATCH", "GET"]);
      assert.equal(await stack.up(changed), "update");
    });
  });
});
