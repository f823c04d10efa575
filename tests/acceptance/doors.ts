import type { Protocol } from "../../tools/protocol";

const names: Record<Protocol, string> = {
  dynamic: "through dynamic providers",
  plugin: "through the plugin",
};

/** Declares a suite twice: each promise about a resource holds through both doors (C80). */
export function throughBothDoors(title: string, suite: (door: Protocol) => void): void {
  for (const door of Object.keys(names) as Protocol[]) {
    describe(`${title}, ${names[door]}`, () => suite(door));
  }
}

/** Declares a test of a suite through both doors for one of them alone. */
export const onlyThrough = (wanted: Protocol, door: Protocol) =>
  wanted === door ? it : (_title: string, _test: Mocha.AsyncFunc) => undefined;
