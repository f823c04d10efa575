import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

const name = "pulumi-tlsedge";

/** A package.json, as far as this file reads it. */
interface Dependent {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** The package.json of this package. */
export const manifest = () =>
  require("pulumi-tlsedge/package.json") as {
    version: string;
    peerDependencies: Record<string, string>;
  };

/**
 * What a package.json in a folder must say to get this package from where it was installed here: the
 * version or, if it is not from a registry, the place.
 *
 * @example dependencyFor("live") // "0.1.0", or "file:../pulumi-tlsedge-0.1.0.tgz"
 */
export function dependencyFor(folder: string): string {
  const own = dirname(require.resolve("pulumi-tlsedge/package.json"));
  const { project, spec } = dependentAbove(process.cwd()) ?? dependentAbove(own) ?? {};
  const place = (path: string) => `file:${relative(resolve(folder), path).split(sep).join("/")}`;
  const path = /^(?:(?:file|link|portal):(?!\/\/)|(?=\.{0,2}\/))(.*)$/.exec(spec ?? "")?.[1];
  if (project && path !== undefined) return place(resolve(project, path));
  if (spec && /:\/\/|^git\w*:/.test(spec)) return spec;
  const isClone = basename(dirname(own)) !== "node_modules";
  return isClone ? place(own) : manifest().version;
}

/** The nearest folder that depends on this package, and what its package.json says of it. */
function dependentAbove(folder: string): { project: string; spec: string } | undefined {
  const { dependencies, devDependencies } = dependentIn(folder);
  const spec = dependencies?.[name] ?? devDependencies?.[name];
  if (spec !== undefined) return { project: folder, spec };
  const above = dirname(folder);
  return above === folder ? undefined : dependentAbove(above);
}

function dependentIn(folder: string): Dependent {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    // Most folders have no package.json, and one that can't be read names no dependency.
    return {};
  }
}
