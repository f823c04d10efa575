import assert from "node:assert/strict";
import { noneWithId } from "../provider/kinds/ids";
import { tlsEdge } from "../provider/kinds/tlsEdge";
import { warningsOfInputs } from "../provider/operations/resource";
import { unknown } from "./support";

describe("an id of another kind", () => {
  it("C10 C15: is named in the plan with what to give, but not where it is a secret", () => {
    const inputs = {
      backend: { backendId: "ipp_2abc" },
      ipRestriction: { ipPolicyIds: ["ipp_1", "bkdtg_1", unknown] },
      mutualTls: { certificateAuthorityIds: ["cert_1"] },
    };
    assert.deepEqual(
      warningsOfInputs(tlsEdge, undefined, inputs, (name) => name === "mutualTls"),
      [
        'backend.backendId: "ipp_2abc" is the id of an IP policy: give the id of a backend',
        'ipRestriction.ipPolicyIds: "bkdtg_1" is the id of a backend: give the id of an IP policy',
        "mutualTls.certificateAuthorityIds: is the id of a TLS certificate: give the id of a certificate authority",
      ],
    );
  });

  it("C15: is not seen in an id without a known prefix, nor in a text that is no id", () => {
    const inputs = {
      backend: { backendId: "bkdtg_1" },
      ipRestriction: { ipPolicyIds: ["ipp_1", "tls_1", "cert", "constructor_1"] },
      description: "cert_1",
    };
    assert.deepEqual(
      warningsOfInputs(tlsEdge, undefined, inputs, () => false),
      [],
    );
  });

  it("C40 C43 C61 C81: is said to be one where nothing has it, and so is a space in an id", () => {
    for (const [id, text] of [
      ["cert_1", "no TLS edge has the id cert_1, which is the id of a TLS certificate"],
      ["edgtls_1", "no TLS edge has the id edgtls_1"],
      ["edgtls_1\n", "no TLS edge has the id edgtls_1\n, which has a space or a line break"],
    ] as const)
      assert.equal(noneWithId("TLS edge", id), text);
    assert.equal(noneWithId("TLS edge", "s3cret", "[secret]"), "no TLS edge has the id [secret]");
  });
});
