import type { EngineEvent as Known } from "@pulumi/pulumi/automation";

/** What a process printed, and its exit code: -1 when it was killed. */
export interface Printed {
  code: number;
  output: string;
}

/** What a command that runs the engine did. */
export interface Run extends Printed {
  /** Resources by what was done with them: `{ create: 2, same: 1 }`, the stack itself included. */
  changes: Record<string, number>;
  /** The steps on this package's resources, in the engine's order: `create:app`. */
  steps: string[];
  /** For each resource with a diff, the properties in it. */
  diffs: Record<string, string[]>;
  /** The requests to the service, as `GET /edges/tls/:id`. */
  requests: string[];
  /** Those that change something there. */
  writes: string[];
  /** The engine's events, without its debug messages. */
  events: EngineEvent[];
}

/** Pulumi's type lacks one of the events. */
type EngineEvent = Known & { policyRemediationEvent?: { policyName: string } };

/** The lines of an event log, without Pulumi's debug messages, which quote RPCs with secrets. */
export function linesOf(log: string): string[] {
  return log.split("\n").filter((line) => line && !line.includes('"severity":"debug"'));
}

/** The lines of an event log as events, with what the tests read of them. */
export function readEvents(lines: string[]): Pick<Run, "changes" | "steps" | "diffs" | "events"> {
  const events = lines.map((line) => JSON.parse(line) as EngineEvent);
  const steps = events
    .flatMap(({ resourcePreEvent }) => resourcePreEvent?.metadata ?? [])
    .filter(({ type }) => type.includes("tlsedge:"));
  return {
    events,
    changes: { ...events.find((one) => one.summaryEvent)?.summaryEvent?.resourceChanges },
    steps: steps.map(({ op, urn }) => `${op}:${nameOf(urn)}`),
    diffs: Object.fromEntries(steps.map(({ urn, diffs }) => [nameOf(urn), diffs ?? []])),
  };
}

/** The name of a resource: the last part of its URN. */
export function nameOf(urn: string): string {
  return urn.slice(urn.lastIndexOf("::") + 2);
}
