import type { Collection } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';

/** The mails about bookings that a user was to get in the last hour. */
export type RecentMails = {
  /** When each was stored, oldest first; at most {@link PER_HOUR}. */
  readonly at: readonly Timestamp[];
  /** When the first mail of each series was stored that the others go out with. It counts for all of them. */
  readonly series?: Readonly<Record<string, Timestamp>>;
  /** When the digest goes out for which further mails wait. */
  readonly digestAt?: Timestamp;
  readonly expiresAt: Timestamp;
};

/** Mails about bookings that a user gets one by one in an hour. What happens beyond is in a digest. */
export const PER_HOUR = 20;
const HOUR_MS = 3_600_000;
/** How long the mail about a request of a series waits for the others, which go out with it. */
export const SERIES_WAIT_MS = 10_000;

export const recentMailsCollection: Collection<RecentMails> = {
  name: 'recentMails',
  // Lost counts only let more mails go out one by one.
  kind: 'readModel',
  ttl: 'expiresAt',
  isWrittenTogether: true,
  indexes: [],
};

/**
 * Decides for mails about bookings to a user which of them go out at once, and which wait for the next digest. The mails of a series go out
 * with its first one, so they count as one.
 * @param mails the series of each mail, if it is of one
 * @param now milliseconds since the epoch
 * @returns `recent`: undefined if it is as before. `digestAts`: for each mail the digest that it waits for, if it waits
 */
export function planMails(
  before: RecentMails | undefined,
  mails: readonly (string | undefined)[],
  now: number,
): { readonly recent: RecentMails | undefined; readonly digestAts: readonly (Timestamp | undefined)[] } {
  const [to, latest] = [toTimestamp(now), toTimestamp(now + HOUR_MS)];
  const isWithin = (ms: number) => (at: Timestamp) => toTimestamp(now - ms) < at && at <= to;
  const at = (before?.at ?? []).filter(isWithin(HOUR_MS));
  const isWaitedFor = isWithin(SERIES_WAIT_MS);
  const series = new Map(Object.entries(before?.series ?? {}).filter(([, since]) => isWaitedFor(since)));
  const goesAlone = mails.map((of) => {
    if (of !== undefined && series.has(of)) return true;
    if (at.length >= PER_HOUR) return false;
    at.push(to);
    if (of !== undefined) series.set(of, to);
    return true;
  });
  const planned = before?.digestAt ?? '';
  // A digest that is further ahead was planned by a clock that was wrong.
  const open = to < planned && planned <= latest ? before?.digestAt : undefined;
  const digestAt = open ?? (goesAlone.includes(false) ? latest : undefined);
  const isSame = digestAt === before?.digestAt && at.join() === before?.at.join();
  const counts = { at, ...(series.size > 0 && { series: Object.fromEntries(series) }), ...defined({ digestAt }) };
  return {
    recent: isSame ? undefined : { ...counts, expiresAt: toTimestamp(now + 2 * HOUR_MS) },
    digestAts: goesAlone.map((alone) => (alone ? undefined : digestAt)),
  };
}

/** Within so much time after the digest, its mails are due. They all go out with the first of them. */
export const DIGEST_SPREAD_MS = 30_000;

/**
 * When a mail is due that waits for a digest: later, the later it was stored. Otherwise a store would sort thousands of mails with the same
 * moment by their keys, and write another page of each index for each of them.
 */
export function dueInDigest(digestAt: Timestamp, now: number): Timestamp {
  const waited = Math.max(0, HOUR_MS - (Date.parse(digestAt) - now));
  return toTimestamp(Date.parse(digestAt) + (waited / HOUR_MS) * DIGEST_SPREAD_MS);
}
