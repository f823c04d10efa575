import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../../emulator/server";
import { version } from "../../package.json";
import { Project, type Protocol } from "../../tools/engine";
import { pair, type Step, scenario, type Tests, times } from "./scenario";

/** A folder for each version. The states of earlier versions are all of dynamic providers. */
const fixturesOf = (protocol: Protocol) =>
  join(__dirname, "..", "fixtures", protocol === "plugin" ? "pluginStates" : "states");

/** The program of every fixture; it stands here because what it says must not change either. */
const program = `
  const file = (name) => readFileSync(name, "utf8");
  new tlsedge.TLSCertificate("certificate", {
    certificatePem: file("chain.pem"), privateKeyPem: file("key.pem"), description: "Kept",
  });
  new tlsedge.TLSEdge("edge", {
    description: "Kept", metadata: "m", hostports: ["b.example.com:443", "a.example.com:443"],
    backend: { backendId: "bkdtg_1" }, ipRestriction: { ipPolicyIds: ["ipp_1"] },
    mutualTls: { certificateAuthorityIds: ["ca_1"], enabled: false },
    tlsTermination: { terminateAt: "edge" },
  });`;

/** Files of a stack that the next version must take as they are. */
const kept = ["state.json", "Pulumi.dev.yaml", "chain.pem", "key.pem"];

/** Writes this version's fixture: RECORD=1 npx mocha tests/acceptance/states.test.ts */
async function record(protocol: Protocol): Promise<void> {
  const project = await Project.create({}, {}, protocol);
  const folder = join(fixturesOf(protocol), version);
  await mkdir(folder, { recursive: true });
  const made = await makeCertificate({
    commonName: "a.example.com",
    dnsNames: ["a.example.com", "*.a.example.com"],
    notBefore: new Date("2026-01-01T00:00:00Z"),
    notAfter: new Date("2126-01-01T00:00:00Z"),
    issuer: await makeCertificate({ commonName: "Fixture CA", isCa: true }),
  });
  await project.file("chain.pem", made.certificatePem);
  await project.file("key.pem", made.privateKeyPem);
  await project.program(program);
  await project.up();
  const exported = await project.pulumi("stack", "export");
  // Where the engine says the program stood on this machine is not the package's, nor of use.
  const state = JSON.parse(exported.output, (key, value) =>
    ["sourcePosition", "stackTrace"].includes(key) ? undefined : value,
  );
  await project.file("state.json", `${JSON.stringify(state, null, 2)}\n`);
  for (const name of kept) await copyFile(join(project.folder, name), join(folder, name));
  await project.close();
}

scenario("the state of every version", ["dynamic", "plugin"], (protocol) => {
  const fixtures = fixturesOf(protocol);

  /** A stack that an earlier version has left: nothing changes, then it is destroyed. */
  const taken = (name: string): Step[] => [
    {
      outside: async (project) => {
        delete project.env.TLSEDGE_SAME_ACCOUNT;
        await cp(join(fixtures, name), project.folder, { recursive: true });
        const state = await readFile(join(project.folder, "state.json"), "utf8");
        // As if this service had made it: what another one has made is not deleted.
        const own = state.replaceAll(/https:\/\/localhost:\d+/g, project.emulator.url);
        await project.file("state.json", own);
        await project.succeedsQuietly("stack", "import", "--file", "state.json");
      },
      program,
      up: { same: 3 },
      requests: [],
    },
    {
      outside: ({ env }) => {
        // A state without a tag of its key: that this one is the account's can't be known.
        env.TLSEDGE_SAME_ACCOUNT = "1";
      },
      destroy: "succeeds",
      // They are not on this service, so that it is asked whether its lists are there.
      requests: [
        "DELETE /edges/tls/:id",
        "DELETE /tls_certificates/:id",
        "GET /edges/tls?limit=100",
        "GET /tls_certificates?limit=100",
      ],
    },
  ];
  return {
    [`C51: the state of ${version} is among the fixtures`]: {
      outside: async () => {
        if (process.env.RECORD) await record(protocol);
        const versions = await readdir(fixtures);
        assert.ok(versions.includes(version), "see record() in this file");
      },
    },
    "C51: the state of each earlier version is taken with no change and no request, then destroyed":
      readdirSync(fixtures).flatMap(taken),
  };
});

const types = {
  dynamic: (name: string) => `pulumi-nodejs:dynamic/tlsedge:${name}`,
  plugin: (name: string) => `tlsedge:index:${name}`,
};

/** An edge, a certificate and a site, which has the aliases of the other protocol by itself. */
const moving = (protocol: Protocol, description?: string) => {
  const from = types[protocol === "plugin" ? "dynamic" : "plugin"];
  const was = (type: string) => `{ aliases: [{ type: "${from(type)}" }] }`;
  return `
    const args = { ...${JSON.stringify({ description })}, ${pair()} };
    const { certificatePem, privateKeyPem, ...described } = args;
    new tlsedge.TLSEdge("loose", {
      ...described, hostports: ["a.example:443", "b.example:443"],
      tlsTermination: { terminateAt: "edge" },
    }, ${was("TLSEdge")});
    new tlsedge.TLSCertificate("loose", args, ${was("TLSCertificate")});
    new tlsedge.TLSSite("site", {
      ...args, metadata: { environment: "", repository: "" },
      hostports: ["c.example:443"], backendId: "bkdtg_1", access: { public: true },
    });`;
};

scenario("a stack that moves between the protocols", ["dynamic"], (): Tests => {
  let ids: string[];
  const stored = async (project: Project) =>
    (await project.state()).resources
      .flatMap(({ type, id }) => (/tlsedge:TLS|tlsedge:index:TLS/.test(type) && id ? [id] : []))
      .sort();
  const areStored = async (project: Project) => assert.deepEqual(await stored(project), ids);

  return {
    "C85: a stack of dynamic providers moves to the plugin with no write": [
      {
        outside: (project) =>
          project.certificate(".", { commonName: "c.example", dnsNames: ["c.example"] }),
        program: moving("dynamic"),
        up: { create: 6 },
        check: async (project) => {
          ids = await stored(project);
        },
      },
      {
        outside: (project) => project.use("plugin"),
        program: moving("plugin"),
        up: { same: 2, update: 4 },
        writes: [],
        check: areStored,
      },
    ],
    "C85: a stack of the plugin moves back and changes in one update, each object by one request, and then no more":
      [
        {
          outside: (project) => project.use("dynamic"),
          program: moving("dynamic", "in the same update"),
          // The inputs of the site change, too.
          up: { same: 1, update: 5 },
          writes: [...times(2, "PATCH /edges/tls/:id"), ...times(2, "PATCH /tls_certificates/:id")],
          check: areStored,
        },
        { up: { same: 6 }, options: ["--refresh"], writes: [] },
      ],
  };
});
