// mocha loads this file before those of .mocharc.json.
require("./tsNode.cjs");
const { findOrBuildPulumi } = require("./pulumi.ts");

/**
 * Called by mocha once, before its worker processes start. Each worker would otherwise build the
 * same programs at the same time, and their hooks would meet their timeouts.
 */
exports.mochaGlobalSetup = () => findOrBuildPulumi();
