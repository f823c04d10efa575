import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { list, type ReadEntry } from "tar";
import { engines, version } from "../package.json";
import ofPlugin from "../plugin/package.json";
import schema from "../plugin/schema.json";
import { newFolder } from "../tools/folders";
import { packPlugin } from "../tools/packPlugin";

describe("the archives of the plugin", () => {
  const platforms = ["darwin", "linux", "windows"].flatMap((system) => [
    `${system}-amd64`,
    `${system}-arm64`,
  ]);
  const names = platforms.map((name) => `pulumi-resource-tlsedge-v${version}-${name}.tar.gz`);
  let folder: string;

  before(async () => {
    folder = newFolder();
    await packPlugin(folder);
  });

  const sums = () => readFileSync(path.join(folder, "SHA256SUMS"), "utf8");

  it("is one for each platform, with a checksum", () => {
    const lines = sums().trim().split("\n").sort();
    const expected = names.map((name) => {
      const hash = createHash("sha256").update(readFileSync(path.join(folder, name)));
      return `${hash.digest("hex")}  ${name}`;
    });
    assert.deepEqual(lines, expected.sort());
  });

  it("has the programs at its root, and the licences; no owner and no time", async () => {
    const found: Record<string, string> = {};
    const onReadEntry = ({ path, mode = 0, mtime, uid = 0 }: ReadEntry) => {
      found[path] = `${mode.toString(8)} ${mtime?.getTime()} ${uid}`;
    };
    await list({ file: path.join(folder, names[0] ?? ""), onReadEntry });
    assert.deepEqual(found, {
      LICENSE: "644 0 0",
      "LICENSES-THIRD-PARTY.txt": "644 0 0",
      "components.js": "644 0 0",
      "plugin.js": "644 0 0",
      "pulumi-resource-tlsedge": "755 0 0",
      "pulumi-resource-tlsedge.cmd": "755 0 0",
    });
  });

  it("has the licence of each package that the bundle holds", async () => {
    let text = "";
    const onReadEntry = (entry: ReadEntry) => {
      if (entry.path !== "LICENSES-THIRD-PARTY.txt") return;
      entry.on("data", (data) => {
        text += data;
      });
    };
    await list({ file: path.join(folder, names[0] ?? ""), onReadEntry });
    for (const name of ["@grpc/grpc-js", "@pulumi/pulumi", "axios", "valibot"]) {
      assert.match(text, new RegExp(`^${name} \\d\\S+ \\((MIT|Apache-2.0)\\)$`, "m"));
    }
    assert.doesNotMatch(text, /^typescript /m);
    const packages = text.split(`\n${"-".repeat(80)}\n\n`);
    const without = packages.filter((licence) => !/copyright/i.test(licence));
    assert.deepEqual(without, []);
  });

  it("has the same bytes each time", async () => {
    const before = sums();
    await packPlugin(folder);
    assert.equal(sums(), before);
  });
});

describe("the manifest of the plugin", () => {
  it("is that of the package, and so is the Node.js that it needs", () => {
    assert.equal(ofPlugin.version, version);
    assert.equal(schema.version, version);
    assert.deepEqual(ofPlugin.engines, engines);
  });
});
