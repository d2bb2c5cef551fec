import { isRefusal } from '../../src/domain/decision.ts';
import { BRAND, openVenue } from './venue.ts';

/** A separate process that registers webhooks as one and the same app when it is told how many, and answers with the outcomes. */
const venue = await openVenue({ folder: process.argv[2] ?? '' });
process.on('message', async (count: number) => {
  const owner = { account: BRAND, credential: 'client:app' as const };
  const context = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
  const outcomes = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      venue.commands.webhooks.register(
        { owner, url: `https://receiver.example/${process.pid}/${i}`, events: 15 },
        context,
      ),
    ),
  );
  process.send?.(outcomes.map((outcome) => (isRefusal(outcome) ? outcome.refused : 'registered')));
});
process.send?.('ready');
