import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fs, { writeFile } from "node:fs/promises";
import path from "node:path";
import ours from "../../package.json";
import { Project } from "../../tools/engine";
import { newFolder, repository } from "../../tools/folders";
import { missing, programs } from "../../tools/languages";
import { pack, quickNpm, sh } from "../../tools/tarball";

/** A program that has what a user writes, with every strict option that a program may set. */
const consumer = `import * as pulumi from "@pulumi/pulumi";
import { getTunnelOutput, TLSCertificate, TLSEdge, type TLSEdgeArgs } from "pulumi-tlsedge";
const tunnel = getTunnelOutput({ labels: { app: "web" } });
const args: TLSEdgeArgs = { description: tunnel.id, tlsTermination: { terminateAt: "edge" } };
export const id: pulumi.Output<string> = new TLSEdge("app", args).id;
export const { notAfter } = new TLSCertificate("app", { certificatePem: pulumi.output("pem") });
// @ts-expect-error A misspelt property is an error.
new TLSEdge("typo", { hostport: ["app.example.com:443"] });
`;
/** Each argument and filter that may be left out may be undefined, such as what a config does not have. */
const undefinedArguments = `import * as tlsedge from "pulumi-tlsedge";
type Maybe<T> = { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] };
declare function any<T>(): Maybe<T>;
new tlsedge.TLSEdge("edge", any<tlsedge.TLSEdgeArgs>());
new tlsedge.TLSCertificate("certificate", any<tlsedge.TLSCertificateArgs>());
new tlsedge.TLSSite("site", { ...any<tlsedge.TLSSiteArgs>(), access: any<tlsedge.TLSSiteAccess>() });
tlsedge.TLSEdge.get("edge", "edgtls_1", any<{ connection?: string }>());
tlsedge.getTLSEdge(any<tlsedge.GetTLSEdgeArgs>());
tlsedge.getTLSEdges(any<tlsedge.GetTLSEdgesArgs>());
tlsedge.getTLSCertificate(any<tlsedge.GetTLSCertificateArgs>());
tlsedge.getTLSCertificatesOutput(any<tlsedge.GetTLSCertificatesArgs>());
tlsedge.getTunnelOutput(any<tlsedge.GetTunnelArgs>());
tlsedge.getTunnels(any<tlsedge.GetTunnelsArgs>());
`;
const emulatorUser = `import { type Emulator, startEmulator } from "pulumi-tlsedge-emulator";
const emulator: Emulator = await startEmulator({ tunnels: [{ id: "tn_1", proto: "tls" }] });
export const served = emulator.tlsEdges.list().flatMap(({ hostports }) => hostports ?? []);
// @ts-expect-error A tunnel has no such field.
await startEmulator({ tunnels: [{ colour: "red" }] });
`;
const tsc =
  "node_modules/.bin/tsc --noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false " +
  "--module node16 --target es2022 user.mts";

const program = `new TLSEdge("app", { tlsTermination: { minVersion: "1.0" } });`;
/** The same program in both module systems. */
const modules = {
  commonjs: `const { TLSEdge } = require("pulumi-tlsedge");\n${program}`,
  module: `import { TLSEdge } from "pulumi-tlsedge";\n${program}`,
};

/** Without any script of a dependency, as the safest settings of both have it. */
const managers = {
  npm: "npm install --ignore-scripts",
  pnpm: "npx --yes pnpm@10 install --ignore-scripts --prefer-offline",
};

/** The Node.js that runs the program with the lowest versions. */
const lowestNode = `node-${process.platform}-${process.arch}`;
/** The lowest versions of all that package.json allows. */
const lowest = {
  ...Object.fromEntries(
    Object.entries({ ...ours.dependencies, ...ours.peerDependencies }).map(([name, range]) => [
      name,
      range.replace("^", ""),
    ]),
  ),
  [lowestNode]: `${ours.engines.node.replace(">=", "")}.0.0`,
};
const { "@pulumi/pulumi": pulumi, "@types/node": types, typescript } = ours.devDependencies;
const current = { "@pulumi/pulumi": pulumi };

/** Only the emulator needs these: a production install may not have them. */
const unwanted = ["hono", "@hono", "@peculiar", "pulumi-tlsedge-emulator"];

describe("the npm packages, from their tarballs", () => {
  const tarballs: Record<string, string> = {};
  before(async () => {
    for (const name of [".", "emulator", "policy"]) tarballs[name] = await pack(name);
  });
  const tarball = (name = ".") => `file:${tarballs[name]}`;

  for (const name of [".", "emulator", "policy"]) {
    it(`have entries that Node.js and TypeScript find: ${name}`, async () => {
      for (const line of ["publint run --strict", "attw"])
        await sh(`node_modules/.bin/${line} ${tarballs[name]}`, repository);
    });
  }

  it("holds what is built, and its documents", async () => {
    const files = (await sh(`tar -tzf ${tarballs["."]}`, repository)).trim().split("\n").sort();
    const built = /^package\/dist\/(cli|client|provider|sdk)\/[\w/]+\.(js|d\.ts)$/;
    assert.deepEqual(
      files.filter((file) => !built.test(file)),
      ["CHANGELOG.md", "LICENSE", "README.md", "package.json"].map((file) => `package/${file}`),
    );
  });

  /** A folder that has dependencies, and no other of this repository. */
  async function install(dependencies: object, how: string): Promise<string> {
    const folder = newFolder();
    const manifest = { name: "consumer", private: true, dependencies };
    await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
    await sh(how, folder, { ...process.env, ...quickNpm });
    return folder;
  }

  /** A project in such a folder, on the real engine. */
  async function open(folder: string, type: keyof typeof modules): Promise<Project> {
    const project = await Project.in(folder, {}, quickNpm);
    const node = path.join(folder, "node_modules", lowestNode, "bin");
    if (existsSync(node)) project.env.PATH = `${node}${path.delimiter}${project.env.PATH}`;
    await project.manifest();
    await project.file("package.json", JSON.stringify({ main: "index.js", type }));
    await project.file("index.js", modules[type]);
    await project.select(type);
    return project;
  }

  // What npm installs with the current versions, templates.test.ts deploys.
  for (const [versions, manager, own, flavours] of [
    ["current", "pnpm", current, ["module"]],
    ["lowest", "npm", lowest, ["commonjs", "module"]],
  ] as const) {
    describe(`installed by ${manager} with the ${versions} versions`, () => {
      let folder: string;
      before(async () => {
        const dependencies = { ...own, typescript, "pulumi-tlsedge": tarball() };
        folder = await install(dependencies, managers[manager]);
      });

      it("bring nothing that only the emulator needs, have types, and a command", async () => {
        const modules = path.join(folder, "node_modules");
        const places = [modules, path.join(modules, ".pnpm", "node_modules")];
        const found = places.flatMap((place) => unwanted.map((name) => path.join(place, name)));
        assert.deepEqual(found.filter(existsSync), []);
        await writeFile(path.join(folder, "user.mts"), consumer);
        await sh(tsc, folder);
        const printed = await sh("npx --no -- pulumi-tlsedge --version", folder);
        assert.ok(printed.split("\n").includes(ours.version), printed);
      });

      for (const type of flavours) {
        it(`run a program: ${type}`, async () => {
          const project = await open(folder, type);
          try {
            await project.up();
            await project.up("--expect-no-changes");
            await project.destroy();
            const methods = project.emulator.requests.map(({ method }) => method);
            // The list is read before the first create.
            assert.deepEqual(methods, ["GET", "POST", "DELETE"]);
          } finally {
            await project.emulator.close();
          }
        });
      }
    });
  }

  it("C70 stop an update in a project without the package, of the plugin and in YAML", async function () {
    if (await missing("yaml")) this.skip();
    const name = "pulumi-tlsedge-policy";
    const folder = await install({ [name]: tarball("policy") }, managers.npm);
    await sh(`npx --no ${name} -- node_modules/${name}/profiles/production.json`, folder);
    const project = await Project.create();
    try {
      await programs.yaml(
        project.folder,
        "resources: { edge: { type: tlsedge:TLSEdge, properties: { tlsTermination: { minVersion: '1.0' } } } }",
        { plugin: path.join(repository, "plugin", "dist") },
      );
      const pack = ["--policy-pack", path.join(folder, "node_modules", name)];
      const { output, writes } = await project.fails("up", "--yes", "--skip-preview", ...pack);
      assert.match(output, /mandatory.*edge-tls-version/);
      assert.deepEqual(writes, []);
    } finally {
      await project.close();
    }
  });

  it("have types for each compiler and way to find modules, with all that a program may set", async () => {
    const folder = await install(
      {
        ...{ ...current, "@types/node": types, typescript, typescript6: "npm:typescript@6.0.3" },
        "pulumi-tlsedge": tarball(),
        valibot: ours.dependencies.valibot,
      },
      managers.npm,
    );
    const programs = await fs.glob("@(examples|templates)/*/**/*.ts", { cwd: repository });
    for await (const file of programs) {
      // The types of @pulumi/policy do not compile.
      if (/node_modules|policies.ours/.test(file)) continue;
      await fs.cp(path.join(repository, file), path.join(folder, file));
    }
    await fs.writeFile(path.join(folder, "undefined.ts"), undefinedArguments);
    assert.ok(existsSync(path.join(folder, "templates", "stack", "index.ts")));
    const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
    // Each compiler, and the ways to find modules that the programs above do not use.
    for (const [compiler, module, moduleResolution] of [
      ["typescript", "commonjs", "node"],
      ["typescript6", "esnext", "bundler"],
    ]) {
      const way = { module, moduleResolution, target: "es2023", noEmit: true, types: ["node"] };
      const compilerOptions = { ...strict, ...way };
      await fs.writeFile(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
      await sh(`node node_modules/${compiler}/bin/tsc`, folder);
    }
  });

  it("give the emulator all that its types need", async () => {
    const dependencies = { "pulumi-tlsedge-emulator": tarball("emulator"), "@types/node": types };
    const folder = await install({ ...dependencies, typescript }, managers.npm);
    await writeFile(path.join(folder, "user.mts"), emulatorUser);
    await sh(tsc, folder);
  });
});
