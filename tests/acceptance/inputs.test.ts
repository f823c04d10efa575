import assert from "node:assert/strict";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { onlyThrough, throughBothDoors } from "./doors";

throughBothDoors("inputs, at plan time on the real engine", (door) => {
  const onlyDynamic = onlyThrough("dynamic", door);
  let project: Project;
  let certificate: MadeCertificate;

  before(async () => {
    project = await Project.create({}, {}, door);
    const root = await makeCertificate({ commonName: "root", isCa: true });
    const issuer = await makeCertificate({
      ...{ commonName: "between", isCa: true, issuer: root },
      ...{ notBefore: new Date(0), notAfter: new Date(1) },
    });
    certificate = await makeCertificate({
      commonName: "a.example.com",
      dnsNames: ["a.example.com"],
      issuer,
    });
    project.keepSecret("the private key", certificate.privateKeyPem);
  });
  after(() => project?.close());

  /** Fails with this said; the secrets are looked for by the harness. Gives the requests. */
  const failsPlan = async (...said: RegExp[]) => {
    const run = await project.fails("preview", "--diff");
    for (const reason of said) assert.match(run.output, reason);
    assert.deepEqual(run.writes, []);
    return run.requests;
  };

  it("C10 C15 C50 what is wrong is refused by name, and a secret is not shown", async () => {
    project.keepSecret("the hostport", "https://hidden.example.org");
    await project.program(`
      const hidden = pulumi.secret("https://hidden.example.org");
      new tlsedge.TLSEdge("e", { hostport: ["x"], description: 5, hostports: ["nope", hidden] });`);
    const requests = await failsPlan(
      /hostport: no such property: did you mean hostports/,
      /description: is a number, but must be a string/,
      /hostports\[0\]: has no port: write only a host name, a colon and a port/,
      /hostports\[1\]: is a URL: write only a host name/,
    );
    assert.deepEqual(requests, []);
  });

  /** What is warned of, by the name and the type of the resource. */
  const warned = ({ events }: Run) =>
    events
      .flatMap(({ diagnosticEvent }) => diagnosticEvent ?? [])
      .filter(({ severity }) => severity === "warning")
      .map(({ urn = "", message }) => [urn.split("::").slice(2).join(" "), message] as const);

  it("C11 C13 C15 C18 a plan passes what is not known, warns of what is, and counts each account", async () => {
    const pair = `certificatePem: ${JSON.stringify(certificate.certificatePem)},
      privateKeyPem: ${JSON.stringify(certificate.privateKeyPem)}`;
    const program = `
      const made = new tlsedge.TLSEdge("made", { hostports: ["m.example.com:443"] });
      const pair = { ${pair} };
      const c = new tlsedge.TLSCertificate("c", {
        certificatePem: made.id.apply(() => pair.certificatePem.split(/(?<=END CERTIFICATE-----\\n)/)[0]),
        privateKeyPem: made.id.apply(() => pair.privateKeyPem),
      });
      new tlsedge.TLSEdge("reader", { backend: { backendId: c.id }, description: c.notAfter });
      new tlsedge.TLSEdge("bare", null);
      ${
        door === "plugin"
          ? 'new tlsedge.TLSCertificate("shop", { ...pair, renewBeforeDays: 400 });'
          : `new tlsedge.TLSSite("shop", {
              hostports: ["a.example.com:443", "bare.example.com:443"],
              ...pair, backendId: "bkdtg_1", access: { public: true }, renewBeforeDays: 400,
            });`
      }`;
    const { apiKey } = project.emulator.addAccount();
    project.keepSecret("the key of another account", apiKey);
    await project.file("other-key", apiKey);
    Object.assign(project.env, {
      TLSEDGE_OTHER_BASE_URL: project.emulator.url,
      TLSEDGE_OTHER_API_KEY: apiKey,
      TLSEDGE_OTHER_CA_FILE: project.env.TLSEDGE_CA_FILE,
    });
    const shared = 'hostports: ["M.example.com:443"]';
    const elsewhere =
      door === "plugin"
        ? `const apiKey = readFileSync("other-key", "utf8");
          const { TLSEDGE_BASE_URL: baseUrl } = process.env;
          const provider = new tlsedge.Provider("other", { apiKey, baseUrl });
          new tlsedge.TLSEdge("elsewhere", { ${shared} }, { provider });`
        : `new tlsedge.TLSEdge("elsewhere", { ${shared}, connection: "tlsedge-other" });
          new tlsedge.TLSEdge("ignored", { ${shared} }, { ignoreChanges: ["hostports"] });`;

    const site = door === "plugin" ? [] : [/is not valid for bare\.example\.com:443: /];
    const holds = (run: Run) => {
      const all = warned(run);
      const wanted = [/expires on/, /certificate 2 of the chain expired on/, ...site];
      assert.equal(all.length, wanted.length, run.output);
      for (const text of wanted) {
        const [of = ""] = all.find(([, message]) => text.test(message)) ?? [];
        assert.match(of, /TLS(Certificate|Edge) shop$/, run.output);
      }
    };
    await project.program(program + elsewhere);
    const plan = await project.preview();
    assert.deepEqual(plan.changes, { create: door === "plugin" ? 8 : 10 });
    assert.deepEqual(plan.writes, []);
    holds(plan);
    await project.program(program);
    const run = await project.up();
    assert.equal(run.writes.length, door === "plugin" ? 5 : 6);
    const sent = JSON.stringify(project.emulator.requests);
    assert.ok(!sent.includes("04da6b54-80e4-46f7-96ec-b56ff0331ba9"));
    holds(await project.preview("--expect-no-changes"));
  });

  // Through the plugin, the program has no code of this package that could print.
  onlyDynamic(
    "C60 a lookup that fails is one error, without a warning of Node's or a stack",
    async () => {
      const mars = '{ region: pulumi.secret("mars-1").apply((region) => region) }';
      await project.program(`exports.id = tlsedge.getTunnelOutput(${mars}).id;`);
      const { output } = await project.fails("preview", "--suppress-progress");
      assert.doesNotMatch(output, /Warning|lookup\.js|mars-1/);
      assert.match(output, /no tunnel matches/);
    },
  );

  it("C1 missing settings are one error that names both ways, before any request", async () => {
    await project.program('for (const n of ["a", "b"]) new tlsedge.TLSEdge(n, {});');
    const { TLSEDGE_API_KEY, TLSEDGE_BASE_URL, ...env } = project.env;
    const whole = project.env;
    Object.assign(project, { env });
    const run = await project.fails("preview");
    assert.match(run.output, /TLSEDGE_API_KEY.*pulumi config set --secret tlsedge:apiKey/);
    assert.match(run.output, /TLSEDGE_BASE_URL.*pulumi config set tlsedge:baseUrl/);
    // In the list of what the engine does, and among the diagnostics.
    assert.equal(run.output.match(/no API key is set/g)?.length, 2, run.output);
    assert.deepEqual(run.requests, []);
    Object.assign(project, { env: whole });
  });

  // tests/plugin.test.ts has it through the plugin.
  onlyDynamic(
    "C18 C50 two edges with one hostport fail the plan, which names both and no secret",
    async () => {
      project.keepSecret("the hostport of two", "shared.example.org");
      await project.program(`
      new tlsedge.TLSEdge("first", { hostports: [pulumi.secret("shared.example.org:443")] });
      new tlsedge.TLSEdge("second", { hostports: ["b.example.com:443", pulumi.secret("Shared.example.org:443")] });`);
      const names = "\\W+(first|second)\\W+";
      // The first edge is right: the plan may have asked for it (C19).
      await failsPlan(new RegExp(`${names}and${names}have the same hostport, \\[secret\\], which`));
    },
  );
});
