// The floor stores what this package was seen to store: it is recorded, not written down.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { type Exported, weightOf } from "./project.ts";
import type { Declared } from "./stacks.ts";

/** What the floor needs to store the same, for one kind of resource. */
export interface Recording {
  token: string;
  /** The provider's text, of the same length. */
  provider: string;
  id: string;
  inputs: { constant: Record<string, unknown> };
  outputs: { given: string[]; constant: Record<string, unknown> };
}

/** Reads off a stored resource what the program gave and what the provider added. */
export function record(declared: Declared, stored: Exported): Recording {
  const given = (properties: Record<string, unknown>) =>
    Object.keys(properties).filter((name) =>
      isDeepStrictEqual(properties[name], declared.args[name]),
    );
  const { __provider, privateKeyPem, ...inputs } = stored.inputs;
  const { __provider: _, ...outputs } = stored.outputs;
  assert.ok(!("privateKeyPem" in outputs), "the floor stores no key among the outputs");
  return {
    token: stored.type,
    provider: String(__provider).replace("pulumi-tlsedge", "tlsedge-floors"),
    id: stored.id,
    inputs: { constant: without(inputs, given(inputs)) },
    outputs: { given: given(outputs), constant: without(outputs, given(outputs)) },
  };
}

function without(properties: Record<string, unknown>, names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)));
}

/** The floor is one only while it stores the same, to the byte. */
export function assertSameSize(ours: Exported[], floor: Exported[]): void {
  const others = new Map(floor.map((resource) => [nameOf(resource), resource]));
  for (const resource of ours) {
    const other = others.get(nameOf(resource));
    assert.equal(
      other && weightOf(other),
      weightOf(resource),
      `the floor stores ${nameOf(resource)} in another size:\n` +
        `${keysOf(resource)}\n${other && keysOf(other)}`,
    );
  }
}

function nameOf({ urn }: Exported): string {
  return urn.slice(urn.lastIndexOf("::") + 2);
}

/** The length of each property: the values may be keys. */
function keysOf(resource: Exported): string {
  const lengths = (value: object) =>
    Object.entries(value)
      .map(([name, part]) => `${name} ${JSON.stringify(part).length}`)
      .join(", ");
  const { inputs, outputs } = resource;
  return `${lengths(resource)}; inputs: ${lengths(inputs)}; outputs: ${lengths(outputs)}`;
}
