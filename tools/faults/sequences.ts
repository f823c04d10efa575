import { draw } from "./draw.ts";
import { play, type Result } from "./run.ts";
import { prepare, Stage } from "./stage.ts";

/** How many runs go on at a time: they spend most of it waiting. */
const abreast = 6;

/** A run that has been played. */
export interface Played extends Result {
  number: number;
}

/** What is to be played, and how it is told. */
export interface Order {
  seed: number;
  /** The numbers of the runs. */
  numbers: number[];
  /** Where the provider's package is found from. */
  folder: string;
  /** Hears of each run as it ends. */
  tell: (played: Played) => void;
}

/** Plays runs, several at a time, each of them on an emulator and a machine of its own. */
export async function playAll({ seed, numbers, folder, tell }: Order): Promise<Played[]> {
  const ground = await prepare(folder);
  const played: Played[] = [];
  const rest = [...numbers];
  const workers = Array.from({ length: Math.min(abreast, rest.length) }, async () => {
    const stage = await Stage.open(ground);
    try {
      for (let number = rest.shift(); number !== undefined; number = rest.shift()) {
        const result = await play(stage, draw(seed, number, ground.pool));
        const one = { number, ...resultOf(result) };
        played.push(one);
        tell(one);
      }
    } finally {
      await stage.close();
    }
  });
  await Promise.all(workers);
  return played.sort((a, b) => a.number - b.number);
}

/** The figures alone: a run holds on to its stacks and their processes. */
function resultOf({ struck, killed, creates, ups, objects, named, broken }: Result): Result {
  return { struck, killed, creates, ups, objects, named, broken };
}
