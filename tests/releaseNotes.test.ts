import assert from "node:assert/strict";
import { releaseNotes } from "../tools/releaseNotes";

describe("the release notes of a tag", () => {
  const changelog =
    "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2030-01-02\n\n### Added\n\n- One.\n\n## [1.1.0]\n";
  const files =
    (version: string, more: Record<string, string> = {}) =>
    (file: string) =>
      more[file] ?? (file === "CHANGELOG.md" ? changelog : JSON.stringify({ version }));

  it("are the section of its version", () => {
    assert.equal(releaseNotes("v1.2.0", files("1.2.0")), "### Added\n\n- One.");
  });

  it("fail where a package has another version, and name it", () => {
    const other = { "policy/package.json": '{ "version": "1.1.0" }' };
    assert.throws(
      () => releaseNotes("v1.2.0", files("1.2.0", other)),
      /^Error: policy\/package.json/,
    );
  });

  it("fail without a section, or with an empty one", () => {
    for (const version of ["1.3.0", "1.1.0"]) {
      assert.throws(() => releaseNotes(`v${version}`, files(version)), /has no section/);
    }
  });
});
