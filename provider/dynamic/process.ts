import { Run } from "../run/run";

/** The run that a dynamic provider's process works for. */
let run = new Run();

export function currentRun(): Run {
  return run;
}

/** Begins a run. An engine starts a process for each run; tests begin several in one. */
export function beginRun(): Run {
  run = new Run(run.config);
  return run;
}
