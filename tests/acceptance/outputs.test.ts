import assert from "node:assert/strict";
import type { MadeCertificate } from "../../emulator/server";
import { Project } from "../../tools/engine";
import type { Run } from "../../tools/engineLog";
import { throughBothDoors } from "./doors";

/** What the program printed of an output: `tell("name", output)`. */
function told(run: Run, name: string): unknown {
  const [, value] = new RegExp(`TOLD ${name} (.*?) END`).exec(run.output) ?? [];
  assert.ok(value, `nothing was told of ${name}:\n${run.output}`);
  // A program of the plugin, without a class of this package, sees null for what is unset.
  return value === "undefined" ? undefined : (JSON.parse(value) ?? undefined);
}

const secret = {
  metadata: "a-secret-that-no-state-may-hold-in-clear-".repeat(2),
  hostport: "a-hostname-that-is-secret.hidden.org:8443",
};

/** One program for all: each edge shows one way to differ from its arguments. */
throughBothDoors("an output says what was deployed", (door) => {
  let project: Project;
  let pair: MadeCertificate;
  let made: Run;

  /** `wished` changes what the program says of two edges, `of` what it says of a third. */
  const write = ({ wished = false, of = "Deployed" } = {}) =>
    project.program(`
      const tell = (name, output) =>
        output.apply((value) => console.log("TOLD " + name + " " + JSON.stringify(value) + " END"));
      const ignoreChanges = ["hostports", "description", "backend"];
      const ignored = new tlsedge.TLSEdge("ignored", ${
        wished
          ? '{ hostports: ["b.example.com:443"], description: "Wished", backend: { backendId: "b_1" } }'
          : '{ hostports: ["a.example.com:443"] }'
      }, { ignoreChanges });
      for (const name of ignoreChanges) tell(name, ignored[name]);
      const drifted = new tlsedge.TLSEdge("drifted", { description: "Wished" },
        { ignoreChanges: ["description"] });
      tell("drifted", drifted.description);
      tell("left out", new tlsedge.TLSEdge("left", { description: "${of}" }).description);

      const transforms = [({ props, opts }) => {
        const { hostports: _, ...rest } = props;
        return { props: { ...rest, description: "Transformed" }, opts };
      }];
      const wish = { description: "Wished", hostports: ["t.example.com:443"] };
      const transformed = new tlsedge.TLSEdge("transformed", wish, { transforms });
      tell("transformed", pulumi.all([transformed.description, transformed.hostports]));

      const metadata = pulumi.secret(readFileSync("metadata", "utf8"));
      const hostports = [pulumi.secret(readFileSync("hostport", "utf8")), "other.example.com:443"];
      new tlsedge.TLSEdge("secret", { metadata, hostports });
      new tlsedge.TLSEdge("more", { description: "d" }, { additionalSecretOutputs: ["createdAt"] });

      const pair = {
        certificatePem: readFileSync("fullchain.pem", "utf8"),
        privateKeyPem: readFileSync("privkey.pem", "utf8"),
      };
      exports.certificate = new tlsedge.TLSCertificate("certificate", pair);
      exports.site = ${
        door === "plugin"
          ? '{ edge: new tlsedge.TLSEdge("edge", { hostports: ["site.example.com:443"] }) };'
          : `new tlsedge.TLSSite("site", {
              hostports: ["site.example.com:443"], backendId: "bkdtg_1", access: { public: true },
              certificate: exports.certificate,
            });`
      }`);
  /** An edge, as the service has it. */
  const served = async (name: string) => {
    const { id = "" } = (await project.exported())[name] ?? {};
    return project.emulator.tlsEdges.get(id);
  };

  before(async () => {
    project = await Project.create({}, {}, door);
    pair = await project.certificate(".", {
      commonName: "site.example.com",
      dnsNames: ["site.example.com"],
    });
    for (const [name, text] of Object.entries(secret)) {
      project.keepSecret(`the ${name}`, text);
      await project.file(name, text);
    }
    await write();
    made = await project.up();
  });
  after(() => project?.close());

  it("C17 with a transform that sets another description", async () => {
    assert.deepEqual(told(made, "transformed"), ["Transformed", []]);
    assert.equal((await served("transformed"))?.description, "Transformed");
  });

  it("C50 C53 whole, and without the key, where a program exports the resource itself", async () => {
    const shown = ["stack", "output", "--json", "--show-secrets"];
    // Fails by itself when the key stands there: every output of a command is searched for it.
    const { output } = await project.pulumi(...shown);
    assert.doesNotMatch(output, /privateKeyPem|PRIVATE KEY/);
    const { certificate, site } = JSON.parse(output) as Record<string, Record<string, unknown>>;
    assert.equal(certificate?.subjectCommonName, "site.example.com");
    assert.match(JSON.stringify(site?.edge), /"hostports":\["site\.example\.com:443"\]/);
    const stored = (await project.exported()).certificate?.outputs ?? {};
    assert.equal(stored.certificatePem, pair.certificatePem);
    assert.equal(stored.notAfter, certificate?.notAfter);
  });

  it("C17 C31 C50 after a drift that stays; encrypted where the input is a secret, then too", async () => {
    // Each command ends with a look at the exported state.
    const areSecret = async () => {
      const { secret: edge, more } = await project.exported();
      assert.match(JSON.stringify(edge?.outputs.metadata), /"ciphertext":/);
      assert.match(JSON.stringify(more?.outputs.createdAt), /"ciphertext":/);
    };
    await areSecret();
    const edge = await served("secret");
    const hostports = [secret.hostport, "other.example.com:443"];
    assert.deepEqual([edge?.metadata, edge?.hostports], [secret.metadata, hostports]);
    const drifted = (await served("drifted"))?.id ?? "";
    project.emulator.tlsEdges.patch(drifted, { description: "By hand" });
    const run = await project.up("--refresh");
    assert.deepEqual(run.writes, []);
    assert.equal((await project.exported()).drifted?.outputs.description, "By hand");
    assert.equal(told(run, "drifted"), "By hand");
    await areSecret();
  });

  it("C17 with ignoreChanges, where the program wishes something else, and without --target", async () => {
    const ofIgnored = (run: Run) => {
      assert.deepEqual(told(run, "hostports"), ["a.example.com:443"]);
      assert.equal(told(run, "description"), undefined);
      assert.equal(told(run, "backend"), undefined);
    };
    await write({ wished: true });
    ofIgnored(await project.preview("--expect-no-changes"));
    await write({ wished: true, of: "Wished" });
    const run = await project.up("--target", project.urn("TLSEdge", "ignored"));
    ofIgnored(run);
    assert.equal(told(run, "left out"), "Deployed");
    assert.deepEqual(run.writes, []);
  });
});
