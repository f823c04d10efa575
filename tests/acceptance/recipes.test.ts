import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { Client } from "../../client/client";
import { tlsCertificates } from "../../client/tlsCertificate";
import { makeCertificate } from "../../emulator/server";
import ours from "../../package.json";
import { type Acme, startAcme } from "../../tools/acme";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { goProgram } from "../../tools/goProgram";
import { commonJs } from "../../tools/languages";
import { findGo, findProgram, pathFolders } from "../../tools/pulumi";
import { pack } from "../../tools/tarball";
import { type Jobs, type Runner, runPipeline, runWorkflow } from "../../tools/workflow";

const run = promisify(execFile);
const day = 86_400_000;
const recipes = path.join(repository, "docs", "recipes");
const hostports = {
  staging: "app.staging.example.com:443",
  production: "app.example.com:443",
};

/** Runs the jobs that a cause starts. */
type Run<Cause> = (cause: Cause, settings: Record<string, string>, runner: Runner) => Promise<Jobs>;

/** As GitHub does. What installs certbot is left out. */
const onGitHub: Run<"pull request" | "merge" | "night" | "renewal"> = (cause, settings, runner) => {
  const repo = { full_name: "acme/edges" };
  const [event_name, event] = {
    "pull request": ["pull_request", { pull_request: { head: { repo } } }] as const,
    merge: ["push", {}] as const,
    night: ["schedule", { schedule: "17 3 * * *" }] as const,
    renewal: ["schedule", { schedule: "47 4 * * *" }] as const,
  }[cause];
  const github = { event_name, event, repository: repo.full_name };
  const names = Object.keys(hostports).flatMap((stack) => [stack, `${stack}-check`]);
  const contexts = { secrets: settings, vars: settings };
  const environments = Object.fromEntries(names.map((name) => [name, contexts]));
  const without = ["pipx install certbot", ...runner.without];
  const file = path.join(recipes, "github-actions.yml");
  return runWorkflow(file, { github, environments }, { ...runner, without });
};

/** As GitLab does. */
const onGitLab: Run<"pull request" | "merge"> = (cause, settings, runner) => {
  const source = { "pull request": "merge_request_event", merge: "push" }[cause];
  // Jobs without an environment of the recipe get none of the settings.
  const scoped = Object.entries(settings).map(([name, value]) => {
    return [name, { values: { "staging*": value, "production*": value } }];
  });
  const without = runner.without.length > 0 ? ["npm ci --cache .npm --prefer-offline"] : [];
  const variables = { ...Object.fromEntries(scoped), CI_PIPELINE_SOURCE: source };
  return runPipeline(path.join(recipes, "gitlab-ci.yml"), variables, { ...runner, without });
};

describe("the recipes for CI, on the real engine", () => {
  let project: Project;
  let tarballs: Record<string, string>;
  let acme: Acme;
  before(async function () {
    const python = await findProgram("python3", pathFolders(process.env));
    if (!python || !(await findGo("Pebble").catch(() => undefined))) this.skip();
    tarballs = {
      "pulumi-tlsedge": `file:${await pack(".")}`,
      "pulumi-tlsedge-policy": `file:${await pack("policy")}`,
    };
    acme = await startAcme();
  });
  after(() => acme?.close());
  afterEach(() => project?.close());

  it("GitHub's file has no mistake that actionlint knows", async () => {
    const program = await goProgram("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12");
    await run(program, ["-shellcheck=", "-pyflakes=", path.join(recipes, "github-actions.yml")]);
  });

  /** Makes a checkout; gives what runs the jobs of a cause there. */
  async function checkedOut<Cause>(runJobs: Run<Cause>) {
    project = await checkout(tarballs, acme);
    const { emulator } = project;
    let without: string[] = [];

    /** Runs the jobs of a cause; gives their results, what they printed, and the writes. */
    return async function jobsOf(cause: Cause) {
      const earlier = emulator.requests.length;
      const { runs, output } = await runJobs(cause, ...settingsAndRunner(project, without));
      // The jobs share the checkout.
      without = ["npm ci"];
      assert.deepEqual(project.secrets.in(output), [], "secrets are in the log of the jobs");
      const methods = emulator.requests.slice(earlier).map(({ method }) => method);
      const results = runs.map(({ name, code }) => [name, code === 0 ? "passed" : "failed"]);
      return {
        jobs: Object.fromEntries(results),
        output,
        writes: methods.filter((method) => method !== "GET"),
      };
    };
  }

  it("GitHub Actions: from a pull request to a renewed certificate", async function () {
    this.timeout(600_000);
    const jobsOf = await checkedOut(onGitHub);
    const { emulator, folder } = project;
    const planned = await jobsOf("pull request");
    assert.deepEqual([planned.jobs, planned.writes], [previews, []], planned.output);
    for (const hostport of Object.values(hostports)) assert.ok(planned.output.includes(hostport));

    const program = await readFile(path.join(folder, "index.js"), "utf8");
    await project.file("index.js", program.replace(/access: .*,/, 'access: "anyone",'));
    const refused = await jobsOf("pull request");
    const failing = { ...previews, "preview (production, production)": "failed" };
    assert.deepEqual([refused.jobs, refused.writes], [failing, []], refused.output);
    assert.match(refused.output, /\[mandatory\].*edge-access/);
    await project.file("index.js", program.replace(/access: .*,/, '$& minVersion: "1.1",'));
    const stopped = await jobsOf("merge");
    assert.deepEqual([stopped.jobs, stopped.writes], [{ staging: "failed" }, []], stopped.output);
    assert.match(stopped.output, /\[mandatory\].*edge-tls-version/);

    await project.file("index.js", program);
    const deployed = await jobsOf("merge");
    assert.deepEqual(deployed.jobs, ups, deployed.output);
    assert.deepEqual(deployed.writes, ["POST", "POST", "POST", "POST"]);

    const quiet = await jobsOf("night");
    assert.deepEqual([quiet.jobs, quiet.writes], [checks, []], quiet.output);
    const { id, description } = emulator.tlsEdges.list().find(servesProduction) ?? assert.fail();
    emulator.tlsEdges.patch(id, { description: "changed by hand" });
    const undo = await uploadExpiring(project);
    const loud = await jobsOf("night");
    const found = { ...checks, "drift (production)": "failed", expiry: "failed" };
    assert.deepEqual([loud.jobs, loud.writes], [found, []], loud.output);
    assert.match(loud.output, /"changed by hand"/);
    assert.match(loud.output, /9, due/);
    undo();
    emulator.tlsEdges.patch(id, { description });

    const before = emulator.tlsCertificates.list().map((one) => one.id);
    const renewed = await jobsOf("renewal");
    assert.deepEqual(renewed.jobs, passed("renew"), renewed.output);
    assert.deepEqual(renewed.writes, ["POST", "DELETE"]);
    const held = emulator.tlsCertificates.list();
    assert.equal(held.length, before.length);
    const made = held.find((one) => !before.includes(one.id));
    assert.match(String(made?.issuer_common_name), /Pebble/);

    const git = async (...args: string[]) => (await run("git", args, { cwd: folder })).stdout;
    assert.equal(
      await git("-C", origin(project), "log", "-1", "--format=%s", "main"),
      "Renew app.example.com\n",
    );
    const config = await git("-C", origin(project), "show", "main:Pulumi.production.yaml");
    assert.match(config, /key:\n +secure: /);
    assert.doesNotMatch(config + renewed.output, /PRIVATE KEY/);

    const again = await jobsOf("renewal");
    assert.deepEqual([again.jobs, again.writes], [passed("renew"), []], again.output);
  });

  it("GitLab CI: a pull request and a merge, with the commands of GitHub's file", async function () {
    if (!(await findProgram("rsync", pathFolders(process.env)))) this.skip();
    const jobsOf = await checkedOut(onGitLab);
    const planned = await jobsOf("pull request");
    assert.deepEqual([planned.jobs, planned.writes], [previews, []], planned.output);
    const deployed = await jobsOf("merge");
    assert.deepEqual(deployed.jobs, ups, deployed.output);
    assert.deepEqual(deployed.writes, ["POST", "POST", "POST", "POST"]);
    const commands = await commandsOf("gitlab-ci.yml");
    assert.deepEqual(commands, await commandsOf("github-actions.yml"));
    assert.equal(commands.length, 6);
  });
});

const passed = (...jobs: string[]) => Object.fromEntries(jobs.map((job) => [job, "passed"]));
const previews = passed("preview (staging, baseline)", "preview (production, production)");
const ups = passed("staging", "production");
const checks = passed("drift (staging)", "drift (production)", "expiry");

/** The commands of a recipe that do the work of its jobs, each on one line. */
async function commandsOf(file: string): Promise<string[]> {
  const jobs = parse(await readFile(path.join(recipes, file), "utf8"), { merge: true });
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(jobs);
  const lines = texts.flatMap((text) => text.replaceAll("\\\n", " ").split("\n"));
  const commands = lines
    .map((line) => line.trim().replace(/ +/g, " "))
    .filter((line) => /^(pulumi |npx |\.\/renew\.sh )/.test(line));
  return [...new Set(commands)].sort();
}

const servesProduction = (edge: { hostports?: string[] | null }) =>
  edge.hostports?.includes(hostports.production);

/** The settings of docs/recipes.md, and a machine that has none of them. */
function settingsAndRunner(
  { env, folder }: Project,
  without: string[],
): [Record<string, string>, Runner] {
  const names = [
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE",
    "TLSEDGE_BASE_URL",
    "TLSEDGE_API_KEY",
  ];
  const settings = Object.fromEntries(names.map((name) => [name, String(env[name])]));
  const unset = Object.fromEntries(names.map((name) => [name, undefined]));
  const runner = { cwd: folder, env: { ...env, ...unset }, without };
  return [{ ...settings, DNS_TOKEN: "token" }, runner];
}

/** Uploads a certificate with ten days left, as somebody else would; gives what deletes it. */
async function uploadExpiring({ emulator, env }: Project): Promise<() => void> {
  const { url: baseUrl, apiKey } = emulator;
  const client = new Client({ baseUrl, apiKey, caFile: String(env.TLSEDGE_CA_FILE) });
  const notAfter = new Date(Date.now() + 10 * day);
  const made = await makeCertificate({ commonName: "other.example.com", notAfter });
  const body = { certificate_pem: made.certificatePem, private_key_pem: made.privateKeyPem };
  const { id } = await tlsCertificates.create(client, body);
  return () => emulator.tlsCertificates.delete(id);
}

const origin = ({ folder }: Project) => path.join(folder, "origin.git");

/** A checkout of a project as docs/recipes.md asks for it. */
async function checkout(tarballs: Record<string, string>, acme: Acme): Promise<Project> {
  const project = await Project.in(newFolder(), {}, acme.env);
  const { folder, env } = project;
  env.PATH = [acme.bin, env.PATH].join(path.delimiter);
  const shell = (command: string, ...args: string[]) => run(command, args, { cwd: folder, env });

  const text = await readFile(path.join(repository, "docs", "recipes.md"), "utf8");
  const [, program = ""] = /```ts\n(.*?)```/s.exec(text) ?? [];
  await project.file("index.js", commonJs(program));
  await project.file(
    "Pulumi.yaml",
    "name: edges\nruntime: { name: nodejs, options: { typescript: false } }\n",
  );
  const dependencies = { "@pulumi/pulumi": ours.devDependencies["@pulumi/pulumi"], ...tarballs };
  await project.file("package.json", JSON.stringify({ main: "index.js", dependencies }));
  await shell(
    "npm",
    "install",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--package-lock-only",
  );
  await copyFile(path.join(recipes, "renew.sh"), path.join(folder, "renew.sh"));
  await writeFile(path.join(folder, "dns-record.sh"), dnsRecord(acme.dns), { mode: 0o755 });

  // The certificate of production has to be renewed, but not within the days of the nightly check.
  const left = { staging: 90, production: 20 };
  for (const [stack, hostport] of Object.entries(hostports)) {
    await project.select(stack);
    await project.succeedsQuietly("config", "set", "hostport", hostport);
    const host = hostport.replace(":443", "");
    const made = await makeCertificate({
      commonName: host,
      dnsNames: [host],
      notAfter: new Date(Date.now() + left[stack as keyof typeof left] * day + day / 2),
    });
    project.keepSecret(`the key of ${stack}`, made.privateKeyPem);
    const chain = ["config", "set", "chain", "--stack", stack];
    assert.equal((await project.start(chain, undefined, made.certificatePem).done).code, 0);
    await project.setSecret("key", made.privateKeyPem);
  }

  await shell("git", "init", "--quiet", "--bare", "--initial-branch", "main", origin(project));
  await shell("git", "init", "--quiet", "--initial-branch", "main");
  await shell("git", "remote", "add", "origin", "https://git.invalid/acme/edges.git");
  await shell(
    "git",
    "config",
    `url.${origin(project)}.pushInsteadOf`,
    "https://git.invalid/acme/edges.git",
  );
  await shell("git", "config", "user.name", "somebody");
  await shell("git", "config", "user.email", "somebody@localhost");
  await shell(
    "git",
    "add",
    "package.json",
    "package-lock.json",
    "index.js",
    "renew.sh",
    "dns-record.sh",
    ...["", ".staging", ".production"].map((stack) => `Pulumi${stack}.yaml`),
  );
  await shell("git", "commit", "--quiet", "--message", "Start");
  await shell("git", "push", "--quiet", "origin", "main");
  return project;
}

/** Sets the record at Pebble's DNS server, in place of a DNS provider's API. */
const dnsRecord = (server: string) => `#!/usr/bin/env node
const { CERTBOT_DOMAIN, CERTBOT_VALIDATION: value, DNS_TOKEN } = process.env;
if (!DNS_TOKEN) throw new Error("no DNS_TOKEN");
const body = JSON.stringify({ host: \`_acme-challenge.\${CERTBOT_DOMAIN}.\`, value });
fetch("${server}/set-txt", { method: "POST", body }).then(({ ok }) => process.exit(ok ? 0 : 1));
`;
