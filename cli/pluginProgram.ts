import { type Adoptable, type Plan, type Skipped, unique } from "./adopt";
import type { OwnFile } from "./kind";
import { type Arguments, type Language, syntaxes } from "./languages";
import { type Group, groupsOf, json, ownFiles, type ProjectOptions, readme } from "./project";

/** The settings of a project for the plugin. */
export interface PluginProjectOptions extends ProjectOptions {
  /** The version of the plugin. */
  version: string;
  language: Language;
}

/** The files of a project for the plugin, by their paths in it. */
export function pluginProjectOf(plan: Plan, options: PluginProjectOptions): Map<string, string> {
  const groups = groupsOf(plan).filter(({ objects }) => objects.length > 0);
  const syntax = syntaxes[options.language];
  const all = groups.flatMap((group) => group.objects.map((one) => ({ group, one })));
  const keys = unique(
    all.map(({ group, one }) => `${group.noun}-${one.name}`.replaceAll(".", "-")),
  );
  const resources = all.map(({ group: { className, file }, one }, index) =>
    syntax.resource(className, one.name, argumentsOf(one, file), keys[index] as string),
  );
  const readsFiles = groups.some(({ file }) => file);
  const imports = all.map(({ group: { className }, one: { name, id } }) => ({
    type: `tlsedge:index:${className}`,
    name,
    id,
  }));
  return new Map([
    ...syntax.files(resources, readsFiles, options),
    ...(syntax.ignored.length > 0
      ? [[".gitignore", `${syntax.ignored.join("\n")}\n`] as const]
      : []),
    ["README.md", readmeOf(groups, plan.skipped, options)],
    ["import.json", json({ resources: imports })],
    ...groups.flatMap(ownFiles),
  ]);
}

function argumentsOf({ name, args }: Adoptable, file: OwnFile | undefined): Arguments {
  if (!file) return { values: args };
  const { [file.property]: _, ...values } = args;
  return { values, file: { property: file.property, path: file.path(name) } };
}

function readmeOf(groups: Group[], skipped: Skipped[], options: PluginProjectOptions): string {
  const commands = (...some: string[]) =>
    `   \`\`\`sh\n${some.map((one) => `   ${one}\n`).join("")}   \`\`\``;
  const { install } = syntaxes[options.language];
  return readme(options, groups, skipped, {
    command: "npx pulumi-tlsedge adopt --plugin",
    steps: [
      `1. Install the plugin from its folder or archive, create a stack, and set the account, in stack
   config as here or in the environment.\
${install.length > 0 ? " Pulumi generates the SDK that the program imports." : ""}`,
      commands(
        `pulumi plugin install resource tlsedge ${options.version} --file PLUGIN`,
        ...install,
        "pulumi stack init",
        "pulumi config set tlsedge:baseUrl https://…",
        "pulumi config set --secret tlsedge:apiKey",
      ),
      "2. Import the objects into the stack. Each is read, and nothing is created or changed:",
      commands("pulumi import --file import.json --generate-code=false"),
      "3. `pulumi preview` shows no change. `import.json` is needed no more.",
    ],
    sections: groups.flatMap(({ file }) => file?.pluginReadme ?? []),
  });
}
