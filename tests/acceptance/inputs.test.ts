import assert from "node:assert/strict";
import { makeCertificate } from "../../emulator/server";
import { edge, lists, pair, type Step, scenario, warned } from "./scenario";

const noWrites: Step = { preview: "fails", writes: [] };

/** Through dynamic providers, whose programs have code of this package. */
scenario("inputs in a plan", ["dynamic"], () => {
  let env: NodeJS.ProcessEnv;

  return {
    "C10 C15 C50: each wrong input is refused by its name, and no value of a secret is shown": {
      outside: (project) => project.keepSecret("the hostport", "https://hidden.example.org"),
      program: `
        const hidden = pulumi.secret("https://hidden.example.org");
        new tlsedge.TLSEdge("e", { hostport: ["x"], description: 5, hostports: ["nope", hidden] });`,
      ...noWrites,
      says: [
        /hostport: no such property: did you mean hostports/,
        /description: is a number, but must be a string/,
        /hostports\[0\]: has no port: write only a host name, a colon and a port/,
        /hostports\[1\]: is a URL: write only a host name/,
      ],
      requests: [],
    },
    "C11 C15: what is wrong with a file of a site is said of the file": {
      outside: async (project) => {
        const dates = { notBefore: new Date(0), notAfter: new Date(1) };
        await project.certificate("old", { commonName: "old.example.com", ...dates });
        await project.certificate("other", { commonName: "other.example.com" });
      },
      program: `new tlsedge.TLSSite("old", {
        hostports: ["old.example.com:443"], backendId: "bkdtg_1", access: { public: true },
        chainFile: "old/fullchain.pem", keyFile: "other/privkey.pem",
      });`,
      ...noWrites,
      says: [
        / has a problem: chainFile old\/fullchain\.pem: the leaf certificate expired on 1970/,
        / has a problem: chainFile old\/fullchain\.pem: .* does not fit keyFile other\/privkey\.pem, /,
      ],
      neverSays: /certificatePem|privateKeyPem/,
    },
    "C18 C50: two edges with one hostport fail the plan, which names both and no secret": {
      outside: (project) => project.keepSecret("the hostport of two", "shared.example.org"),
      program: `
        const secret = pulumi.secret;
        ${edge("first", 'hostports: [secret("shared.example.org:443")]')}
        ${edge("second", 'hostports: ["b.example.com:443", secret("Shared.example.org:443")]')}`,
      ...noWrites,
      says: [/\W(first|second)\W+and\W+(first|second)\W+have the same hostport, \[secret\], which/],
    },
    "C60: a lookup that fails is one error, without a warning of Node's, a stack or a secret": {
      program: `
        const region = pulumi.secret("mars-1");
        exports.id = tlsedge.getTunnelOutput({ region: region.apply((one) => one) }).id;`,
      ...noWrites,
      options: ["--suppress-progress"],
      says: [/no tunnel matches/],
      neverSays: /Warning|lookup\.js|mars-1/,
    },
    "C1: missing settings are one error, which names both ways to set each, before any request": {
      outside: (project) => {
        ({ env } = project);
        const { TLSEDGE_API_KEY, TLSEDGE_BASE_URL, ...others } = env;
        Object.assign(project, { env: others });
      },
      program: 'for (const n of ["a", "b"]) new tlsedge.TLSEdge(n, {});',
      ...noWrites,
      says: [
        /TLSEDGE_API_KEY.*pulumi config set --secret tlsedge:apiKey/,
        /TLSEDGE_BASE_URL.*pulumi config set tlsedge:baseUrl/,
      ],
      requests: [],
      check: (project, { output }) => {
        // In the list of what the engine does, and among the diagnostics.
        assert.equal(output.match(/no API key is set/g)?.length, 2, output);
        Object.assign(project, { env });
      },
    },
    "C11 C13 C15 C18: a plan passes what is not known, warns of what is, and counts each account": {
      outside: async (project) => {
        const root = await makeCertificate({ commonName: "root", isCa: true });
        const issuer = await makeCertificate({
          ...{ commonName: "between", isCa: true, issuer: root },
          ...{ notBefore: new Date(0), notAfter: new Date(1) },
        });
        const names = { commonName: "a.example.com", dnsNames: ["a.example.com"] };
        await project.certificate(".", { ...names, issuer, notBefore: new Date(0) });
        const { apiKey } = project.emulator.addAccount();
        project.keepSecret("the key of another account", apiKey);
        Object.assign(project.env, {
          TLSEDGE_OTHER_BASE_URL: project.emulator.url,
          TLSEDGE_OTHER_API_KEY: apiKey,
          TLSEDGE_OTHER_CA_FILE: project.env.TLSEDGE_CA_FILE,
        });
      },
      program: `
        const made = ${edge("made", 'hostports: ["m.example.com:443"]')}
        const pair = { ${pair()} };
        const c = new tlsedge.TLSCertificate("c", {
          certificatePem: made.id.apply(() =>
            pair.certificatePem.split(/(?<=END CERTIFICATE-----\\n)/)[0]),
          privateKeyPem: made.id.apply(() => pair.privateKeyPem),
        });
        ${edge("reader", "metadata: c.id, description: c.notAfter")}
        new tlsedge.TLSEdge("bare", null);
        new tlsedge.TLSSite("shop", {
          hostports: ["a.example.com:443", "bare.example.com:443"],
          ...pair, backendId: "bkdtg_1", access: { public: true }, renewBeforeDays: 400,
        });
        ${edge("elsewhere", 'hostports: ["M.example.com:443"], connection: "tlsedge-other"')}`,
      up: { create: 9 },
      previewed: true,
      check: (_, run) => {
        const all = warned(run);
        const texts = [
          /expires on/,
          /certificate 2 of the chain expired on/,
          /is not valid for bare\.example\.com:443: /,
        ];
        assert.equal(all.length, texts.length, run.output);
        for (const text of texts)
          assert.equal(all.find(([, message]) => text.test(message))?.[0], "shop", run.output);
      },
    },
    "C18 C19: a refused key fails the plan of several creates and updates once, after one request":
      {
        outside: ({ env }) => {
          env.TLSEDGE_API_KEY = "wrong";
        },
        program:
          edge("made", 'hostports: ["m.example.com:443"], description: "after"') +
          edge("bare", 'description: "after"') +
          // Its hostport does not count.
          edge("new", 'hostports: ["M.example.com:443"]', 'ignoreChanges: ["hostports"]') +
          edge("newer", 'metadata: "m"'),
        ...noWrites,
        requests: [lists.edges],
        neverSays: /have the same hostport/,
        check: (_, { output }) => {
          const [, diagnostics = ""] = output.split("Diagnostics:");
          // The host of dynamic providers prints what a diff throws, too: that is no error of the engine.
          assert.equal(diagnostics.match(/\berror: .*Check the API key/g)?.length, 1, output);
        },
      },
  };
});
