import { WriteStream } from "node:tty";
import { main, type Output } from "../cli/main";

/** What a command has printed, and its exit code. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** A terminal of this width: colours are what Node.js finds in the environment. */
export const terminal = (columns = 80) => ({
  isTTY: true,
  columns,
  hasColors: WriteStream.prototype.hasColors,
  getColorDepth: WriteStream.prototype.getColorDepth,
});

/** Runs `npx --no -- pulumi-tlsedge` in this process, with pipes unless a stream is given as a terminal. */
export async function runCommand(
  args: string[],
  env: Record<string, string | undefined>,
  terminals: Partial<Record<"stdout" | "stderr", Omit<Output, "write">>> = {},
): Promise<Outcome> {
  const printed = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    ...terminals[name],
    write: (text: string) => {
      printed[name] += text;
    },
  });
  const code = await main(args, { env, stdout: stream("stdout"), stderr: stream("stderr") });
  return { code, ...printed };
}
