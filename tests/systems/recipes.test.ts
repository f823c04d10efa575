import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { parse } from "yaml";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { findGo, goEnv, pulumiVersion } from "../../tools/pulumi";
import { pack, quickNpm } from "../../tools/tarball";
import { makeIssuer } from "../policyCases";
import { upload } from "../support";

const day = 86_400_000;
const recipes = path.join(repository, "docs", "recipes");
const hosts = { dev: "dev.example.com", staging: "staging.example.com", prod: "example.com" };
type Stack = keyof typeof hosts;
type Values = Record<string, string>;
interface Job {
  if?: string;
  needs?: string;
  permissions?: Values;
  env: Values;
  steps: { uses?: string; with?: Values; run?: string; env?: Values }[];
}

const recipe = async (file: string) => parse(await readFile(path.join(recipes, file), "utf8"));

describe("the recipes for CI", () => {
  it("have no mistake that actionlint and shellcheck know, and no action without a commit", async function () {
    const go = await findGo("actionlint").catch(() => this.skip());
    const files = [
      ...globSync(path.join(recipes, "github-actions*.yml")),
      ...globSync(path.join(repository, ".github", "workflows", "*.yml")),
    ];
    const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
    await promisify(execFile)(go, ["run", actionlint, ...files], { env: goEnv() });
    for (const file of files)
      for (const [, use] of (await readFile(file, "utf8")).matchAll(/uses: (.*)/g))
        assert.match(String(use), /^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+/, file);
  });

  it("install the CLI of the tests", async () => {
    for (const [file, count] of [
      ["github-actions.yml", 2],
      ["github-actions-plugin.yml", 1],
      ["gitlab-ci.yml", 1],
    ] as const) {
      const text = await readFile(path.join(recipes, file), "utf8");
      const found = [...text.matchAll(/(?:pulumi-version: |pulumi-nodejs-24:)([\d.]+)/g)];
      assert.deepEqual(
        found.map(([, version]) => version),
        Array(count).fill(pulumiVersion),
      );
    }
  });

  it("give a fork neither secrets nor a token that can write", async () => {
    const { on, permissions, jobs } = await recipe("github-actions.yml");
    assert.deepEqual(Object.keys(on), ["pull_request", "push", "schedule"]);
    assert.deepEqual(permissions, { contents: "read" });
    const own = Object.entries<Job>(jobs).filter(([, job]) => job.permissions);
    assert.deepEqual(
      own.map(([id, job]) => [id, job.permissions]),
      [["preview", { contents: "read", "pull-requests": "write" }]],
    );
    const plugin = await recipe("github-actions-plugin.yml");
    assert.deepEqual(
      [Object.keys(plugin.on), plugin.permissions],
      [["pull_request", "push"], permissions],
    );
    let all: Record<string, Job> = jobs;
    const started = (event_name: string, actor = "somebody", full_name = "acme/edges") => {
      const event = { pull_request: { head: { repo: { full_name } } } };
      const github = { event_name, actor, repository: "acme/edges", event };
      const runs = ({ if: condition = "true", needs }: Job): boolean =>
        runInNewContext(condition, { github }) && (!needs || runs(all[needs] as Job));
      return Object.keys(all).filter((id) => runs(all[id] as Job));
    };
    assert.deepEqual(started("pull_request"), ["stacks", "preview"]);
    assert.deepEqual(started("pull_request", "somebody", "fork/edges"), ["stacks"]);
    assert.deepEqual(started("pull_request", "dependabot[bot]"), ["stacks"]);
    assert.deepEqual(started("push"), ["stacks", "up", "prod"]);
    assert.deepEqual(started("schedule"), ["stacks", "check", "account"]);
    all = plugin.jobs;
    assert.deepEqual(started("pull_request"), ["preview"]);
    assert.deepEqual(started("pull_request", "somebody", "fork/edges"), []);
    assert.deepEqual(started("pull_request", "dependabot[bot]"), []);
    assert.deepEqual(started("push"), ["up"]);
  });
});

describe("the template stack and the recipes, from `pulumi new` on", () => {
  let project: Project;
  let jobs: Record<string, Job>;
  /** docs/recipes.md */
  let page: string;
  const held = () => project.emulator.tlsEdges.list();
  after(() => project?.close());

  before(async () => {
    page = await readFile(path.join(repository, "docs", "recipes.md"), "utf8");
    jobs = (await recipe("github-actions.yml")).jobs;
    project = await Project.in(newFolder(), {}, quickNpm, newFolder());
    const template = newFolder();
    await cp(path.join(repository, "templates", "stack"), template, { recursive: true });
    const manifest = path.join(template, "package.json");
    const { dependencies, ...rest } = JSON.parse(await readFile(manifest, "utf8"));
    dependencies["pulumi-tlsedge"] = `file:${await pack(".")}`;
    dependencies["pulumi-tlsedge-policy"] = `file:${await pack("policy")}`;
    await writeFile(manifest, JSON.stringify({ ...rest, dependencies }));
    await project.succeedsQuietly("new", template, "--yes", "--name", "shop");
    await project.select("dev");
    const created = await shell(page.match(/^for stack in .*$/m)?.[0] ?? "false");
    assert.equal(created.code, 0, created.output);
    // The third stack has the job of the first.
    for (const stack of ["dev", "prod"] as const) {
      await project.select(stack);
      await renew(stack);
    }
  });

  /** Gives a stack a new certificate, with the commands of docs/recipes.md. */
  async function renew(stack: Stack): Promise<void> {
    const names = { commonName: `*.${hosts[stack]}`, dnsNames: [`*.${hosts[stack]}`] };
    const leaf = { ...names, issuer: await makeIssuer() };
    await project.certificate(".", { ...leaf, notAfter: new Date(Date.now() + 60 * day) });
    const commands = page.match(/^pulumi config set .*$/gm) ?? [];
    assert.equal(commands.length, 2);
    const ran = await shell(commands.join("\n").replaceAll("--stack prod", `--stack ${stack}`));
    assert.equal(ran.code, 0, ran.output);
  }

  const settings = [
    ...["PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE"],
    ...["TLSEDGE_API_KEY", "TLSEDGE_BASE_URL", "TLSEDGE_CA_FILE"],
  ];

  /** Runs commands as a job does, without the settings that it does not give; and what they wrote. */
  async function shell(script: string, env: Values = {}, unset: string[] = []) {
    const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const bash = ["bash", "-e", "-o", "pipefail", "-c", script];
    const before = project.emulator.requests.length;
    const args = [...unset.flatMap((name) => ["-u", name]), ...given, ...bash];
    const { code, output } = await project.start(args, "env").done;
    const requests = project.emulator.requests.slice(before).map(({ method }) => method);
    return { code, output, writes: requests.filter((method) => method !== "GET") };
  }

  /** Runs the steps of a job of GitHub for a stack: the first that fails ends it. */
  async function run(id: string, stack: Stack) {
    const contexts = { secrets: project.env, vars: project.env, matrix: { stack }, env: {} };
    const filled = (values: Values = {}) =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name,
          String(value).replace(/\$\{\{(.*?)\}\}/g, (_, text) => runInNewContext(text, contexts)),
        ]),
      );
    const PACK = "node_modules/pulumi-tlsedge-policy";
    contexts.env = { PACK, ...filled(jobs[id]?.env) };
    let done = { code: 0, output: "", writes: [] as string[] };
    for (const { run: script, with: inputs, env } of jobs[id]?.steps ?? []) {
      const command = script ?? (inputs?.command && commandOf(filled(inputs)));
      if (!command || command === "npm ci" || done.code !== 0) continue;
      assert.doesNotMatch(command, /\$\{\{/, "a value in a command could be read as a command");
      const files = { GITHUB_OUTPUT: "output.txt", GITHUB_STEP_SUMMARY: "summary.md" };
      done = await shell(command, { ...contexts.env, ...filled(env), ...files }, settings);
    }
    return done;
  }

  /** What pulumi/actions runs for its inputs. */
  function commandOf(inputs: Values): string {
    const { command, "stack-name": stack, policyPacks, policyPackConfigs } = inputs;
    return [
      `pulumi ${command} --stack ${stack} --non-interactive`,
      ...["diff", "suppress-progress"]
        .filter((name) => inputs[name] === "true")
        .map((name) => `--${name}`),
      `--policy-pack ${policyPacks} --policy-pack-config ${policyPackConfigs}`,
    ].join(" ");
  }

  const text = (name: string) => readFile(path.join(project.folder, name), "utf8");

  it("finds the stacks by their files, and what `npm ci` installs", async () => {
    assert.equal((await run("stacks", "dev")).code, 0);
    const names = JSON.parse((await text("output.txt")).replace("names=", "")).sort();
    assert.deepEqual(names, Object.keys(hosts).sort());
    const { output: listed } = await shell("pulumi stack ls --json");
    assert.deepEqual(
      JSON.parse(listed)
        .map(({ name }: Values) => name)
        .sort(),
      names,
    );
    const { code, output } = await shell("npm ci");
    assert.equal(code, 0, output);
  });

  it("previews a pull request; C70 a policy of production stops it, and an update before any write", async () => {
    const plan = await run("preview", "dev");
    assert.deepEqual([plan.code, plan.writes], [0, []], plan.output);
    assert.ok(plan.output.includes(`app.${hosts.dev}:443`), plan.output);
    const own = await text("Pulumi.prod.yaml");
    await project.file("Pulumi.prod.yaml", own.replace('minVersion: "1.3"', 'minVersion: "1.1"'));
    for (const id of ["preview", "prod"]) {
      const { code, output, writes } = await run(id, "prod");
      assert.notEqual(code, 0, output);
      assert.match(output, /\[mandatory\].*edge-tls-version/);
      assert.deepEqual(writes, []);
    }
    await project.file("Pulumi.prod.yaml", own);
  });

  it("C25 C50 deploys each stack, and changes nothing the second time", async () => {
    for (const [id, stack] of [
      ["up", "dev"],
      ["prod", "prod"],
    ] as const) {
      const { code, output, writes } = await run(id, stack);
      assert.deepEqual([code, writes], [0, ["POST", "POST", "POST"]], output);
    }
    const admin = held().find(({ hostports }) => hostports?.includes("admin.example.com:443"));
    assert.equal(admin?.tls_termination?.min_version, "1.3");
    assert.deepEqual(JSON.parse(admin?.metadata ?? ""), { environment: "prod", owner: "security" });
    assert.equal((await project.exported()).admin?.protect, true);
    const again = await project.up();
    assert.deepEqual([again.changes, again.requests], [{ same: 6 }, []]);
  });

  it("deploys a renewed certificate, and writes no edge", async () => {
    await renew("prod");
    const { code, output, writes } = await run("prod", "prod");
    assert.deepEqual([code, writes], [0, ["POST", "DELETE"]], output);
  });

  it("checks each night: fails of a drift, and once for an account of a certificate that expires", async () => {
    const fine = await run("check", "prod");
    assert.deepEqual([fine.code, fine.writes], [0, []], fine.output);
    const [{ id = "", description = "" } = {}] = held().filter(({ hostports }) =>
      hostports?.includes("app.example.com:443"),
    );
    project.emulator.tlsEdges.patch(id, { description: "by hand" });
    const drift = await run("check", "prod");
    assert.notEqual(drift.code, 0, drift.output);
    assert.match(drift.output, /"by hand"/);
    project.emulator.tlsEdges.patch(id, { description });
    const notAfter = new Date(Date.now() + 10.5 * day);
    await upload(project.newClient(), {
      commonName: "other.example.com",
      notBefore: new Date(0),
      notAfter,
    });
    assert.equal((await run("check", "prod")).code, 0, "it is told once for an account");
    const expiry = await run("account", "prod");
    assert.deepEqual([expiry.code, expiry.writes], [2, []], expiry.output);
    assert.match(await text("summary.md"), /other\.example\.com.*10 days/);
  });

  it("does the same in GitLab", async () => {
    const gitlab = await recipe("gitlab-ci.yml");
    const script = (id: string) => {
      const { script = gitlab[gitlab[id].extends].script, variables } = gitlab[id];
      const env = { ...gitlab.variables, STACK: "prod", PROFILE: "production", ...variables };
      return shell(script.join("\n"), env);
    };
    assert.deepEqual(
      Object.keys(hosts).map((id) => gitlab[id].variables.STACK),
      Object.keys(hosts),
    );
    for (const id of ["preview", "prod"]) {
      const { code, output, writes } = await script(id);
      assert.deepEqual([code, writes], [0, []], output);
    }
    const drift = await script("check");
    assert.deepEqual([drift.code, drift.writes], [0, []], drift.output);
    assert.match(drift.output, /6 unchanged/);
    const expiry = await script("account");
    assert.deepEqual([expiry.code, expiry.writes], [2, []], expiry.output);
    assert.match(expiry.output, /10 days/);
  });
});
