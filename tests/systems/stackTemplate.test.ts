import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";
import { type Emulator, startEmulator } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { nameOf } from "../../tools/engineLog";
import { linkModules, newFolder, repository } from "../../tools/folders";

const text = ({ folder }: Project, name: string) => readFile(path.join(folder, name), "utf8");
const held = ({ tlsEdges, tlsCertificates }: Emulator) => ({
  edges: tlsEdges.list(),
  certificates: tlsCertificates.list(),
});

/** The linter checks the types of the templates, against this repository and not an installed package. */
describe("the template stack, on the real engine: two environments of eight sites", () => {
  const environments = ["dev", "prod"];
  const names = ["admin", "api", "app", "docs", "help", "shop", "status", "www"];
  const policies = "node_modules/pulumi-tlsedge-policy";
  const policed = [
    ...["--policy-pack", policies],
    ...["--policy-pack-config", `${policies}/profiles/production.json`],
  ];
  let project: Project;
  /** Production has an account of its own. */
  let production: Emulator;
  const requests = () => [...project.emulator.requests, ...production.requests];

  before(async () => {
    const home = newFolder();
    production = await startEmulator();
    await writeFile(path.join(home, "production.pem"), production.ca);
    const env = {
      TLSEDGE_PROD_BASE_URL: production.url,
      TLSEDGE_PROD_API_KEY: production.apiKey,
      TLSEDGE_PROD_CA_FILE: path.join(home, "production.pem"),
    };
    project = await Project.in(newFolder(), {}, env, home);
    project.keepSecret("the key of production", production.apiKey);
    const template = path.join(repository, "templates", "stack");
    await project.succeedsQuietly("new", template, "--yes", "--generate-only", "--name", "shop");
    await linkModules(project.folder);
  });
  after(async () => {
    await production?.close();
    await project?.close();
  });

  /** Makes the certificates of a stack anew. */
  async function certify(stack: string): Promise<void> {
    for (const [name, host] of Object.entries({ wildcard: "*", admin: "admin" })) {
      const commonName = `${host}.${stack}.example.com`;
      const notAfter = new Date(Date.now() + 60 * 86_400_000);
      const leaf = { commonName, dnsNames: [commonName], notAfter };
      await project.certificate(`certificates/${stack}/${name}`, leaf);
    }
  }

  const certificate = (stack: string, name: string) => ({
    chainFile: `certificates/${stack}/${name}/fullchain.pem`,
    keyFile: `certificates/${stack}/${name}/privkey.pem`,
  });
  const edge = (stack: string, name: string): object => ({
    certificate: name === "admin" ? "admin" : "wildcard",
    hostports: [`${name}.${stack}.example.com:443`],
    backendId: `bkdtg_2${name}`,
    access: stack === "prod" ? { ipPolicyIds: ["ipp_2office"] } : "anyone",
    ...(name === "admin" && { minVersion: "1.3", metadata: { owner: "security" } }),
    ...(name === "www" && stack === "dev" && { protect: true }),
  });
  /** Describes a stack in its file; `edges` and `own` change what all stacks have. */
  async function describeStack(stack: string, edges: object = {}, own: object = {}): Promise<void> {
    const settings = {
      owner: "platform",
      metadata: { team: "edge" },
      renewBeforeDays: 90,
      certificates: {
        wildcard: certificate(stack, "wildcard"),
        admin: {
          ...certificate(stack, "admin"),
          renewBeforeDays: 7,
          ...(stack === "dev" && { connection: "tlsedge-prod" }),
        },
      },
      edges: { ...Object.fromEntries(names.map((name) => [name, edge(stack, name)])), ...edges },
      ...(stack === "prod" && { protect: true, connection: "tlsedge-prod" }),
      ...own,
    };
    const file = `Pulumi.${stack}.yaml`;
    const config = Object.entries(settings).map(([name, value]) => [`shop:${name}`, value]);
    const { encryptionsalt } = parse(await text(project, file));
    await project.file(file, stringify({ encryptionsalt, config: Object.fromEntries(config) }));
  }

  it("have a plan with the files of the template, in production with its profile", async () => {
    const commonName = "*.example.com";
    await project.certificate("certificates/prod", { commonName, dnsNames: [commonName] });
    await project.select("prod");
    const { changes, output } = await project.preview(...policed);
    assert.equal(changes.create, 6);
    assert.doesNotMatch(output, /warning/);
  });

  it("C5 are made, with warnings, and pass the profile for production", async () => {
    for (const stack of environments) {
      await certify(stack);
      await describeStack(stack);
      await project.select(stack);
      const run = await project.up(...(stack === "prod" ? policed : []));
      assert.equal(run.changes.create, 19);
      const soon = run.events
        .flatMap(({ diagnosticEvent }) => diagnosticEvent ?? [])
        .filter(({ severity, message }) => severity === "warning" && /expires on/.test(message));
      assert.deepEqual(
        soon.map(({ urn = "" }) => nameOf(urn)),
        ["wildcard"],
      );
      const account = stack === "prod" ? production : project.emulator;
      const { app } = (await project.output("edges")) as Record<string, string>;
      assert.deepEqual(account.tlsEdges.get(app ?? "")?.hostports, [
        `app.${stack}.example.com:443`,
      ]);
    }
    const [lower, upper] = [project.emulator, production].map((account) =>
      Object.entries(held(account)).flatMap(([kind, all]) =>
        all.map(({ metadata }) => {
          const { environment, owner, team } = JSON.parse(metadata ?? "{}");
          return `${kind}: ${environment} ${owner} ${team}`;
        }),
      ),
    );
    const seven = (text: string) => Array.from({ length: 7 }, () => text);
    assert.deepEqual(lower?.sort(), [
      "certificates: dev platform edge",
      ...seven("edges: dev platform edge"),
    ]);
    assert.deepEqual(upper?.sort(), [
      "certificates: dev platform edge",
      "certificates: prod platform edge",
      "certificates: prod platform edge",
      "edges: dev security edge",
      ...seven("edges: prod platform edge"),
      "edges: prod security edge",
    ]);
  });

  /** The edges of the stack that the engine would not delete. */
  const protectedEdges = async () =>
    (await project.state()).resources
      .filter(({ type, protect }) => type.endsWith("TLSEdge") && protect)
      .map(({ urn }) => nameOf(urn))
      .sort();

  it("are protected, all of a stack or one, and their certificates are renewed all the same", async () => {
    assert.equal(project.stack, "prod");
    assert.deepEqual(await protectedEdges(), names);
    await certify("prod");
    const renewed = await project.up();
    assert.deepEqual(renewed.changes, { replace: 2, same: 17 });
    assert.equal(held(production).certificates.length, 3);
    await project.select("dev");
    assert.deepEqual(await protectedEdges(), ["www"]);
  });

  it("are refused for all that is wrong in config, at once and by path", async () => {
    await project.select("dev");
    const wrong = {
      app: { ...edge("dev", "app"), protect: "no" },
      www: { ...edge("dev", "www"), certificate: "wild", backend: "x", minVersion: 1.2 },
    };
    const certificates = {
      wildcard: certificate("dev", "none"),
      admin: certificate("dev", "admin"),
    };
    await describeStack("dev", wrong, { renewBeforeDay: 30, metadata: { team: 7 }, certificates });
    const { output, requests } = await project.fails("preview");
    const problems = output.match(/^ +(edges|certificates|metadata|renewBeforeDay)\b.*/gm) ?? [];
    assert.deepEqual(problems.map((line) => line.trim()).sort(), [
      "certificates.wildcard.chainFile: certificates/dev/none/fullchain.pem can't be read (ENOENT)",
      "certificates.wildcard.keyFile: certificates/dev/none/privkey.pem can't be read (ENOENT)",
      "edges.app.protect: must be boolean",
      "edges.www.backend: no such setting: did you mean backendId?",
      "edges.www.certificate: no certificate has this name; the names are: admin, wildcard",
      "edges.www.minVersion: is the number 1.2: put it into quotes",
      "metadata.team: is the number 7: put it into quotes",
      "renewBeforeDay: no such setting: did you mean renewBeforeDays?",
    ]);
    assert.deepEqual(requests, []);
  });

  it("C25 C50 change nothing the second time, with a key from config and no protection", async () => {
    await project.select("dev");
    const key = await text(project, "certificates/dev/wildcard/privkey.pem");
    const { keyFile: _, ...wildcard } = certificate("dev", "wildcard");
    const admin = {
      ...certificate("dev", "admin"),
      renewBeforeDays: 7,
      connection: "tlsedge-prod",
    };
    const www = { ...edge("dev", "www"), protect: false };
    await describeStack("dev", { www }, { certificates: { wildcard, admin } });
    await project.setSecret('privateKeys["wildcard"]', key);
    const before = requests().length;
    const run = await project.up();
    assert.deepEqual(run.changes, { same: 19 });
    assert.equal(requests().length, before);
    // What a run without a change prints fits on a screen.
    assert.ok(run.output.split("\n").length <= 40, run.output);
    assert.deepEqual(await protectedEdges(), []);
  });
});
