import { setTimeout as delay } from 'node:timers/promises';
import { ALL_ROLES } from './fleet.ts';
import { type Outcome, playRound, type RoundOptions } from './round.ts';

/** Repeated short outages of the log: connections break, a server restarts, another program locks the file. */
export const outage = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: [ALL_ROLES, 'api,projector', 'api,webhooks'],
    // A command may be refused during an outage; the operator would repeat it.
    operating: false,
    async disturb({ store, fleet, random, forMs, progress }) {
      const until = performance.now() + forMs;
      while (performance.now() < until) {
        await delay(random.between(500, 4_000));
        const awayMs = random.pick([0, random.between(100, 5_000)]);
        progress(`the log is down for ${awayMs} ms`);
        await fleet.whileNoneCanAnswer(async () => store.cut?.(awayMs));
      }
    },
  });
