import assert from "node:assert/strict";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { kinds } from "../provider/kinds/kinds";
import { pick } from "../provider/values/properties";
import {
  deployed,
  fullEdge,
  makePair,
  type Properties,
  takeRequests,
  useEmulator,
} from "./support";

const termination = (enabled: boolean, terminate_at: string, min_version?: string) => ({
  tls_termination: { enabled, terminate_at, ...(min_version && { min_version }) },
});
const authorities = ["ca_1", "ca_2"];
const mutualTlsOff = { mutual_tls: { enabled: false, certificate_authority_ids: authorities } };

/** What a program changes of a resource that has every property, and the body that the update sends. */
const changes: Record<string, [change: Properties, body: Properties][]> = {
  "an edge": [
    [{ description: undefined }, { description: "" }],
    [{ metadata: "" }, { metadata: "" }],
    [{ hostports: ["c.example.com:443"] }, { hostports: ["c.example.com:443"] }],
    [{ hostports: undefined }, { hostports: [] }],
    [
      {
        description: "new",
        metadata: undefined,
        backend: { backendId: "b" },
        mutualTls: undefined,
      },
      {
        ...{ description: "new", metadata: "", backend: { enabled: true, backend_id: "b" } },
        ...mutualTlsOff,
      },
    ],
    [{ backend: { backendId: "b" } }, { backend: { enabled: true, backend_id: "b" } }],
    [{ backend: undefined }, { backend: { enabled: false, backend_id: "bkdtg_1" } }],
    [
      { ipRestriction: { ipPolicyIds: ["i"] } },
      { ip_restriction: { enabled: true, ip_policy_ids: ["i"] } },
    ],
    [{ mutualTls: { enabled: false, certificateAuthorityIds: authorities } }, mutualTlsOff],
    [
      { tlsTermination: { terminateAt: "edge", minVersion: "1.3", enabled: false } },
      termination(false, "edge", "1.3"),
    ],
    // The service chooses the version then.
    [{ tlsTermination: { terminateAt: "edge" } }, termination(true, "edge")],
    [
      { tlsTermination: { terminateAt: "upstream" }, mutualTls: undefined },
      { ...mutualTlsOff, ...termination(true, "upstream") },
    ],
  ],
  "a certificate": [
    [{ description: undefined }, { description: "" }],
    [{ metadata: "new" }, { metadata: "new" }],
  ],
};

/** What only somebody else can make of such an edge. */
const others: [what: string, fields: Properties][] = [
  ["a backend that is gone", { backend: null }],
  ["a terminateAt of tomorrow", termination(true, "agent")],
];

/** Metadata, and another text of it. */
const metadata: [one: string, other: string, isSame: boolean][] = [
  [
    '{"a":{"x":1,"y":"é"},"b":["1",2]}',
    '{ "b" : ["1", 2],\n "a": {"y": "\\u00e9", "x": 1} }',
    true,
  ],
  ['{"a":{"x":1},"b":["1",2]}', '{"a":{"x":1},"b":[2,"1"]}', false],
  ['{"n":9007199254740993}', '{"n":9007199254740992}', false],
  ["1.10", "1.1", false],
  ["42", "42 ", false],
  ["{a}", "{a }", false],
];

describe("metadata", () => {
  it("C21: is the same where it is one JSON object in two forms, and nowhere else", () => {
    for (const { same } of Object.values(kinds)) {
      for (const [one, other, isSame] of metadata)
        assert.equal(same("metadata", one, other), isSame, `${one} ${other}`);
    }
  });
});

/** What is a change, what an update sends of it, and what a refresh finds that others have changed. */
describe("a change", () => {
  const emulator = useEmulator();
  let certificate: Properties;
  before(async () => {
    certificate = {
      ...(await makePair({ commonName: "a.example" })),
      ...{ description: "d", metadata: "m" },
    };
  });

  const usual = (kind: string) => (kind === "an edge" ? fullEdge : certificate);
  const deploy = (kind: string) =>
    deployed(kind === "an edge" ? tlsEdge : tlsCertificate, usual(kind));
  const objects = (kind: string) =>
    (kind === "an edge" ? emulator.tlsEdges : emulator.tlsCertificates) as typeof emulator.tlsEdges;

  /** Somebody changes these fields at the service: a refresh finds it, and the next update sends them alone. */
  async function isCorrected(
    kind: string,
    stack: Awaited<ReturnType<typeof deploy>>,
    fields: Properties,
    found: (state: Properties) => void = () => {},
  ): Promise<void> {
    const before = objects(kind).get(stack.id);
    objects(kind).patch(stack.id, fields);
    assert.equal(await stack.refresh(), "drifted");
    found(stack.state);
    takeRequests(emulator);
    assert.equal(await stack.up(usual(kind)), "update");
    const sent = takeRequests(emulator).map(({ method, body }) => [
      method,
      Object.keys(body as object).sort(),
    ]);
    assert.deepEqual(sent, [["PATCH", Object.keys(fields).sort()]]);
    assert.deepEqual(objects(kind).get(stack.id), before);
    assert.equal(await stack.refresh(), "same");
    assert.equal(await stack.up(usual(kind)), "same");
  }

  it("C22: a disabled module that the service does not have is sent", async () => {
    const stack = await deployed(tlsEdge, {});
    takeRequests(emulator);
    assert.equal(await stack.up({ tlsTermination: { enabled: false } }), "update");
    const body = { tls_termination: { enabled: false } };
    assert.deepEqual(takeRequests(emulator), [{ method: "PATCH", body }]);
  });

  for (const [kind, rows] of Object.entries(changes)) {
    for (const [change, body] of rows) {
      const what = JSON.stringify(change, (_, value) => value ?? "unset");
      it(`C22 C31: of ${kind} an update to ${what} sends this alone, and a drift to it is found`, async () => {
        const stack = await deploy(kind);
        const [before, inputs] = [objects(kind).get(stack.id), stack.inputs];
        takeRequests(emulator);
        const changed = { ...usual(kind), ...change };
        assert.equal(await stack.up(changed), "update");
        assert.deepEqual(takeRequests(emulator), [{ method: "PATCH", body }]);
        assert.equal(await stack.up(changed), "same");
        const after = pick({ ...objects(kind).get(stack.id) }, Object.keys(body));
        const state = pick(stack.state, Object.keys(change));
        assert.equal(await stack.up(usual(kind)), "update");
        assert.deepEqual(objects(kind).get(stack.id), before);
        await isCorrected(kind, stack, after, (found) =>
          assert.deepEqual(pick(found, Object.keys(change)), state),
        );
        assert.deepEqual(stack.inputs, inputs);
      });
    }
  }

  for (const [what, fields] of others) {
    it(`C31: ${what} is found by a refresh, and put right by the next update`, async () => {
      await isCorrected("an edge", await deploy("an edge"), fields);
    });
  }

  it("C31: what the program does not set has drifted when somebody has set it", async () => {
    const stack = await deployed(tlsEdge, {});
    for (const fields of [{ metadata: "by hand" }, { hostports: ["a.example.com:443"] }]) {
      emulator.tlsEdges.patch(stack.id, fields);
      assert.equal(await stack.refresh(), "drifted");
      assert.equal(await stack.up({}), "update");
    }
  });

  it("C31: an update of something else does not hide what has drifted", async () => {
    const args = { description: "a", hostports: ["a.example.com:443"] };
    const stack = await deployed(tlsEdge, args);
    emulator.tlsEdges.patch(stack.id, { description: "by hand", metadata: "by hand" });
    const other = { ...args, hostports: ["b.example.com:443"] };
    assert.equal(await stack.up(other), "update");
    assert.deepEqual([stack.state.description, stack.state.metadata], ["a", null]);
    assert.equal(await stack.refresh(), "drifted");
    assert.equal(await stack.up(other), "update");
    assert.equal(emulator.tlsEdges.get(stack.id)?.description, "a");
  });
});
