/**
 * The hostports of the edges that a program declares in one account. The service would refuse a
 * second edge with the same hostport only during the update, after other resources are deployed.
 */
export class DeclaredHostports {
  readonly #title: string;
  /** The name of the edge of each hostport, which is in lower case. */
  readonly #edges = new Map<string, string>();
  readonly #hostportsOf = new Map<unknown, Set<string>>();

  /** @param title The kind of edge, for messages: "TLS edge". */
  constructor(title: string) {
    this.#title = title;
  }

  /**
   * Notes the hostports of an edge, in place of those that were noted for it before. Ignores what is
   * not a known list of hostports.
   *
   * @param key Tells the edge from others of the same name.
   * @returns What is wrong, if another edge has one of the hostports.
   */
  declare(key: unknown, name: string, hostports: unknown): string | undefined {
    for (const old of this.#hostportsOf.get(key) ?? []) this.#edges.delete(old);
    this.#hostportsOf.delete(key);
    if (!Array.isArray(hostports)) return undefined;
    // The provider refuses an edge that names a hostport twice.
    const all = new Set(hostports.map((one) => String(one).toLowerCase()));
    const taken = [...all].find((one) => this.#edges.has(one));
    if (taken !== undefined) {
      return (
        `the ${this.#title}s "${this.#edges.get(taken)}" and "${name}" have the same ` +
        "hostport, which only one edge can serve: remove the hostport from one of them"
      );
    }
    this.#hostportsOf.set(key, all);
    for (const one of all) this.#edges.set(one, name);
    return undefined;
  }
}
