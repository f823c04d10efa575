const { transformSync } = require("esbuild");

/** How ts-node turns a file into JavaScript: three times as fast as with TypeScript. It checks no type. */
exports.create = () => ({
  transpile(text, { fileName: sourcefile }) {
    const options = { sourcefile, loader: "ts", format: "cjs", target: "node22", sourcemap: true };
    const { code, map } = transformSync(text, options);
    return { outputText: code, sourceMapText: map };
  },
});
