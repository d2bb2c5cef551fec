import type { Collection } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';

/** The mails about bookings that a user was to get in the last hour. */
export type RecentMails = {
  /** When each was stored, oldest first; at most {@link PER_HOUR}. */
  readonly at: readonly Timestamp[];
  /** When the digest goes out for which further mails wait. */
  readonly digestAt?: Timestamp;
  readonly expiresAt: Timestamp;
};

/** Mails about bookings that a user gets one by one in an hour. What happens beyond is in a digest. */
export const PER_HOUR = 20;
const HOUR_MS = 3_600_000;

export const recentMailsCollection: Collection<RecentMails> = {
  name: 'recentMails',
  // Lost counts only let more mails go out one by one.
  kind: 'readModel',
  ttl: 'expiresAt',
  isWrittenTogether: true,
  indexes: [],
};

/**
 * Decides for mails about bookings to a user which of them go out at once, and which wait for the next digest.
 * @param now milliseconds since the epoch
 * @returns `recent`: undefined if it is as before. `digestAts`: for each mail the digest that it waits for, if it waits
 */
export function planMails(
  before: RecentMails | undefined,
  count: number,
  now: number,
): { readonly recent: RecentMails | undefined; readonly digestAts: readonly (Timestamp | undefined)[] } {
  const [from, to, latest] = [toTimestamp(now - HOUR_MS), toTimestamp(now), toTimestamp(now + HOUR_MS)];
  const lately = (before?.at ?? []).filter((each) => from < each && each <= to);
  const alone = Math.min(count, PER_HOUR - lately.length);
  const planned = before?.digestAt ?? '';
  // A digest that is further ahead was planned by a clock that was wrong.
  const open = to < planned && planned <= latest ? before?.digestAt : undefined;
  const digestAt = open ?? (alone < count ? latest : undefined);
  const at = [...lately, ...Array.from({ length: alone }, () => to)];
  const isSame = digestAt === before?.digestAt && at.join() === before?.at.join();
  return {
    recent: isSame ? undefined : { at, ...defined({ digestAt }), expiresAt: toTimestamp(now + 2 * HOUR_MS) },
    digestAts: Array.from({ length: count }, (_, index) => (index < alone ? undefined : digestAt)),
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
