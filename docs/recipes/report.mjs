// Tells people what the jobs found, through the API of GitHub or GitLab. It needs Node.js alone.
//
//   node report.mjs comment FILE…  one comment on the pull or merge request, with the text of the files
//   node report.mjs issues         an issue for each nightly job that failed; closes it when the job succeeds
//
// Each is written once, and updated in place from then on.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

const { env } = process;
const marker = "<!-- pulumi-tlsedge: previews -->";
const label = "edges-nightly";
// GitHub takes 65,536 characters.
const longest = 60_000;

const github = {
  url: `${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}`,
  headers: { authorization: `Bearer ${env.REPORT_TOKEN}` },
  run: `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}`,
  comments: `/issues/${env.PULL_REQUEST}/comments`,
  // Who may comment could write the marker, too.
  isOurs: async () => (comment) => comment.user.login === "github-actions[bot]",
  editComment: (id, body) => call("PATCH", `/issues/comments/${id}`, { body }),
  openIssues: `/issues?state=open&labels=${label}&per_page=100`,
  createIssue: (title, body) => call("POST", "/issues", { title, body, labels: [label] }),
  editIssue: ({ number }, body) => call("PATCH", `/issues/${number}`, { body }),
  closeIssue: ({ number }, body) => call("PATCH", `/issues/${number}`, { body, state: "closed" }),
  results: async () =>
    Object.entries(JSON.parse(env.RESULTS)).map(([job, { result }]) => [job, result]),
};

const gitlab = {
  url: `${env.CI_API_V4_URL}/projects/${env.CI_PROJECT_ID}`,
  headers: { "private-token": env.REPORT_TOKEN },
  run: env.CI_PIPELINE_URL,
  comments: `/merge_requests/${env.CI_MERGE_REQUEST_IID}/notes`,
  async isOurs() {
    const { id } = await call("GET", `${env.CI_API_V4_URL}/user`);
    return (note) => note.author.id === id;
  },
  editComment: (id, body) => call("PUT", `${gitlab.comments}/${id}`, { body }),
  openIssues: `/issues?state=opened&labels=${label}&per_page=100`,
  createIssue: (title, description) =>
    call("POST", "/issues", { title, description, labels: label }),
  editIssue: ({ iid }, description) => call("PUT", `/issues/${iid}`, { description }),
  closeIssue: ({ iid }, description) =>
    call("PUT", `/issues/${iid}`, { description, state_event: "close" }),
  async results() {
    const jobs = await call("GET", `/pipelines/${env.CI_PIPELINE_ID}/jobs?per_page=100`);
    // A job with a matrix is many, such as "drift: [staging]".
    return jobs
      .filter(({ name }) => name !== env.CI_JOB_NAME)
      .map(({ name, status }) => [name.replace(/:? .*/, ""), status]);
  },
};

const forge = env.GITLAB_CI ? gitlab : github;

async function call(method, where, body) {
  const response = await fetch(where.startsWith("/") ? forge.url + where : where, {
    method,
    headers: { ...forge.headers, "content-type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`${method} ${where}: ${response.status}`);
  return response.json();
}

/** A text as a block of code that it can't end: the fence is longer than each that it has. */
function block(text) {
  const fence = "`".repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map((run) => run.length + 1)));
  return `${fence}text\n${text.trimEnd()}\n${fence}`;
}

async function comment(files) {
  const parts = [marker];
  for (const file of files) {
    parts.push(`### ${path.parse(file).name}`);
    // A preview that failed early has written none.
    if (!existsSync(file)) {
      parts.push("No preview: the run says why.");
      continue;
    }
    const text = await readFile(file, "utf8");
    const most = Math.floor(longest / files.length);
    // The end says what would change, and which policies are violated.
    const end = text.length > most ? `… the log has what comes before\n${text.slice(-most)}` : text;
    parts.push(block(end));
  }
  parts.push(`By [this run](${forge.run}), of commit ${env.COMMIT}.`);
  const body = parts.join("\n\n");
  const isOurs = await forge.isOurs();
  for (let page = 1; ; page++) {
    const comments = await call("GET", `${forge.comments}?per_page=100&page=${page}`);
    const found = comments.find((one) => one.body.startsWith(marker) && isOurs(one));
    if (found) return forge.editComment(found.id, body);
    if (comments.length < 100) return call("POST", forge.comments, { body });
  }
}

async function issues() {
  const all = new Map();
  for (const [job, result] of await forge.results())
    all.set(job, [...(all.get(job) ?? []), result]);
  const open = await call("GET", forge.openIssues);
  for (const [job, results] of all) {
    if (results.every((result) => result === "skipped")) continue;
    const title = `The nightly job ${job} fails`;
    const found = open.find((issue) => issue.title === title);
    if (results.every((result) => result === "success")) {
      if (found) await forge.closeIssue(found, `All is right again: ${forge.run}`);
      continue;
    }
    const body = `What it found: ${forge.run}\n\nClosed by itself when the job succeeds.`;
    await (found ? forge.editIssue(found, body) : forge.createIssue(title, body));
  }
}

const [, , command, ...files] = process.argv;
if (command === "comment" && files.length > 0) await comment(files);
else if (command === "issues") await issues();
else throw new Error("node report.mjs comment FILE… | issues");
