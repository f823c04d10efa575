/**
 * Ends the process with a sentence where Node.js is too old. A program, a command and the plugin import it first: later
 * code has what older versions lack.
 */
const { engines } = require("pulumi-tlsedge/package.json") as { engines: { node: string } };
const oldest = Number(engines.node.replace(/\D/g, ""));
const found = process.versions.node;
// The build writes the plugin's bundle so that Node.js 10 can read it: older ones get as far as this, too.
if (Number(found.split(".")[0]) < oldest) {
  console.error(
    `pulumi-tlsedge needs Node.js ${oldest} or newer, and node on PATH (${process.execPath}) is ${found}: ` +
      "install a newer one from https://nodejs.org, or put its folder first on PATH.",
  );
  process.exit(1);
}
