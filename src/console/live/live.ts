import { randomBytes } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import { type Account, type AccountKey, accountKey } from '../../domain/account.ts';
import { accountChange } from '../../domain/account-change.ts';
import type { BookingFacts, DomainEvent, Recorded, TimeReopened } from '../../domain/events.ts';
import type { CommunityId } from '../../domain/ids.ts';
import { isKnown, upcast } from '../../domain/upcast.ts';
import { type EventStore, logEnd, type Position } from '../../event-store/event-store.ts';
import { namedText } from '../../html/html.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/** A change that open pages may show. */
type ChangeToShow = {
  /** Whether the account may know of the change. Absent: every account. */
  readonly concerns?: (account: Account) => boolean;
  /** The topic of the live regions to refresh, such as `hours:3:2026-11-20`. Empty: those about the account. */
  readonly topic: string;
  /** Announced on open pages. */
  readonly announcement?: string;
  /** The actor's id; the announcement is not made to that user. */
  readonly by?: string;
};

/** A change with its sequence number in this process. */
export type Change = ChangeToShow & { readonly sequence: number };

export type Subscriber = { readonly account: Account; readonly onChange: (change: Change) => void };

/** Changes kept for pages that connect shortly after they were rendered (docs/decisions/console.md). */
const MAX_RECENT = 500;
/** How long to follow the log for a rendered page that has not connected, in milliseconds. */
const FOLLOWED_FOR_MS = 60_000;

/** An account's deliveries may change many times a second. They are announced once within this time, in milliseconds. */
const ANNOUNCE_DELIVERIES_MS = 50;

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/**
 * Notifies open pages of changes: one subscription to the log per process, fanned out to the pages that a change concerns. A page is
 * notified once the read models reflect the change, so that a refresh shows it. While no page is open, the log is not followed.
 */
export function createLiveFeed(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly webhooks: Pick<Webhooks, 'onDelivery'>;
  readonly logger: Pick<FastifyBaseLogger, 'error'>;
  /** Default {@link FOLLOWED_FOR_MS}. */
  readonly followedForMs?: number;
}) {
  const { events, readModels, webhooks, logger, followedForMs = FOLLOWED_FOR_MS } = deps;
  const subscribers = new Set<Subscriber>();
  const recent: Change[] = [];
  let sequence = 0;
  /** Identifies this subscription, also among processes. Undefined while there is none. */
  let current: string | undefined;
  let following: ReturnType<typeof follow> | undefined;
  let idle: NodeJS.Timeout | undefined;
  /** The accounts whose deliveries have changed since the last announcement. */
  const withDeliveries = new Set<AccountKey>();
  let announcing: NodeJS.Timeout | undefined;

  function announce(change: ChangeToShow): void {
    sequence += 1;
    const numbered = { ...change, sequence };
    recent.push(numbered);
    if (recent.length > MAX_RECENT) recent.shift();
    for (const subscriber of subscribers)
      if (numbered.concerns?.(subscriber.account) ?? true) subscriber.onChange(numbered);
  }

  function announceLater(account: AccountKey): void {
    withDeliveries.add(account);
    announcing ??= setTimeout(() => {
      announcing = undefined;
      for (const each of withDeliveries) announce({ concerns: oneOf([each]), topic: '' });
      withDeliveries.clear();
    }, ANNOUNCE_DELIVERIES_MS).unref();
  }

  async function run(after: Position, signal: AbortSignal): Promise<void> {
    for await (const batch of events.subscribe({ after, signal })) {
      if (batch.events.length === 0) continue;
      await readModels.waitFor(batch.position);
      for (const stored of batch.events) {
        // Only the pages of a newer release show its kinds of events.
        if (isKnown(stored)) for (const change of changesOf(upcast(stored))) announce(change);
      }
    }
  }

  function follow(): { readonly begun: Promise<void>; stop(): Promise<void> } {
    // Hexadecimal, because a mark is split at its hyphen.
    const id = randomBytes(6).toString('hex');
    const stopping = new AbortController();
    const from = logEnd(events);
    const begun = from.then(() => {
      recent.length = 0;
      current = id;
    });
    const unsubscribe = webhooks.onDelivery(({ account }) => announceLater(account));
    const ended = begun
      .then(async () => run(await from, stopping.signal))
      .catch((error: unknown) => logger.error({ err: error }, 'live updates of open pages have stopped'))
      .finally(() => {
        unsubscribe();
        if (current === id) current = undefined;
        if (following === subscription) following = undefined;
      });
    const subscription = {
      begun,
      stop() {
        stopping.abort();
        if (following === subscription) following = undefined;
        return ended;
      },
    };
    return subscription;
  }

  /** Follows the log for as long as pages are open. */
  function keepFollowing(): Promise<void> {
    following ??= follow();
    clearTimeout(idle);
    idle = setTimeout(() => {
      if (subscribers.size > 0) idle?.refresh();
      else void following?.stop();
    }, followedForMs);
    idle.unref();
    return following.begun;
  }

  return {
    async stop(): Promise<void> {
      clearTimeout(idle);
      clearTimeout(announcing);
      await following?.stop();
    },

    /** The mark of a page about to be rendered. The page presents it when it connects. */
    async mark(): Promise<string> {
      // If the log cannot be followed, the page refreshes everything when it connects.
      await keepFollowing().catch(() => {});
      return `${current ?? 'none'}-${sequence}`;
    },
    markAt: (change: Change): string => `${current ?? 'none'}-${change.sequence}`,

    /**
     * Notifies a page of changes, starting with those since its mark.
     * @returns how to stop, and whether every change since the mark was still known; if not, the page has to refresh everything
     */
    subscribe(subscriber: Subscriber, since: string): { readonly stop: () => void; readonly caughtUp: boolean } {
      const [of, number] = since.split('-');
      const from = Number(number);
      const caughtUp = of === current && (from >= sequence || (recent[0]?.sequence ?? 0) <= from + 1);
      if (caughtUp)
        for (const change of recent)
          if (change.sequence > from && (change.concerns?.(subscriber.account) ?? true)) subscriber.onChange(change);
      subscribers.add(subscriber);
      return { caughtUp, stop: () => subscribers.delete(subscriber) };
    },
  };
}

const oneOf =
  (accounts: readonly AccountKey[]) =>
  (account: Account): boolean =>
    accounts.includes(accountKey(account));

/** The accounts that may see the available hours of a space (docs/decisions/accounts.md). */
const seesHoursOf =
  (communityId: CommunityId) =>
  ({ kind, id }: Account): boolean =>
    kind === 'Brand' || id === communityId;

/** The changes that an event makes, and to which accounts' pages. */
function changesOf(event: Recorded<DomainEvent>): readonly ChangeToShow[] {
  // Pages are not indexed by author, so refresh all of them.
  if (event.type === 'SubjectForgotten') return [{ topic: '' }];
  const accounts = accountChange(event)?.accounts.map(accountKey);
  if (accounts === undefined) return [];
  const concerns = oneOf(accounts);
  const ofAccount = { concerns, topic: '' };
  if (event.type === 'TimeClosed' || event.type === 'TimeReopened') return [ofAccount, ofHours(event.data)];
  if (!isAnnounced(event)) return [ofAccount];
  const { type, data, metadata } = event;
  const what = type === 'BookingCancelled' && data.cancelledBy === 'System' ? 'Expired' : ANNOUNCEMENTS[type];
  const announcement = `${what}: ${namedText(data.spaceName)}, ${namedText(data.brandName)}`;
  const change = { ...ofAccount, announcement, by: metadata.actor.id };
  return type === 'BookingCompleted' || type === 'ReviewPosted' ? [change] : [change, ofHours(data)];
}

const ofHours = ({ communityId, spaceId, date }: BookingFacts | TimeReopened['data']): ChangeToShow => ({
  concerns: seesHoursOf(communityId),
  topic: hoursTopic(spaceId, date),
});

/** The topic of a space's available times on a day. */
export const hoursTopic = (spaceId: number, date: string): string => `hours:${spaceId}:${date}`;

type Announced = Extract<DomainEvent, { readonly type: `Booking${string}` | 'ReviewPosted' }>;

const ANNOUNCEMENTS: Readonly<Record<Announced['type'], string>> = {
  BookingRequested: 'New request',
  BookingApproved: 'Approved',
  BookingCancelled: 'Cancelled',
  BookingCompleted: 'Completed',
  ReviewPosted: 'New review',
};

const isAnnounced = (event: Recorded<DomainEvent>): event is Recorded<Announced> => event.type in ANNOUNCEMENTS;
