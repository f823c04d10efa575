import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeCertificate } from "../emulator/server";
import { newFolder, repository } from "./folders";
import { goProgram } from "./goProgram";
import { freePort, listens, serve } from "./processes";
import { cacheFolder, fillOnce, findProgram, pathFolders, run } from "./pulumi";

/** An ACME authority on loopback, and certbot set up to ask it. */
export interface Acme {
  /** The folder that holds the command `certbot`, which asks this authority. */
  bin: string;
  /** Where a TXT record is set: a POST to `/set-txt` with `host` and `value`. */
  dns: string;
  close(): Promise<void>;
}

const pebble = { module: "github.com/letsencrypt/pebble/v2/cmd", version: "v2.10.1" };
/** What the recipes install. */
const requirements = path.join(repository, "docs", "recipes", "certbot.txt");

/**
 * Starts Pebble, the test authority of Let's Encrypt, with its DNS server, which it asks for the
 * records that prove a domain. Both are built, and certbot is installed from PyPI, once for all
 * processes.
 *
 * @throws where there is no Go or no Python.
 */
export async function startAcme(): Promise<Acme> {
  const [authority, dnsServer] = await Promise.all(
    ["pebble", "pebble-challtestsrv"].map((name) =>
      goProgram(`${pebble.module}/${name}`, pebble.version),
    ),
  );
  const installed = await findOrInstallCertbot();
  const folder = newFolder();
  const file = (name: string) => path.join(folder, name);
  const [dns, management, port] = [await freePort(), await freePort(), await freePort()];

  const issuer = await makeCertificate({ commonName: "ACME test", isCa: true });
  const own = await makeCertificate({ commonName: "localhost", dnsNames: ["localhost"], issuer });
  await writeFile(file("ca.pem"), issuer.certificatePem);
  await writeFile(file("cert.pem"), own.certificatePem);
  await writeFile(file("key.pem"), own.privateKeyPem);
  const settings = {
    listenAddress: `127.0.0.1:${port}`,
    certificate: file("cert.pem"),
    privateKey: file("key.pem"),
    keyAlgorithm: "ecdsa",
    profiles: { default: { description: "90 days", validityPeriod: 90 * 86_400 } },
  };
  await writeFile(file("pebble.json"), JSON.stringify({ pebble: settings }));
  // certbot reads its defaults from here.
  await mkdir(file("letsencrypt"));
  await writeFile(file("letsencrypt/cli.ini"), `server = https://localhost:${port}/dir\n`);
  // The first line of certbot's own script names the folder that it was installed in first.
  await mkdir(file("bin"));
  const script = `#!/bin/sh
export XDG_CONFIG_HOME=${folder} REQUESTS_CA_BUNDLE=${file("ca.pem")}
exec ${installed}/python3 ${installed}/certbot "$@"
`;
  await writeFile(file("bin/certbot"), script, { mode: 0o755 });

  const off = ["http01", "https01", "doh", "tlsalpn01"].map((name) => `-${name}=`);
  const addresses = [`-dnsserver=127.0.0.1:${dns}`, `-management=127.0.0.1:${management}`];
  const stopDns = await serve(String(dnsServer), [...off, ...addresses], {}, () =>
    listens(management),
  );
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "0" };
  const args = ["-config", file("pebble.json"), "-dnsserver", `127.0.0.1:${dns}`];
  const stop = await serve(String(authority), args, { env }, () => listens(port));
  return {
    bin: file("bin"),
    dns: `http://127.0.0.1:${management}`,
    async close() {
      await stop();
      await stopDns();
    },
  };
}

/** The folder that has certbot, and the Python for it. */
async function findOrInstallCertbot(): Promise<string> {
  const hash = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex");
  const folder = cacheFolder(process.env, `certbot-${hash.slice(0, 12)}`);
  const isComplete = async (where: string) =>
    Boolean(await findProgram("certbot", [path.join(where, "bin")]));
  if (!(await isComplete(folder))) {
    const python = await findProgram("python3", pathFolders(process.env));
    if (!python) throw new Error("certbot needs python3, which is not on PATH");
    await fillOnce(folder, isComplete, async (staging) => {
      await run(python, ["-m", "venv", staging]);
      const only = ["--require-hashes", "--only-binary", ":all:"];
      const install = ["install", "--quiet", "--disable-pip-version-check", ...only];
      await run(path.join(staging, "bin", "pip"), [...install, "--requirement", requirements]);
    });
  }
  return path.join(folder, "bin");
}
