import { readFileSync, statSync } from "node:fs";
import { sep } from "node:path";
import { quoted } from "../../client/mistakes";

const mistakes: [pattern: RegExp, reason: string][] = [
  [/^file:/i, "is a URL: write the path alone, without file://"],
  [quoted, "has quotation marks around it, which are no part of the path"],
  [/^[~$]/, "begins with ~ or $, which only a shell replaces: write the whole path"],
  [/\p{Cc}/u, "has a control character, such as \\n or \\f: write / in place of each \\"],
  [sep === "/" ? /\\/ : /(?!)/, "has a \\, which separates no folders on this system: write /"],
];

/**
 * Reads a file that a person has named.
 *
 * @throws Error whose message goes on from the name of the path, and does not quote the path.
 */
export function readTextFile(path: string): string {
  try {
    // A device or a pipe may never end.
    if (statSync(path).isFile()) return readFileSync(path, "utf8");
  } catch (error) {
    const reason = mistakes.find(([pattern]) => pattern.test(path))?.[1];
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(reason ?? `can't be read from ${process.cwd()} (${code})`);
  }
  throw new Error("is no regular file");
}
