import { InvalidArgumentError } from "commander";

/** A whole number of the command line. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It takes a whole number.");
  return Number(text);
}
