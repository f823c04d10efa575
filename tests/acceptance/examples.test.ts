import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Project } from "../../tools/engine";

const day = 86_400_000;

/** A copy of an example, with a stack. */
async function example(name: string, stack = "dev"): Promise<Project> {
  const project = await Project.copyOf({ [`examples/${name}`]: "." });
  await project.select(stack);
  return project;
}

describe("the examples, on the real engine", () => {
  let project: Project;
  afterEach(() => project?.close());

  /** Up, a second up without a change, destroy. */
  async function lives(resources: number, ...options: string[]) {
    const first = await project.up(...options);
    assert.equal(first.changes.create, resources, first.output);
    const { edges, certificates } = held();
    assert.ok(edges.length > 0);
    assert.ok(certificates.length > 0);
    const second = await project.up(...options);
    assert.deepEqual(second.changes, { same: resources });
    assert.deepEqual(
      second.requests.filter((request) => !request.startsWith("GET /tunnels")),
      [],
    );
  }
  async function dies() {
    await project.destroy();
    assert.deepEqual(held(), { edges: [], certificates: [] });
  }
  const held = () => ({
    edges: project.emulator.tlsEdges.list(),
    certificates: project.emulator.tlsCertificates.list(),
  });

  it("site: two sites share a certificate", async () => {
    project = await example("site");
    await project.certificate("certificate", {
      commonName: "site.example",
      dnsNames: ["site.example", "*.site.example"],
    });
    await lives(6);
    const { edges, certificates } = held();
    assert.equal(edges.length, 2);
    assert.equal(certificates.length, 1);
    const internal = edges.find(({ hostports }) =>
      hostports?.includes("internal.site.example:443"),
    );
    assert.equal(internal?.tls_termination?.min_version, "1.3");
    assert.equal(internal?.ip_restriction?.enabled, true);
    const { owner, environment } = JSON.parse(internal?.metadata ?? "{}");
    assert.deepEqual([owner, environment], ["platform", "dev"]);
    // The names of a site's children are in every state, and stay.
    const urns = Object.values(await project.exported()).map(({ urn }) => urn);
    for (const name of ["web", "internal"]) {
      const site = "urn:pulumi:dev::tlsedge-site::tlsedge:index:TLSSite";
      assert.ok(urns.includes(`${site}$pulumi-nodejs:dynamic/tlsedge:TLSEdge::${name}`));
    }
    await dies();
  });

  it("environments: a change is promoted, and a policy stops it before production", async () => {
    project = await Project.copyOf({ "examples/environments": "." });
    const pack = join("node_modules", "pulumi-tlsedge-policy");
    const policed = (stack: string) => [
      ...["--policy-pack", pack, "--policy-pack-config"],
      join(pack, "profiles", stack === "prod" ? "production.json" : "baseline.json"),
    ];
    const stacks = ["dev", "staging", "prod"];
    for (const stack of stacks) {
      const host = stack === "prod" ? "app.acme.example" : `app.${stack}.acme.example`;
      await project.certificate(join("certificates", stack), {
        commonName: host,
        dnsNames: [host],
      });
      await project.select(stack);
      await lives(4, ...policed(stack));
      assert.deepEqual(await project.output("hostports"), [`${host}:443`]);
    }
    const program = await readFile(join(project.folder, "index.ts"), "utf8");
    const changed = program.replace(/access: .*/, 'access: "anyone",');
    assert.notEqual(changed, program);
    await project.file("index.ts", changed);
    for (const stack of stacks) {
      await project.select(stack);
      const plan = await project.engine("preview", "--diff", ...policed(stack));
      assert.deepEqual(plan.diffs.app, ["ipRestriction"]);
      assert.equal(plan.code === 0, stack !== "prod", plan.output);
      if (stack !== "prod") {
        const run = await project.up(...policed(stack));
        assert.deepEqual(run.requests, ["GET /edges/tls?limit=100", "PATCH /edges/tls/:id"]);
      }
    }
    const stopped = await project.fails("up", "--yes", ...policed("prod"));
    assert.match(stopped.output, /\[mandatory\].*edge-access/);
    assert.deepEqual(stopped.writes, []);
    const restricted = held().edges.filter((edge) => edge.ip_restriction?.enabled);
    assert.deepEqual(
      restricted.flatMap(({ hostports }) => hostports),
      ["app.acme.example:443"],
    );
    const refused = await project.fails("destroy", "--yes", "--skip-preview");
    assert.match(refused.output, /protected/);
    // A protected site can renew its certificate.
    await project.file("index.ts", program);
    await project.certificate(join("certificates", "prod"), {
      commonName: "app.acme.example",
      dnsNames: ["app.acme.example"],
    });
    const renewed = await project.up(...policed("prod"));
    assert.deepEqual(renewed.requests, [
      "GET /tls_certificates?limit=100",
      "POST /tls_certificates",
      "DELETE /tls_certificates/:id",
    ]);
  });

  it("rotation: the domain has a valid certificate at every poll", async () => {
    // Three times as slow as the polls are apart: deleted first, there would be a gap to see.
    project = await Project.copyOf({ "examples/rotation": "." }, { latencyMs: 300 });
    await project.select("dev");
    const domain = "rotation.example";
    const leaf = { commonName: domain, dnsNames: [domain] };
    const soon = new Date(Date.now() + 10 * day + day / 2);
    await project.certificate("certificate", { ...leaf, notAfter: soon });
    const first = await project.up();
    assert.match(first.output, /expires on .*, in 10 days/);
    const watcher = spawn(process.execPath, [join(project.folder, "watch.mts"), domain], {
      cwd: project.folder,
      env: project.env,
    });
    const timeline: string[] = [];
    const lines = createInterface({ input: watcher.stdout });
    lines.on("line", (line) => timeline.push(line));
    const closed = once(watcher, "close");
    try {
      await once(lines, "line");
      await project.certificate("certificate", leaf);
      const second = await project.up();
      assert.doesNotMatch(second.output, /expires on/);
      assert.deepEqual(second.writes, ["POST /tls_certificates", "DELETE /tls_certificates/:id"]);
      watcher.kill("SIGTERM");
      const [code] = await closed;
      assert.equal(code, 0, timeline.join("\n"));
    } finally {
      watcher.kill("SIGKILL");
    }
    assert.match(timeline.at(-1) ?? "", /^\d+ polls, 0 of them without/);
    await dies();
  });

  describe("policies: they stop it; fixed, it is deployed", () => {
    const six = [
      "deployed-tls-version",
      "edge-access",
      "edge-modules",
      "edge-tls-version",
      "hostport-certificate",
      "owner",
    ];

    for (const [title, pack, violations] of [
      ["six of the pack's", join("node_modules", "pulumi-tlsedge-policy"), six],
      ["the same, and one beside them", "ours", [...six, "shop-host"]],
    ] as const) {
      it(`C70 ${title}`, async () => {
        project = await example("policies");
        const leaf = { commonName: "shop.example.com", dnsNames: ["shop.example.com"] };
        await project.certificate("certificate", leaf);
        const options = ["--policy-pack", pack, "--policy-pack-config", "policies.json"];
        const stopped = await project.fails("up", "--yes", ...options);
        const violated = stopped.events.flatMap(({ policyEvent }) =>
          policyEvent?.enforcementLevel === "mandatory" ? policyEvent.policyName : [],
        );
        assert.deepEqual(violated.sort(), violations);
        assert.deepEqual(stopped.writes, []);
        await project.succeedsQuietly("config", "set", "fixed", "true");
        await lives(3, ...options);
        await dies();
      });
    }
  });

  describe("fleet: one program, many stacks at a time", () => {
    interface Outcome {
      stack: string;
      result: string;
      changes: Record<string, number>;
      error?: string;
    }

    beforeEach(async () => {
      project = await Project.copyOf({ "examples/fleet": "." });
      await project.certificate("certificate", { commonName: "*.example.com" });
    });
    const three = ["ap-1", "eu-1", "eu-2"];

    const fleet = (...args: string[]) =>
      project.start(["fleet.mts", ...args], process.execPath).done;
    async function outcomes(...args: string[]) {
      const { code, output } = await fleet(...args, "--json");
      return { code, outcomes: JSON.parse(output) as Outcome[] };
    }
    const results = (all: Outcome[]) => all.map(({ stack, result }) => `${stack} ${result}`);

    it("makes all, changes nothing the second time, and takes all away", async () => {
      for (const region of ["us-1", "us-2"]) {
        await rm(join(project.folder, `Pulumi.${region}.yaml`));
      }
      const first = await fleet("up", "--concurrency", "2");
      assert.equal(first.code, 0, first.output);
      assert.deepEqual(
        held()
          .edges.map(({ hostports }) => String(hostports))
          .sort(),
        three.map((region) => `${region}.example.com:443`),
      );
      assert.match(first.output, /3 of 3 done/);
      const second = await outcomes("up");
      assert.equal(second.outcomes.length, 3);
      for (const { changes } of second.outcomes) assert.deepEqual(changes, { same: 4 });
      assert.equal((await fleet("destroy")).code, 0);
      assert.deepEqual(held(), { edges: [], certificates: [] });
    });

    it("stops at the first that fails, or carries on when told to", async () => {
      await project.file("Pulumi.eu-1.yaml", "config:\n  tlsedge-fleet:backendId: bkdtg_1\n");
      const stopped = await outcomes("up", ...three, "--concurrency", "1");
      assert.equal(stopped.code, 1);
      assert.deepEqual(results(stopped.outcomes), ["ap-1 done", "eu-1 failed", "eu-2 not started"]);
      assert.match(stopped.outcomes[1]?.error ?? "", /hostport/);
      const carried = await outcomes("up", ...three, "--concurrency", "1", "--carry-on");
      assert.equal(carried.code, 1);
      assert.deepEqual(results(carried.outcomes), ["ap-1 done", "eu-1 failed", "eu-2 done"]);
    });

    it("C37 says how to unlock a stack whose update was killed", async () => {
      await fleet("preview", "eu-1");
      await project.select("eu-1");
      await project.killed(
        "engine",
        { method: "POST", path: "/edges/tls", answer: "silence" },
        "up",
      );
      const { code, outcomes: all } = await outcomes("up", "eu-1");
      assert.equal(code, 1);
      const [, unlock] = /unlock it: pulumi (.*)$/.exec(all[0]?.error ?? "") ?? [];
      const told = await project.start(unlock?.split(" ") ?? []).done;
      assert.equal(told.code, 0, told.output);
      await project.refresh("--clear-pending-creates");
      assert.equal((await outcomes("up", "eu-1")).code, 0);
    });

    it("refuses a stack that has no config, and a typo", async () => {
      for (const args of [["up", "eu-9"], ["upp"], ["up", "--concurency", "2"], []]) {
        const { code, output } = await fleet(...args);
        assert.equal(code, 1);
        assert.match(output, /^error: |^Usage: /m);
      }
    });
  });
});
