import { engines } from "./package.json";

// Imported first. The build writes the bundle so that Node.js 10 can read it: older ones get as far
// as this sentence, too. A launcher that checked the version would start Node.js twice.
const oldest = Number(engines.node.replace(">=", ""));
const found = process.versions.node;
if (Number(found.split(".")[0]) < oldest) {
  console.error(
    `The tlsedge plugin needs Node.js ${oldest} or newer, and node on PATH (${process.execPath}) is ` +
      `${found}: install a newer one from https://nodejs.org, or put its folder first on PATH.`,
  );
  process.exit(1);
}
