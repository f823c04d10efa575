import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
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

const run = promisify(execFile);
const gitlab = require.resolve("gitlab-ci-local");
const day = 86_400_000;
const recipes = path.join(repository, "docs", "recipes");
const workflows = globSync(path.join(repository, ".github", "workflows", "*.yml"));
const hostports = {
  staging: "app.staging.example.com:443",
  production: "app.example.com:443",
};

type Matrix = Record<string, string>;

interface Job {
  strategy?: { matrix: { include: Matrix[] } };
  env?: Record<string, string>;
  steps: { uses?: string; run?: string; env?: Record<string, string> }[];
}

/** A recipe, with its anchors resolved. */
const recipe = async (file: string) =>
  parse(await readFile(path.join(recipes, file), "utf8"), { merge: true });

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

  it("GitHub's file and our workflows have no mistake that actionlint knows", async () => {
    const program = await goProgram("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12");
    await run(program, [
      "-shellcheck=",
      "-pyflakes=",
      path.join(recipes, "github-actions.yml"),
      ...workflows,
    ]);
  });

  it("GitLab's file is what GitLab's schema allows, and has the commands of GitHub's", async () => {
    const folder = newFolder();
    await copyFile(path.join(recipes, "gitlab-ci.yml"), path.join(folder, ".gitlab-ci.yml"));
    await run("git", ["init", "--quiet"], { cwd: folder });
    const { stdout } = await run(process.execPath, [gitlab, "--list-all"], { cwd: folder });
    for (const job of ["preview", "staging", "production"]) assert.ok(stdout.includes(job), stdout);
    const commands = await commandsOf("gitlab-ci.yml");
    assert.deepEqual(commands, await commandsOf("github-actions.yml"));
    assert.equal(commands.length, 6);
  });

  it("GitHub's commands: from a pull request to a renewed certificate", async function () {
    this.timeout(600_000);
    project = await checkout(tarballs, acme);
    const { emulator, folder } = project;
    await run("npm", ["ci"], { cwd: folder, env: project.env });
    const { jobs } = await recipe("github-actions.yml");

    /** Runs the commands of a job for each entry of its matrix; gives which passed, and the writes. */
    async function job(id: string) {
      const { strategy, env, steps }: Job = jobs[id];
      const earlier = emulator.requests.length;
      const passed: boolean[] = [];
      let output = "";
      for (const matrix of strategy?.matrix.include ?? [{}]) {
        const done = await commands(project, steps, env, matrix);
        passed.push(done.code === 0);
        output += done.output;
      }
      assert.deepEqual(project.secrets.in(output), [], "secrets are in the log of the job");
      const methods = emulator.requests.slice(earlier).map(({ method }) => method);
      return { passed, output, writes: methods.filter((method) => method !== "GET") };
    }
    const planned = await job("preview");
    assert.deepEqual([planned.passed, planned.writes], [[true, true], []], planned.output);
    for (const hostport of Object.values(hostports)) assert.ok(planned.output.includes(hostport));

    const program = await readFile(path.join(folder, "index.js"), "utf8");
    await project.file("index.js", program.replace(/access: .*,/, "access: { public: true },"));
    const refused = await job("preview");
    assert.deepEqual([refused.passed, refused.writes], [[true, false], []], refused.output);
    assert.match(refused.output, /\[mandatory\].*edge-access/);
    await project.file("index.js", program.replace(/access: .*,/, '$& minVersion: "1.1",'));
    const stopped = await job("staging");
    assert.deepEqual([stopped.passed, stopped.writes], [[false], []], stopped.output);
    assert.match(stopped.output, /\[mandatory\].*edge-tls-version/);

    await project.file("index.js", program);
    for (const stack of ["staging", "production"]) {
      const deployed = await job(stack);
      const { passed, writes } = deployed;
      assert.deepEqual([passed, writes], [[true], ["POST", "POST"]], deployed.output);
    }

    const quiet = [await job("drift"), await job("expiry")];
    assert.deepEqual(
      quiet.map(({ passed, writes }) => [passed, writes]),
      [
        [[true, true], []],
        [[true], []],
      ],
    );
    const { id, description } = emulator.tlsEdges.list().find(servesProduction) ?? assert.fail();
    emulator.tlsEdges.patch(id, { description: "changed by hand" });
    const undo = await uploadExpiring(project);
    const drift = await job("drift");
    assert.deepEqual([drift.passed, drift.writes], [[true, false], []], drift.output);
    assert.match(drift.output, /"changed by hand"/);
    const expiry = await job("expiry");
    assert.deepEqual([expiry.passed, expiry.writes], [[false], []], expiry.output);
    assert.match(expiry.output, /9, due/);
    undo();
    emulator.tlsEdges.patch(id, { description });

    const before = emulator.tlsCertificates.list().map((one) => one.id);
    const renewed = await job("renew");
    const { passed, writes } = renewed;
    assert.deepEqual([passed, writes], [[true], ["POST", "DELETE"]], renewed.output);
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

    const again = await job("renew");
    assert.deepEqual([again.passed, again.writes], [[true], []], again.output);
  });
});

/**
 * Runs the commands of a job, each in the shell that `shell: bash` stands for; the first that fails
 * ends it. Its expressions get the settings of docs/recipes.md. Left out is what installs.
 */
async function commands(
  { env, folder }: Project,
  steps: Job["steps"],
  variables: Record<string, string> = {},
  matrix: Matrix,
): Promise<{ code: number; output: string }> {
  const settings = [
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE",
    "TLSEDGE_BASE_URL",
    "TLSEDGE_API_KEY",
  ];
  const values = new Map([
    ...Object.entries(matrix).map(([name, value]) => [`matrix.${name}`, value] as const),
    ...["secrets", "vars"].flatMap((context) =>
      settings.map((name) => [`${context}.${name}`, String(env[name])] as const),
    ),
    ["secrets.DNS_TOKEN", "token"] as const,
  ]);
  const fill = (text: string) =>
    text.replace(/\$\{\{ *(.*?) *\}\}/g, (_, expression) => {
      return values.get(expression) ?? assert.fail(`${expression} has no value`);
    });
  const bare = { ...env, ...Object.fromEntries(settings.map((name) => [name, undefined])) };
  let output = "";
  for (const { run: command, env: own } of steps) {
    if (!command || ["npm ci", "pipx install certbot"].includes(command)) continue;
    assert.doesNotMatch(command, /\$\{\{/, "a value in a command could be read as a command");
    const given = Object.entries({ ...variables, ...own }).map(([name, text]) => [
      name,
      fill(text),
    ]);
    const bash = ["--noprofile", "--norc", "-eo", "pipefail", "-c", command];
    const GITHUB_STEP_SUMMARY = path.join(folder, "summary.md");
    const options = {
      cwd: folder,
      env: {
        ...bare,
        GITHUB_REPOSITORY: "acme/edges",
        GITHUB_STEP_SUMMARY,
        ...Object.fromEntries(given),
      },
      maxBuffer: 1 << 26,
    };
    const { code, stdout, stderr } = await run("bash", bash, options).then(
      (printed) => ({ code: 0, ...printed }),
      (failed) => failed,
    );
    output += stdout + stderr;
    if (code !== 0) return { code, output };
  }
  return { code: 0, output };
}

/** The commands of a recipe that do the work of its jobs, each on one line. */
async function commandsOf(file: string): Promise<string[]> {
  const jobs = await recipe(file);
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
