import { randomBytes } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import { type Account, type AccountKey, accountKey } from '../../domain/account.ts';
import { accountChange } from '../../domain/account-change.ts';
import type { BookingFacts } from '../../domain/booking-events.ts';
import type {
  BookingNoted,
  DomainEvent,
  HoursLeft,
  Recorded,
  ReviewPosted,
  TimeClosed,
  TimeReopened,
} from '../../domain/events.ts';
import type { CommunityId } from '../../domain/ids.ts';
import { isKnown, knownEvent } from '../../domain/known-event.ts';
import { type EventStore, logEnd, type Position } from '../../event-store/event-store.ts';
import { namedText } from '../../html/html.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/** The accounts that may know of a change: all, those named, or those that see the hours of a community (docs/decisions/accounts.md). */
type Audience = 'all' | readonly AccountKey[] | { readonly hoursOf: CommunityId };

/** A change that open pages may show. */
type ChangeToShow = {
  readonly concerns: Audience;
  /** The topic of the live regions to refresh, such as `hours:3:2026-11-20`. {@link OWN_TOPIC}: those about the account. */
  readonly topic: string;
  readonly announcement?: Announcement;
};

/** Announced on open pages, but not to the user who made the change. */
type Announcement = { readonly text: string; readonly by: string };

/** Changes of one topic for the same accounts, with the sequence number of the last one in this process. */
export type Change = Pick<ChangeToShow, 'concerns' | 'topic'> & {
  readonly sequence: number;
  /** The first {@link MOST_ANNOUNCED} of them. */
  readonly announcements: readonly (Announcement & Pick<Change, 'sequence'>)[];
};

/** Changes of which pages will be notified soon. */
type Gathered = Omit<Change, 'sequence' | 'announcements'> & {
  readonly first: number;
  sequence: number;
  readonly announcements: Change['announcements'][number][];
};

export type Subscriber = {
  readonly account: Account;
  /** The topics of the page. A page is not notified of others. */
  readonly topics: ReadonlySet<string>;
  readonly onChange: (change: Change) => void;
};

/** The topic of what is about the account of a page. */
export const OWN_TOPIC = '';

/** Changes kept for pages that connect shortly after they were rendered (docs/decisions/console.md). */
const MAX_RECENT = 500;
/** How long to follow the log for a rendered page that has not connected, in milliseconds. */
const FOLLOWED_FOR_MS = 60_000;

/** Changes of one topic within this time are one message, in milliseconds: a closed month of thirty rooms changes 900 days. */
const TOGETHER_MS = 250;
const MOST_ANNOUNCED = 10;

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
  /** With the last change that each page shows. */
  const subscribers = new Map<Subscriber, number>();
  const recent: Change[] = [];
  let sequence = 0;
  /** Identifies this subscription, also among processes. Undefined while there is none. */
  let current: string | undefined;
  let following: ReturnType<typeof follow> | undefined;
  let idle: NodeJS.Timeout | undefined;
  /** The last of the changes that are not recent any more. */
  let lastForgotten = 0;
  /** By topic and audience, in the order of their first changes. */
  const gathering = new Map<string, Gathered>();

  function announce({ concerns, topic, announcement }: ChangeToShow): void {
    sequence += 1;
    const key = JSON.stringify([topic, concerns]);
    const gathered = gathering.getOrInsertComputed(key, () => {
      setTimeout(notify, TOGETHER_MS, key).unref();
      return { concerns, topic, announcements: [], first: sequence, sequence };
    });
    gathered.sequence = sequence;
    const { announcements } = gathered;
    if (announcement !== undefined && announcements.length < MOST_ANNOUNCED)
      announcements.push({ ...announcement, sequence });
  }

  function notify(key: string): void {
    const change = gathering.get(key);
    if (change === undefined) return;
    gathering.delete(key);
    recent.push(change);
    const forgotten = recent.length > MAX_RECENT ? recent.shift() : undefined;
    lastForgotten = Math.max(lastForgotten, forgotten?.sequence ?? 0);
    for (const [subscriber, shown] of subscribers) tell(subscriber, change, shown);
  }

  async function run(after: Position, signal: AbortSignal): Promise<void> {
    for await (const batch of events.subscribe({ after, signal })) {
      if (batch.events.length === 0) continue;
      await readModels.waitFor(batch.position);
      for (const stored of batch.events) {
        // Only the pages of a newer release show its kinds of events.
        if (isKnown(stored)) for (const change of changesOf(knownEvent(stored))) announce(change);
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
      lastForgotten = sequence;
      current = id;
    });
    const unsubscribe = webhooks.onDelivery(({ account }) => announce({ concerns: [account], topic: OWN_TOPIC }));
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
      await following?.stop();
    },

    /** The mark of a page about to be rendered. The page presents it when it connects. */
    async mark(): Promise<string> {
      // If the log cannot be followed, the page refreshes everything when it connects.
      await keepFollowing().catch(() => {});
      return `${current ?? 'none'}-${sequence}`;
    },

    /** The mark up to which pages have been notified. A page that connects again presents it. */
    notifiedMark(): string {
      const [next] = gathering.values();
      return `${current ?? 'none'}-${next === undefined ? sequence : next.first - 1}`;
    },

    /**
     * Notifies a page of changes, starting with those since its mark.
     * @returns how to stop, and whether every change since the mark was still known; if not, the page has to refresh everything
     */
    subscribe(subscriber: Subscriber, since: string): { readonly stop: () => void; readonly caughtUp: boolean } {
      const [of, number] = since.split('-');
      const from = Number(number);
      const caughtUp = of === current && from >= lastForgotten;
      if (caughtUp) for (const change of recent) tell(subscriber, change, from);
      subscribers.set(subscriber, caughtUp ? from : sequence);
      return { caughtUp, stop: () => subscribers.delete(subscriber) };
    },
  };
}

/** @param shown the last change that the page shows */
function tell({ account, topics, onChange }: Subscriber, change: Change, shown: number): void {
  const { concerns, topic, sequence, announcements } = change;
  if (sequence <= shown || !topics.has(topic) || !isAmong(concerns, account)) return;
  onChange({ ...change, announcements: announcements.filter((each) => each.sequence > shown) });
}

function isAmong(audience: Audience, account: Account): boolean {
  if (audience === 'all') return true;
  if ('hoursOf' in audience) return account.kind === 'Brand' || account.id === audience.hoursOf;
  return audience.includes(accountKey(account));
}

/** The changes that an event makes, and to which accounts' pages. */
function changesOf(event: Recorded<DomainEvent>): readonly ChangeToShow[] {
  // Pages are not indexed by author, so refresh all of them.
  if (event.type === 'SubjectForgotten') return [{ concerns: 'all', topic: OWN_TOPIC }];
  const accounts = accountChange(event)?.accounts.map(accountKey);
  if (accounts === undefined) return [];
  const ofAccount = { concerns: accounts, topic: OWN_TOPIC };
  if (isOfHours(event)) return [ofAccount, ofHours(event.data)];
  if (event.type === 'MessageSent') {
    const text = `New message about booking #${event.data.bookingId}`;
    return [{ ...ofAccount, announcement: { text, by: event.metadata.actor.id } }];
  }
  if (event.type === 'QuestionSent')
    return [{ ...ofAccount, announcement: { text: 'New message about a space', by: event.metadata.actor.id } }];
  if (!isAnnounced(event)) return [ofAccount];
  const { type, data, metadata } = event;
  const what = type === 'BookingCancelled' && data.cancelledBy === 'System' ? 'Expired' : ANNOUNCEMENTS[type];
  const text = `${what}: ${namedText(data.spaceName)}, ${namedText(data.brandName)}`;
  const change = { ...ofAccount, announcement: { text, by: metadata.actor.id } };
  return type === 'BookingCompleted' || type === 'ReviewPosted' ? [change] : [change, ofHours(data)];
}

const isOfHours = (event: DomainEvent): event is TimeClosed | TimeReopened | HoursLeft =>
  event.type === 'TimeClosed' || event.type === 'TimeReopened' || event.type === 'HoursLeft';

const ofHours = ({
  communityId,
  spaceId,
  date,
}: BookingFacts | TimeReopened['data'] | HoursLeft['data']): ChangeToShow => ({
  concerns: { hoursOf: communityId },
  topic: hoursTopic(spaceId, date),
});

/** The topic of a space's available times on a day. */
export const hoursTopic = (spaceId: number, date: string): string => `hours:${spaceId}:${date}`;

type Announced = Exclude<Extract<DomainEvent, { readonly type: `Booking${string}` }>, BookingNoted> | ReviewPosted;

const ANNOUNCEMENTS: Readonly<Record<Announced['type'], string>> = {
  BookingRequested: 'New request',
  BookingApproved: 'Approved',
  BookingCancelled: 'Cancelled',
  BookingCompleted: 'Completed',
  BookingMoveAsked: 'Move asked for',
  BookingMoveAgreed: 'Move agreed',
  BookingMoveEnded: 'Move ended',
  BookingMoved: 'Moved',
  ReviewPosted: 'New review',
};

const isAnnounced = (event: Recorded<DomainEvent>): event is Recorded<Announced> => event.type in ANNOUNCEMENTS;
