import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/**
 * Git's own server for a bare repository: everybody may fetch, who has the token may push.
 *
 * @example
 * const server = await serveGit(folder, "token");
 * await run("git", ["clone", server.url]);
 * server.close();
 */
export async function serveGit(folder: string, token: string) {
  const server = createServer((request, response) => {
    answer(folder, token, request, response).catch((error: Error) =>
      response.writeHead(500).end(error.message),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

async function answer(
  folder: string,
  token: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams, search } = new URL(request.url ?? "", "http://localhost");
  const body = await buffer(request);
  const basic = `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
  const mayPush = request.headers.authorization === basic;
  const isPush = [pathname, searchParams.get("service")].some((at) => at?.endsWith("receive-pack"));
  if (isPush && !mayPush) {
    response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    return;
  }
  const cgi = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      CONTENT_LENGTH: String(body.length),
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      HTTP_GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      ...(mayPush && { REMOTE_USER: "x-access-token" }),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  // Git may end before it has read everything: its answer says why.
  cgi.stdin.on("error", () => undefined).end(body);
  await once(cgi, "spawn");
  const output = await buffer(cgi.stdout);
  const end = output.indexOf("\r\n\r\n");
  const lines = output.subarray(0, end).toString().split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => line.split(": ")));
  const status = Number.parseInt(headers.Status ?? "200", 10);
  response.writeHead(status, headers).end(output.subarray(end + 4));
}
