import "./checkNode";

// @pulumi/policy reads the version of a pack from the package.json in the working folder.
process.chdir(__dirname);
require("../policy/pack");
