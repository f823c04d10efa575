import assert from "node:assert/strict";
import { tlsEdges } from "../client/tlsEdge";
import { tlsCertificate, tlsEdge } from "../provider/dynamic/dynamic";
import { beginRun } from "../provider/dynamic/process";
import {
  answer,
  atScript,
  captureMessages,
  clientOf,
  deployed,
  failureOf,
  finishRun,
  makePair,
  messageOf,
  PlanFailure,
  type Properties,
  Stack,
  setEnv,
  setEnvFor,
  takeRequests,
  unknown,
  upload,
  useEmulator,
  planWarnings as warnings,
} from "./support";

/** What a plan or an update asks the service before its first change, and what it warns of at its end. */
describe("a plan", () => {
  const emulator = useEmulator({ TLSEDGE_OFFLINE_PLAN: undefined });

  const requests = () => takeRequests(emulator).length;
  const preview = (args: Properties) => new Stack(tlsEdge).preview(args);
  const plan = () => preview({ description: "a" });
  /** What other stacks have. */
  const others = async (...all: object[]): Promise<string[]> => {
    const ids: string[] = [];
    for (const one of all) ids.push((await tlsEdges.create(clientOf(emulator), one)).id);
    requests();
    return ids;
  };
  /** An edge of the state, at the beginning of a run. */
  async function inState(args: Properties = { description: "a" }): Promise<Stack> {
    const stack = await deployed(tlsEdge, args);
    beginRun();
    requests();
    return stack;
  }
  /** The only warning at the end of the run, with these texts and without those. */
  async function warnsOf(texts: string[], not: string[] = []) {
    const [warning = "", ...more] = await warnings();
    for (const text of texts) assert.ok(warning.includes(text), `${text}: ${warning}`);
    for (const text of not) assert.ok(!warning.includes(text), warning);
    assert.deepEqual(more, []);
  }

  describe("before a change", () => {
    it("C19: a plan makes one request for all creates and updates, and none with offlinePlan", async () => {
      const stack = await inState();
      await Promise.all([plan(), plan(), stack.preview({ description: "b" })]);
      await stack.preview({ description: "c" });
      assert.equal(requests(), 1);
      setEnv({ TLSEDGE_OFFLINE_PLAN: "true" });
      await plan();
      assert.deepEqual([await warnings(), requests()], [[], 0]);
    });

    it("C19 C25: a plan makes no request without a change, for a mistake, in a refresh, or when a policy undoes the change", async () => {
      const stack = await inState();
      await stack.diff({ ...stack.inputs, description: "b" });
      assert.equal(requests(), 0, "a refresh");
      // The check has the program's inputs, the diff has those that a policy has put right.
      await stack.check({ description: "b" });
      assert.equal((await stack.diff(stack.inputs)).verdict, "same");
      await stack.preview({ description: "a" });
      // Other timeouts alone are no change.
      await stack.preview({ description: "a", __timeouts: { delete: 1000 } });
      await failureOf(preview({ descripton: "a" }), PlanFailure);
      assert.equal(requests(), 0);
      await stack.preview({ description: "b" });
      assert.equal(requests(), 1);
    });

    it("C1 C5 C19: a plan asks with the settings of each connection, also where two have one account", async () => {
      await plan();
      setEnvFor(emulator, "TLSEDGE_STAGING");
      setEnv({ TLSEDGE_STAGING_OFFLINE_PLAN: undefined, TLSEDGE_STAGING_API_VERSION: "9" });
      const failed = failureOf(preview({ connection: "tlsedge-staging" }), PlanFailure);
      assert.match((await failed).message, /status 400/);
    });

    it("C19: a service that is not this API, or where nothing answers, fails the plan", async () => {
      const wrong = answer(200, { items: [] });
      const { message } = await atScript([wrong], () => failureOf(plan(), PlanFailure));
      assert.match(message, /tls_edges.*missing.*base URL/);
      setEnv({ TLSEDGE_BASE_URL: "https://localhost:1", TLSEDGE_MAX_RETRIES: "0" });
      assert.match(await messageOf(plan()), /base URL/);
    });

    it("C5 C19: a refused key fails the plan once for each connection, with one request", async () => {
      setEnvFor(emulator, "TLSEDGE_STAGING");
      setEnv({ TLSEDGE_API_KEY: "wrong", TLSEDGE_STAGING_OFFLINE_PLAN: undefined });
      setEnv({ TLSEDGE_STAGING_API_KEY: "wrong-too" });
      for (const connection of ["tlsedge", "tlsedge-staging"]) {
        const fails = () => messageOf(preview({ connection }));
        const all = await Promise.all([1, 2, 3].map(fails));
        all.push(await fails());
        assert.equal(all.filter((text) => text.includes("API key")).length, 1);
        assert.equal(requests(), 1);
      }
    });
  });

  describe("at the end of a run", () => {
    it("C19: a run names the service that it uses once, where no state shows it", async () => {
      const count = async () => {
        const messages = captureMessages();
        await finishRun();
        const { host } = new URL(emulator.url);
        return messages().filter((line) => line.includes(`the service is ${host}`)).length;
      };
      await plan();
      await plan();
      assert.deepEqual([await count(), await count()], [1, 0]);
      await (await inState()).preview({ description: "b" });
      await plan();
      assert.equal(await count(), 0);
    });

    it("C23: a plan warns once of what an edge loses, not in a refresh, nor for an edge with the same arguments", async () => {
      const plain = await deployed(tlsEdge, { description: "d" });
      const guarded = await inState({
        description: "d",
        ipRestriction: { ipPolicyIds: ["ipp_1"] },
      });
      const messages = captureMessages();
      await guarded.diff({ description: "d" });
      assert.deepEqual(messages(), []);
      await plain.preview({ description: "d" });
      for (const _ of [1, 2]) await guarded.preview({ description: "d" });
      const [line = "", ...more] = messages();
      assert.ok(line.startsWith(`warning: the TLS edge ${guarded.id}: without its ipRestr`), line);
      assert.deepEqual(more, []);
    });

    it("C50: a plan compares a renewed chain with the old one, also where the program marks them", async () => {
      const marked = async (commonName: string) => ({
        ...(await makePair({ commonName })),
        __secrets: ["certificatePem"],
      });
      const stack = await deployed(tlsCertificate, await marked("old.example"));
      beginRun();
      const messages = captureMessages();
      await stack.preview(await marked("new.example"));
      assert.match(messages().join(), /new\.example/);
    });

    it("C19: a run warns of the holder of a hostport, by id and time, as far as it is known", async () => {
      const hidden = { description: "hidden", hostports: ["Taken:443"] };
      const [holder = ""] = await others(hidden, { hostports: ["x:1"] });
      await preview({ hostports: ["taken:443", unknown] });
      const { created_at } = emulator.tlsEdges.get(holder) ?? {};
      const time = new Date(String(created_at)).toISOString();
      await warnsOf(
        [`taken:443 is served by ${holder} (created ${time}). If \`pulumi stack`],
        ["hidden"],
      );
      assert.deepEqual(await warnings(), [], "once");
    });

    it("C10 C19: a warning shows no secret hostport", async () => {
      await others({ description: "other", hostports: ["taken:443"] });
      await preview({ hostports: ["taken:443"], __secrets: ["hostports"] });
      await warnsOf(["[secret] is served by"], ["taken"]);
    });

    it("C19: a run warns once of an equal edge that serves the hostports", async () => {
      const args = { hostports: ["taken:443"], description: "equal" };
      const [equal = ""] = await others(args);
      await preview(args);
      await warnsOf([equal, "this update will fail"]);
    });

    it("C19: what a run says of equal objects begins with the commonest case, and warns of an import", async () => {
      await others({ description: "equal" });
      await preview({ description: "equal" });
      const [, advice = ""] = (await warnings()).join().split(/\n(?=If)/);
      const order = ["`aliases`", "replaces it", "cut off", "TLSSite", "Never import"];
      const places = order.map((text) => advice.indexOf(text));
      assert.ok(!places.includes(-1) && advice.length <= 520, advice);
      assert.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
        advice,
      );
    });

    it("C19: a run warns of what is equal to a new resource, by meaning, and names each", async () => {
      const twin = { description: "twin", hostports: [] };
      const twins = await others(twin, twin);
      const termination = { enabled: true, terminate_at: "edge" };
      const unlike = await others({ ...twin, tls_termination: termination }, { description: "x" });
      await preview({ description: "twin" });
      await warnsOf(twins, [...unlike, "will fail"]);
    });

    it("C19: a run names what the first call of its process creates, which has no URN", async () => {
      const [equal = ""] = await others({ description: "equal" });
      await tlsEdge.check?.({}, { description: "equal", __resourceName: "first" });
      await warnsOf([`\n  first: ${equal} (created`]);
    });

    it("C19: a run warns of nothing that a resource has, that is not new, or that is not known", async () => {
      await others({ description: "b" }, { description: "known" });
      const read = await deployed(tlsEdge, { description: "read" });
      const stack = await inState({ description: "a", hostports: ["moving:443"] });
      await read.refresh();
      await preview({ description: "read" });
      await stack.preview({ description: "b", hostports: [] });
      await preview({ description: "known", hostports: unknown });
      await preview({ description: "a", hostports: ["moving:443"] });
      assert.deepEqual(await warnings(), []);
    });

    it("C19: a run names nothing as equal to what is not known in part", async () => {
      const [holder = ""] = await others({ hostports: ["a:443"] });
      await preview({ hostports: ["a:443", unknown] });
      await warnsOf([holder, "this update will fail"], ["equals"]);
    });

    it("C19: a run that replaces a resource by force does not say that nobody has its object", async () => {
      const args = { description: "a", hostports: ["own:443"] };
      const stack = await inState(args);
      // The engine tells nothing of the old object.
      await stack.check(args, {});
      await warnsOf([stack.id, "this run replaces it, this is right"], ["no resource"]);
    });

    it("C84: a run names what equals a new resource beside an equal one that is there", async () => {
      const args = { description: "twin" };
      const there = await deployed(tlsEdge, args);
      const [orphan = ""] = await others(args);
      for (const isFirst of [true, false]) {
        beginRun();
        const steps = [() => there.preview(args), () => preview(args)];
        for (const step of isFirst ? steps : steps.toReversed()) await step();
        await warnsOf([orphan], [there.id]);
      }
    });

    it("C19: a certificate that is equal to a new one is no warning about an edge", async () => {
      const made = await upload(clientOf(emulator), { commonName: "a.example" });
      const { certificate_pem: certificatePem, private_key_pem: privateKeyPem } = made;
      // As little as the certificate says.
      await others({});
      await preview({ hostports: ["a:443"] });
      await new Stack(tlsCertificate).preview({ certificatePem, privateKeyPem });
      await warnsOf(["TLS certificate", made.id]);
    });

    it("C5 C19: a run judges each account by its own list", async () => {
      setEnvFor(emulator, "TLSEDGE_STAGING");
      const { apiKey } = emulator.addAccount();
      setEnv({ TLSEDGE_STAGING_OFFLINE_PLAN: undefined, TLSEDGE_STAGING_API_KEY: apiKey });
      const args = { description: "twin", hostports: ["taken:443"] };
      await others(args);
      await plan();
      await preview({ ...args, connection: "tlsedge-staging" });
      assert.deepEqual(await warnings(), []);
    });

    it("C19 C84: an update warns, too, and not of what it has created", async () => {
      const [orphan = ""] = await others({ description: "equal" });
      await deployed(tlsEdge, { description: "equal" });
      await warnsOf([orphan, "option `import`"]);
    });

    it("C19: an update that has written warns of no hostport", async () => {
      await others({ description: "other", hostports: ["taken:443"] });
      await preview({ hostports: ["taken:443"] });
      await deployed(tlsEdge, { description: "written" });
      assert.deepEqual(await warnings(), []);
    });
  });
});
