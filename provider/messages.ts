/** How a message is shown: `warning` also counts as a warning in the engine's summary. */
export type Severity = "info" | "warning";

/** Shows a message to the user. */
export type Show = (severity: Severity, text: string) => void;

/** Of a dynamic provider, the engine shows what stands on stderr. */
let show: Show = (severity, text) =>
  console.error(severity === "warning" ? `warning: ${text}` : text);

/** Replaces the way in which this process shows messages. Default: on stderr. */
export function showWith(other: Show): void {
  show = other;
}

/** Shows a message. */
export function inform(text: string): void {
  show("info", text);
}

/** Shows a warning. */
export function warn(text: string): void {
  show("warning", text);
}

const shown = new Set<string>();

/** Shows a message or a warning once in this process; nothing when the text is undefined. */
export function once(tell: (text: string) => void, text: string | undefined): void {
  if (!text || shown.has(text)) return;
  shown.add(text);
  tell(text);
}
