import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client, tlsCertificates, tlsEdges } from "pulumi-tlsedge/client";
import type { Fault } from "pulumi-tlsedge-emulator";
import * as v from "valibot";

const control = "/_emulator/faults";
const setFaults = v.object({ faults: v.array(v.object({ struck: v.number() })) });
const main = path.join(process.cwd(), "emulator", "dist", "main.js");

/** What an emulator prints when it serves. */
interface Place {
  url: string;
  apiKey: string;
  caFile: string;
}

/** An account of the service in a process of its own, which can be killed and started again. */
export class Account {
  readonly place: Place;
  readonly client: Client;
  readonly #dataFile: string;
  #process: ChildProcess;

  private constructor(dataFile: string, started: { process: ChildProcess; place: Place }) {
    this.#dataFile = dataFile;
    this.#process = started.process;
    this.place = started.place;
    const { url: baseUrl, apiKey, caFile } = started.place;
    this.client = new Client({ baseUrl, apiKey, caFile, requestsPerMinute: 0 });
  }

  static async start(dataFile: string): Promise<Account> {
    return new Account(dataFile, await serve(dataFile, "0"));
  }

  /** Starts again with the data that is there, where it was before. */
  async restart(): Promise<void> {
    const { port } = new URL(this.place.url);
    this.#process = (await serve(this.#dataFile, port)).process;
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  close(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await ended;
  }

  async set(fault: Fault): Promise<void> {
    await this.client.post(control, fault, setFaults);
  }

  /** Waits until a request has met the fault, for at most a minute. */
  async struck(): Promise<void> {
    for (let turn = 0; turn < 6000; turn++) {
      const { faults } = await this.client.get(control, setFaults);
      if (faults.some(({ struck }) => struck > 0)) return;
      await setTimeout(10);
    }
    throw new Error("the request of the kill point never came");
  }

  /** Lets the answers go that are held: they are on their way when this settles. */
  async release(): Promise<void> {
    await this.client.delete(control);
    // An answer is written in the turn after it was let go, and this is answered later than that.
    await this.client.get(control, setFaults);
  }

  /** All that there is, newest first. */
  async holds() {
    return {
      edges: await Array.fromAsync(tlsEdges.list(this.client)),
      certificates: await Array.fromAsync(tlsCertificates.list(this.client)),
    };
  }

  /** What a person does with an object that was named and that nobody wants. */
  async remove(id: string): Promise<void> {
    await (await this.#kindOf(id)).delete(this.client, id);
  }

  /** What someone does behind Pulumi's back. */
  async describe(id: string, description: string): Promise<void> {
    await (await this.#kindOf(id)).update(this.client, id, { description });
  }

  async #kindOf(id: string) {
    const { edges } = await this.holds();
    return edges.some((edge) => edge.id === id) ? tlsEdges : tlsCertificates;
  }
}

async function serve(dataFile: string, port: string) {
  const child = spawn(process.execPath, [main, "--json", "--port", port, "--data", dataFile], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const data of child.stdout) {
    said += data;
    if (said.includes("\n")) return { process: child, place: JSON.parse(said) as Place };
  }
  throw new Error("the emulator ended before it served");
}
