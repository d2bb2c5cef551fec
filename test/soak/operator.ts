import { setTimeout as delay } from 'node:timers/promises';
import type { Load } from './load.ts';
import type { Random } from './random.ts';
import type { Store } from './store.ts';

const PAUSE_MS = 3_000;

export type Operator = {
  /** @returns the bookings that the command line reported as approved */
  stop(): Promise<readonly number[]>;
};

/** An operator who approves the latest bookings and rebuilds read models, on the command line, while processes start and end. */
export function startOperating(deps: {
  readonly store: Store;
  readonly load: Load;
  readonly random: Random;
  readonly progress: (line: string) => void;
  readonly breaks: (what: string) => void;
}): Operator {
  const { store, load, random, progress, breaks } = deps;
  const approved: number[] = [];
  let stopping = false;
  async function work(): Promise<void> {
    while (!stopping) {
      const booked = load.acknowledged.findLast(({ hasMoved }) => !hasMoved);
      if (booked !== undefined && !approved.includes(booked.bookingId)) {
        const { code, stdout, stderr } = await store.venue(['booking', 'approve', String(booked.bookingId)]);
        if (code === 0) approved.push(booked.bookingId);
        else breaks(`booking approve ${booked.bookingId}: ${code} ${stdout}${stderr}`);
      }
      if (random.between(1, 5) === 1) {
        progress('rebuild');
        const { code, stdout, stderr } = await store.venue(['rebuild']);
        if (code !== 0) breaks(`rebuild: ${code} ${stdout}${stderr}`);
      }
      await delay(PAUSE_MS);
    }
  }
  const working = work();
  return {
    async stop() {
      stopping = true;
      await working;
      return approved;
    },
  };
}
