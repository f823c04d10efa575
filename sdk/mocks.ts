import * as pulumi from "@pulumi/pulumi";

/** The mocks of a unit test (`pulumi.runtime.setMocks`); undefined when a program really runs. */
export function mocks(): pulumi.runtime.Mocks | undefined {
  // Pulumi has no other sign of them: they stand in the monitor that takes the engine's place.
  const monitor = pulumi.runtime.getMonitor() as { mocks?: pulumi.runtime.Mocks } | undefined;
  return monitor?.mocks;
}
