/** The programs and providers that are compared, with their titles in the table. */
export const contestants = {
  ours: "Node.js package",
  plugin: "Plugin",
  floor: "Floor",
  conventional: "Conventional",
  standIn: "Stand-in",
} as const;
export type Contestant = keyof typeof contestants;
export const contestantNames = Object.keys(contestants) as Contestant[];

/** The kinds of stacks. */
export const kinds = ["certificates", "edges"] as const;
export type Kind = (typeof kinds)[number];

/** The phases in the order in which they run, with their titles in the table. */
export const phases = {
  create: "create",
  preview: "plan, nothing to do",
  refresh: "refresh",
  previewRefresh: "plan that reads",
  update: "update of all",
  destroy: "destroy",
} as const;
export type Phase = keyof typeof phases;
export const phaseNames = Object.keys(phases) as Phase[];

/** One phase of one contestant in one run. */
export interface Measured {
  kind: Kind;
  n: number;
  phase: Phase;
  name: Contestant;
  /** Wall time of the command. */
  seconds: number;
  /** Processor time of the engine, the program and the provider together. */
  processorSeconds: number;
  /** The sum of the peaks of all processes; 0 after a phase other than the create. */
  peakMiB: number;
  /** Bytes of the exported state for each resource; 0 after a phase other than the create. */
  bytes: number;
}
