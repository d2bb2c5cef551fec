import { setImmediate, setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLiveStates } from '../../src/credentials/live-states.ts';
import type { WebhookEvent } from '../../src/domain/events.ts';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import type { Outage } from '../../src/event-store/outage.ts';

const NEVER_AWAY: Outage = { since: () => undefined, suspect() {} };

test('a read that began before a stream was forgotten does not bring the old state back', async () => {
  const stored: StoredEvent[] = [];
  const append = (type: WebhookEvent['type']) =>
    stored.push({ type, revision: stored.length, data: {}, metadata: { schema: 1 } } as never);
  /** Lets reads continue, with the events that existed when they began. */
  const release: (() => void)[] = [];
  const states = createLiveStates<string, WebhookEvent>({
    events: {
      outage: NEVER_AWAY,
      async *readStream(_stream, { from = 0 } = {}) {
        const found = stored.slice(from);
        await new Promise<void>((resolve) => release.push(resolve));
        yield* found;
      },
    },
    evolve: (_, event) => event.type,
    fallback: async () => undefined,
    certainty: () => 'unsure',
  });

  append('WebhookRegistered');
  const before = states.get('webhook-1');
  append('WebhookRemoved');
  states.forget('webhook-1');
  const after = states.get('webhook-1');
  expect(release).toHaveLength(2);
  for (const go of release.toReversed()) {
    go();
    await setImmediate();
  }
  expect(await before).toBe('WebhookRegistered');
  expect(await after).toBe('WebhookRemoved');
  expect(await states.get('webhook-1')).toBe('WebhookRemoved');
});

test('an event of a newer release may end a credential, so the earlier state does not count', async () => {
  const stored: StoredEvent[] = [];
  const append = (type: string) =>
    stored.push({ type, revision: stored.length, data: {}, metadata: { schema: 1 } } as never);
  const states = createLiveStates<string, WebhookEvent>({
    events: {
      outage: NEVER_AWAY,
      async *readStream(_stream, { from = 0 } = {}) {
        yield* stored.slice(from);
      },
    },
    evolve: (_, event) => event.type,
    fallback: async () => undefined,
    certainty: () => 'assumed',
  });
  append('WebhookRegistered');
  expect(await states.get('webhook-1')).toBe('WebhookRegistered');
  append('WebhookHandedOver');
  await setTimeout(1_100);
  await expect(states.get('webhook-1')).rejects.toThrow(/WebhookHandedOver.*newer than this build/);
});
