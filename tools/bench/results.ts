/** Who runs: this package, the engine alone, what people write today. In the tables' order. */
export const contestants = ["ours", "floor", "conventional"] as const;
export type Contestant = (typeof contestants)[number];

/** The most resources that the conventional provider is asked for. */
export const largestConventional = 500;

export const kinds = ["certificates", "edges"] as const;
export type Kind = (typeof kinds)[number];

/** The phases in the order in which they run. */
export const phases = ["create", "preview", "refresh", "update", "replace", "destroy"] as const;
export type Phase = (typeof phases)[number];

/** What a service heard while one command ran. */
export interface Heard {
  /** Requests by kind, such as `POST`, `GET`, `GET list`; those answered 429 under `429` alone. */
  requests: Record<string, number>;
  /** From the first request to the last one. */
  seconds: number;
}

/** One phase of one contestant, over all runs. */
export interface Measured {
  /** Wall time of the command as a person waits for it, each run. */
  seconds: number[];
  /** Of the last run. */
  heard?: Heard;
  /** The largest that the provider's process was seen to be, MiB; none where that can't be read. */
  peakMiB?: number;
}

/** Bytes of the exported state for each resource, after the create. */
export interface StateSize {
  whole: number;
  inputs: number;
  outputs: number;
}

/** One size of stack under one kind of service. */
export interface Cell {
  kind: Kind;
  n: number;
  latencyMs: number;
  /** Requests a minute; none when there is no limit. */
  limit?: number;
  runs: number;
  phases: Partial<Record<Phase, Partial<Record<Contestant, Measured>>>>;
  state: Partial<Record<Contestant, StateSize>>;
}

/** Milliseconds of each run. */
export interface Startup {
  /** What a program pays: `require` in a fresh process. */
  imports: Record<"@pulumi/pulumi" | "pulumi-tlsedge", number[]>;
  /** What the provider's process pays, over gRPC. */
  operations: Record<Contestant, { check: number[]; create: number[]; startToCheck: number[] }>;
}

export interface Results {
  machine: {
    cores: number;
    node: string;
    pulumiCli: string;
    pulumiSdk: string;
  };
  /** What was run, one after another, and how busy the machine was with other things before. */
  commands: { line: string; load: number }[];
  startup: Startup;
  /** One whose `runs` is 0 was not begun: the time was over. */
  cells: Cell[];
}

export const min = (values: number[]): number => Math.min(...values);

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
