// The arrows between the rooms, for `npm run lint`: docs of the format are those of
// dependency-cruiser. A package of this repository is resolved to its folder.
const outside = "^(tests|tools)/";

/** What files may not import, and why. */
const never = (comment, from, to) => ({ name: comment, comment, severity: "error", from, to });

module.exports = {
  forbidden: [
    never("no circles, of types neither", {}, { circular: true }),
    never(
      "only client/transport.ts talks HTTP",
      { pathNot: ["^client/transport\\.ts$", outside] },
      { path: "^node_modules/axios/" },
    ),
    never(
      "client is a leaf: it imports nothing above it",
      { path: "^client/" },
      { path: "^(dist/)?(provider|sdk)/" },
    ),
    never(
      "provider imports nothing from sdk or plugin",
      { path: "^provider/" },
      { path: "^((dist/)?sdk|plugin)/" },
    ),
    never(
      "values know no kind",
      { path: "^provider/values/" },
      { path: "^provider/(kinds|run|lifecycle|dynamic)/" },
    ),
    never(
      "kinds know no run",
      { path: "^provider/kinds/" },
      { path: "^provider/(run|lifecycle|dynamic)/" },
    ),
    never(
      "a run knows no life cycle",
      { path: "^provider/run/" },
      { path: "^provider/(lifecycle|dynamic)/" },
    ),
    never(
      "the life cycle knows no protocol",
      { path: "^provider/lifecycle/" },
      { path: "^provider/dynamic/" },
    ),
    never(
      "only plugin talks gRPC",
      { pathNot: ["^plugin/", outside] },
      { path: "^node_modules/(@grpc/grpc-js|google-protobuf)/" },
    ),
    never(
      "only plugin/commands.ts imports cli",
      { pathNot: ["^(cli/|plugin/commands\\.ts$)", outside] },
      { path: "^(dist/)?cli/" },
    ),
    never(
      "cli works without Pulumi: it imports client and provider",
      { path: "^cli/" },
      { path: ["^(dist/)?sdk/", "^node_modules/@pulumi/"] },
    ),
    never(
      "the emulator shares nothing with the provider",
      { path: "^emulator/" },
      { path: ["^(dist/)?(client|provider|sdk|cli)/", "^node_modules/axios/"] },
    ),
    never(
      "policy sees what a program sees: pulumi-tlsedge",
      { path: "^policy/" },
      { path: ["^(client|provider|sdk)/", "^dist/(client|provider)/"] },
    ),
    never(
      "only tests and tools use the emulator",
      { pathNot: ["^emulator/", outside] },
      { path: "^emulator/" },
    ),
    never(
      "only tests, tools, the archive and a pack of one's own use the policies",
      { pathNot: ["^policy/", "^plugin/policy\\.ts$", "^examples/policies/ours/", outside] },
      { path: "^policy/" },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.check.json" },
    doNotFollow: { path: ["node_modules", "dist/"] },
  },
};
