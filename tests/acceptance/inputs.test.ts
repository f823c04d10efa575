import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { cp, mkdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type MadeCertificate, makeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { throughBothDoors } from "./doors";

throughBothDoors("inputs, at plan time on the real engine", (door) => {
  const onlyDynamic = door === "dynamic" ? it : () => undefined;
  let project: Project;
  let certificate: MadeCertificate;
  let other: MadeCertificate;

  before(async () => {
    project = await Project.create({}, {}, door);
    certificate = await makeCertificate({
      commonName: "a.example.com",
      dnsNames: ["a.example.com"],
    });
    other = await makeCertificate({ commonName: "b.example.com", dnsNames: ["b.example.com"] });
    project.keepSecret("the private key", certificate.privateKeyPem);
    project.keepSecret("the other private key", other.privateKeyPem);
  });
  after(() => project?.close());

  const upload = (certificatePem: string, privateKeyPem: string) =>
    project.program(
      `new tlsedge.TLSCertificate("c", ${JSON.stringify({ certificatePem, privateKeyPem })});`,
    );

  /** Fails with this said; the secrets are looked for by the harness. Gives the requests. */
  const failsPlan = async (...said: RegExp[]) => {
    const run = await project.fails("preview", "--diff");
    for (const reason of said) assert.match(run.output, reason);
    assert.deepEqual(run.writes, []);
    return run.requests;
  };
  /** Fails before any request. */
  const refused = async (...said: RegExp[]) => assert.deepEqual(await failsPlan(...said), []);

  it("C10 C11 C50 a key of another certificate is refused, and not shown", async () => {
    await upload(certificate.certificatePem, other.privateKeyPem);
    await refused(/privateKeyPem: is not the key of the leaf/);
  });

  it("C10 C11 C50 swapped certificate and key are refused, and not shown", async () => {
    await upload(certificate.privateKeyPem, certificate.certificatePem);
    await refused(/certificatePem: holds a private key.*swapped/);
  });

  it("C10 C11 C50 an encrypted key is refused, and not shown", async () => {
    const encrypted = createPrivateKey(certificate.privateKeyPem)
      .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "p" })
      .toString();
    project.keepSecret("the encrypted key", encrypted);
    await upload(certificate.certificatePem, encrypted);
    await refused(/privateKeyPem: is encrypted/);
  });

  it("C15 a typo, a wrong type and a malformed hostport are refused by name", async () => {
    await project.program(
      'new tlsedge.TLSEdge("e", { hostport: ["x"], description: 5, hostports: ["nope"] });',
    );
    await refused(
      /hostport: no such property: did you mean hostports/,
      /description: is a number, but must be a string/,
      /hostports\[0\]: \\?"nope\\?" has no port: write only a host name, a colon and a port/,
    );
  });

  it("C10 C15 C50 a wrong hostport that is a secret is refused, and not shown", async () => {
    project.keepSecret("the hostport", "https://hidden.example.org");
    await project.program(`
      const hidden = pulumi.secret("https://hidden.example.org");
      new tlsedge.TLSEdge("e", { hostports: ["a.example.com:443", hidden] });`);
    await refused(/hostports\[1\]: is a URL: write only a host name/);
    await project.fails("preview", "--json");
  });

  it("C13 the chain of another resource is not known in the plan, and then it is", async () => {
    project.keepSecret("the made key", certificate.privateKeyPem);
    await project.program(`
      const made = new tlsedge.TLSEdge("made", { hostports: ["m.example.com:443"] });
      const pem = made.id.apply(() => ${JSON.stringify(certificate.certificatePem)});
      const key = made.id.apply(() => ${JSON.stringify(certificate.privateKeyPem)});
      const c = new tlsedge.TLSCertificate("c", { certificatePem: pem, privateKeyPem: key });
      new tlsedge.TLSEdge("reader", { backend: { backendId: c.id }, description: c.notAfter });`);
    const plan = await project.preview();
    assert.deepEqual(plan.changes, { create: 4 });
    assert.deepEqual(plan.writes, []);
    const run = await project.up();
    assert.equal(run.writes.length, 3);
    const sent = JSON.stringify(project.emulator.requests);
    assert.ok(!sent.includes("04da6b54-80e4-46f7-96ec-b56ff0331ba9"));
    await project.destroy();
  });

  it("C11 warnings of a certificate stand on their resource, in the plan and when nothing changes", async () => {
    const pem = JSON.stringify(certificate.certificatePem);
    const key = JSON.stringify(certificate.privateKeyPem);
    const pair = `certificatePem: ${pem}, privateKeyPem: ${key}`;
    await project.program(
      door === "plugin"
        ? `new tlsedge.TLSCertificate("shop", { ${pair}, renewBeforeDays: 400 });`
        : `new tlsedge.TLSSite("shop", {
            hostports: ["a.example.com:443", "bare.example.com:443"],
            ${pair},
            backendId: "bkdtg_1",
            access: { public: true }, renewBeforeDays: 400,
          });`,
    );
    /** What is warned of, by the name and the type of the resource. */
    const warned = ({ events }: Run) =>
      events
        .flatMap(({ diagnosticEvent }) => diagnosticEvent ?? [])
        .filter(({ severity }) => severity === "warning")
        .map(({ urn = "", message }) => [urn.split("::").slice(2).join(" "), message] as const);
    const site = door === "plugin" ? [] : [/is not valid for bare\.example\.com:443: /];
    const holds = (run: Run) => {
      const all = warned(run);
      const wanted = [/expires on/, ...site];
      assert.equal(all.length, wanted.length, run.output);
      for (const text of wanted) {
        const [of = ""] = all.find(([, message]) => text.test(message)) ?? [];
        assert.match(of, /TLSCertificate shop$/, run.output);
      }
    };
    holds(await project.preview());
    holds(await project.up());
    holds(await project.preview());
    await project.destroy();
  });

  onlyDynamic(
    "C60 a lookup that fails is one error, without a warning of Node's or a stack",
    async () => {
      const mars = '{ region: pulumi.secret("mars-1").apply((region) => region) }';
      const programs = [
        `exports.id = tlsedge.getTunnelOutput(${mars}).id;`,
        `module.exports = async () => {
        const lookup = tlsedge.getTunnel({ region: "mars" });
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { id: (await lookup).id };
      };`,
        `(async () => { exports.id = (await tlsedge.getTunnel({ region: "mars" })).id; })();`,
      ];
      for (const text of programs) {
        await project.program(text);
        const { output } = await project.fails("preview", "--suppress-progress");
        assert.doesNotMatch(output, /Warning|lookup\.js|mars-1/);
        assert.match(output, /no tunnel matches/);
      }
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

  onlyDynamic("C4 a key in plain text in config is refused at plan time", async () => {
    await project.program('new tlsedge.TLSEdge("e", {});');
    await project.succeedsQuietly("config", "set", "--plaintext", "tlsedge:apiKey", "plain");
    const run = await project.fails("preview");
    assert.match(run.output, /tlsedge:apiKey is in the stack's config in plain text/);
    await project.succeedsQuietly("config", "rm", "tlsedge:apiKey");
  });

  onlyDynamic("C6 a program whose folder can't find the package is told to add it", async () => {
    const modules = join(project.folder, "node_modules");
    const linked = await readFile(join(modules, "pulumi-tlsedge", "package.json"), "utf8");
    assert.match(linked, /pulumi-tlsedge/);
    // A strict layout: the program's folder has Pulumi and a component that brings us along.
    const shared = await realpath(modules);
    await rename(modules, `${modules}.all`);
    await mkdir(join(modules, "component"), { recursive: true });
    await symlink(join(shared, "@pulumi"), join(modules, "@pulumi"));
    const deep = join(project.folder, "store", "node_modules");
    await mkdir(deep, { recursive: true });
    await cp(join(shared, "..", "dist"), join(deep, "pulumi-tlsedge", "dist"), { recursive: true });
    await writeFile(join(deep, "pulumi-tlsedge", "package.json"), linked);
    for (const name of ["@pulumi", "valibot", "debug", "ms", "axios", "fastest-levenshtein"]) {
      await symlink(join(shared, name), join(deep, name));
    }
    await project.program(
      'const deep = require("./store/node_modules/pulumi-tlsedge"); new deep.TLSEdge("e", {});',
      "",
    );
    const run = await project.fails("preview");
    assert.match(run.output, /add pulumi-tlsedge to this project's dependencies/);
    await rm(modules, { recursive: true });
    await rename(`${modules}.all`, modules);
  });

  it("C18 two edges with one hostport fail the plan, which names both and the hostport", async () => {
    const [plain, secret] = ["a\\.example\\.com:443", "\\[secret\\]"];
    const second = {
      '["b.example.com:443", "A.example.com:443"]': plain,
      'pulumi.output(["a.example.com:443"])': plain,
      '[pulumi.secret("a.example.com:443")]': secret,
    };
    for (const [hostports, shown] of Object.entries(second)) {
      await project.program(`
        new tlsedge.TLSEdge("first", { hostports: ["a.example.com:443"] });
        new tlsedge.TLSEdge("second", { hostports: ${hostports} });`);
      const names = "\\W+(first|second)\\W+";
      // The first edge is right: the plan may have asked for it (C19).
      await failsPlan(new RegExp(`${names}and${names}have the same hostport, ${shown}, which`));
    }
    const { apiKey } = project.emulator.addAccount();
    project.keepSecret("the key of another account", apiKey);
    await project.file("other-key", apiKey);
    await project.program(`
      new tlsedge.TLSEdge("first", { hostports: ["a.example.com:443"] });
      new tlsedge.TLSEdge("second", { hostports: ["a.example.com:8443"] });
      ${
        door === "plugin"
          ? ""
          : `const ignoreChanges = ["hostports"];
            new tlsedge.TLSEdge("third", { hostports: ["a.example.com:443"] }, { ignoreChanges });`
      }
      const { TLSEDGE_BASE_URL: baseUrl } = process.env;
      ${
        door === "plugin"
          ? `const apiKey = readFileSync("other-key", "utf8");
            const provider = new tlsedge.Provider("other", { apiKey, baseUrl });
            new tlsedge.TLSEdge("elsewhere", { hostports: ["a.example.com:443"] }, { provider });`
          : `const connection = "tlsedge-other";
            new tlsedge.TLSEdge("elsewhere", { hostports: ["a.example.com:443"], connection });`
      }`);
    project.env.TLSEDGE_OTHER_BASE_URL = project.emulator.url;
    project.env.TLSEDGE_OTHER_API_KEY = apiKey;
    project.env.TLSEDGE_OTHER_CA_FILE = project.env.TLSEDGE_CA_FILE;
    await project.preview();
  });

  if (door === "plugin") {
    it("C4 C82 a key in config is a secret in the state", async () => {
      await project.program('new tlsedge.TLSEdge("e", {});');
      const { TLSEDGE_API_KEY: key = "", ...env } = project.env;
      const whole = project.env;
      Object.assign(project, { env });
      await project.setSecret("tlsedge:apiKey", key);
      await project.up();
      const stored = JSON.stringify(await project.state());
      assert.match(stored, /"apiKey":\{[^}]*"ciphertext"/);
      await project.destroy();
      await project.succeedsQuietly("config", "rm", "tlsedge:apiKey");
      Object.assign(project, { env: whole });
    });
  }

  it("C15 a resource with no arguments at all is told what is missing", async () => {
    await project.program('new tlsedge.TLSCertificate("c"); new tlsedge.TLSEdge("e", null);');
    // The edge is right: the plan may have asked for it (C19).
    await failsPlan(/certificatePem: is missing/);
  });
});
