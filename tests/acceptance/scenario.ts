import assert from "node:assert/strict";
import { join } from "node:path";
import { type ExportedResource, Project, type Protocol } from "../../tools/engine";
import { nameOf, type Run } from "../../tools/engineLog";
import { repository } from "../../tools/folders";

const protocolNames: Record<Protocol, string> = {
  dynamic: "through dynamic providers",
  plugin: "through the plugin",
};
const commands = ["preview", "up", "refresh", "destroy", "import"] as const;
type Command = (typeof commands)[number];

/** How many resources change in which way, the stack itself included; or only whether it goes well. */
type Outcome = Record<string, number> | "succeeds" | "fails";

/** A command of the engine, what happens before it, and what must be so after it. All parts are optional. */
export interface Step extends Partial<Record<Command, Outcome>> {
  /** What happens before: files, variables, faults, what somebody does at the service. */
  outside?(project: Project): unknown;
  /** The program from now on. */
  program?: string | ((project: Project) => string);
  /** More options of the command. */
  options?: string[] | ((project: Project) => string[]);
  /** An update with its preview. */
  previewed?: true;
  /** All requests, in any order. */
  requests?: string[];
  /** The requests but those for the newest page of a list, which a plan and a create may read. */
  ofObjects?: string[];
  /** The requests that change something, in any order. */
  writes?: string[];
  /** What is done with the resources, in any order: `create:app`. */
  steps?: string[];
  /** What the command prints, and what not. */
  says?: RegExp[];
  neverSays?: RegExp;
  /** What the stack has then, by name. */
  state?(resources: Record<string, ExportedResource>, project: Project): unknown;
  /** Anything else about the command. */
  check?(project: Project, run: Run): unknown;
}

/** The steps of each test, by the title of the test. */
export type Tests = Record<string, Step | Step[]>;

/**
 * Declares tests that are the life of one stack, once for each protocol. A test begins where the one before
 * has ended, so that the first one that fails skips the others.
 *
 * @param tests Makes the tests; what it declares beside them belongs to one stack.
 */
export function scenario(
  title: string,
  protocols: Protocol[],
  tests: Tests | ((protocol: Protocol) => Tests),
): void {
  for (const protocol of protocols) {
    describe(protocols.length > 1 ? `${title}, ${protocolNames[protocol]}` : title, () => {
      let project: Project;
      let hasFailed = false;

      before(async () => {
        project = await Project.create({}, {}, protocol);
      });
      beforeEach(function () {
        if (hasFailed) this.skip();
      });
      afterEach(function () {
        hasFailed ||= this.currentTest?.state === "failed";
      });
      after(() => project?.close());

      const all = typeof tests === "function" ? tests(protocol) : tests;
      for (const [name, steps] of Object.entries(all)) {
        it(name, async () => {
          for (const step of [steps].flat()) await take(step, project);
        });
      }
    });
  }
}

/** Takes one step of a stack. */
async function take(step: Step, project: Project): Promise<void> {
  await step.outside?.(project);
  const { program } = step;
  if (program !== undefined)
    await project.program(typeof program === "string" ? program : program(project));
  const command = commands.find((name) => step[name] !== undefined);
  if (!command) {
    assert.ok(!step.check, "a check is that of a command");
    await step.state?.(await project.exported(), project);
    return;
  }
  const { [command]: outcome, previewed, options = [] } = step;
  const more = typeof options === "function" ? options(project) : options;
  const alone = previewed ? ["--yes"] : ["--yes", "--skip-preview"];
  const flags = command === "preview" ? [] : alone;
  const how = outcome === "fails" ? "fails" : "succeeds";
  const run = await project[how](command, ...flags, ...more);

  const { requests, writes, output } = run;
  if (typeof outcome === "object") assert.deepEqual(run.changes, outcome, output);
  const ofObjects = requests.filter((one) => !one.endsWith("?limit=100"));
  for (const [found, wanted] of [
    [requests, step.requests],
    [ofObjects, step.ofObjects],
    [writes, step.writes],
    [run.steps, step.steps],
  ])
    if (wanted) assert.deepEqual(found?.toSorted(), wanted.toSorted(), output);
  for (const text of step.says ?? []) assert.match(output, text);
  if (step.neverSays) assert.doesNotMatch(output, step.neverSays);
  await step.state?.(await project.exported(), project);
  await step.check?.(project, run);
}

/** The command `pulumi-tlsedge`. */
export const bin = join(repository, "dist", "cli", "main.js");

/** Requests that are made several times. */
export const times = (count: number, request: string): string[] => Array(count).fill(request);

/** The newest pages, as a request for them is written. */
export const lists = {
  edges: "GET /edges/tls?limit=100",
  certificates: "GET /tls_certificates?limit=100",
};

/** An edge, in a program. */
export const edge = (name: string, args: string, options = ""): string =>
  `new tlsedge.TLSEdge("${name}", { ${args} }, { ${options} });`;

/** The arguments of the certificate that {@link Project.certificate} has written. */
export const pair = (folder = "."): string =>
  `certificatePem: readFileSync("${folder}/fullchain.pem", "utf8"),
   privateKeyPem: readFileSync("${folder}/privkey.pem", "utf8")`;

/** A certificate of the files in the project's folder, in a program. */
export const certificate = (name: string, args = "", options = ""): string =>
  `new tlsedge.TLSCertificate("${name}", { ${pair()}, ${args} }, { ${options} });`;

/** The edge of a resource, as the service has it. */
export async function served(project: Project, name: string) {
  const { id = "" } = (await project.exported())[name] ?? {};
  const found = project.emulator.tlsEdges.get(id);
  assert.ok(found, name);
  return found;
}

/** Nothing at the service is young any more (contract C39): what is not found is gone. */
export const age = ({ emulator }: Project): void => {
  emulator.clocks.date += 600_000;
};

/** What is warned of, with the name of the resource. */
export const warned = ({ events }: Run): [name: string, message: string][] =>
  events
    .flatMap(({ diagnosticEvent }) => diagnosticEvent ?? [])
    .filter(({ severity }) => severity === "warning")
    .map(({ urn = "", message }) => [nameOf(urn), message]);
