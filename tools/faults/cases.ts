import { tlsEdges } from "pulumi-tlsedge/client/tlsEdge";
import type { Fault } from "pulumi-tlsedge-emulator";
import { paths } from "./draw.ts";
import { Resource } from "./resource.ts";
import { prepare, Stage, until } from "./stage.ts";

/** A run that no seed would draw. */
export interface Case {
  title: string;
  /** What came of it, for the document, and what it has broken. */
  play(stage: Stage): Promise<{ outcome: string; broken: string[] }>;
}

/** More than a provider looks through. */
const strangers = 1001;
/** With this limit a process sends two, and the rest wait in its queue. */
const sent = 2;
const queued = 18;

const lost = (answer: Fault["answer"]): Fault => ({
  method: "POST",
  path: paths.tlsEdge,
  work: true,
  answer,
});

const edges = (count: number) => Array.from({ length: count }, () => new Resource("tlsEdge"));
const args = (one: number) => ({ description: `case ${one}` });

export const cases: Case[] = [
  {
    title:
      "three equal creates, one lost after the work, one before, and one answered after a look",
    async play(stage) {
      const { faults, requests, tlsEdges: own } = stage.emulator;
      const provider = await stage.start({ TLSEDGE_TIMEOUT_SECONDS: "60" });
      faults.add(lost("reset"), { ...lost({ status: 502 }), work: false }, lost("held"));
      const all = edges(3);
      for (const one of all) one.provider = provider;
      const done = Promise.allSettled(all.map((one) => one.up(args(1))));
      const looks = () => requests.filter(({ method, status }) => method === "GET" && status > 0);
      await until(() => faults.list()[2]?.struck === 1 && looks().length >= 2, done);
      faults.clear();
      const failed = (await done).filter(({ status }) => status === "rejected").length;
      await provider.close();
      const ids = new Set(all.flatMap(({ id }) => id || []));
      const made = own.list().length;
      return {
        outcome: `${failed} failed, the others have ${ids.size} of ${made} edges`,
        broken: ids.size + failed < all.length ? ["two resources have one edge"] : [],
      };
    },
  },
  {
    title: `a lost create, and ${strangers} objects that someone else makes before the look`,
    async play(stage) {
      const { faults, tlsEdges: own } = stage.emulator;
      const provider = await stage.start({ TLSEDGE_TIMEOUT_SECONDS: "120" });
      const [edge] = edges(1) as [Resource];
      edge.provider = provider;
      faults.add(lost({ status: 502 }));
      faults.add({ method: "GET", path: paths.tlsEdge, answer: "held", work: false });
      const creating = edge.up(args(1)).catch(({ message }: Error) => message);
      await until(() => faults.list()[1]?.struck === 1, creating);
      const made = Array.from({ length: strangers }, (_, n) => n);
      const labels = { description: "someone else's" };
      const stranger = stage.stranger();
      const work = async () => {
        while (made.pop() !== undefined) await tlsEdges.create(stranger, labels);
      };
      await Promise.all([work(), work(), work(), work()]);
      faults.clear();
      const said = await creating;
      await provider.close();
      const found = own.list().filter(({ description }) => description === args(1).description);
      const silent = found.filter(({ id }) => id !== edge.id && !said.includes(id));
      // An error that can't know the id must not be a success.
      const broken =
        silent.length > 0 && edge.id ? [`${found.length} edges, one in the state`] : [];
      return { outcome: edge.id ? "the create succeeded" : "the create failed", broken };
    },
  },
  {
    title: `${sent} creates sent and ${queued} queued, and the process killed`,
    async play(stage) {
      const { faults, requests } = stage.emulator;
      const limited = await stage.start({ TLSEDGE_REQUESTS_PER_MINUTE: String(sent) });
      const all = edges(sent + queued);
      const up = () => Promise.allSettled(all.map((one, index) => one.up(args(index))));
      faults.add({ ...lost("silence"), times: sent });
      for (const one of all) one.provider = limited;
      const killed = up();
      await until(() => faults.list()[0]?.struck === sent, killed);
      await limited.close();
      await killed;
      requests.length = 0;
      const next = await stage.process();
      for (const one of all) one.provider = next;
      const done = await up();
      await next.close();
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

/** Plays all of them, each on a stage of its own. */
export async function playCases(folder: string): Promise<{ markdown: string; broken: string[] }> {
  const ground = await prepare(folder);
  const rows: string[] = [];
  const allBroken: string[] = [];
  for (const { title, play } of cases) {
    const stage = await Stage.open(ground);
    try {
      const { outcome, broken } = await play(stage);
      rows.push(`- ${title}: ${[outcome, ...broken.map((text) => `**${text}**`)].join("; ")}`);
      allBroken.push(...broken.map((text) => `${title}: ${text}`));
    } finally {
      await stage.close();
    }
  }
  return { markdown: rows.join("\n"), broken: allBroken };
}
