import { Project } from "../engine";
import type { Options } from "./sequences";

/** An engine with a program and a provider needs about one core. */
const parallel = 2;

/** What is deployed before, and what a change makes of it; undefined is a destroy. */
const basis = { chain: "first", isRestricted: true };
const changes: Record<string, typeof basis | undefined> = {
  create: basis,
  replaceCertificate: { ...basis, chain: "second" },
  replaceEdge: { ...basis, isRestricted: false },
  destroy: undefined,
};

/** The change, and the request in which the engine or the provider is killed: before or after the work. */
const points = `
create POST /tls_certificates before engine
create POST /tls_certificates after provider
create POST /edges/tls before provider
create POST /edges/tls after engine
replaceCertificate POST /tls_certificates after engine
replaceCertificate POST /tls_certificates after provider
replaceCertificate DELETE /tls_certificates/* before provider
replaceCertificate DELETE /tls_certificates/* after engine
replaceEdge DELETE /edges/tls/* after engine
replaceEdge DELETE /edges/tls/* after provider
replaceEdge POST /edges/tls before engine
replaceEdge POST /edges/tls after provider
destroy DELETE /edges/tls/* after engine
destroy DELETE /tls_certificates/* after provider`;

/** Kills at each point, does what Pulumi and the guide say, and judges the result. */
export async function runCrashes({ protocol }: Pick<Options, "protocol">) {
  const broken: string[] = [];
  const rest = points.trim().split("\n");
  const totals = { points: rest.length, named: 0 };
  const work = async () => {
    const limits = { TLSEDGE_TIMEOUT_SECONDS: "60", TLSEDGE_REQUESTS_PER_MINUTE: "0" };
    const project = await Project.create({}, limits, protocol);
    await project.certificate("first", { commonName: "first.example" });
    await project.certificate("second", { commonName: "second.example" });
    for (let point = rest.shift(); point; point = rest.shift()) {
      await project.select(`left${rest.length}`);
      const crashing = crash(project, point.split(" "));
      totals.named += await crashing.catch((error) => broken.push(`${point}: ${error}`) * 0);
    }
    await project.close();
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return { broken, totals };
}

/** Gives how many objects are in no state, and named. */
async function crash(
  project: Project,
  [change = "", method, path = "", when, victim]: string[],
): Promise<number> {
  const { emulator, env } = project;
  emulator.reset();
  // No object is young (C39): what was deleted is known to be gone.
  emulator.clocks.date = 600_000;
  // One after the other, so that the requests come in the same order each time.
  const declare = ({ chain, isRestricted }: typeof basis) =>
    project.program(`
      const certificatePem = readFileSync("${chain}/fullchain.pem", "utf8");
      const privateKeyPem = readFileSync("${chain}/privkey.pem", "utf8");
      const dependsOn = new tlsedge.TLSCertificate("certificate", { certificatePem, privateKeyPem });
      new tlsedge.TLSEdge("edge", {
        hostports: ["app.example:443"],
        ipRestriction: ${isRestricted} ? { ipPolicyIds: ["ipp_1"] } : undefined,
        onModuleRemoval: "replace",
      }, { dependsOn });`);
  await declare(basis);
  if (change !== "create") await project.up();
  const wanted = changes[change];
  if (wanted) await declare(wanted);
  const command = wanted ? "up" : "destroy";
  const fault = {
    method: method as "POST",
    path,
    answer: "silence",
    work: when === "after",
  } as const;
  let { output } = await project.killed(victim as "engine", fault, command);
  const pulumi = async (...args: string[]) => {
    const printed = await project.pulumi(...args);
    output += printed.output;
    return printed;
  };

  const go = ["--yes", "--skip-preview"];
  const refreshed = await pulumi("refresh", ...go);
  if (refreshed.output.includes("pulumi cancel")) {
    await pulumi("cancel", "--yes");
    await pulumi("refresh", ...go);
  }
  // As the guide says: what equals a resource is from the update that was cut off.
  await pulumi("preview");
  if (wanted) env.TLSEDGE_TAKE_EQUAL = "1";
  const { code, output: text } = await pulumi(command, ...go);
  delete env.TLSEDGE_TAKE_EQUAL;
  if (code !== 0) throw new Error(`${command} fails: ${text}`);
  // The advice of the engine's own warning: without a terminal a refresh keeps pending creates.
  if ((await project.state()).pending.length > 0) {
    await pulumi("refresh", ...go, "--clear-pending-creates");
  }

  const { pending } = await project.state();
  const known = Object.values(await project.exported()).map(({ id }) => id);
  if (pending.length > 0 || known.length !== (wanted ? 2 : 0)) throw new Error(`state: ${known}`);
  const all = [...emulator.tlsEdges.list(), ...emulator.tlsCertificates.list()];
  const left = all.filter(({ id }) => !known.includes(id));
  const unnamed = left.find(({ id }) => !output.includes(id));
  if (unnamed) throw new Error(`${unnamed.id} is left and named nowhere`);
  if (wanted) await project.up("--refresh", "--expect-no-changes");
  return left.length;
}
