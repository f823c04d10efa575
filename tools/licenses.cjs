// Prints the licences of the packages that the plugin's bundle holds code of.
const { readdirSync, readFileSync } = require("node:fs");
const path = require("node:path");
const { outputs } = require("../plugin/dist/meta.json");

const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
const folders = used.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []);

for (const folder of [...new Set(folders)].sort()) {
  const read = (name) => readFileSync(path.join(__dirname, "..", "plugin", folder, name), "utf8");
  const { name, version, license } = JSON.parse(read("package.json"));
  const files = readdirSync(path.join(__dirname, "..", "plugin", folder));
  const texts = files.filter((file) => /^licen[cs]e/i.test(file)).map(read);
  // Some packages have it at the end of the README.
  const [text = read("README.md").match(/^License\n[\s\S]*/m)?.[0], ...more] = texts;
  if (!text) throw new Error(`${name} ${version} has no text of its licence`);
  console.log([`${name} ${version} (${license})\n`, text, ...more, "-".repeat(80)].join("\n"));
}
