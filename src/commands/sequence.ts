import { type Actor, SYSTEM } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import type { IdsReserved } from '../domain/events.ts';
import { streamOf } from '../domain/streams.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { type CommandContext, type CommandHandler, createCommandHandler } from './command-handler.ts';
import type { Aggregate } from './stream-states.ts';

export type Sequence = ReturnType<typeof createSequence>;

/** The sequences of integer ids. */
const SEQUENCES = ['bookings', 'communities', 'spaces', 'brands', 'reviews'] as const;
export type SequenceName = (typeof SEQUENCES)[number];

/** The last reserved id. */
const reserved: Aggregate<number, IdsReserved> = { initial: 0, evolve: (_, event) => event.data.to };

/**
 * Reserves the next ids of a sequence in the log.
 * @throws {Error} if the log does not accept the reservation
 */
async function reserveIds(
  handler: CommandHandler,
  sequence: SequenceName,
  count: number,
  context: CommandContext,
): Promise<{ readonly from: number; readonly to: number }> {
  const outcome = await handler.execute(streamOf.sequence(sequence), reserved, context, (last) => [
    { type: 'IdsReserved', data: { sequence, from: last + 1, to: last + count } },
  ]);
  const event = isRefusal(outcome) ? undefined : outcome.events[0];
  if (event === undefined) throw new Error(`No ids could be reserved for ${sequence}`);
  return event.data;
}

/**
 * Hands out integer ids from blocks reserved in the log (hi/lo; docs/decisions/event-log.md). A block lost with its process leaves
 * a gap.
 */
export function createSequence(handler: CommandHandler, sequence: SequenceName, blockSize: number) {
  let block = { next: 1, last: 0 };
  let reserving: Promise<void> | undefined;

  async function reserve(): Promise<void> {
    const { from, to } = await reserveIds(handler, sequence, blockSize, { actor: SYSTEM, correlationId: 'sequence' });
    block = { next: from, last: to };
  }

  return {
    /** The next id: unique across processes, increasing within one. */
    async next(): Promise<number> {
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

/**
 * Reserves a block of ids in every sequence without using it. After a restore, the block covers ids that were assigned since the backup
 * (docs/decisions/backups.md).
 */
export async function skipIds(
  { events, clock, actor }: { readonly events: EventStore; readonly clock: Clock; readonly actor: Actor },
  count: number,
): Promise<void> {
  const handler = createCommandHandler({ events, clock, waitFor: async () => {} });
  for (const sequence of SEQUENCES) await reserveIds(handler, sequence, count, { actor, correlationId: 'restore' });
}
