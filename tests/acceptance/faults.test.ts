import assert from "node:assert/strict";
import type { Project } from "../../tools/engine";
import { nameOf } from "../../tools/engineLog";
import { assertInert } from "../cases";
import { certificate, edge, scenario } from "./scenario";

const made = ({ emulator }: Project) => emulator.tlsEdges.list()[0];

scenario("a service that fails", ["dynamic", "plugin"], {
  "C35 C90: an answer that can't be used is recorded, a refusal is shown whole, escaped": {
    outside: async (project) => {
      await project.certificate(".", { commonName: "app.example.com" });
      const msg = "red \u001b[31m\u0007\u202e <{%underline%}>\n::add-mask::x ##[group]y";
      const body = JSON.stringify({ msg, error_code: "ERR_<{%reset%}>" });
      const headers = { "Content-Type": "application/json" };
      project.emulator.faults.add(
        { method: "POST", path: "/edges/tls", answer: { fields: { uri: 7 } } },
        { method: "POST", path: "/tls_certificates", answer: { status: 400, headers, body } },
      );
    },
    program: edge("recorded", 'hostports: ["app.example.com:443"]') + certificate("refused"),
    up: "fails",
    options: ["--continue-on-error"],
    says: [/the TLS edge edgtls_\w+ was created and is in the state.*field uri/],
    state: ({ recorded }, project) => assert.equal(recorded?.id, made(project)?.id),
    check: (_, { output }) => {
      const escaped =
        "red \\u001b[31m\\u0007\\u202e <\\u007b%underline%}>\\n::add-mask::x #\\u0023[group]y";
      assert.ok(output.includes(escaped), output);
      assert.ok(output.includes("ERR_<\\u007b%reset%}>"), output);
      // The engine lists several errors with a tab before each.
      assertInert(output.replaceAll("\t* ", "* "));
    },
  },
  "C34 C35: the next update completes both, and says beside the resource why it waits, until it goes on":
    {
      outside: (project) => {
        const answer = { status: 503, headers: { "Retry-After": "1" } };
        project.emulator.faults.add({ method: "PATCH", answer });
      },
      up: "succeeds",
      writes: [...Array(2).fill("PATCH /edges/tls/:id"), "POST /tls_certificates"],
      state: ({ recorded }, project) => assert.equal(recorded?.outputs.uri, made(project)?.uri),
      check: (project, { events }) => {
        const statuses = events.flatMap(({ diagnosticEvent: one }) =>
          one?.ephemeral ? [[nameOf(one.urn ?? ""), one.message.replace(/<{%.*?%}>|\n/g, "")]] : [],
        );
        const waits = `503, tries again in 1 s (1 of 8): PATCH ${made(project)?.id}`;
        assert.deepEqual(statuses, [
          ["recorded", waits],
          ["recorded", ""],
        ]);
      },
    },
});
