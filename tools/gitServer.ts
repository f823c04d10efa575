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
  const basic = `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { url = "", method, headers } = request;
    const mayPush = headers.authorization === basic;
    if (url.includes("receive-pack") && !mayPush)
      return response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    const [path, query = ""] = url.split("?");
    const cgi = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: method,
        CONTENT_TYPE: headers["content-type"],
        HTTP_CONTENT_ENCODING: headers["content-encoding"],
        HTTP_GIT_PROTOCOL: headers["git-protocol"]?.toString(),
        ...(mayPush && { REMOTE_USER: "x-access-token" }),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    // Git may end before it has read everything: its answer says why.
    request.pipe(cgi.stdin.on("error", () => undefined));
    const output = await buffer(cgi.stdout);
    const end = output.indexOf("\r\n\r\n");
    const lines = output.subarray(0, end).toString().split("\r\n");
    const { Status = "200", ...others } = Object.fromEntries(lines.map((one) => one.split(": ")));
    return response.writeHead(Number.parseInt(Status, 10), others).end(output.subarray(end + 4));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}
