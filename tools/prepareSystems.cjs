const prepareTests = require("./prepareTests.cjs");
const { compileGoTools, missing } = require("./languages.ts");

/** As in prepareTests.cjs, and what programs in Go and Python need. */
exports.mochaGlobalSetup = async () => {
  await prepareTests.mochaGlobalSetup();
  if (!(await missing("go"))) await compileGoTools();
  await missing("python");
};
