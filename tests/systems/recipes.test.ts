import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import MarkdownIt from "markdown-it";
import { parse } from "yaml";
import { tlsCertificates } from "../../client/tlsCertificate";
import { makeCertificate } from "../../emulator/server";
import ours from "../../package.json";
import { type Acme, startAcme } from "../../tools/acme";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { type Forge, forgeNames, startForge, token } from "../../tools/forge";
import { goProgram } from "../../tools/goProgram";
import { commonJs } from "../../tools/languages";
import { findGo, findProgram, pathFolders, pulumiVersion } from "../../tools/pulumi";
import { pack, quickNpm } from "../../tools/tarball";

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
  permissions?: Record<string, string>;
  strategy?: { matrix: { include: Matrix[] }; "fail-fast"?: boolean };
  env?: Record<string, string>;
  steps: {
    uses?: string;
    with?: Record<string, string>;
    run?: string;
    env?: Record<string, string>;
  }[];
}

/** A recipe, with its anchors resolved. */
const recipe = async (file: string) =>
  parse(await readFile(path.join(recipes, file), "utf8"), { merge: true });

describe("the recipes for CI, on the real engine", () => {
  let project: Project;
  let tarballs: Record<string, string>;
  let acme: Acme;
  let forge: Forge;
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
  afterEach(async () => {
    await project?.close();
    await forge?.close();
  });

  it("GitHub's file and our workflows have no mistake that actionlint knows", async () => {
    const program = await goProgram("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12");
    await run(program, [
      "-shellcheck=",
      "-pyflakes=",
      // GitHub has it since May 2026, actionlint 1.7.12 doesn't.
      '-ignore=unexpected key "queue" for "concurrency" section',
      path.join(recipes, "github-actions.yml"),
      path.join(recipes, "fleet.yml"),
      ...workflows,
    ]);
  });

  it("GitLab's file is what GitLab's schema allows, and has the commands of GitHub's", async () => {
    const folder = newFolder();
    await copyFile(path.join(recipes, "gitlab-ci.yml"), path.join(folder, ".gitlab-ci.yml"));
    await run("git", ["init", "--quiet"], { cwd: folder });
    const jobsOf = async (...variables: string[]) => {
      const args = variables.flatMap((variable) => ["--variable", variable]);
      const options = { cwd: folder, env: { ...process.env, GCL_IGNORE_PREDEFINED_VARS: source } };
      const listed = await run(process.execPath, [gitlab, "--list-csv", ...args], options);
      const [, ...rows] = listed.stdout.trim().split("\n");
      return [...new Set(rows.map((row) => row.replace(/^"?([a-z-]+).*/, "$1")))];
    };
    const source = "CI_PIPELINE_SOURCE";
    for (const [variable, ...jobs] of [
      [`${source}=merge_request_event`, "preview", "comment"],
      [`${source}=push`, "staging", "production"],
      ["TASK=check", "drift", "expiry", "report"],
      ["TASK=renew", "renew", "deploy-renewed", "report"],
      [`TASK=renew ${source}=web`, "renew", "deploy-renewed"],
    ]) {
      const variables = String(variable).split(" ");
      assert.deepEqual(await jobsOf(`${source}=schedule`, ...variables), jobs);
    }
    const commands = await commandsOf("gitlab-ci.yml");
    assert.deepEqual(commands, await commandsOf("github-actions.yml"));
    assert.equal(commands.length, 10);
  });

  it("each action, the CLI and the image have one version, that of the tests", async () => {
    const read = (name: string) => readFile(path.join(recipes, name), "utf8");
    const text = (await read("github-actions.yml")) + (await read("fleet.yml"));
    const uses = [...text.matchAll(/uses: (.*)/g)];
    assert.equal(uses.length, 11);
    for (const [, use = ""] of uses) assert.match(use, /^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+/);
    const queues = [...text.matchAll(/queue: (\S+)/g)].map(([, queue]) => queue);
    assert.deepEqual(queues, Array(5).fill("max"));
    const all = text + (await read("gitlab-ci.yml"));
    const versions = [...all.matchAll(/(?:pulumi-version: |pulumi-nodejs-24:)(\S+)/g)];
    assert.deepEqual(
      versions.map(([, version]) => version),
      [pulumiVersion, pulumiVersion, pulumiVersion],
    );
    const { permissions, jobs } = await recipe("github-actions.yml");
    assert.deepEqual(permissions, {});
    const writing = Object.entries<Job>(jobs).flatMap(([id, job]) =>
      Object.entries(job.permissions ?? assert.fail(`${id} has no permissions`))
        .filter(([, right]) => right !== "read")
        .map(([right]) => `${id}: ${right}`),
    );
    assert.deepEqual(writing, ["comment: pull-requests", "renew: contents", "report: issues"]);
    for (const id of ["comment", "renew", "report"])
      assert.doesNotMatch(JSON.stringify(jobs[id].steps), /npm|deploy/, `${id} runs packages`);
    const fleet = await recipe("fleet.yml");
    // Else a job that fails would kill others while they write.
    for (const { strategy } of Object.values<Job>({ ...jobs, ...fleet.jobs }))
      if (strategy) assert.equal(strategy["fail-fast"], false);
  });

  it("the scripts have no mistake that shellcheck knows", async function () {
    const shellcheck = await findProgram("shellcheck", pathFolders(process.env));
    if (!shellcheck) return this.skip();
    await run(shellcheck, globSync(path.join(recipes, "*.sh")));
  });

  it("GitHub's commands: from a pull request to a renewed certificate", async function () {
    this.timeout(900_000);
    project = await checkout(tarballs, acme);
    forge = await startForge("GitHub");
    const { emulator, folder } = project;
    const git = async (...args: string[]) =>
      (await run("git", args, { cwd: folder })).stdout.trim();
    await run("npm", ["ci"], { cwd: folder, env: project.env });
    // A pause takes no time.
    await standIn(project, "sleep");
    const { jobs } = await recipe("github-actions.yml");

    /** Runs the commands of a job for each entry of its matrix; gives which passed, and the writes. */
    async function job(id: string, values: Record<string, string> = {}) {
      const { strategy, env, steps }: Job = jobs[id];
      const earlier = emulator.requests.length;
      const passed: boolean[] = [];
      let output = "";
      for (const matrix of strategy?.matrix.include ?? [{}]) {
        const known = { ...values, ...prefixed("matrix", matrix) };
        const done = await commands(project, forge, steps, env, known);
        passed.push(done.code === 0);
        output += done.output;
      }
      assert.deepEqual(project.secrets.in(output), [], "secrets are in the log of the job");
      const methods = emulator.requests.slice(earlier).map(({ method }) => method);
      return { passed, output, writes: methods.filter((method) => method !== "GET") };
    }
    /** Runs the job that reports what others came to; gives the titles of the open issues. */
    async function report(results: Record<string, string>) {
      const needs = Object.entries(results).map(([id, result]) => [id, { result, outputs: {} }]);
      const RESULTS = JSON.stringify(Object.fromEntries(needs));
      const { passed, output } = await job("report", { "toJSON(needs)": RESULTS });
      assert.deepEqual(passed, [true], output);
      return forge.issues.filter(({ isOpen }) => isOpen).map(({ title }) => title);
    }
    const updates = async () =>
      (await Promise.all(Object.keys(hostports).map((stack) => history(project, stack)))).flat();

    const planned = await job("preview");
    assert.deepEqual([planned.passed, planned.writes], [[true, true], []], planned.output);
    for (const hostport of Object.values(hostports)) assert.ok(planned.output.includes(hostport));
    const told = await job("comment");
    assert.deepEqual(told.passed, [true], told.output);
    for (const hostport of Object.values(hostports))
      assert.ok(forge.notes[0]?.body.includes(hostport), told.output);
    assert.deepEqual(project.secrets.in(String(forge.notes[0]?.body)), []);

    const program = await readFile(path.join(folder, "index.js"), "utf8");
    await project.file("index.js", program.replace(/access: .*,/, "access: { public: true },"));
    const refused = await job("preview");
    assert.deepEqual([refused.passed, refused.writes], [[true, false], []], refused.output);
    assert.match(refused.output, /\[mandatory\].*edge-access/);
    await job("comment");
    assert.match(String(forge.notes[0]?.body), /\[mandatory\].*edge-access/);
    assert.equal(forge.notes.length, 1);
    await project.file("index.js", program.replace(/access: .*,/, '$& minVersion: "1.1",'));
    const stopped = await job("staging");
    assert.deepEqual([stopped.passed, stopped.writes], [[false], []], stopped.output);
    assert.match(stopped.output, /\[mandatory\].*edge-tls-version/);

    await project.file("index.js", program);
    const early = await git("rev-parse", "HEAD");
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
        [[true, true], []],
      ],
    );
    assert.deepEqual(await report({ drift: "success", expiry: "success", renew: "skipped" }), []);
    const { id, description } = emulator.tlsEdges.list().find(servesProduction) ?? assert.fail();
    emulator.tlsEdges.patch(id, { description: "changed by hand" });
    const undo = await uploadExpiring(project);
    const drift = await job("drift");
    assert.deepEqual([drift.passed, drift.writes], [[true, false], []], drift.output);
    assert.match(drift.output, /"changed by hand"/);
    const expiry = await job("expiry");
    assert.deepEqual([expiry.passed, expiry.writes], [[false, false], []], expiry.output);
    assert.match(expiry.output, /9 days,\s+due/);
    undo();
    emulator.tlsEdges.patch(id, { description });

    // What failed halfway is neither finished nor undone with a certificate.
    const failing = program.replace('owner: "web",', 'owner: "nobody",') + another;
    await project.file("index.js", failing.replace(/new .*TLSSite/, "const site = $&"));
    await git("commit", "--quiet", "--all", "--message", "Fails halfway");
    await git("push", "--quiet", "origin", "main");
    emulator.faults.add({ method: "POST", answer: { status: 400 } });
    const halfway = await job("production");
    assert.deepEqual(
      [halfway.passed, halfway.writes],
      [[false], ["PATCH", "POST"]],
      halfway.output,
    );
    emulator.faults.clear();

    // What can't be kept is not ordered.
    const ordered = /Requesting a certificate/;
    for (const setting of ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_BACKEND_URL"]) {
      const stopped = await job("renew", { [`secrets.${setting}`]: "file:///nowhere" });
      assert.deepEqual([stopped.passed, stopped.writes], [[false, false], []], stopped.output);
      assert.doesNotMatch(stopped.output, ordered);
    }

    // A job that is cancelled leaves no folder of its own.
    const prePush = path.join(folder, ".git", "hooks", "pre-push");
    await writeFile(prePush, cancels, { mode: 0o755 });
    const { TMPDIR } = project.env;
    const temporary = newFolder();
    project.env.TMPDIR = temporary;
    const cancelled = await job("renew");
    project.env.TMPDIR = TMPDIR;
    assert.deepEqual(cancelled.passed, [false, false], cancelled.output);
    assert.doesNotMatch(cancelled.output, ordered);
    assert.deepEqual(globSync("tmp.*", { cwd: temporary }), []);

    // main takes no certificate of staging, and somebody else pushes before that of production.
    const hook = path.join(origin(project), "hooks", "update");
    const refuse = 'test "$1" != refs/heads/main || ! git log -1 --format=%s "$3" | grep staging';
    await writeFile(hook, `#!/bin/sh\n${refuse}\n`, { mode: 0o755 });
    await writeFile(prePush, faster, { mode: 0o755 });

    const before = emulator.tlsCertificates.list().map((one) => one.id);
    const raced = await job("renew");
    assert.deepEqual([raced.passed, raced.writes], [[false, true], []], raced.output);
    assert.match(raced.output, /cannot lock ref 'refs\/heads\/main'/);
    assert.doesNotMatch(raced.output, /PRIVATE KEY/);
    const subjects = await git("-C", origin(project), "log", "--format=%s", "main");
    assert.equal(subjects, "Renew app.example.com\nFaster\nFails halfway\nStart");
    for (const [branch, stack] of [
      ["main", "production"],
      ["renewed/staging", "staging"],
    ]) {
      const config = await git("-C", origin(project), "show", `${branch}:Pulumi.${stack}.yaml`);
      assert.match(config, /key:\n +secure: /);
      assert.doesNotMatch(config, /PRIVATE KEY/);
    }
    const put = await job("deploy-renewed");
    const replaces = ["POST", "DELETE"];
    assert.deepEqual([put.passed, put.writes], [[false, true], replaces], put.output);
    // All commits need the same packages: from here on those stay that were just installed.
    await standIn(project, "npm", `test "$*" = ci; git diff --exit-code ${early} -- package*.json`);
    const held = emulator.tlsCertificates.list();
    assert.equal(held.length, before.length);
    const made = held.find((one) => !before.includes(one.id));
    assert.match(String(made?.issuer_common_name), /Pebble/);
    const [last] = await history(project, "production");
    assert.equal(last?.environment["git.head"], early);
    const fail = { renew: "failure", "deploy-renewed": "failure" };
    const open = ["The nightly job renew fails", "The nightly job deploy-renewed fails"];
    assert.deepEqual(await report(fail), open);

    // Until somebody merges what was kept, no night orders another one.
    const waits = await job("renew");
    assert.deepEqual(waits.passed, [false, true], waits.output);
    assert.match(waits.output, /renewed\/staging has a certificate/);
    assert.doesNotMatch(waits.output, ordered);
    assert.deepEqual(await report(fail), open);

    /** Merges the certificate of staging into main, and leaves its branch. */
    async function merge(...options: string[]) {
      await checkOut(folder, "origin/main");
      await git("merge", "--quiet", ...options, "origin/renewed/staging");
      if (options.includes("--squash")) await git("commit", "--quiet", "--message", "Merge");
      await git("push", "--quiet", "origin", "HEAD:main");
    }
    await merge("--squash");
    const merged = [await job("renew"), await job("deploy-renewed")];
    assert.deepEqual(
      merged.map(({ passed, writes }) => [passed, writes]),
      [
        [[true, true], []],
        [[true, true], replaces],
      ],
      merged[1]?.output,
    );
    assert.deepEqual(await report({ renew: "success", "deploy-renewed": "success" }), []);
    assert.equal(forge.issues.length, 2);

    // A job that runs again has an old checkout.
    const count = (await updates()).length;
    await checkOut(folder, early);
    const again = [await job("renew"), await job("deploy-renewed")];
    assert.deepEqual(
      again.map(({ passed, writes }) => [passed, writes]),
      [
        [[true, true], []],
        [[true, true], []],
      ],
    );
    assert.doesNotMatch(String(again[0]?.output), ordered);
    assert.equal((await updates()).length, count);

    // Months later, the branch is still there.
    for (const branch of ["main", "renewed/staging"]) {
      await checkOut(folder, `origin/${branch}`);
      await setExpiring(project, "staging", hostports.staging);
      await git("commit", "--quiet", "--all", "--message", "Months later");
      await git("push", "--quiet", "origin", `HEAD:${branch}`);
    }
    const later = await job("renew");
    assert.deepEqual(later.passed, [false, true], later.output);
    assert.match(later.output, ordered);
    await checkOut(folder, "origin/renewed/staging");
    assert.equal(
      await git("log", "-2", "--format=%s"),
      "Renew app.staging.example.com\nMonths later",
    );
    assert.equal(await git("rev-parse", "HEAD^"), await git("rev-parse", "origin/main"));
    await merge("--no-ff", "--message", "Merge");
    const settled = await job("renew");
    assert.deepEqual(settled.passed, [true, true], settled.output);
    assert.doesNotMatch(settled.output, ordered);

    // Somebody has stolen the key of production.
    const stolen = { "inputs.force": "production" };
    const kept = await job("deploy-renewed", stolen);
    assert.deepEqual([kept.passed, kept.writes], [[true, false], []], kept.output);
    assert.match(kept.output, /no other certificate/);
    const forced = await job("renew", stolen);
    assert.deepEqual(forced.passed, [true, true], forced.output);
    assert.equal(forced.output.match(RegExp(ordered, "g"))?.length, 1, forced.output);
    const replaced = await job("deploy-renewed", stolen);
    assert.deepEqual([replaced.passed, replaced.writes], [[true, true], replaces], replaced.output);

    // What comes next from main has the certificate, too.
    await checkOut(folder, "origin/main");
    const next = await job("production");
    assert.deepEqual([next.passed, next.writes], [[true], ["POST"]], next.output);

    // With a chain that can't be read, no night deploys.
    const hides = program.replace('config.require("chain")', "pulumi.secret($&)");
    await project.file("index.js", hides);
    const hidden = await job("staging");
    assert.deepEqual([hidden.passed, hidden.writes], [[true], replaces], hidden.output);
    const unread = await job("deploy-renewed");
    assert.deepEqual([unread.passed, unread.writes], [[false, true], []], unread.output);
    assert.match(unread.output, /secret/);

    // Nor is one ordered because what config has can't be read.
    await checkOut(folder, "origin/main");
    project.stack = "staging";
    await project.succeedsQuietly("config", "set", "chain", "nonsense");
    await git("commit", "--quiet", "--all", "--message", "Spoil");
    await git("push", "--quiet", "origin", "HEAD:main");
    const spoilt = await job("renew");
    assert.deepEqual(spoilt.passed, [false, true], spoilt.output);
    assert.doesNotMatch(spoilt.output, ordered);
  });

  for (const name of forgeNames) {
    describe(`report.mjs and ${name}`, () => {
      const folder = newFolder();
      beforeEach(async () => {
        forge = await startForge(name);
      });

      const report = (env: Record<string, string>, ...args: string[]) =>
        run(process.execPath, [path.join(recipes, "report.mjs"), ...args], {
          cwd: folder,
          env: { PATH: process.env.PATH, ...forge.env, COMMIT: "c0ffee", ...env },
        });

      it("writes one comment, and no text ends its block", async () => {
        const others = Array.from({ length: 120 }, (_, at) => ({
          id: 1000 + at,
          body: "Fine",
          author: "a",
        }));
        const [first = ""] = await comment("one", "two");
        forge.notes.unshift(...others, { id: 2000, body: first, author: "somebody" });

        const wild = "+ description: `````\n```\n# Not a heading\n~~~\n<!-- & @all";
        const long = `${"changes\n".repeat(20_000)}the end`;
        const [second = "", ...more] = await comment(wild, long);
        assert.deepEqual(more, []);
        const blocks = new MarkdownIt().parse(second, {});
        assert.deepEqual(
          blocks.filter(({ type }) => type === "fence").map(({ content }) => content.slice(-70)),
          [`${wild}\n`, `${long}\n`.slice(-70)],
        );
        assert.equal(blocks.filter(({ type }) => type === "heading_open").length, 2);
        assert.equal(forge.writes.filter((write) => write.startsWith("POST")).length, 1);
      });

      async function comment(staging: string, production: string) {
        await writeFile(path.join(folder, "staging.txt"), staging);
        await writeFile(path.join(folder, "production.txt"), production);
        await report({}, "comment", "staging.txt", "production.txt");
        return forge.notes.filter(({ author }) => author === forge.bot).map(({ body }) => body);
      }

      it("says that a preview has left no text", async () => {
        await comment("one", "two");
        await rm(path.join(folder, "staging.txt"));
        await report({}, "comment", "staging.txt", "production.txt");
        assert.match(
          String(forge.notes[0]?.body),
          /### staging\n\nNo preview.*### production.*two/s,
        );
        assert.equal(forge.notes.length, 1);
      });

      it("has one issue for a job that fails, until it succeeds", async () => {
        const night = async (drift: string, expiry: string) => {
          const needs = { drift: { result: drift }, expiry: { result: expiry } };
          forge.jobs = [
            { name: "drift: [staging]", status: "success" },
            { name: "drift: [production]", status: drift },
            { name: "expiry", status: expiry },
            { name: "report", status: "running" },
          ];
          await report({ RESULTS: JSON.stringify(needs) }, "issues");
          return forge.issues.map(({ title, isOpen }) => [title, isOpen]);
        };
        const [drift, expiry] = ["drift", "expiry"].map((id) => `The nightly job ${id} fails`);
        assert.deepEqual(await night("success", "success"), []);
        assert.deepEqual(await night("failure", "success"), [[drift, true]]);
        assert.deepEqual(await night("failure", "failure"), [
          [drift, true],
          [expiry, true],
        ]);
        assert.deepEqual(await night("success", "failure"), [
          [drift, false],
          [expiry, true],
        ]);
        assert.deepEqual(await night("success", "success"), [
          [drift, false],
          [expiry, false],
        ]);
        assert.deepEqual(await night("failure", "success"), [
          [drift, false],
          [expiry, false],
          [drift, true],
        ]);
      });

      it("fails when it may not write", async () => {
        const refused = report({ REPORT_TOKEN: "another", RESULTS: "{}" }, "issues");
        await assert.rejects(
          refused,
          ({ stderr }) => !stderr.includes("another") && /401/.test(stderr),
        );
      });
    });
  }
});

/** Puts a script in the place of a program that the commands run. */
async function standIn({ folder, env }: Project, program: string, script = ""): Promise<void> {
  const bin = path.join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(path.join(bin, program), `#!/bin/sh -e\n${script}\n`, { mode: 0o755 });
  env.PATH = [bin, env.PATH].join(path.delimiter);
}

/** What Pulumi has kept of the updates of a stack, the last first. */
async function history(project: Project, stack: string) {
  const text = await run(project.cli.command, ["stack", "history", "--stack", stack, "--json"], {
    cwd: project.folder,
    env: project.env,
  });
  const updates: { kind: string; environment: Record<string, string> }[] = JSON.parse(text.stdout);
  return updates.filter(({ kind }) => kind === "update");
}

const prefixed = (prefix: string, values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}.${name}`, value]));

/** A resource that is created after all others. */
const another = `
new (require("pulumi-tlsedge").TLSEdge)(
  "another",
  {
    hostports: [config.require("hostport").replace(":443", ":8443")],
    backend: { backendId: "bkdtg_2app" },
    ipRestriction: { ipPolicyIds: ["ipp_2office"] },
    tlsTermination: { terminateAt: "edge", minVersion: "1.2" },
    metadata: JSON.stringify({ owner: "web" }),
  },
  { dependsOn: site, protect: true },
);
`;

/** Ends the script that pushes. */
const cancels = `#!/bin/sh
kill $(ps -o ppid= -p "$PPID")
`;

/**
 * Pushes another change of the same file before the first push of a certificate to main, and lets the
 * next checkout fail.
 */
const faster = `#!/bin/sh
set -e
if ! grep -q "HEAD.*refs/heads/main" || ! git log -1 --format=%s | grep -q "Renew app.example.com"; then exit 0; fi
printf '#!/bin/sh\\nrm "$0"\\nexit 1\\n' >"\${0%/*}/post-checkout"
chmod +x "\${0%/*}/post-checkout"
rm "$0"
unset GIT_DIR
folder=$(mktemp -d)
git clone --quiet "$(git remote get-url origin)" "$folder"
cd "$folder"
printf '  edges:later: change\\n' >>Pulumi.production.yaml
git -c user.name=other -c user.email=other@localhost commit --quiet --all --message Faster
git push --quiet origin main
rm -rf "$folder"
`;

/**
 * Runs the commands of a job, each in the shell that `shell: bash` stands for; the first that fails
 * ends it. Its expressions get the settings of docs/recipes.md. Left out is what installs.
 */
async function commands(
  { env, folder }: Project,
  forge: Forge,
  steps: Job["steps"],
  variables: Record<string, string> = {},
  known: Record<string, string>,
): Promise<{ code: number; output: string }> {
  const settings = [
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE",
    "TLSEDGE_BASE_URL",
    "TLSEDGE_API_KEY",
  ];
  const values = new Map([
    ["github.token", token],
    ["github.event.pull_request.number", "7"],
    ["github.event.pull_request.head.sha", "c0ffee"],
    ...["secrets", "vars"].flatMap((context) =>
      settings.map((name) => [`${context}.${name}`, String(env[name])] as const),
    ),
    ["secrets.DNS_TOKEN", "token"] as const,
    ["inputs.force", ""] as const,
    ...Object.entries(known),
  ]);
  const fill = (text: string) =>
    text.replace(/\$\{\{ *(.*?) *\}\}/g, (_, expression) => {
      return values.get(expression) ?? assert.fail(`${expression} has no value`);
    });
  const bare = { ...env, ...Object.fromEntries(settings.map((name) => [name, undefined])) };
  let output = "";
  for (const { with: settingsOfAction, run: command, env: own } of steps) {
    if (settingsOfAction?.ref) await checkOut(folder, `origin/${settingsOfAction.ref}`);
    if (!command || command === "npm ci" || command.startsWith("python3 -m venv")) continue;
    assert.doesNotMatch(command, /\$\{\{/, "a value in a command could be read as a command");
    const given = Object.entries({ ...variables, ...own }).map(([name, text]) => [
      name,
      fill(text),
    ]);
    const bash = ["--noprofile", "--norc", "-eo", "pipefail", "-c", command];
    const options = {
      cwd: folder,
      env: {
        ...bare,
        ...forge.env,
        REPORT_TOKEN: undefined,
        PULL_REQUEST: undefined,
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

/** What is newest at the origin. */
async function checkOut(folder: string, branch: string) {
  await run("git", ["fetch", "--quiet", "origin"], { cwd: folder });
  await run("git", ["checkout", "--quiet", "--force", "--detach", branch], { cwd: folder });
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
    .filter((line) => /^(pulumi |npx |node |\.\/)/.test(line));
  return [...new Set(commands)].sort();
}

const servesProduction = (edge: { hostports?: string[] | null }) =>
  edge.hostports?.includes(hostports.production);

/** Uploads a certificate with ten days left, as somebody else would; gives what deletes it. */
async function uploadExpiring(project: Project): Promise<() => void> {
  const notAfter = new Date(Date.now() + 10 * day);
  const made = await makeCertificate({ commonName: "other.example.com", notAfter });
  const body = { certificate_pem: made.certificatePem, private_key_pem: made.privateKeyPem };
  const { id } = await tlsCertificates.create(project.newClient(), body);
  return () => project.emulator.tlsCertificates.delete(id);
}

const origin = ({ folder }: Project) => path.join(folder, "origin.git");

/** A checkout of a project as docs/recipes.md asks for it. */
async function checkout(tarballs: Record<string, string>, acme: Acme): Promise<Project> {
  const project = await Project.in(newFolder(), {}, quickNpm);
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
  await shell("npm", "install", "--package-lock-only");
  const scripts = ["renew.sh", "deploy-renewed.sh", "report.mjs"];
  for (const script of scripts)
    await copyFile(path.join(recipes, script), path.join(folder, script));
  await writeFile(path.join(folder, "dns-record.sh"), dnsRecord(acme.dns), { mode: 0o755 });

  for (const [stack, hostport] of Object.entries(hostports)) {
    await project.select(stack);
    await project.succeedsQuietly("config", "set", "hostport", hostport);
    await setExpiring(project, stack, hostport);
  }

  await shell("git", "init", "--quiet", "--bare", "--initial-branch", "main", origin(project));
  await shell("git", "init", "--quiet", "--initial-branch", "main");
  await shell("git", "remote", "add", "origin", "https://git.invalid/acme/edges.git");
  await shell(
    "git",
    "config",
    `url.${origin(project)}.insteadOf`,
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
    ...scripts,
    "dns-record.sh",
    ...["", ".staging", ".production"].map((stack) => `Pulumi${stack}.yaml`),
  );
  await shell("git", "commit", "--quiet", "--message", "Start");
  await shell("git", "push", "--quiet", "origin", "main");
  return project;
}

/** Sets a certificate that has to be renewed, but not within the days of the nightly check. */
async function setExpiring(project: Project, stack: string, hostport: string) {
  const host = hostport.replace(":443", "");
  const notAfter = new Date(Date.now() + 20 * day + day / 2);
  const made = await makeCertificate({ commonName: host, dnsNames: [host], notAfter });
  project.keepSecret(`the key of ${stack}`, made.privateKeyPem);
  project.stack = stack;
  const chain = ["config", "set", "chain", "--stack", stack];
  assert.equal((await project.start(chain, undefined, made.certificatePem).done).code, 0);
  await project.setSecret("key", made.privateKeyPem);
}

/** Sets the record at Pebble's DNS server, in place of a DNS provider's API. */
const dnsRecord = (server: string) => `#!/usr/bin/env node
const { CERTBOT_DOMAIN, CERTBOT_VALIDATION: value, DNS_TOKEN } = process.env;
if (!DNS_TOKEN) throw new Error("no DNS_TOKEN");
const others = Object.keys(process.env).filter((name) => /^(PULUMI|TLSEDGE|GH|GITHUB)_/.test(name));
if (others.length > 0) throw new Error("certbot has been given " + others);
const body = JSON.stringify({ host: \`_acme-challenge.\${CERTBOT_DOMAIN}.\`, value });
fetch("${server}/set-txt", { method: "POST", body }).then(({ ok }) => process.exit(ok ? 0 : 1));
`;
