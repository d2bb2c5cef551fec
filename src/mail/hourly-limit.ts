import type { Collection } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
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
 * Decides whether a mail about a booking goes out at once, or waits for the next digest of its user.
 * @param now milliseconds since the epoch
 * @returns `digestAt`: the digest that it waits for
 */
export function planMail(
  before: RecentMails | undefined,
  now: number,
): { readonly recent: RecentMails; readonly digestAt: Timestamp | undefined } {
  const [from, to] = [toTimestamp(now - HOUR_MS), toTimestamp(now)];
  const at = (before?.at ?? []).filter((each) => from < each && each <= to);
  // A digest that is further ahead was planned by a clock that was wrong.
  const open = before?.digestAt !== undefined && isWithinAnHour(before.digestAt, now) ? before.digestAt : undefined;
  const expiresAt = toTimestamp(now + 2 * HOUR_MS);
  if (at.length < PER_HOUR) {
    const recent = { at: [...at, to], ...(open !== undefined && { digestAt: open }), expiresAt };
    return { recent, digestAt: undefined };
  }
  const digestAt = open ?? toTimestamp(now + HOUR_MS);
  return { recent: { at, digestAt, expiresAt }, digestAt };
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

/**
 * Decides the same for several mails to a user.
 * @returns `recent`: undefined if it is as before
 */
export function planMails(
  before: RecentMails | undefined,
  count: number,
  now: number,
): { readonly recent: RecentMails | undefined; readonly digestAts: readonly (Timestamp | undefined)[] } {
  let recent = before;
  const digestAts: (Timestamp | undefined)[] = [];
  while (digestAts.length < count) {
    const planned = planMail(recent, now);
    recent = planned.recent;
    // Those that follow wait for the same one.
    const same = planned.digestAt === undefined ? 1 : count - digestAts.length;
    for (let i = 0; i < same; i += 1) digestAts.push(planned.digestAt);
  }
  const isSame = recent?.digestAt === before?.digestAt && recent?.at.join() === before?.at.join();
  return { recent: isSame ? undefined : recent, digestAts };
}

const isWithinAnHour = (moment: Timestamp, now: number): boolean =>
  now < Date.parse(moment) && Date.parse(moment) <= now + HOUR_MS;
