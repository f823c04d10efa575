import { contestants, type Startup } from "./results.ts";
import { columns, milliseconds, ratio, table } from "./tables.ts";

/** What starting costs, as it stands in the page. */
export function startupTables({ imports, operations }: Startup): string {
  const alone = imports["@pulumi/pulumi"];
  const importRows = Object.entries(imports).map(([name, runs]) => [
    `\`${name}\``,
    ...milliseconds(runs),
    ratio(runs, alone),
  ]);
  const measures = {
    startToCheck: "start to first plan",
    check: "first plan",
    create: "first create",
  } as const;
  const operationRows = (Object.keys(measures) as (keyof typeof measures)[]).flatMap((measure) =>
    contestants.map((name) => {
      const runs = operations[name][measure];
      const floor = operations.floor[measure];
      return [
        `${measures[measure]}, ${columns[name].toLowerCase()}`,
        ...milliseconds(runs),
        ratio(runs, floor),
      ];
    }),
  );
  const runs = alone.length;
  return `Milliseconds, in ${runs} fresh processes each. A program pays for what it imports:

${table(["Import", "Shortest", "Median", "÷ `@pulumi/pulumi`"], importRows)}

The provider's process is asked over gRPC for the plan of one certificate and then to create it,
with a service that is not late; a create of the floor makes no request.

${table(["Provider", "Shortest", "Median", "÷ floor"], operationRows)}`;
}
