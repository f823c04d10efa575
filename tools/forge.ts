import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface Note {
  id: number;
  body: string;
  author: string;
}

export interface Issue {
  number: number;
  title: string;
  body: string;
  label: string;
  isOpen: boolean;
}

/** The API of a forge on loopback, as far as docs/recipes/report.mjs uses it, with one project. */
export interface Forge {
  /** The variables that the forge gives to a job for pull request 7. */
  env: Record<string, string>;
  /** The login of the one whose token the jobs have. */
  bot: string;
  /** The comments on pull request 7. */
  notes: Note[];
  issues: Issue[];
  /** The jobs of the pipeline, as GitLab lists them. */
  jobs: { name: string; status: string }[];
  /** The methods and paths of all requests that write. */
  writes: string[];
  close(): Promise<void>;
}

type Fields = Record<string, unknown>;
type Asked = { body: Fields; id: number; query: URLSearchParams };
/** The answers, by method and path: `~` is the project, `:id` a number. */
type Api = (forge: Forge) => Record<string, (asked: Asked) => unknown>;

export const token = "forge-token";

const page = <T>(all: T[], query: URLSearchParams) => {
  const size = Number(query.get("per_page") ?? 20);
  const from = (Number(query.get("page") ?? 1) - 1) * size;
  return all.slice(from, from + size);
};
const found = <T>(value: T | undefined): T => {
  if (!value) throw new Error("not found");
  return value;
};
const addNote = (forge: Forge, body: string) => {
  const note = { id: forge.notes.length + 1, body, author: forge.bot };
  forge.notes.push(note);
  return note;
};
const editNote = (forge: Forge, id: number, body: string) =>
  Object.assign(found(forge.notes.find((note) => note.id === id)), { body });
const addIssue = (forge: Forge, title: string, body: string, label: string) => {
  const issue = { number: forge.issues.length + 1, title, body, label, isOpen: true };
  forge.issues.push(issue);
  return issue;
};
const editIssue = (forge: Forge, number: number, body: string, isOpen: boolean) =>
  Object.assign(found(forge.issues.find((one) => one.number === number)), { body, isOpen });
const openIssues = (forge: Forge, query: URLSearchParams) =>
  forge.issues.filter(({ isOpen, label }) => isOpen && label === query.get("labels"));

const gitHub: Api = (forge) => {
  const show = ({ author, ...note }: Note) => ({ ...note, user: { login: author } });
  return {
    "GET ~/issues/7/comments": ({ query }) => page(forge.notes, query).map(show),
    "POST ~/issues/7/comments": ({ body }) => show(addNote(forge, String(body.body))),
    "PATCH ~/issues/comments/:id": ({ body, id }) => show(editNote(forge, id, String(body.body))),
    "GET ~/issues": ({ query }) => openIssues(forge, query),
    "POST ~/issues": ({ body: { title, body, labels } }) =>
      addIssue(forge, String(title), String(body), String(labels)),
    "PATCH ~/issues/:id": ({ body: { body, state }, id }) =>
      editIssue(forge, id, String(body), state !== "closed"),
  };
};

const gitLab: Api = (forge) => {
  const idOf = (login: string) => (login === forge.bot ? 1 : 2);
  const note = ({ author, ...rest }: Note) => ({ ...rest, author: { id: idOf(author) } });
  const issue = ({ number, title }: Issue) => ({ iid: number, title });
  return {
    "GET /user": () => ({ id: idOf(forge.bot) }),
    "GET ~/merge_requests/7/notes": ({ query }) => page(forge.notes, query).map(note),
    "POST ~/merge_requests/7/notes": ({ body }) => note(addNote(forge, String(body.body))),
    "PUT ~/merge_requests/7/notes/:id": ({ body, id }) =>
      note(editNote(forge, id, String(body.body))),
    "GET ~/issues": ({ query }) => openIssues(forge, query).map(issue),
    "POST ~/issues": ({ body: { title, description, labels } }) =>
      issue(addIssue(forge, String(title), String(description), String(labels))),
    "PUT ~/issues/:id": ({ body: { description, state_event }, id }) =>
      issue(editIssue(forge, id, String(description), state_event !== "close")),
    "GET ~/pipelines/9/jobs": () => forge.jobs,
  };
};

const forges = {
  GitHub: {
    api: gitHub,
    project: "/repos/acme/edges",
    bot: "github-actions[bot]",
    authorization: (request: IncomingMessage) =>
      request.headers.authorization === `Bearer ${token}`,
    env: (url: string) => ({
      GITHUB_API_URL: url,
      GITHUB_SERVER_URL: "https://github.example",
      GITHUB_REPOSITORY: "acme/edges",
      GITHUB_RUN_ID: "9",
      PULL_REQUEST: "7",
    }),
  },
  GitLab: {
    api: gitLab,
    project: "/projects/5",
    bot: "project_5_bot",
    authorization: (request: IncomingMessage) => request.headers["private-token"] === token,
    env: (url: string) => ({
      GITLAB_CI: "true",
      CI_API_V4_URL: url,
      CI_PROJECT_ID: "5",
      CI_PIPELINE_ID: "9",
      CI_PIPELINE_URL: "https://gitlab.example/acme/edges/-/pipelines/9",
      CI_MERGE_REQUEST_IID: "7",
      CI_JOB_NAME: "report",
    }),
  },
};

export type ForgeName = keyof typeof forges;
export const forgeNames = Object.keys(forges) as ForgeName[];

export async function startForge(name: ForgeName): Promise<Forge> {
  const { api, project, bot, authorization, env } = forges[name];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const { method = "" } = request;
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (!authorization(request)) return answer(401, {});
    const [, id] = /(\d+)$/.exec(pathname) ?? [];
    const where = pathname.replace(project, "~").replace(/\d+$/, ":id");
    const route = routes[`${method} ${where}`];
    if (!route) return answer(404, {});
    const body = method === "GET" ? {} : ((await json(request)) as Fields);
    if (method !== "GET") forge.writes.push(`${method} ${pathname}`);
    if (String(body.body ?? "").length > 65_536) return answer(422, {});
    answer(200, route({ body, id: Number(id), query: searchParams }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const forge: Forge = {
    env: { ...env(`http://127.0.0.1:${port}`), REPORT_TOKEN: token },
    bot,
    notes: [],
    issues: [],
    jobs: [],
    writes: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const routes = api(forge);
  return forge;
}
