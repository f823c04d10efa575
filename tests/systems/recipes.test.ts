// The template `stack`, and the files and commands of docs/recipes.md for CI, run as a CI system runs them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { tlsEdges } from "../../client/tlsEdge";
import ours from "../../package.json";
import type { Project } from "../../tools/engine";
import { repository } from "../../tools/folders";
import { findGo, goEnv, pulumiVersion } from "../../tools/pulumi";
import { pack } from "../../tools/tarball";
import { makeIssuer } from "../policyCases";
import { clientOf, upload } from "../support";
import { type Job, recipe, recipes, runGitLab, runJob, runScript, type Workflow } from "./ci";
import { startWith } from "./examples";

const day = 86_400_000;
const stacks = ["dev", "prod", "staging"];

describe("the recipes for CI", () => {
  it("have no mistake that actionlint and shellcheck know, and no action without a commit", async function () {
    const go = await findGo("actionlint").catch(() => this.skip());
    const workflows = path.join(repository, ".github", "workflows", "*.yml");
    const files = globSync([path.join(recipes, "github-actions*.yml"), workflows]);
    const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";
    await promisify(execFile)(go, ["run", actionlint, ...files], { env: goEnv() });
    for (const file of files)
      for (const [, use] of (await readFile(file, "utf8")).matchAll(/uses: (.*)/g))
        assert.match(String(use), /^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+/, file);
  });

  it("install the CLI of the tests", async () => {
    const files = globSync(path.join(recipes, "*.yml"));
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const found = texts
      .join()
      .match(/(?<=pulumi-version: |image: pulumi\/pulumi(-nodejs-24)?:)[\d.]+/g);
    assert.deepEqual(found, Array(5).fill(pulumiVersion));
  });

  /** The jobs that an event starts, in the file for Node.js and in that for the plugin. */
  const events: [name: string, actor: string, from: string, string[], string[]][] = [
    ["pull_request", "somebody", "acme/edges", ["stacks", "preview"], ["preview"]],
    ["pull_request", "somebody", "fork/edges", ["stacks"], []],
    ["pull_request", "dependabot[bot]", "acme/edges", ["stacks"], []],
    ["push", "somebody", "acme/edges", ["stacks", "up", "prod"], ["up", "prod"]],
    ["schedule", "somebody", "acme/edges", ["stacks", "check", "account"], ["check", "account"]],
  ];
  it("give a fork neither secrets nor a token that can write", async () => {
    const comments = { contents: "read", "pull-requests": "write" };
    for (const [file, rights, column] of [
      ["github-actions.yml", [["preview", comments]], 3],
      ["github-actions-plugin.yml", [], 4],
    ] as const) {
      const { on, permissions, jobs } = await recipe(file);
      assert.deepEqual([on.pull_request_target, permissions], [undefined, { contents: "read" }]);
      const all: [string, Job][] = Object.entries(jobs);
      const own = all.flatMap(([id, job]) => (job.permissions ? [[id, job.permissions]] : []));
      assert.deepEqual(own, rights);
      for (const event of events) {
        const [event_name, actor, full_name] = event;
        const pull = { pull_request: { head: { repo: { full_name } } } };
        const github = { event_name, actor, repository: "acme/edges", event: pull };
        const starts = ({ if: condition = "true", needs }: Job): boolean =>
          runInNewContext(condition, { github }) && (!needs || starts(jobs[needs]));
        const started = all.filter(([, job]) => starts(job)).map(([id]) => id);
        assert.deepEqual(started, event[column], String(event));
      }
    }
  });
});

describe("the template stack and the recipes, from `pulumi new` on", () => {
  let project: Project;
  let workflow: Workflow;
  /** docs/recipes.md */
  let page: string;
  const edgeOf = (hostport: string) =>
    project.emulator.tlsEdges.list().find(({ hostports }) => hostports?.includes(hostport));
  after(() => project?.close());

  before(async () => {
    page = await readFile(path.join(repository, "docs", "recipes.md"), "utf8");
    workflow = await recipe("github-actions.yml");
    const policies = `"pulumi-tlsedge-policy": "file:${await pack("policy")}"`;
    const packages = `"file:${await pack(".")}", ${policies}`;
    const published = JSON.stringify(ours.repository.url);
    const started = await startWith("stack", "package.json", published, packages);
    project = started.project;
    await project.succeedsQuietly("new", started.folder, "--yes", "--name", "shop");
    await project.select("dev");
    await succeeds(page.match(/^for stack in .*$/m)?.[0] ?? "false");
    // The other stacks have the same jobs.
    await project.select("prod");
    await renew();
  });

  /** Gives the stack a new certificate, with the commands of docs/recipes.md. */
  async function renew(): Promise<void> {
    const names = { commonName: "*.example.com", dnsNames: ["*.example.com"] };
    const leaf = { ...names, issuer: await makeIssuer() };
    await project.certificate(".", { ...leaf, notAfter: new Date(Date.now() + 60 * day) });
    const commands = page.match(/^pulumi config set .*$/gm) ?? [];
    assert.equal(commands.length, 2);
    await succeeds(commands.join("\n"));
  }

  const shell = (script: string) => runScript(project, script);
  const run = (id: string) => runJob(project, workflow, id, "prod");

  async function succeeds(script: string): Promise<void> {
    const { code, output } = await shell(script);
    assert.equal(code, 0, output);
  }

  const text = (name: string) => readFile(path.join(project.folder, name), "utf8");

  it("finds the stacks by their files, and what `npm ci` installs", async () => {
    assert.equal((await run("stacks")).code, 0);
    assert.deepEqual(JSON.parse((await text("output.txt")).replace("names=", "")).sort(), stacks);
    const listed: { name: string }[] = JSON.parse((await shell("pulumi stack ls --json")).output);
    assert.deepEqual(listed.map(({ name }) => name).sort(), stacks);
    await succeeds("npm ci");
  });

  it("previews a pull request; C70 a policy of production stops it, and an update before any write", async () => {
    const plan = await run("preview");
    assert.deepEqual([plan.code, plan.writes], [0, []], plan.output);
    assert.ok(plan.output.includes("app.example.com:443"), plan.output);
    const own = await text("Pulumi.prod.yaml");
    await project.file("Pulumi.prod.yaml", own.replace('minVersion: "1.3"', 'minVersion: "1.1"'));
    for (const id of ["preview", "prod"]) {
      const { code, output, writes } = await run(id);
      assert.notEqual(code, 0, output);
      assert.match(output, /\[mandatory\].*edge-tls-version/);
      assert.deepEqual(writes, []);
    }
    await project.file("Pulumi.prod.yaml", own);
  });

  it("C19 fails a pull request whose update would fail, and names who has the hostport", async () => {
    const args = { hostports: ["app.example.com:443"] };
    const { id } = await tlsEdges.create(clientOf(project.emulator), args);
    for (const { code, output } of [
      await run("preview"),
      await runGitLab(project, "gitlab-ci.yml", "preview", "prod"),
    ]) {
      assert.notEqual(code, 0, output);
      assert.match(output, new RegExp(`this update will fail.*${id}`));
    }
    project.emulator.tlsEdges.delete(id);
  });

  it("C25 C50 deploys a stack, and changes nothing the second time", async () => {
    const { code, output, writes } = await run("prod");
    assert.deepEqual([code, writes], [0, ["POST", "POST", "POST"]], output);
    const { tls_termination, metadata } = edgeOf("admin.example.com:443") ?? {};
    assert.equal(tls_termination?.min_version, "1.3");
    assert.deepEqual(JSON.parse(metadata ?? ""), { environment: "prod", owner: "security" });
    assert.equal((await project.exported()).admin?.protect, true);
    // The job of the other stacks.
    const again = await run("up");
    assert.deepEqual([again.code, again.writes], [0, []], again.output);
    assert.match(again.output, /6 unchanged/);
  });

  it("deploys a renewed certificate, and writes no edge", async () => {
    await renew();
    const { code, output, writes } = await run("prod");
    assert.deepEqual([code, writes], [0, ["POST", "DELETE"]], output);
  });

  it("checks each night: fails of a drift, and once for an account of a certificate that expires", async () => {
    const fine = await run("check");
    assert.deepEqual([fine.code, fine.writes], [0, []], fine.output);
    const { id = "", description = "" } = edgeOf("app.example.com:443") ?? {};
    project.emulator.tlsEdges.patch(id, { description: "by hand" });
    const drift = await run("check");
    assert.notEqual(drift.code, 0, drift.output);
    assert.match(drift.output, /"by hand"/);
    project.emulator.tlsEdges.patch(id, { description });
    const soon = { notBefore: new Date(0), notAfter: new Date(Date.now() + 10.5 * day) };
    await upload(clientOf(project.emulator), { commonName: "other.example.com", ...soon });
    const expiry = await run("account");
    assert.deepEqual([expiry.code, expiry.writes], [2, []], expiry.output);
    assert.match(await text("summary.md"), /other\.example\.com.*10 days/);
  });

  it("does the same in GitLab", async () => {
    for (const file of ["gitlab-ci.yml", "gitlab-ci-plugin.yml"]) {
      const gitlab = await recipe(file);
      const own = stacks.map((id) => gitlab[id].variables.STACK);
      assert.deepEqual(own, stacks);
    }
    for (const [id, code, printed] of [
      ["preview", 0, ""],
      ["prod", 0, ""],
      ["check", 0, "6 unchanged"],
      ["account", 2, "10 days"],
    ] as const) {
      const ran = await runGitLab(project, "gitlab-ci.yml", id, "prod");
      assert.deepEqual([ran.code, ran.writes], [code, []], ran.output);
      assert.ok(ran.output.includes(printed), ran.output);
    }
  });
});
