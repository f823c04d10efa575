import type { Door } from "../../tools/protocol";

const names: Record<Door, string> = {
  dynamic: "through dynamic providers",
  plugin: "through the plugin",
};

/** Declares a suite twice: each promise about a resource holds through both doors (C80). */
export function throughBothDoors(title: string, suite: (door: Door) => void): void {
  for (const door of Object.keys(names) as Door[]) {
    describe(`${title}, ${names[door]}`, () => suite(door));
  }
}
