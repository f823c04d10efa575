import assert from "node:assert/strict";
import { newFolder } from "../tools/folders";
import { serveGit } from "../tools/gitServer";

describe("the Git server of the tests", () => {
  let server: Awaited<ReturnType<typeof serveGit>>;
  beforeEach(async () => {
    server = await serveGit(newFolder(), "token");
  });
  afterEach(() => server.close());

  const post = (body: Uint8Array<ArrayBuffer>) =>
    fetch(`${server.url}/nothing`, { method: "POST", body });

  it("gives Git's answer when Git has not read the request", async () => {
    assert.equal((await post(new Uint8Array(10_000_000))).status, 404);
  });

  it("answers 500 to what it can't read, and goes on", async () => {
    assert.equal((await fetch(`${server.url}//`)).status, 500);
    assert.equal((await post(new Uint8Array())).status, 404);
  });

  it("answers 500 when Git can't be started", async () => {
    const { PATH } = process.env;
    process.env.PATH = newFolder();
    try {
      assert.equal((await post(new Uint8Array())).status, 500);
    } finally {
      process.env.PATH = PATH;
    }
  });
});
