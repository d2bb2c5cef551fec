import { expect, test } from 'vitest';
import { communities } from '../../projections/communities.ts';
import { communityId } from '../../src/domain/ids.ts';
import { recorded } from './given-events.ts';

const id = communityId(1);
const DAY_MS = 24 * 60 * 60 * 1_000;

test.each([
  ['a day later is another name', DAY_MS, 'Bank'],
  ['within a day was hardly seen', DAY_MS - 1, 'Harbour'],
])('a name that is changed again %s', (_, laterMs, from) => {
  const start = Date.parse('2026-12-01T12:00:00Z');
  const named = (name: string, at: number) =>
    recorded({ type: 'CommunityChanged', data: { communityId: id, name } }, 2, new Date(at).toISOString());
  const added = recorded({ type: 'CommunityAdded', data: { communityId: id, name: 'Harbour', timeZone: 'UTC' } }, 1);
  const at = new Date(start + laterMs).toISOString();
  const document = [added, named('Bank', start), named('Quay', start + laterMs)].reduce(
    communities.evolve,
    undefined as ReturnType<typeof communities.evolve>,
  );
  expect(document).toEqual({ communityId: 1, name: 'Quay', timeZone: 'UTC', changedAt: at, renamed: { from, at } });
});
