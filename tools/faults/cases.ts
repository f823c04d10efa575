import { tlsEdges } from "../../client/tlsEdge";
import type { Fault } from "../../emulator/server";
import { until } from "../processes";
import { Account, prepare } from "./account";
import { paths } from "./draw";
import { Resource } from "./resource";

/** A run that no seed would draw. */
interface Case {
  title: string;
  /** Gives the outcome for the document, and the promises that were broken. */
  run(account: Account): Promise<{ outcome: string; broken: string[] }>;
}

/** More objects than a provider looks through. */
const manyOthers = 1001;
/** With this limit a process sends two creates, and the rest wait in its queue. */
const sent = 2;
const queued = 18;

const lostCreate = (answer: Fault["answer"]): Fault => ({
  method: "POST",
  path: paths.tlsEdge,
  work: true,
  answer,
});

const edges = (count: number) =>
  Array.from({ length: count }, () => new Resource("tlsEdge", "case", "dynamic"));
const args = (number: number) => ({ description: `case ${number}` });

const cases: Case[] = [
  {
    title:
      "three equal creates, one lost after the work, one before, and one answered after a look",
    async run(account) {
      const { faults, requests, tlsEdges: stored } = account.emulator;
      const provider = await account.start({ TLSEDGE_TIMEOUT_SECONDS: "60" });
      const failing = { ...lostCreate({ status: 502 }), work: false };
      faults.add(lostCreate("reset"), failing, lostCreate("held"));
      const all = edges(3);
      for (const one of all) one.provider = provider;
      const done = Promise.allSettled(all.map((one) => one.up(args(1))));
      const looks = () => requests.filter(({ method, status }) => method === "GET" && status > 0);
      await until(() => faults.list()[2]?.struck === 1 && looks().length >= 2, done);
      faults.clear();
      const failed = (await done).filter(({ status }) => status === "rejected").length;
      await provider.kill();
      const ids = new Set(all.flatMap(({ id }) => id || []));
      return {
        outcome: `${failed} failed, the others have ${ids.size} of ${stored.list().length} edges`,
        broken: ids.size + failed < all.length ? ["two resources have one edge"] : [],
      };
    },
  },
  {
    title: `a lost create, and ${manyOthers} objects that someone else makes before the look`,
    async run(account) {
      const { faults, tlsEdges: stored } = account.emulator;
      const provider = await account.start({ TLSEDGE_TIMEOUT_SECONDS: "120" });
      const [edge] = edges(1) as [Resource];
      edge.provider = provider;
      faults.add(lostCreate({ status: 502 }));
      faults.add({ method: "GET", path: paths.tlsEdge, answer: "held", work: false });
      const creating = edge.up(args(1)).catch(({ message }: Error) => message);
      await until(() => faults.list()[1]?.struck === 1, creating);
      const client = account.otherUser();
      let left = manyOthers;
      const create = async () => {
        while (left-- > 0) await tlsEdges.create(client, { description: "someone else's" });
      };
      await Promise.all([create(), create(), create(), create()]);
      faults.clear();
      const message = await creating;
      await provider.kill();
      const found = stored.list().filter(({ description }) => description === args(1).description);
      const unnamed = found.filter(({ id }) => id !== edge.id && !message.includes(id));
      // An error may fail to name the lost edge; a success may not leave one.
      const isBroken = unnamed.length > 0 && edge.id !== "";
      return {
        outcome: edge.id ? "the create succeeded" : "the create failed",
        broken: isBroken ? [`${found.length} edges, one in the state`] : [],
      };
    },
  },
  {
    title: `${sent} creates sent and ${queued} queued, and the process killed`,
    async run(account) {
      const { faults, requests } = account.emulator;
      const limited = await account.start({ TLSEDGE_REQUESTS_PER_MINUTE: String(sent) });
      const all = edges(sent + queued);
      const up = () => Promise.allSettled(all.map((one, index) => one.up(args(index))));
      faults.add({ ...lostCreate("silence"), times: sent });
      for (const one of all) one.provider = limited;
      const killed = up();
      await until(() => faults.list()[0]?.struck === sent, killed);
      await limited.kill();
      await killed;
      requests.length = 0;
      const next = await account.provider();
      for (const one of all) one.provider = next;
      const done = await up();
      await next.kill();
      const lists = requests.filter(({ method }) => method === "GET").length;
      const named = done.filter((one) => one.status === "rejected").length;
      const broken = [
        ...(lists > sent ? [`${lists} list requests for ${sent} creates that were sent`] : []),
        ...(named < sent ? [`${named} of ${sent} lost creates failed in the next up`] : []),
      ];
      return { outcome: `${lists} list requests, ${named} creates name what was made`, broken };
    },
  },
];

/** Runs all cases, each on an account of its own. */
export async function runCases(): Promise<{ markdown: string; broken: string[] }> {
  const setup = await prepare("dynamic");
  const rows: string[] = [];
  const allBroken: string[] = [];
  for (const { title, run } of cases) {
    const account = await Account.open(setup);
    try {
      const { outcome, broken } = await run(account);
      rows.push(`- ${title}: ${[outcome, ...broken.map((text) => `**${text}**`)].join("; ")}`);
      allBroken.push(...broken.map((text) => `${title}: ${text}`));
    } finally {
      await account.close();
    }
  }
  return { markdown: rows.join("\n"), broken: allBroken };
}
