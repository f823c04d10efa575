import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import manifest from "../package.json";
import { newFolder } from "../tools/folders";

const root = path.join(__dirname, "..");
const compiled = "dist/cli/dependency.js";

describe("what a written package.json says of this package", () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });

  /** Puts the package into a folder, as an installation does. */
  function install(where: string): string {
    const target = path.join(folder, where, "pulumi-tlsedge");
    for (const file of ["package.json", compiled]) {
      fs.cpSync(path.join(root, file), path.join(target, file));
    }
    return target;
  }

  function write(file: string, content: object): void {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), JSON.stringify(content));
  }

  /** Calls an installed package in a folder, for a project in another. */
  const dependency = (own: string, cwd: string, out: string): string => {
    fs.mkdirSync(path.join(folder, cwd), { recursive: true });
    const before = process.cwd();
    process.chdir(path.join(folder, cwd));
    try {
      return require(path.join(own, compiled)).dependencyFor(out);
    } finally {
      process.chdir(before);
    }
  };

  const { version } = manifest;
  const specs: [string, string][] = [
    ["^0.0.1", version],
    ["latest", version],
    ["workspace:*", version],
    ["file:pulumi-tlsedge.tgz", "file:../pulumi-tlsedge.tgz"],
    ["file:../packs/pulumi-tlsedge.tgz", "file:../../packs/pulumi-tlsedge.tgz"],
    ["./pulumi-tlsedge.tgz", "file:../pulumi-tlsedge.tgz"],
    ["link:../clone", "file:../../clone"],
    ["https://example.com/pulumi-tlsedge.tgz", "https://example.com/pulumi-tlsedge.tgz"],
    ["git+ssh://git@example.com/a.git#v1", "git+ssh://git@example.com/a.git#v1"],
    ["github:example-owner/pulumi-tlsedge", "github:example-owner/pulumi-tlsedge"],
  ];
  for (const [spec, expected] of specs) {
    it(`is ${expected} where the project around says ${spec}`, () => {
      const own = install("node_modules");
      write("package.json", { dependencies: { "pulumi-tlsedge": spec } });
      assert.equal(dependency(own, ".", "live"), expected);
      assert.equal(dependency(own, "deeper/still", "../../live"), expected);
    });
  }

  it("is an absolute place as seen from the new folder, and known from devDependencies", () => {
    const own = install("node_modules");
    const spec = `file:${path.join(folder, "packs", "a.tgz")}`;
    write("package.json", { devDependencies: { "pulumi-tlsedge": spec } });
    assert.equal(dependency(own, ".", "projects/live"), "file:../../packs/a.tgz");
  });

  it("is what the nearest package.json says that names the package", () => {
    const own = install("node_modules");
    write("package.json", { dependencies: { "pulumi-tlsedge": "file:far.tgz" } });
    write("app/package.json", { dependencies: { "pulumi-tlsedge": "file:near.tgz" } });
    write("app/src/package.json", { dependencies: { other: "1.0.0" } });
    assert.equal(dependency(own, "app/src", "live"), "file:../../near.tgz");
  });

  it("is what the project of the installation says, seen from any folder", () => {
    // Where npx and pnpm keep a package.
    const own = install("cache/node_modules/.pnpm/pulumi-tlsedge@0/node_modules");
    write("cache/package.json", { dependencies: { "pulumi-tlsedge": "file:../a.tgz" } });
    assert.equal(dependency(own, "work", "live"), "file:../../a.tgz");
  });

  it("is the version where no project names the package", () => {
    const own = install("lib/node_modules");
    assert.equal(dependency(own, "work", "live"), version);
  });

  it("is the folder of a clone", () => {
    const own = install("clones");
    assert.equal(dependency(own, "clones/pulumi-tlsedge", "live"), "file:..");
    assert.equal(dependency(own, "work", "live"), "file:../../clones/pulumi-tlsedge");
  });

  it("minds no package.json that can't be read", () => {
    const own = install("node_modules");
    fs.writeFileSync(path.join(folder, "package.json"), "{");
    write("app/package.json", {});
    assert.equal(dependency(own, "app", "live"), version);
  });
});
