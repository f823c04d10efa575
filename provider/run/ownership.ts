/**
 * Which resource of this run, named by its URN, has which object: the only answer to "may this delete?" (contract C36,
 * C81). An object belongs to the resource that claimed it last. A resource has one object.
 */
export class Ownership {
  /** Undefined: a state of this run has the object, but no resource of the program has claimed it. */
  readonly #owners = new Map<string, string | undefined>();
  readonly #objects = new Map<string, string>();

  /** Whether a resource or a state of this run has the object. */
  has(object: string): boolean {
    return this.#owners.has(object);
  }

  /** The URN of the resource that has the object; undefined where none is known. */
  ownerOf(object: string): string | undefined {
    return this.#owners.get(object);
  }

  /** A state of this run has the object. */
  add(object: string): void {
    if (!this.has(object)) this.#owners.set(object, undefined);
  }

  /**
   * Gives the object to a resource, which lets go of the object that it had before.
   *
   * @param urn Empty where the protocol does not tell it: then the object is only added.
   */
  claim(object: string, urn: string): void {
    this.add(object);
    if (!urn) return;
    const before = this.#objects.get(urn);
    if (before !== undefined && this.ownerOf(before) === urn) this.#owners.set(before, undefined);
    this.#owners.set(object, urn);
    this.#objects.set(urn, object);
  }
}
