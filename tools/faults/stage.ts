import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import {
  type Emulator,
  type MadeCertificate,
  makeCertificate,
  startEmulator,
} from "pulumi-tlsedge-emulator";
import { newFolder } from "./folders.ts";
import { Provider } from "./protocol.ts";
import { Secrets } from "./secrets.ts";

/** Another origin, where nobody should go. */
export interface Elsewhere {
  /** Its host and port. */
  host: string;
  /** How often somebody connected since the last time. */
  takeConnections(): number;
  close(): void;
}

/** What a run is played on, one run at a time. */
export interface Stage {
  emulator: Emulator;
  /** The file that holds the emulator's authority. */
  caFile: string;
  provider: Provider;
  secrets: Secrets;
  elsewhere: Elsewhere;
  close(): Promise<void>;
}

/** Certificates of several kinds and depths. Their keys are new each time: no seed decides them. */
export async function makePool(): Promise<MadeCertificate[]> {
  const root = await makeCertificate({ commonName: "Faults Root", isCa: true });
  const issuer = await makeCertificate({ commonName: "Faults CA", isCa: true, issuer: root });
  const leaf = (name: string) => ({ commonName: name, dnsNames: [name] });
  return Promise.all([
    makeCertificate({ ...leaf("self.example.com") }),
    makeCertificate({ ...leaf("ed.example.com"), keyType: "ed25519", issuer: root }),
    makeCertificate({ ...leaf("chain.example.com"), issuer }),
    makeCertificate({ ...leaf("rsa.example.com"), keyType: "rsa", issuer }),
  ]);
}

/** A stage whose provider is the package that is found from `program`. */
export async function openStage(program: string, pool: MadeCertificate[]): Promise<Stage> {
  const emulator = await startEmulator();
  const own = await newFolder();
  const caFile = path.join(own, "ca.pem");
  await writeFile(caFile, emulator.ca);
  const elsewhere = await openElsewhere();
  const provider = await Provider.start(program, {
    ...process.env,
    ...settings("TLSEDGE", emulator, caFile, 5),
    ...settings("TLSEDGE_HASTY", emulator, caFile, 2),
    PULUMI_HOME: own,
    // What is logged is searched for secrets, too.
    DEBUG: "pulumi-tlsedge:*",
  });
  return {
    emulator,
    caFile,
    provider,
    secrets: new Secrets(emulator.apiKey, pool),
    elsewhere,
    async close() {
      await provider.close();
      await emulator.close();
      elsewhere.close();
    },
  };
}

/** It hears whoever connects, with TLS or without. */
export async function openElsewhere(): Promise<Elsewhere> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    takeConnections() {
      const taken = connections;
      connections = 0;
      return taken;
    },
    close: () => void server.close(),
  };
}

function settings(prefix: string, { url, apiKey }: Emulator, caFile: string, seconds: number) {
  return {
    [`${prefix}_BASE_URL`]: url,
    [`${prefix}_API_KEY`]: apiKey,
    [`${prefix}_CA_FILE`]: caFile,
    [`${prefix}_REQUESTS_PER_MINUTE`]: "0",
    [`${prefix}_TIMEOUT_SECONDS`]: String(seconds),
  };
}
