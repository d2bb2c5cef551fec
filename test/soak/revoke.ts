import { setTimeout as delay } from 'node:timers/promises';
import type { NodeProcess } from '../service/node-process.ts';
import { disturb } from './chaos.ts';
import { ALL_ROLES } from './fleet.ts';
import { type Outcome, playRound, type RoundOptions, type Scene } from './round.ts';

/** API keys are revoked under load, while processes are killed and frozen. */
export const revoke = (options: RoundOptions): Promise<Outcome> =>
  playRound(options, {
    processes: [ALL_ROLES, 'api', 'api,projector', 'webhooks,scheduler'],
    async disturb(scene) {
      const until = performance.now() + options.forMs;
      await Promise.all([
        disturb(scene, { atOnce: 1, forMs: options.forMs }),
        (async () => {
          while (performance.now() < until) await revokeOne(scene);
        })(),
      ]);
    },
  });

/** How long a key is tried after its revocation: longer than any freeze. */
const AFTERWARDS_MS = 7_000;
const ASK_EVERY_MS = 25;
/** Within this time after the report, every process refuses the key. */
const ENDED_EVERYWHERE_MS = 2_000;

/** A key works in every process until it is revoked, and in none 2 s after `venue api-key revoke` has reported it. */
async function revokeOne({ store, fleet, market, random, breaks, progress }: Scene): Promise<void> {
  const issued = await store.venue(['api-key', 'issue', '--brand', String(market.brandId), '--label', 'Short-lived']);
  if (issued.code !== 0) return breaks(`api-key issue: ${issued.stderr}`);
  const { id, key } = JSON.parse(issued.stdout);
  let state: 'valid' | 'being revoked' | 'revoked' = 'valid';
  let watching = true;

  async function ask(process: NodeProcess): Promise<void> {
    const before = state;
    const response = await fetch(`${process.url}/api/v1/bookings?startDate=2000-01-01&endDate=2000-01-01`, {
      headers: { authorization: `Bearer ${key}` },
    }).catch(() => undefined);
    if (response === undefined) return;
    await response.arrayBuffer();
    const { status } = response;
    if (before === 'revoked' && status === 200)
      breaks(`${process.url} accepted key ${id} (${status}) after it was revoked`);
    if (state === 'valid' && status === 401) breaks(`${process.url} refused key ${id} before it was revoked`);
    if (status >= 500 && fleet.serving.includes(process)) breaks(`${process.url} answered ${status} to key ${id}`);
  }
  /** Includes frozen processes: they answer when they continue. */
  const watch = (async () => {
    const asked: Promise<void>[] = [];
    while (watching) {
      for (const process of fleet.answering) asked.push(ask(process));
      await delay(ASK_EVERY_MS);
    }
    await Promise.all(asked);
  })();

  await delay(random.between(500, 3_000));
  progress(`revoke ${id}`);
  state = 'being revoked';
  const revoked = await store.venue(['api-key', 'revoke', id]);
  if (revoked.code !== 0) breaks(`api-key revoke: ${revoked.stderr}`);
  await delay(ENDED_EVERYWHERE_MS);
  if (revoked.code === 0) state = 'revoked';
  await delay(AFTERWARDS_MS);
  watching = false;
  await watch;
}
