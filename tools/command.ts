/** A mistake on the command line: the usage is printed after the message. */
export class UsageError extends Error {}

/**
 * Runs a tool: `--help` prints the usage, an error is printed as its message. The exit code is the
 * number that `main` gives, 1 after an error and 2 after a mistake on the command line.
 */
export async function runTool(usage: string, main: () => Promise<unknown>): Promise<void> {
  if (process.argv.includes("--help")) return console.log(usage);
  try {
    const code = await main();
    if (typeof code === "number") process.exitCode = code;
  } catch (error) {
    const { code, message = String(error) } = error as NodeJS.ErrnoException;
    const isUsage = error instanceof UsageError || code?.startsWith("ERR_PARSE_ARGS_");
    console.error(isUsage ? `${message}\n\n${usage}` : message);
    process.exitCode = isUsage ? 2 : 1;
  }
}

/** A whole number of the command line. */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${option} takes whole numbers from ${least} to ${most}, not "${text}"`);
}
