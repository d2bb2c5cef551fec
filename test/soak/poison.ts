import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeProcess } from '../service/node-process.ts';
import { disturb } from './chaos.ts';
import { ALL_ROLES } from './fleet.ts';
import { type Outcome, playRound, type RoundOptions, type Scene } from './round.ts';
import type { Store } from './store.ts';

const READ_MODEL = 'reviews';
/** How long processes may take to notice that a read model fails or has recovered. */
const NOTICED_WITHIN_MS = 30_000;

/** An event that a read model cannot handle, skipped by the operator after a while, under load and with processes that end. */
export const poison = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: [ALL_ROLES, ALL_ROLES, 'api', 'projector'],
    disturb: async (scene) =>
      void (await Promise.all([disturb(scene, { atOnce: 1, forMs: options.forMs }), failAndSkip(scene)])),
  });

async function failAndSkip({ store, fleet, market, random, forMs, breaks, progress }: Scene): Promise<void> {
  let shouldFail = false;
  let watching = true;
  const reviews = async ({ url }: NodeProcess) => {
    const response = await fetch(`${url}/api/v1/communities/${market.communityId}/reviews`, {
      headers: { authorization: `Bearer ${market.communityKey}` },
    }).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status;
  };
  /** Requests that need the read model are refused, without stale or empty data. */
  const watch = (async () => {
    while (watching) {
      const shouldHaveFailed = shouldFail;
      for (const process of [...fleet.serving]) {
        const status = await reviews(process);
        if (shouldHaveFailed && shouldFail && status !== 500 && status !== undefined)
          breaks(`${process.url} answered ${status} from a read model that fails`);
      }
      await delay(50);
    }
  })();
  /** Waits until every process answers with this status. */
  const all = async (status: number) => {
    const deadline = performance.now() + NOTICED_WITHIN_MS;
    for (;;) {
      const found = await Promise.all(fleet.serving.map(reviews));
      if (found.every((each) => each === status)) return;
      if (performance.now() > deadline) return breaks(`Reviews are answered with ${found} instead of ${status}`);
      await delay(50);
    }
  };

  await delay(random.between(0, 3_000));
  fleet.tolerate(READ_MODEL);
  const eventId = await appendFromTheFuture(store);
  progress(`${READ_MODEL} cannot take ${eventId}`);
  await all(500);
  shouldFail = true;
  await delay(random.between(Math.floor(forMs / 4), Math.floor(forMs / 2)));
  shouldFail = false;
  const named = ['--event', eventId, '--reason', 'Written by a release that comes later'];
  const skipped = await store.venue(['read-model', 'skip', READ_MODEL, ...named]);
  progress(`${READ_MODEL} leaves it out`);
  if (skipped.code !== 0) breaks(`read-model skip: ${skipped.stderr}`);
  await all(200);
  fleet.tolerate(undefined);
  watching = false;
  await watch;
}

/** Appends an event of a newer release, which this one cannot handle. @returns its id */
async function appendFromTheFuture(store: Store): Promise<string> {
  const id = randomUUIDv7();
  const metadata = {
    at: new Date().toISOString(),
    actor: { kind: 'System', id: 'soak' },
    correlationId: id,
    schema: 99,
  };
  await store.onLog((events) =>
    events.append(`soak-${id}`, [{ id, type: 'ReviewPosted', data: {}, metadata }], { expectedRevision: 'none' }),
  );
  return id;
}
