import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Token } from "markdown-it";
import ours from "../package.json";
import schema from "../plugin/schema.json";
import { repository } from "../tools/folders";

describe("the documents", () => {
  it("link only to files and headings that exist", async () => {
    const { default: MarkdownIt } = await import("markdown-it");
    const parse = (file: string) =>
      new MarkdownIt({ html: true })
        .parse(readFileSync(file, "utf8"), {})
        .flatMap((token) => [token, ...(token.children ?? [])]);
    const args = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
    const files = execFileSync("git", args, { cwd: repository, encoding: "utf8" }).trim();
    const pages = files
      .split("\n")
      .map((file) => [path.join(repository, file), parse(path.join(repository, file))] as const);
    const headings = new Map(pages.map(([file, tokens]) => [file, headingsOf(tokens)]));
    const broken = pages.flatMap(([page, tokens]) =>
      tokens
        .flatMap(({ attrs }) => attrs ?? [])
        .filter(([name, link]) => ["href", "src"].includes(name) && !/^[a-z]+:/.test(link))
        .filter(([, link]) => {
          const [target = "", heading] = decodeURI(link).split("#");
          const file = path.resolve(path.dirname(page), target || page);
          return !existsSync(file) || (heading && !headings.get(file)?.includes(heading));
        })
        .map(([, link]) => `${path.relative(repository, page)}: ${link}`),
    );
    assert.deepEqual(broken, []);
  });

  it("have the tested examples on the page of the registry", () => {
    const page = readFileSync(path.join(repository, "docs", "_index.md"), "utf8");
    for (const ending of ["py", "go", "yaml"]) {
      const example = path.join(repository, "plugin", "examples", `tlsSite.${ending}`);
      assert.ok(page.includes(`\n${readFileSync(example, "utf8")}\`\`\``), ending);
    }
  });

  it("describe each setting, by its key in the config", () => {
    const { variables } = schema.config;
    const configuration = readFileSync(path.join(repository, "docs", "configuration.md"), "utf8");
    const missing = Object.keys(variables).filter((key) => !configuration.includes(`${key}\``));
    assert.deepEqual(missing, []);
  });

  it("number each promise that a test holds, and no other", () => {
    const contract = readFileSync(path.join(repository, "docs", "contract.md"), "utf8");
    const promised = numbersIn(contract, /^- \*\*(C\d+)\*\*/gm);
    const tests = path.join(repository, "tests");
    const numbers = globSync("**/*.ts", { cwd: tests }).flatMap((file) =>
      numbersIn(readFileSync(path.join(tests, file), "utf8"), /["'`](C\d+(?: C\d+)*)\b/g),
    );
    const held = numbers.flatMap((some) => some.split(" "));
    assert.deepEqual([...new Set(held)].sort(), promised.sort());
  });
});

describe("the workflows", () => {
  it("test with the command that README names", () => {
    const command = /^npm ci && npm test\b/m.exec(
      readFileSync(path.join(repository, "README.md"), "utf8"),
    );
    assert.ok(command);
    assert.ok(readFileSync(path.join(repository, ".ci", "run"), "utf8").includes(command[0]));
  });

  it("run no install script that package.json does not allow", () => {
    const files = [".ci/run", ...globSync(".github/workflows/*.yml", { cwd: repository })];
    for (const file of files) {
      const text = readFileSync(path.join(repository, file), "utf8");
      for (const [command] of text.matchAll(/(?:\w+=true )?npm (?:ci|install)\b.*/g))
        assert.match(
          command,
          /^npm \w+ --strict-allow-scripts\b|^npm_config_strict_allow_scripts=true /,
          file,
        );
    }
  });
});

describe("the packages that a program installs", () => {
  it("run no script, but for protobufjs", () => {
    const lock = readFileSync(path.join(repository, "package-lock.json"), "utf8");
    const packages: Record<string, { hasInstallScript?: true; dev?: true }> =
      JSON.parse(lock).packages;
    const withScript = Object.keys(packages).filter(
      (name) => packages[name]?.hasInstallScript && !packages[name].dev,
    );
    assert.deepEqual(withScript, ["node_modules/protobufjs"]);
  });
});

/** Every file of the repository that names the owner, but for package.json, which says who it is. */
describe("the owner of the repository", () => {
  it("is the one that package.json names", () => {
    const [, owner] = /github\.com\/([\w-]+)\//.exec(ours.repository.url) ?? [];
    const args = [
      "grep",
      "-Ioh",
      "-E",
      "github(\\.com/|:)[A-Za-z0-9-]+/pulumi-tlsedge|api\\.github\\.com/[A-Za-z0-9-]+|^\\* @[A-Za-z0-9-]+$|io\\.github\\.[a-z0-9]+",
    ];
    const named = execFileSync("git", args, { cwd: repository, encoding: "utf8" })
      .trim()
      .split("\n");
    const others = named.filter(
      (text) =>
        !`${text}/`.includes(`/${owner}/`) &&
        !text.endsWith(`:${owner}/pulumi-tlsedge`) &&
        text !== `io.github.${owner?.replaceAll("-", "")}` &&
        text !== `* @${owner}`,
    );
    assert.ok(owner && named.length > 5);
    assert.deepEqual(others, []);
  });
});

const numbersIn = (text: string, number: RegExp) =>
  [...text.matchAll(number)].map(([, found]) => String(found));

/** The headings, as GitHub writes them in links. */
const headingsOf = (tokens: Token[]) =>
  tokens
    .filter((_, index) => tokens[index - 1]?.type === "heading_open")
    .map(({ children }) => (children ?? []).map(({ content }) => content).join(""))
    .map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, "")
        .replaceAll(" ", "-"),
    );
