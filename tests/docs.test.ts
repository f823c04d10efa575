import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import ours from "../package.json";
import schema from "../plugin/schema.json";
import { repository } from "../tools/folders";

const read = (file: string) => readFileSync(path.join(repository, file), "utf8");
/** The lines that a command of git prints. */
const git = (...args: string[]) =>
  execFileSync("git", args, { cwd: repository, encoding: "utf8" }).trim().split("\n");

describe("the documents", () => {
  it("link only to files and headings that exist", async () => {
    const { default: MarkdownIt } = await import("markdown-it");
    const markdown = new MarkdownIt({ html: true });
    const files = git("ls-files", "--cached", "--others", "--exclude-standard", "*.md");
    const pages = new Map(files.map((file) => [file, markdown.render(read(file))]));
    /** The headings of a page, as GitHub writes them in links. */
    const headings = (page = "") =>
      [...page.matchAll(/<h\d>(.*?)<\/h\d>/gs)].map(([, title = ""]) =>
        title
          .toLowerCase()
          .replace(/<.*?>|&\w+;|[^\p{L}\p{N}_ -]/gu, "")
          .replaceAll(" ", "-"),
      );
    const broken = [...pages].flatMap(([page, html]) =>
      [...html.matchAll(/ (?:href|src)="(?![a-z]+:)([^"#]*)#?([^"]*)"/g)]
        .filter(([, target, heading]) => {
          const file = target ? path.join(path.dirname(page), decodeURI(target)) : page;
          const isThere = existsSync(path.join(repository, file));
          return !isThere || (heading && !headings(pages.get(file)).includes(decodeURI(heading)));
        })
        .map(([link]) => `${page}:${link}`),
    );
    assert.deepEqual(broken, []);
  });

  it("have the tested examples on the page of the registry", () => {
    for (const ending of ["py", "go", "yaml"]) {
      const example = read(`plugin/examples/tlsSite.${ending}`);
      assert.ok(read("docs/_index.md").includes(`\n${example}\`\`\``), ending);
    }
  });

  it("have the tested versions where docs/languages.md writes a go.mod", () => {
    const tested = read("templates/site-go/go.mod").match(/^go .*|github\.com\/pulumi\/.*/gm) ?? [];
    assert.equal(tested.length, 2);
    for (const line of tested) assert.ok(read("docs/languages.md").includes(line), line);
  });

  it("describe each setting, by its key in the config", () => {
    for (const key of Object.keys(schema.config.variables))
      assert.ok(read("docs/configuration.md").includes(`${key}\``), key);
  });

  it("number each promise that a test holds, and no other", () => {
    const promised = read("docs/contract.md").match(/(?<=^- \*\*)C\d+/gm) ?? [];
    const titles = globSync("tests/**/*.ts", { cwd: repository }).flatMap(
      (file) => read(file).match(/(?<=["'`])C\d+(?: C\d+)*\b/g) ?? [],
    );
    const held = new Set(titles.flatMap((numbers) => numbers.split(" ")));
    assert.deepEqual([...held].sort(), promised.sort());
  });

  it("name the owner that package.json names", () => {
    const [, owner = "nobody"] = /github\.com\/([\w-]+)\//.exec(ours.repository.url) ?? [];
    const name = "[A-Za-z0-9-]+";
    /** In URLs, the API of GitHub, CODEOWNERS and Java. */
    const forms = (of: string, inJava: string) =>
      `(github(\\.com/|:)${of}/pulumi-tlsedge|api\\.github\\.com/${of}|^\\* @${of}$|io\\.github\\.${inJava})`;
    const named = git("grep", "-Ioh", "-E", forms(name, "[a-z0-9]+"));
    const own = new RegExp(`^${forms(owner, owner.replaceAll("-", ""))}$`);
    assert.deepEqual([...new Set(named.filter((text) => !own.test(text)))], []);
  });
});

describe("the doc comments", () => {
  // `npm run docs` refuses a public name that has none.
  it("stand in the built declarations, which editors read", () => {
    assert.match(read("dist/sdk/tlsEdge.d.ts"), /Assigned by the service, opaque\. \*\/\s.* id:/);
  });
});

describe("the scripts of packages", () => {
  it("do not run in a workflow, unless package.json allows them", () => {
    for (const file of [".ci/run", ...globSync(".github/workflows/*.yml", { cwd: repository })])
      for (const [command] of read(file).matchAll(/(?:\w+=true )?npm (?:ci|install)\b.*/g))
        assert.match(
          command,
          /^npm \w+ --strict-allow-scripts\b|^npm_config_strict_allow_scripts=true /,
          file,
        );
  });

  it("do not run where a program installs this package, but for that of protobufjs", () => {
    const all: Record<string, { hasInstallScript?: true; dev?: true }> = JSON.parse(
      read("package-lock.json"),
    ).packages;
    const found = Object.entries(all).filter(
      ([, { hasInstallScript, dev }]) => hasInstallScript && !dev,
    );
    assert.deepEqual(
      found.map(([name]) => name),
      ["node_modules/protobufjs"],
    );
  });
});
