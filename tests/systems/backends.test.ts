import assert from "node:assert/strict";
import { Project } from "../../tools/engine";
import { findGo } from "../../tools/pulumi";
import { findPostgres, type StateServer, startPostgres, startS3 } from "../../tools/stateServers";

/** Pairs of a certificate and an edge: 50 resources. */
const pairs = 25;

/** How to start each server; undefined where it can't be had. */
const backends: Record<string, () => Promise<(() => Promise<StateServer>) | undefined>> = {
  async PostgreSQL() {
    const programs = await findPostgres();
    return programs === undefined ? undefined : () => startPostgres(programs);
  },
  async "an S3-compatible server"() {
    const go = await findGo("An S3-compatible server").catch(() => undefined);
    return go === undefined ? undefined : startS3;
  },
};

describe("stacks on other state backends, on the real engine", () => {
  for (const [name, find] of Object.entries(backends)) {
    describe(name, () => {
      let server: StateServer | undefined;
      let project: Project | undefined;
      before(async function () {
        this.timeout(900_000); // it may build the server
        const start = await find();
        if (!start) this.skip();
        server = await start();
      });
      after(async () => {
        await project?.close();
        await server?.close();
      });

      it("up, no-op, refresh and destroy of 50 resources; no key is stored in clear", async () => {
        assert.ok(server);
        project = await Project.create({}, server.env);
        const { emulator, secrets } = project;
        secrets.add("the password of the server", server.password);
        for (let each = 0; each < pairs; each++) {
          const host = `app-${each}.example.com`;
          await project.certificate(`certificates/${each}`, { commonName: host, dnsNames: [host] });
        }
        await project.program(`
          for (let each = 0; each < ${pairs}; each++) {
            const file = (name) => readFileSync(\`certificates/\${each}/\${name}.pem\`, "utf8");
            new tlsedge.TLSCertificate(\`app-\${each}\`, {
              certificatePem: file("fullchain"), privateKeyPem: file("privkey"),
            });
            new tlsedge.TLSEdge(\`app-\${each}\`, {
              hostports: [\`app-\${each}.example.com:443\`],
              backend: { backendId: "bkdtg_1" },
            });
          }`);

        const created = await project.up();
        // A run that takes half a minute reads its lists again: how often is not the matter here.
        assert.deepEqual(counted(created.writes), {
          "POST /edges/tls": pairs,
          "POST /tls_certificates": pairs,
        });

        const stored = await server.stored();
        // In PostgreSQL a key begins with the name of the database.
        const isState = (key: string) => key.endsWith(".pulumi/stacks/acceptance/dev.json");
        const { checkpoint } = JSON.parse(stored[Object.keys(stored).find(isState) ?? ""] ?? "");
        // The stack itself, the pairs, and the provider of dynamic resources.
        assert.equal(checkpoint.latest.resources.length, 2 * pairs + 2);
        assert.deepEqual(secrets.in(Object.values(stored).join("\n")), []);

        const same = await project.up();
        assert.deepEqual([same.changes, same.requests], [{ same: 2 * pairs + 1 }, []]);

        const refreshed = await project.refresh("--expect-no-changes");
        const methods = refreshed.requests.map((request) => request.split(" ")[0]);
        assert.deepEqual(new Set(methods), new Set(["GET"]));
        // Of each kind one read alone and one page, at most.
        assert.ok(methods.length <= 4, refreshed.requests.join("\n"));

        const destroyed = await project.destroy();
        assert.deepEqual(counted(destroyed.requests), {
          "DELETE /edges/tls/:id": pairs,
          "DELETE /tls_certificates/:id": pairs,
        });
        assert.equal(emulator.tlsEdges.list().length + emulator.tlsCertificates.list().length, 0);
        const locks = Object.keys(await server.stored()).filter((key) => key.includes("/locks/"));
        assert.deepEqual(locks, []);
      });
    });
  }
});

/** How often each request was made. */
function counted(requests: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const request of requests) {
    counts[request] = (counts[request] ?? 0) + 1;
  }
  return counts;
}
