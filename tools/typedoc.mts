import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { Parser } from "htmlparser2";
import {
  type Application,
  type CommentDisplayPart,
  Converter,
  type DocumentReflection,
  type NormalizedPath,
  type ProjectReflection,
  type Reflection,
  RendererEvent,
} from "typedoc";

const docs = path.join(import.meta.dirname, "..", "docs");

/**
 * A plugin of TypeDoc. It names each document by its heading, makes links to a folder lead to the
 * README there, as they do where the repository is browsed, links a comment to the document that it
 * is about, and fails when a link leads nowhere.
 */
export function load({ converter, renderer, logger }: Application): void {
  converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document: DocumentReflection) => {
    const text = document.content.map((part) => part.text).join("");
    const { files } = document.project;
    const file = files.getReflectionPath(document);
    document.name = /^# (.+)$/m.exec(text)?.[1] ?? document.name;
    if (!file) return;
    // `pulumi new` writes the name of the user's project.
    const template = path.basename(path.dirname(file));
    document.name = document.name.replace(/\$\{PROJECT\}/, `The template ${template}`);
    document.frontmatter.group = file.includes("/examples/") ? "Examples" : "Documents";
    if (path.basename(file) !== "README.md") return;
    files.registerReflectionPath(path.dirname(file) as NormalizedPath, document);
  });
  converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) linkDocuments(reflection, project);
  });
  renderer.on(RendererEvent.END, ({ outputDirectory }) => {
    for (const broken of brokenLinks(outputDirectory)) logger.error(broken as never);
  });
}

/** Links `api.md §4.1` in a comment to the specification, and a policy to its document. */
function linkDocuments({ comment, parent, name }: Reflection, project: ProjectReflection): void {
  if (!comment) return;
  const link = (text: string, file: string, targetAnchor?: string): CommentDisplayPart[] => {
    const { target } = project.files.registerAbsolute(file as NormalizedPath);
    return [
      { kind: "text", text: `[${text}](` },
      { kind: "relative-link", text: file, target, targetAnchor },
      { kind: "text", text: ")" },
    ];
  };
  comment.summary = comment.summary.flatMap((part) => {
    if (part.kind !== "text") return part;
    // Every second piece is a match.
    return part.text
      .split(/(api\.md\s§[\d.]*\d)/)
      .flatMap((text, index): CommentDisplayPart[] =>
        index % 2 ? link(text, path.join(docs, "api.md")) : [{ kind: "text", text }],
      );
  });
  if (parent?.name !== "pulumi-tlsedge-policy" || !/^(?!policies$)[a-z]/.test(name)) return;
  const heading = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const why = link("Why, and how to fix it", path.join(docs, "policies.md"), heading);
  comment.summary.push({ kind: "text", text: "\n\n" }, ...why);
}

/** The links of a site that lead nowhere. */
function brokenLinks(site: string): string[] {
  const files = globSync("**/*.{html,svg}", { cwd: site }).map((file) => path.join(site, file));
  const pages = new Map(files.map((file) => [file, read(file)]));
  return [...pages].flatMap(([from, { links }]) =>
    [...links]
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [target = "", anchor] = decodeURI(link).split("#");
        const named = path.resolve(path.dirname(from), target || from);
        // The front page, which is the README, is linked as its folder.
        const file = target.endsWith("/") ? path.join(named, "index.html") : named;
        if (!existsSync(file) || !statSync(file).isFile()) return true;
        return anchor && !pages.get(file)?.anchors.has(anchor);
      })
      .map((link) => `${path.relative(site, from)} links to ${link}, which does not exist`),
  );
}

/** The links and the anchors of a page. */
function read(file: string) {
  const page = { links: new Set<string>(), anchors: new Set<string>() };
  const parser = new Parser({
    onopentag(_name, { id, href, src }) {
      if (id) page.anchors.add(id);
      for (const link of [href, src]) if (link !== undefined) page.links.add(link);
    },
  });
  parser.end(readFileSync(file, "utf8"));
  return page;
}
