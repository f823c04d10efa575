import schema from "./schema.json";

/** The names in the schema that programs in Python write otherwise. */
const camelCase = new Set(
  [...JSON.stringify(schema).matchAll(/"([a-z]+[A-Z]\w*)":/g)].map(([, name]) => name),
);

/** A message, and after it what programs in Python write for the properties that it names. */
export function withPythonNames(message: string): string {
  // A key of stack config, `tlsedge:baseUrl`, and what is quoted are the same in each language.
  const paths = message.match(/(?<![\w:."/-])[a-z]\w*(\.[a-z]\w*)*/g) ?? [];
  const named = paths.filter((path) => path.split(".").some((name) => camelCase.has(name)));
  const inPython = [...new Set(named)].map((path) =>
    path.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
  );
  return inPython.length > 0 ? `${message} (in Python ${inPython.join(", ")})` : message;
}
