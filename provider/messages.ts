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
  show("info", text, about);
}

/** Shows a warning. */
export function warn(text: string, about: About = "resource"): void {
  show("warning", text, about);
}

const shown = new Set<string>();

/**
 * Shows a message or a warning about the whole run, once in this process. Does nothing when the
 * text is undefined.
 */
export function once(tell: (text: string, about: About) => void, text: string | undefined): void {
  if (!text || shown.has(text)) return;
  shown.add(text);
  tell(text, "run");
}
