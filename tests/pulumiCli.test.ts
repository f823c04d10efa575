import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { repository } from "../tools/folders";
import { atLeast, cacheName, findPulumi, oldestVersion, pulumiVersion } from "../tools/pulumi";

const archiveName = `pulumi-v${pulumiVersion}-${process.platform}-${process.arch}.tar.gz`;

describe("finding the Pulumi CLI", () => {
  if (process.platform === "win32") return; // the stand-ins are shell scripts

  let folder: string;
  let bin: string;
  let server: http.Server;
  let files: Record<string, string | Buffer>;
  let asked: string[];
  let lines: string[];

  beforeEach(async () => {
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "pulumi-cli-")));
    bin = path.join(folder, "bin");
    [files, asked, lines] = [{}, [], []];
    server = http.createServer((request, response) => {
      const file = path.basename(request.url ?? "");
      asked.push(file);
      response.statusCode = files[file] === undefined ? 404 : 200;
      response.end(files[file]);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
    fs.rmSync(folder, { recursive: true });
  });

  function program(name: string, says: string, where = bin): string {
    fs.mkdirSync(where, { recursive: true });
    fs.writeFileSync(path.join(where, name), `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
    return path.join(where, name);
  }

  function programs(where: string, version: string): void {
    program("pulumi", `v${version}`, where);
    program("pulumi-language-nodejs", "", where);
    program("pulumi-resource-pulumi-nodejs", "", where);
  }

  function publish(version = pulumiVersion): void {
    programs(path.join(folder, "archive", "pulumi"), version);
    execFileSync("tar", ["-czf", `${folder}/${archiveName}`, "-C", `${folder}/archive`, "pulumi"]);
    const archive = fs.readFileSync(path.join(folder, archiveName));
    const sum = createHash("sha256").update(archive).digest("hex");
    files = { [archiveName]: archive, "checksums.txt": `00  other.zip\n${sum}  ${archiveName}\n` };
  }

  function find() {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = { PATH: bin, TLSEDGE_PULUMI_CACHE: path.join(folder, "cache") };
    const places = { env, releases: url, checksums: `${url}/checksums.txt` };
    return findPulumi(places, (line) => lines.push(line));
  }

  const cached = () => path.join(folder, "cache", cacheName);

  it("compares versions by number", () => {
    assert.equal(atLeast("3.216.0", "3.216.0"), true);
    assert.equal(atLeast("3.1000.0", "3.216.0"), true);
    assert.equal(atLeast("4.0.0", "3.216.0"), true);
    assert.equal(atLeast("v3.216.1-dev.2", "3.216.0"), true);
    assert.equal(atLeast("3.99.9", "3.216.0"), false);
    assert.equal(atLeast("2.300.0", "3.216.0"), false);
    assert.equal(atLeast("1.25", "1.25.0"), true);
  });

  it("takes the CLI on PATH with its language host, and puts this process's node first", async () => {
    const command = program("pulumi", `v${oldestVersion}`);
    program("pulumi-language-nodejs", "");

    const found = await find();

    assert.deepEqual(
      { command: found.command, version: found.version, origin: found.origin },
      { command, version: oldestVersion, origin: "PATH" },
    );
    assert.equal(found.env.PATH, [path.dirname(process.execPath), bin].join(path.delimiter));
    assert.equal(found.env.PULUMI_SKIP_UPDATE_CHECK, "true");
    assert.deepEqual(asked, []);
  });

  it("finds the language host beside a CLI that is linked into PATH", async () => {
    const real = path.join(folder, "installed");
    programs(real, "3.300.0");
    fs.mkdirSync(bin);
    fs.symlinkSync(path.join(real, "pulumi"), path.join(bin, "pulumi"));

    assert.equal((await find()).origin, "PATH");
  });

  it("leaves PATH alone when its node is this process's", async () => {
    programs(bin, "3.300.0");
    fs.symlinkSync(process.execPath, path.join(bin, "node"));

    assert.equal((await find()).env.PATH, bin);
  });

  it("passes over a CLI that is too old", async () => {
    programs(bin, "3.215.9");
    publish();

    assert.equal((await find()).origin, "download");
    assert.match(lines[0] ?? "", /3\.215\.9/);
  });

  it("passes over a CLI without its language host", async () => {
    program("pulumi", "v3.300.0");
    publish();

    assert.equal((await find()).origin, "download");
    assert.match(lines[0] ?? "", /pulumi-language-nodejs/);
  });

  it("passes over a CLI that fails", async () => {
    fs.writeFileSync(program("pulumi", ""), "#!/bin/sh\nexit 1\n");
    program("pulumi-language-nodejs", "");
    publish();

    assert.equal((await find()).origin, "download");
  });

  it("downloads once, and takes the cache from then on", async () => {
    publish();

    const first = await find();
    const again = await find();

    assert.equal(first.origin, "download");
    assert.equal(again.origin, "cache");
    assert.equal(again.command, path.join(cached(), "pulumi"));
    assert.equal(again.version, pulumiVersion);
    assert.equal(again.env.PATH?.split(path.delimiter)[0], cached());
    assert.deepEqual(asked, ["checksums.txt", archiveName]);
    assert.deepEqual(fs.readdirSync(cached()).sort(), [
      "pulumi",
      "pulumi-language-nodejs",
      "pulumi-resource-pulumi-nodejs",
    ]);
  });

  it("lets two that start at once share one folder", async () => {
    publish();

    const both = await Promise.all([find(), find()]);

    assert.deepEqual(new Set(both.map(({ command }) => command)), new Set([`${cached()}/pulumi`]));
    assert.deepEqual(fs.readdirSync(path.dirname(cached())), [path.basename(cached())]);
  });

  it("makes an incomplete cache folder anew", async () => {
    publish();
    program("pulumi", `v${pulumiVersion}`, cached());

    assert.equal((await find()).origin, "download");
    assert.equal((await find()).origin, "cache");
  });

  const refused: [string, () => void][] = [
    ["has another checksum", () => (files["checksums.txt"] = `${"0".repeat(64)}  ${archiveName}`)],
    ["is not in the checksum list", () => (files["checksums.txt"] = "00  other.zip")],
    ["has no checksum list", () => delete files["checksums.txt"]],
    ["is not there", () => delete files[archiveName]],
    ["is of another version", () => publish("3.249.0")],
  ];
  for (const [what, spoil] of refused) {
    it(`refuses a download that ${what}`, async () => {
      publish();
      spoil();

      await assert.rejects(find());
      assert.deepEqual(fs.readdirSync(path.join(folder, "cache")), []);
    });
  }

  it("says what to install when there is neither a CLI nor Go", async () => {
    await assert.rejects(find(), /pulumi\.com\/docs\/install.*Go/s);
  });

  it("does not build with an old Go", async () => {
    program("go", "go version go1.24.9 linux/amd64");

    await assert.rejects(find(), /1\.26\.6.*1\.24\.9/s);
  });
});

describe("the Pulumi CLI of our workflows", () => {
  const versions = (name: string) => {
    const file = path.join(repository, ".github", "workflows", `${name}.yml`);
    const steps = fs.readFileSync(file, "utf8").split(/^ *- /m);
    const installing = steps.filter((step) => step.startsWith("uses: pulumi/actions@"));
    return installing.map((step) => step.match(/ pulumi-version: (\S+)/)?.[1]);
  };

  it("is the one that is built elsewhere", () => {
    assert.deepEqual(versions("ci"), [pulumiVersion]);
    assert.deepEqual(versions("release"), [pulumiVersion, pulumiVersion]);
  });
});
