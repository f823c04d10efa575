import schema from "./schema.json";

/** The properties in the schema that programs in Python write otherwise. */
const camelCase = new Set<string>();
JSON.stringify(schema, (key, value) => {
  if (/^(properties|inputProperties|variables)$/.test(key))
    for (const name of Object.keys(value)) if (/[A-Z]/.test(name)) camelCase.add(name);
  return value;
});

/** A message, and after each line what programs in Python write for the properties that the line names. */
export function withPythonNames(message: string): string {
  return message.split("\n").map(lineWithNames).join("\n");
}

function lineWithNames(line: string): string {
  // A key of stack config, `tlsedge:baseUrl`, `${…}` and what is quoted are the same in each language.
  const paths = line.match(/(?<![\w:."/{-])[a-z]\w*(\.[a-z]\w*)*/g) ?? [];
  const named = paths.filter((path) => path.split(".").some((name) => camelCase.has(name)));
  const inPython = [...new Set(named)].map((path) =>
    path.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
  );
  return inPython.length > 0 ? `${line} (in Python ${inPython.join(", ")})` : line;
}
