import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { certificate, edge, lists, pair, scenario, warned } from "./scenario";

/** How the engine shows what a check finds; tests/shape.test.ts and its neighbours have each rule. */
scenario("inputs in a plan", ["dynamic"], () => {
  let env: NodeJS.ProcessEnv;

  return {
    "C10 C15 C50: each wrong input is refused by its name, and no value of a secret is shown": {
      outside: (project) => project.keepSecret("the hostport", "https://hidden.example.org"),
      program: `
        const hidden = pulumi.secret("https://hidden.example.org");
        new tlsedge.TLSEdge("e", { hostport: ["x"], description: 5, hostports: ["nope", hidden] });`,
      preview: "fails",
      says: [
        /hostport: no such property: did you mean hostports/,
        /description: is a number, but must be a string/,
        /hostports\[1\]: is no hostport: write only a host name/,
      ],
      requests: [],
    },
    "C1: missing settings are one error, before any request": {
      outside: (project) => {
        ({ env } = project);
        const { TLSEDGE_API_KEY, ...others } = env;
        Object.assign(project, { env: others });
      },
      program: 'for (const n of ["a", "b"]) new tlsedge.TLSEdge(n, {});',
      preview: "fails",
      requests: [],
      check: (project, { output }) => {
        // In the list of what the engine does, and among the diagnostics.
        assert.equal(output.match(/no API key is set/g)?.length, 2, output);
        Object.assign(project, { env });
      },
    },
    "C11 C13: a plan passes what is not known yet, and warns beside the resource": {
      outside: async (project) => {
        const issuer = await makeCertificate({ commonName: "root", isCa: true });
        const names = { commonName: "a.example.com", dnsNames: ["a.example.com"] };
        await project.certificate(".", { ...names, issuer, notBefore: new Date(0) });
      },
      program: `
        const made = ${edge("made", 'hostports: ["m.example.com:443"]')}
        const pair = { ${pair()} };
        const c = new tlsedge.TLSCertificate("c", {
          certificatePem: made.id.apply(() => pair.certificatePem),
          privateKeyPem: made.id.apply(() => pair.privateKeyPem),
        });
        ${edge("reader", "metadata: c.id, description: c.notAfter")}
        ${certificate("due", "renewBeforeDays: 400")}`,
      up: { create: 5 },
      previewed: true,
      check: (_, run) => {
        assert.deepEqual(
          warned(run).map(([name]) => name),
          ["due"],
          run.output,
        );
        assert.match(warned(run)[0]?.[1] ?? "", /expires on/);
      },
    },
    "C19: a refused key fails the plan of several creates and updates once, after one request": {
      outside: ({ env }) => {
        env.TLSEDGE_API_KEY = "wrong";
      },
      program:
        edge("made", 'hostports: ["m.example.com:443"], description: "after"') +
        edge("new", 'metadata: "n"') +
        edge("newer", 'metadata: "m"'),
      preview: "fails",
      requests: [lists.edges],
      check: (_, { output }) => {
        const [, diagnostics = ""] = output.split("Diagnostics:");
        // The host of dynamic providers prints what a diff throws, too: that is no error of the engine.
        assert.equal(diagnostics.match(/\berror: .*Check the API key/g)?.length, 1, output);
      },
    },
  };
});
