import { expect, test } from 'vitest';
import type { Actor } from '../../src/domain/account.ts';
import { until } from '../../src/domain/as-of.ts';
import { brandId, communityId, timestamp } from '../../src/domain/ids.ts';
import { shownActor } from '../../src/domain/shown-actor.ts';

const stream = (...times: readonly string[]) =>
  times.map((time, revision) => ({ revision, metadata: { at: timestamp(`2026-12-01T${time}:00.000Z`) } }));
const at = (time: string) => Date.parse(`2026-12-01T${time}:00.000Z`);
const revisions = (...of: Parameters<typeof until>) => Array.fromAsync(until(...of), ({ revision }) => revision);

test('as of a moment, the events up to and at that moment have happened', async () => {
  const events = stream('10:00', '11:00', '12:00');
  expect(await revisions(events, { asOf: at('09:59') })).toEqual([]);
  expect(await revisions(events, { asOf: at('11:00') })).toEqual([0, 1]);
  expect(await revisions(events, { asOf: at('11:00') - 1 })).toEqual([0]);
  expect(await revisions(events, { asOf: at('23:00') })).toEqual([0, 1, 2]);
});

test('counts every event after a future event as future, even one with an earlier timestamp', async () => {
  const events = stream('10:00', '13:00', '11:00', '14:00');
  expect(await revisions(events, { asOf: at('12:00') })).toEqual([0]);
  expect(await revisions(events, { asOf: at('13:00') })).toEqual([0, 1, 2]);
});

test('a moment beyond the year 9999 is later than every event', async () => {
  expect(await revisions(stream('10:00'), { asOf: Date.parse('+012026-01-01T00:00:00.000Z') })).toEqual([0]);
});

test('a revision is inclusive, and without revision and time all events count', async () => {
  expect(await revisions(stream('10:00', '11:00', '12:00'), { revision: 1 })).toEqual([0, 1]);
  expect(await revisions(stream('10:00', '11:00'), {})).toEqual([0, 1]);
});

test('an account and the operator see the actor, the other party only its account', () => {
  const brand = { kind: 'Brand', id: brandId(1) } as const;
  const actor: Actor = { kind: 'apiKey', id: 'key_1', account: brand };
  expect(shownActor(actor, brand)).toEqual(actor);
  expect(shownActor(actor, 'operator')).toEqual(actor);
  expect(shownActor(actor, { kind: 'Brand', id: brandId(2) })).toEqual({ kind: 'account', account: brand });
  // The same number, but a community.
  expect(shownActor(actor, { kind: 'Community', id: communityId(1) })).toEqual({ kind: 'account', account: brand });
  // Its account is unknown, so the actor is shown to no account.
  const unknown: Actor = { kind: 'user', id: 'usr_1' };
  expect(shownActor(unknown, brand)).toEqual({ kind: 'account' });
  expect(shownActor(unknown, 'operator')).toEqual(unknown);
  const operator: Actor = { kind: 'operator', id: 'cli' };
  expect(shownActor(operator, brand)).toEqual(operator);
});
