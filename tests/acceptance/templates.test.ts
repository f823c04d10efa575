import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";
import { type Emulator, startEmulator } from "../../emulator/server";
import { Project } from "../../tools/engine";
import { nameOf } from "../../tools/engineLog";
import { newFolder, repository } from "../../tools/folders";
import { pack, sh, startRegistry } from "../../tools/tarball";

/** Settings of npm that only save time. */
const npm = {
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_prefer_offline: "true",
};

/** A project in an empty folder: the state, and what else commands need, is in another one. */
function emptyProject(env: NodeJS.ProcessEnv = {}, home = newFolder()): Promise<Project> {
  return Project.in(newFolder(), {}, { ...npm, ...env }, home);
}

/** Runs `pulumi new` with a template of this repository. */
function create(project: Project, template: string, ...flags: string[]) {
  const folder = path.join(repository, "templates", template);
  return project.pulumi("new", folder, "--yes", "--name", "shop", ...flags);
}

const typeCheck = ({ folder }: Project) => sh("node_modules/.bin/tsc --noEmit", folder);
const text = ({ folder }: Project, name: string) => readFile(path.join(folder, name), "utf8");
const held = ({ tlsEdges, tlsCertificates }: Emulator) => ({
  edges: tlsEdges.list(),
  certificates: tlsCertificates.list(),
});
const nothing = { edges: [], certificates: [] };

describe("the template site, from an empty folder", () => {
  let project: Project;
  afterEach(() => project?.close());

  it("C25 is deployed with this package installed by its version", async () => {
    const registry = await startRegistry(await pack("."));
    try {
      project = await emptyProject({
        npm_config_registry: registry.url,
        // The template's settings, and its own compiler, must do.
        TLSEDGE_BASE_URL: undefined,
        TLSEDGE_API_KEY: undefined,
        PULUMI_NODEJS_TRANSPILE_ONLY: undefined,
      });
      const answers = [
        `tlsedge:baseUrl=${project.emulator.url}`,
        "domain=shop.example.com",
        "backendId=bkdtg_2shop",
        "access=ipp_2office, ipp_2home",
        "owner=web",
      ];
      const { code, output } = await create(
        project,
        "site",
        ...answers.flatMap((answer) => ["--config", answer]),
      );
      assert.equal(code, 0, output);
    } finally {
      await registry.close();
    }
    await typeCheck(project);
    await project.setSecret("tlsedge:apiKey", project.emulator.apiKey);
    const early = await project.fails("preview");
    assert.match(early.output, /certificate\/fullchain\.pem can't be read/);
    const leaf = { commonName: "shop.example.com", dnsNames: ["shop.example.com"] };
    const made = await project.certificate("certificate", leaf);
    assert.equal((await project.up()).changes.create, 4);
    const [edge] = held(project.emulator).edges;
    assert.deepEqual(edge?.hostports, ["shop.example.com:443"]);
    const policies = [edge?.ip_restriction?.ip_policies ?? []].flat().map(({ id }) => id);
    assert.deepEqual(policies, ["ipp_2office", "ipp_2home"]);
    assert.equal(JSON.parse(edge?.metadata ?? "{}").owner, "web");
    assert.equal(await project.output("url"), "https://shop.example.com");
    // The same certificate, from config.
    await project.succeedsQuietly("config", "rm", "certificateFolder");
    await project.setSecret("certificatePem", made.certificatePem);
    await project.setSecret("privateKeyPem", made.privateKeyPem);
    const second = await project.up();
    assert.deepEqual([second.changes, second.requests], [{ same: 4 }, []]);
    await project.destroy();
    assert.deepEqual(held(project.emulator), nothing);
  });

  it("is complete but for its modules if npm does not find this package", async () => {
    project = await emptyProject({ npm_config_offline: "true", npm_config_cache: newFolder() });
    const { code, output } = await create(project, "site", "--config", "domain=shop.example.com");
    assert.notEqual(code, 0);
    assert.match(output, /installing dependencies failed/);
    assert.match(await text(project, "Pulumi.dev.yaml"), /shop:domain: shop\.example\.com/);
    assert.equal(JSON.parse(await text(project, "package.json")).name, "shop");
  });
});

describe("the template stack, from an empty folder: three environments of eight sites", () => {
  const environments = ["dev", "staging", "prod"];
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
  const writes = () => requests().filter(({ method }) => method !== "GET");

  before(async () => {
    const home = newFolder();
    production = await startEmulator();
    await writeFile(path.join(home, "production.pem"), production.ca);
    const env = {
      TLSEDGE_PROD_BASE_URL: production.url,
      TLSEDGE_PROD_API_KEY: production.apiKey,
      TLSEDGE_PROD_CA_FILE: path.join(home, "production.pem"),
    };
    project = await emptyProject(env, home);
    project.keepSecret("the key of production", production.apiKey);
    const { code, output } = await create(project, "stack", "--generate-only");
    assert.equal(code, 0, output);
    const [tarball, policyTarball] = [await pack("."), await pack("policy")];
    await sh(`npm install ${tarball} ${policyTarball}`, project.folder, project.env);
    await typeCheck(project);
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
    ...(name === "www" && stack === "staging" && { protect: true }),
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
    for (const stack of environments) {
      const commonName = stack === "prod" ? "*.example.com" : `*.${stack}.example.com`;
      await project.certificate(`certificates/${stack}`, { commonName, dnsNames: [commonName] });
      await project.select(stack);
      const { changes, output } = await project.preview(...(stack === "prod" ? policed : []));
      assert.equal(changes.create, 6);
      assert.doesNotMatch(output, /warning/);
    }
  });

  it("C5 C25 are made, change nothing the second time, and pass the profile for production", async () => {
    for (const stack of environments) {
      await certify(stack);
      await describeStack(stack);
      await project.select(stack);
      const first = await project.up(...(stack === "prod" ? policed : []));
      assert.equal(first.changes.create, 19);
      const soon = first.events
        .flatMap(({ diagnosticEvent }) => diagnosticEvent ?? [])
        .filter(({ severity, message }) => severity === "warning" && /expires on/.test(message));
      assert.deepEqual(
        soon.map(({ urn = "" }) => nameOf(urn)),
        ["wildcard"],
      );
      const before = requests().length;
      const second = await project.up();
      assert.deepEqual(second.changes, { same: 19 });
      assert.equal(requests().length, before);
      // What a run without a change prints fits on a screen.
      assert.ok(second.output.split("\n").length <= 40, second.output);
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
      "certificates: staging platform edge",
      "certificates: staging platform edge",
      ...seven("edges: dev platform edge"),
      ...seven("edges: staging platform edge"),
      "edges: staging security edge",
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

  it("C50 take a private key from config as a secret, and refuse it in plain text", async () => {
    await project.select("dev");
    const key = await text(project, "certificates/dev/wildcard/privkey.pem");
    const { keyFile: _, ...wildcard } = certificate("dev", "wildcard");
    const admin = {
      ...certificate("dev", "admin"),
      renewBeforeDays: 7,
      connection: "tlsedge-prod",
    };
    await describeStack("dev", {}, { certificates: { wildcard, admin } });
    await project.setSecret('privateKeys["wildcard"]', key);
    assert.deepEqual((await project.up()).changes, { same: 19 });
    await project.succeedsQuietly("config", "set", "--path", "privateKeys.wildcard", "hunter2");
    const { output } = await project.fails("preview");
    assert.match(output, /privateKeys: stands in config in plain text/);
    assert.doesNotMatch(output, /hunter2/);
  });

  it("are stopped in production if one is open to everyone", async () => {
    await project.select("prod");
    await describeStack("prod", { www: { ...edge("prod", "www"), access: "anyone" } });
    const before = writes().length;
    const stopped = await project.fails("up", "--yes", "--skip-preview", ...policed);
    assert.match(stopped.output, /\[mandatory\].*edge-access/);
    assert.equal(writes().length, before);
  });

  it("are protected, all of a stack or one, and their certificates are renewed all the same", async () => {
    await project.select("prod");
    await describeStack("prod", { www: undefined });
    const all = await project.fails("up", "--yes", "--skip-preview");
    assert.match(all.output, /shop::.*TLSEdge::www" cannot be deleted.*protected/s);
    await project.select("staging");
    await describeStack("staging", { app: undefined, www: undefined });
    const one = await project.fails("up", "--yes", "--skip-preview");
    assert.match(one.output, /TLSEdge::www" cannot be deleted.*protected/s);
    assert.doesNotMatch(one.output, /TLSEdge::app" cannot be deleted/);

    await project.select("prod");
    await describeStack("prod");
    await certify("prod");
    const renewed = await project.up();
    assert.deepEqual(renewed.changes, { replace: 2, same: 17 });
    assert.equal(held(production).certificates.length, 3);
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

  it("end", async () => {
    for (const stack of environments) {
      await project.select(stack);
      if (stack === "prod") {
        await project.succeedsQuietly("config", "set", "protect", "false");
        await project.up();
      } else {
        await project.succeedsQuietly("state", "unprotect", "--all", "--yes");
      }
      await project.destroy();
    }
    assert.deepEqual([held(project.emulator), held(production)], [nothing, nothing]);
  });
});
