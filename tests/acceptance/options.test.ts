import assert from "node:assert/strict";
import type { Project } from "../../tools/engine";
import { pair, scenario, served } from "./scenario";

interface Program {
  /** The description of what has an option about changes. */
  description?: string;
  /** That of the edges for `--target`. */
  first?: string;
  /** Their options. */
  options?: string;
  moved?: boolean;
  more?: string;
}

/** One program for all: each resource shows one option, or none. */
const program = ({ description = "one", first = "one", options = "", ...rest }: Program = {}) => `
  const edge = (name, description, options = {}) =>
    new tlsedge.TLSEdge(name, { hostports: [name + ".example.com:443"], description }, options);
  edge("plain", "one");
  edge("ignored", "${description}", { ignoreChanges: ["description"] });
  edge("replaced", "${description}", { replaceOnChanges: ["description"] });
  edge("protected", "one", { protect: true });
  edge("retained", "one", { retainOnDelete: true });
  edge("slow", "one", { customTimeouts: { delete: "1000ms" } });
  const home = new pulumi.ComponentResource("acceptance:index:Home", "home");
  new tlsedge.TLSEdge("${rest.moved ? "stays" : "moved"}", {
    hostports: ["moved.example.com:443"], description: "one",
  }, ${rest.moved ? '{ parent: home, aliases: [{ name: "moved", parent: pulumi.rootStackResource }] }' : "{}"});
  const pair = { ${pair()} };
  const all = new tlsedge.TLSCertificate("all", { ...pair, description: "${description}" },
    { ignoreChanges: ["*"] });
  for (const name of ["a", "b", "c", "d"]) edge(name, "${first}", { ${options} });

  const made = {
    full: new tlsedge.TLSEdge("full", {
      description: "full", metadata: "m", hostports: ["full.example.com:443"],
      backend: { backendId: "bkdtg_1" }, ipRestriction: { ipPolicyIds: ["ipp_1"] },
      mutualTls: { certificateAuthorityIds: ["ca_1"], enabled: false },
      tlsTermination: { terminateAt: "edge", minVersion: "1.3" },
    }),
    bare: new tlsedge.TLSEdge("bare", {}),
    certificate: new tlsedge.TLSCertificate("certificate", pair),
  };
  const read = {
    full: tlsedge.TLSEdge.get("read-full", made.full.id),
    bare: tlsedge.TLSEdge.get("read-bare", made.bare.id),
    certificate: tlsedge.TLSCertificate.get("read-certificate", made.certificate.id),
  };
  const properties = (resource) => pulumi.all(Object.fromEntries(
    Object.keys(resource)
      .filter((name) => !/^_|^(urn|privateKeyPem)$/.test(name))
      .map((name) => [name, resource[name]])));
  for (const name of Object.keys(made)) {
    exports[name] = pulumi.all([properties(made[name]), properties(read[name])])
      .apply((both) => JSON.stringify(both));
  }
  ${rest.more ?? ""}`;

/** Each needs something that the same program creates. */
const lookups = `
  const hostport = "full.example.com:443";
  const { fingerprint } = all;
  const { full } = made;
  exports.found = [
    tlsedge.getTLSEdgeOutput({ hostport: full.hostports.apply(([one]) => one) }).id,
    tlsedge.getTLSEdgeOutput({ hostport }, { dependsOn: [full], parent: home }).id,
    tlsedge.getTLSCertificateOutput({ fingerprint, description: "one", mostRecent: true }).id,
  ];`;

const drift = async (project: Project, name: string) =>
  project.emulator.tlsEdges.patch((await served(project, name)).id, { description: "drifted" });

const descriptions = async (project: Project, names: string[]) =>
  Promise.all(names.map(async (name) => (await served(project, name)).description));

scenario("the engine's own options", ["dynamic", "plugin"], (protocol) => {
  let key = "";
  return {
    "C43 C64: get reads every property of what the plan creates, and lookups find it": {
      outside: (project) => project.certificate(".", { commonName: "d.example.com" }),
      program: program({ more: lookups }),
      up: "succeeds",
      previewed: true,
      check: async (project) => {
        const outputs = JSON.parse(await project.succeedsQuietly("stack", "output", "--json"));
        for (const name of ["full", "bare", "certificate"]) {
          const [made, read] = JSON.parse(outputs[name]);
          assert.deepEqual(made, read, name);
          assert.ok(made.createdAt, name);
        }
        const { full: edge, all } = await project.exported();
        assert.deepEqual(await project.output("found"), [edge?.id, edge?.id, all?.id]);
      },
    },
    "C4 C37 C43: refresh --run-program takes a rotated key from config, and nothing has changed": {
      outside: async (project) => {
        ({ TLSEDGE_API_KEY: key = "" } = project.env);
        delete project.env.TLSEDGE_API_KEY;
        await project.setSecret("tlsedge:apiKey", key);
      },
      refresh: "succeeds",
      options: ["--run-program", "--expect-no-changes"],
      writes: [],
      check: async (project, { requests }) => {
        assert.ok(requests.includes("GET /edges/tls?limit=100"), requests.join());
        await project.succeedsQuietly("config", "rm", "tlsedge:apiKey");
        project.env.TLSEDGE_API_KEY = key;
      },
    },
    "C26 C37: --refresh, ignoreChanges, replaceOnChanges, aliases and parent": {
      outside: async (project) => {
        for (const name of ["plain", "ignored"]) await drift(project, name);
      },
      program: program({ description: "two", moved: true }),
      up: "succeeds",
      options: ["--refresh"],
      // What is read, ignored or moved is not touched.
      writes: ["DELETE /edges/tls/:id", "PATCH /edges/tls/:id", "POST /edges/tls"],
      state: async ({ moved }, project) => {
        const found = await descriptions(project, ["plain", "ignored", "replaced", "stays"]);
        assert.deepEqual([found, moved], [["one", "drifted", "two", "one"], undefined]);
      },
    },
    "C24 C37: --target-replace and taint delete an edge first; --target leaves out the rest": {
      outside: async (project) => {
        const urn = project.urn("TLSEdge", "b");
        await project.succeedsQuietly("state", "taint", urn, "--yes");
      },
      program: program({
        ...{ description: "two", moved: true, first: "two" },
        // For these the engine asks no provider. The class of the Node.js package sets the option.
        options: protocol === "plugin" ? "deleteBeforeReplace: true" : "",
      }),
      up: "succeeds",
      options: (project) => {
        const urn = (name: string) => project.urn("TLSEdge", name);
        const targets = ["b", "c"].flatMap((name) => ["--target", urn(name)]);
        return ["--target-replace", urn("a"), ...targets, "--parallel", "1"];
      },
      check: async (project, { writes }) => {
        const replaced = ["DELETE /edges/tls/:id", "POST /edges/tls"];
        const others = writes.filter((one) => one !== "PATCH /edges/tls/:id");
        assert.deepEqual([writes.length, others], [5, [...replaced, ...replaced]]);
        const found = await descriptions(project, ["a", "b", "c", "d"]);
        assert.deepEqual(found, ["two", "two", "two", "one"]);
      },
    },
    "C37 C93: protect, retainOnDelete and the deadline of a delete, in a destroy": {
      outside: async (project) => {
        const { id } = await served(project, "slow");
        const path = `/edges/tls/${id}`;
        project.emulator.faults.add({ method: "DELETE", path, answer: "silence", times: 100 });
      },
      destroy: "fails",
      options: ["--continue-on-error"],
      says: [
        /\(protected\):\s+error: .*protected/,
        // The deadline of a connection would say more seconds. On a slow machine, less than one is left.
        /\(slow\):\s+error: .* got no usable answer( in \d s)?: no \w+ in time/,
      ],
      check: (project) => {
        const names = project.emulator.tlsEdges.list().map(({ hostports }) => hostports?.[0]);
        const kept = ["protected", "retained", "slow"].map((name) => `${name}.example.com:443`);
        assert.deepEqual(names.toSorted(), kept);
        project.emulator.faults.clear();
      },
    },
  };
});
