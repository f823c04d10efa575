import { plainMessage } from "../client/plain";

/** How a message is shown: `warning` also counts as a warning in the engine's summary. */
export type Severity = "info" | "warning";

/** What a message is about: the resource of the operation in progress, or the whole run. */
export type About = "resource" | "run";

/** Shows a message to the user. */
export type Show = (severity: Severity, text: string, about: About) => void;

/** Of a dynamic provider, the engine shows what stands on stderr. */
let show: Show = (severity, text) =>
  console.error(severity === "warning" ? `warning: ${text}` : text);

/** Replaces the way in which this process shows messages. Default: on stderr. */
export function showWith(other: Show): void {
  show = other;
}

/** Shows a message. */
export function inform(text: string, about: About = "resource"): void {
  show("info", plainMessage(text), about);
}

/** Shows a warning. */
export function warn(text: string, about: About = "resource"): void {
  show("warning", plainMessage(text), about);
}

const shown = new Set<string>();

/** Shows a message or a warning once in this process. Does nothing when the text is undefined. */
export function once(
  tell: (text: string, about: About) => void,
  text: string | undefined,
  about: About = "run",
): void {
  if (!text || shown.has(text)) return;
  shown.add(text);
  tell(text, about);
}

/** How many names a message lists. */
const mostListed = 5;

/** Some names for a message, and how many more there are. */
export function listed(names: string[]): string {
  const more = names.length - mostListed;
  return names.slice(0, mostListed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
