import { knownHostports } from "../values/hostport";

/**
 * The hostports of the edges that a program declares in one account. The service would refuse a
 * second edge with the same hostport only during the update, after other resources are deployed.
 */
export class DeclaredHostports {
  /** The edge of each hostport, which is in lower case. */
  readonly #edges = new Map<string, { name: string; isSecret: boolean }>();
  readonly #hostportsOf = new Map<unknown, Set<string>>();

  /**
   * Declares the hostports of an edge, in place of those that it had before. Ignores what is not a known list of
   * hostports.
   *
   * @param key Identifies the edge among others of the same name.
   * @param isSecret Whether a hostport is a secret: then the message does not name it.
   * @returns What is wrong, if another edge has one of the hostports.
   */
  declare(key: unknown, name: string, hostports: unknown, isSecret = false): string | undefined {
    for (const old of this.#hostportsOf.get(key) ?? []) this.#edges.delete(old);
    this.#hostportsOf.delete(key);
    // The provider refuses an edge that names a hostport twice.
    const all = knownHostports(hostports);
    for (const one of all) {
      const other = this.#edges.get(one);
      if (!other) continue;
      const hostport = isSecret || other.isSecret ? "[secret]" : one;
      return (
        `the edges "${other.name}" and "${name}" have the same hostport, ${hostport}, ` +
        "which only one edge can serve: remove it from one of them"
      );
    }
    this.#hostportsOf.set(key, all);
    for (const one of all) this.#edges.set(one, { name, isSecret });
    return undefined;
  }
}
