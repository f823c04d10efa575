import { cells, draw } from "./draw.ts";
import { play, type Result } from "./run.ts";
import { makePool, openStage } from "./stage.ts";

/** How many runs go on at a time: they spend most of it waiting. */
const abreast = 4;
/** In each cell, unless told otherwise: more than are promised. */
const inEachCell = 6;

/** A run that has been played. */
export interface Played extends Result {
  number: number;
  cell: (typeof cells)[number];
}

/** The number of runs that fills each cell. */
export const usualRuns = cells.length * inEachCell;

/** What is to be played, and how it is told. */
export interface Order {
  seed: number;
  /** The numbers of the runs. */
  numbers: number[];
  /** Where the provider's package is found from. */
  folder: string;
  /** Hears of each run as it ends. */
  tell: () => void;
}

/** Plays runs, several at a time, each of them on an emulator and a provider process of its own. */
export async function playAll({ seed, numbers, folder, tell }: Order): Promise<Played[]> {
  const pool = await makePool();
  const played: Played[] = [];
  const rest = [...numbers];
  const workers = Array.from({ length: Math.min(abreast, rest.length) }, async () => {
    const stage = await openStage(folder, pool);
    try {
      for (let number = rest.shift(); number !== undefined; number = rest.shift()) {
        const scenario = draw(seed, number, pool);
        const { fault, operation, kind } = scenario;
        const cell = { fault, operation, kind };
        played.push({ number, cell, ...(await play(stage, scenario)) });
        tell();
      }
    } finally {
      await stage.close();
    }
  });
  await Promise.all(workers);
  return played.sort((a, b) => a.number - b.number);
}
