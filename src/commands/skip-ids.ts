import { OPERATOR } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { streamOf } from '../domain/streams.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { createCommandHandler } from './command-handler.ts';
import { reserved, SEQUENCES } from './sequence.ts';

const CONTEXT = { actor: OPERATOR, correlationId: 'restore' };

/**
 * Reserves a block of ids in every sequence and hands none of them out. After a restore, ids that were handed out since the
 * backup are among them (docs/decisions/backups.md).
 */
export async function skipIds(
  { events, clock }: { readonly events: EventStore; readonly clock: Clock },
  count: number,
): Promise<void> {
  const handler = createCommandHandler({ events, clock, waitFor: async () => {} });
  for (const sequence of SEQUENCES) {
    const outcome = await handler.execute(streamOf.sequence(sequence), reserved, CONTEXT, (last) => [
      { type: 'IdsReserved', data: { sequence, from: last + 1, to: last + count } },
    ]);
    if (isRefusal(outcome)) throw new Error(outcome.details);
  }
}
