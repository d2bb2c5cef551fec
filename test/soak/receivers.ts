import { setTimeout as delay } from 'node:timers/promises';
import { answering } from '../webhooks/receiver.ts';
import { disturb } from './chaos.ts';
import { ALL_ROLES } from './fleet.ts';
import { deliveryOf, register } from './invariants.ts';
import { EVERYTHING, type Outcome, playRound, type RoundOptions } from './round.ts';

/**
 * More requests than this to a receiver that answers 500 are too many: five open its circuit breaker, in each process that has
 * deliveries to it in flight when another one is killed. Then there is one after 5 s, 10 s, 20 s, …
 */
const MAX_TO_FAILING = 60;
/** The longest pause after a round of a few minutes before a recovered receiver is tried, plus the backlog. */
const HEALED_WITHIN_MS = 180_000;

/** A hanging receiver and a failing one, beside the working one of every round. The failing one recovers at the end. */
export const receivers = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: [ALL_ROLES, 'api,webhooks', 'api,projector'],
    async disturb(scene) {
      const { fleet, market, load, receiver, expect, breaks, random, progress, forMs } = scene;
      const [hanging, failing] = [await receiver(), await receiver()];
      hanging.answer = () => {};
      failing.answer = answering(500);
      await register(random.pick(fleet.serving), market.brandKey, hanging, { name: 'hanging', events: EVERYTHING });
      await register(random.pick(fleet.serving), market.brandKey, failing, { name: 'failing', events: EVERYTHING });
      const registeredAt = performance.now();
      progress('one receiver hangs, one fails');
      await Promise.all([
        disturb(scene, { atOnce: 1, forMs }),
        (async () => {
          await delay((forMs * 2) / 3);
          const { length } = failing.received;
          if (length > MAX_TO_FAILING) breaks(`A receiver that answers 500 got ${length} requests`);
          failing.answer = answering(200);
          progress(`the one that fails works again, after ${length} requests`);
        })(),
      ]);
      expect(
        failing,
        () =>
          load.acknowledged
            .filter(({ askedAt }) => askedAt > registeredAt)
            .map(({ bookingId }) => deliveryOf('failing', 'BookingRequested', bookingId)),
        HEALED_WITHIN_MS,
      );
    },
  });
