import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { dueInDigest, PER_HOUR, planMails, type RecentMails, SERIES_WAIT_MS } from '../../src/mail/hourly-limit.ts';

const START = Date.parse('2029-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;

/** Mails that belong to no series. */
const single = (count: number) => Array.from({ length: count }, () => undefined);

function planMail(before: RecentMails | undefined, now: number) {
  const { recent = before, digestAts } = planMails(before, single(1), now);
  return { recent, digestAt: digestAts[0] };
}

test('in any hour, a user gets at most twenty mails one by one and one digest, and no mail waits longer than an hour', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10 * 60_000 }), { minLength: 1, maxLength: 300 }), (gaps) => {
      let recent: RecentMails | undefined;
      let now = START;
      const alone: number[] = [];
      const digests = new Set<number>();
      for (const gap of gaps) {
        now += gap;
        const planned = planMail(recent, now);
        recent = planned.recent;
        if (planned.digestAt === undefined) alone.push(now);
        else {
          const at = Date.parse(planned.digestAt);
          expect(at).toBeGreaterThan(now);
          expect(at).toBeLessThanOrEqual(now + HOUR_MS);
          digests.add(at);
        }
      }
      for (const [i, at] of alone.entries())
        expect(alone.filter((other, j) => j >= i && other < at + HOUR_MS).length).toBeLessThanOrEqual(PER_HOUR);
      const sorted = [...digests].toSorted((a, b) => a - b);
      for (const [i, at] of sorted.entries())
        if (i > 0) expect(at - (sorted[i - 1] ?? 0)).toBeGreaterThanOrEqual(HOUR_MS);
    }),
  );
});

test('a clock that was ahead holds no mail back', () => {
  let recent: RecentMails | undefined;
  for (let i = 0; i < 30; i += 1) recent = planMail(recent, START + 48 * HOUR_MS).recent;
  expect(planMail(recent, START).digestAt).toBeUndefined();
});

test('several mails at once are planned as one after another', () => {
  type Before = { readonly recent: RecentMails | undefined; readonly digestAts: readonly unknown[] };
  const alone = (before: Before, now: number): Before => {
    const { recent, digestAt } = planMail(before.recent, now);
    return { recent, digestAts: [...before.digestAts, digestAt] };
  };
  const bursts = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 * 60_000 }), fc.integer({ min: 1, max: 30 })), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(bursts, (all) => {
      let together: RecentMails | undefined;
      let expected: Before = { recent: undefined, digestAts: [] };
      let now = START;
      for (const [gap, count] of all) {
        now += gap;
        const planned = planMails(together, single(count), now);
        together = planned.recent ?? together;
        expected = { ...expected, digestAts: [] };
        for (let i = 0; i < count; i += 1) expected = alone(expected, now);
        expect(planned.digestAts).toEqual(expected.digestAts);
      }
      expect([together?.at, together?.digestAt]).toEqual([expected.recent?.at, expected.recent?.digestAt]);
    }),
  );
});

test('mails that wait for a digest which is planned already change no count', () => {
  const full = planMails(undefined, single(PER_HOUR + 1), START).recent;
  expect(full?.digestAt).toBeDefined();
  expect(planMails(full, single(5), START + 1).recent).toBeUndefined();
});

test('the twenty-first mail waits for a digest in an hour, and counts are kept for an hour more', () => {
  const { recent, digestAts } = planMails(undefined, single(21), START);
  const digestAt = toTimestamp(START + HOUR_MS);
  expect(digestAts).toEqual([...Array.from({ length: 20 }), digestAt]);
  expect(recent).toEqual({
    at: Array.from({ length: 20 }, () => toTimestamp(START)),
    digestAt,
    expiresAt: toTimestamp(START + 2 * HOUR_MS),
  });
  expect(planMails(undefined, single(20), START).digestAts).toEqual(Array.from({ length: 20 }));
  expect(planMails(undefined, single(20), START).recent).not.toHaveProperty('digestAt');
});

test.each([
  ['is open until it goes out', HOUR_MS - 1, HOUR_MS],
  ['is over when it goes out', HOUR_MS, undefined],
])('a digest %s', (_, afterMs, digestMs) => {
  const full = planMails(undefined, single(21), START).recent;
  const expected = digestMs === undefined ? undefined : toTimestamp(START + digestMs);
  expect(planMails(full, single(1), START + afterMs).digestAts).toEqual([expected]);
});

test('a digest that a clock planned further ahead than an hour is not open', () => {
  const full = planMails(undefined, single(21), START).recent;
  expect(planMails(full, single(1), START).digestAts).toEqual([toTimestamp(START + HOUR_MS)]);
  expect(planMails(full, single(1), START - 1).digestAts).toEqual([undefined]);
});

test.each([
  ['that goes out now', 0],
  ['that a wrong clock has planned', HOUR_MS + 1],
])('a digest %s takes no more mails', (_, inMs) => {
  const at = Array.from({ length: 20 }, () => toTimestamp(START));
  const before = { at, digestAt: toTimestamp(START + inMs), expiresAt: toTimestamp(START + 2 * HOUR_MS) };
  expect(planMails(before, single(1), START).digestAts).toEqual([toTimestamp(START + HOUR_MS)]);
});

test.each([
  [0, 0],
  [HOUR_MS / 2, 15_000],
  [HOUR_MS, 30_000],
  [-1_000, 0],
])('a mail stored %i ms after the digest was planned is due %i ms after it', (afterMs, dueMs) => {
  const digestAt = toTimestamp(START + HOUR_MS);
  expect(dueInDigest(digestAt, START + afterMs)).toBe(toTimestamp(START + HOUR_MS + dueMs));
});

test('the mails of a series count as one while the first waits for the others', () => {
  const series = (id: string, count: number) => Array.from({ length: count }, () => id);
  const { recent, digestAts } = planMails(undefined, [...series('a', 30), ...series('b', 30)], START);
  expect(digestAts.filter(Boolean)).toEqual([]);
  expect(recent?.at).toHaveLength(2);
  expect(planMails(recent, series('a', 30), START + SERIES_WAIT_MS - 1).recent).toBeUndefined();
  expect(planMails(recent, series('a', 30), START + SERIES_WAIT_MS).recent?.at).toHaveLength(3);
  // When the hour is full, all of them wait for the digest.
  const full = planMails(undefined, single(PER_HOUR), START).recent;
  expect(planMails(full, series('a', 2), START).digestAts).toEqual(series(toTimestamp(START + HOUR_MS), 2));
});
