import { SYSTEM } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import type { IdsReserved } from '../domain/events.ts';
import { streamOf } from '../domain/streams.ts';
import type { CommandContext, CommandHandler } from './command-handler.ts';
import type { Aggregate } from './stream-states.ts';

export type Sequence = {
  /** The next id: unique across processes, increasing within one. */
  next(): Promise<number>;
};

/** The sequences of integer ids. */
export const SEQUENCES = ['bookings', 'communities', 'spaces', 'brands', 'reviews'] as const;
export type SequenceName = (typeof SEQUENCES)[number];

/** The last reserved id. */
export const reserved: Aggregate<number, IdsReserved> = { initial: 0, evolve: (_, event) => event.data.to };

const CONTEXT: CommandContext = { actor: SYSTEM, correlationId: 'sequence' };

/**
 * Hands out integer ids from blocks reserved in the log (hi/lo; docs/decisions/event-log.md). A block lost with its process leaves
 * a gap.
 */
export function createSequence(handler: CommandHandler, sequence: SequenceName, blockSize: number): Sequence {
  let block = { next: 1, last: 0 };
  let reserving: Promise<void> | undefined;

  async function reserve(): Promise<void> {
    const outcome = await handler.execute(streamOf.sequence(sequence), reserved, CONTEXT, (last) => [
      { type: 'IdsReserved', data: { sequence, from: last + 1, to: last + blockSize } },
    ]);
    const event = isRefusal(outcome) ? undefined : outcome.events[0];
    if (event === undefined) throw new Error(`No ids could be reserved for ${sequence}`);
    block = { next: event.data.from, last: event.data.to };
  }

  return {
    async next() {
      while (block.next > block.last) {
        reserving ??= reserve().finally(() => {
          reserving = undefined;
        });
        await reserving;
      }
      const id = block.next;
      block.next += 1;
      return id;
    },
  };
}
