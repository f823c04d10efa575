const { transformSync } = require("esbuild");
const { register } = require("ts-node");

/** Transpiles with esbuild, in a third of TypeScript's time. Nothing checks types here. */
exports.create = () => ({
  transpile(text, { fileName: sourcefile }) {
    const options = { sourcefile, loader: "ts", format: "cjs", target: "node22", sourcemap: true };
    const { code, map } = transformSync(text, options);
    return { outputText: code, sourceMapText: map };
  },
});

// Not in tsconfig.json: Pulumi would obey it, too, where it runs the plugin from this folder.
register({ transpileOnly: true, transpiler: __filename });
