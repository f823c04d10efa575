import "../client/checkNode";

if (process.argv[2] === "check") {
  // The command of the npm package: it runs, because the bundle is the main module.
  process.argv.splice(2, 1);
  require("../policy/check");
} else {
  // @pulumi/policy reads the version of a pack from the package.json in the working folder.
  process.chdir(__dirname);
  require("../policy/pack");
}
