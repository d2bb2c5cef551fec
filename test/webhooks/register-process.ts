import { isRefusal } from '../../src/domain/decision.ts';
import { BRAND, openVenue } from './venue.ts';

/** One of many registrations, by the given credential. */
export type Order = { readonly count: number; readonly credential: `client:${string}` };

/**
 * A separate process that registers webhooks on request, given a number and a credential, and answers with the outcomes. Its
 * arguments: the folder of the venue, and the limit of registrations per account.
 */
const [folder = '', perAccount] = process.argv.slice(2);
const venue = await openVenue({ folder, webhooksPerAccount: Number(perAccount) });
process.on('message', async ({ count, credential }: Order) => {
  const owner = { account: BRAND, credential };
  const context = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
  const outcomes = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      venue.commands.webhooks.register(
        { owner, url: `https://receiver.example/${process.pid}/${i}`, events: 15 },
        context,
      ),
    ),
  );
  process.send?.(outcomes.map((outcome) => (isRefusal(outcome) ? outcome.details : 'registered')));
});
process.send?.('ready');
