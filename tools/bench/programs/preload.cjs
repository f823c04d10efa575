// Loaded first in each Node.js process of a contestant.
const { readFileSync, writeFileSync } = require("node:fs");

// A language host that does not know `typescript: false` makes every program load the compiler:
// that would cost all contestants the same, and hide what they cost.
delete process.env.PULUMI_NODEJS_TYPESCRIPT;

// The provider's process writes its peak memory, in KiB, when the engine ends it.
if (/dynamic-provider|plugin\.js$/.test(process.argv[1])) {
  process.on("exit", () => writeFileSync("peak", String(peakKiB())));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit());
}

function peakKiB() {
  try {
    return /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1];
  } catch {
    // Not Linux. On Linux this may be the memory of the engine, which has started the process.
    return process.resourceUsage().maxRSS;
  }
}
