const { writeFileSync } = require("node:fs");
const { reporters } = require("mocha");

/** mocha's own spec report; its counts and failures are written to MOCHA_REPORT too, for .ci/run. */
module.exports = class extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once("end", () => {
      const { MOCHA_REPORT: file } = process.env;
      if (!file) return;
      const failures = this.failures.map((test) => `${test.fullTitle()}: ${test.err.message}`);
      writeFileSync(file, JSON.stringify({ ...this.stats, failures }));
    });
  }
};
