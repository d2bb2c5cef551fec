import { randomBytes } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import type { DomainEvent, Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

/** Something changed that open pages may show. */
export type Change = {
  /** Grows by one with each change that this process saw. */
  readonly sequence: number;
  /** Whose pages it concerns; absent: everybody's that show the topic. */
  readonly accounts?: readonly AccountKey[];
  /** Empty: anything of the account. Otherwise the topic that a part of a page names (`hours:3:2026-11-20`). */
  readonly topic: string;
  /** Said to those who look at a page. */
  readonly say?: string;
  /** The user who did it needs no telling. */
  readonly by?: string;
};

export type Subscriber = { readonly account: Account; readonly onChange: (change: Change) => void };

/** Changes that are remembered for pages that connect a moment after they were made. */
const REMEMBERED = 500;

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/**
 * What happens, for open pages: one subscription to the log per process, fanned out to those who may see it. A page is told
 * once the read models show what happened, so that looking again shows it.
 */
export function createLiveFeed(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly webhooks: Pick<Webhooks, 'onDelivery'>;
  readonly logger: Pick<FastifyBaseLogger, 'error'>;
}) {
  const { events, readModels, webhooks, logger } = deps;
  // Hexadecimal: a mark is taken apart at its hyphen.
  const processId = randomBytes(6).toString('hex');
  const subscribers = new Set<Subscriber>();
  const recent: Change[] = [];
  const stopping = new AbortController();
  let sequence = 0;
  let forgetDeliveries = () => {};
  let running: Promise<void> | undefined;

  function announce(change: Omit<Change, 'sequence'>): void {
    sequence += 1;
    const numbered = { ...change, sequence };
    recent.push(numbered);
    if (recent.length > REMEMBERED) recent.shift();
    for (const subscriber of subscribers) if (concerns(numbered, subscriber.account)) subscriber.onChange(numbered);
  }

  async function run(after: Position): Promise<void> {
    for await (const batch of events.subscribe({ after, signal: stopping.signal })) {
      if (batch.events.length === 0) continue;
      await readModels.waitFor(batch.position);
      for (const stored of batch.events) for (const change of changesOf(upcast(stored))) announce(change);
    }
  }

  return {
    async start(): Promise<void> {
      let after = LOG_START;
      for await (const last of events.readAll({ direction: 'backward', limit: 1 })) after = last.position;
      running = run(after).catch((error: unknown) =>
        logger.error({ err: error }, 'pages are no longer kept up to date'),
      );
      forgetDeliveries = webhooks.onDelivery(({ account }) => announce({ accounts: [account], topic: '' }));
    },

    async stop(): Promise<void> {
      stopping.abort();
      forgetDeliveries();
      await running;
    },

    /** Where a page that is made now stands; it says so when it connects. */
    mark: (): string => `${processId}-${sequence}`,
    markAt: (change: Change): string => `${processId}-${change.sequence}`,

    /**
     * Tells a page what changes, beginning with what changed since it was made.
     * @returns how to stop that, and whether what it missed is still known; otherwise it looks again at everything
     */
    subscribe(subscriber: Subscriber, since: string): { readonly stop: () => void; readonly caughtUp: boolean } {
      const [of, number] = since.split('-');
      const from = Number(number);
      const caughtUp = of === processId && (from >= sequence || (recent[0]?.sequence ?? 0) <= from + 1);
      if (caughtUp)
        for (const change of recent)
          if (change.sequence > from && concerns(change, subscriber.account)) subscriber.onChange(change);
      subscribers.add(subscriber);
      return { caughtUp, stop: () => subscribers.delete(subscriber) };
    },
  };
}

const concerns = ({ accounts }: Change, account: Account): boolean =>
  accounts === undefined || accounts.includes(accountKey(account));

/** What an event changes on pages, and on whose. */
function* changesOf(event: Recorded<DomainEvent>): Generator<Omit<Change, 'sequence'>> {
  const by = event.metadata.actor.id;
  switch (event.type) {
    case 'BookingRequested':
    case 'BookingApproved':
    case 'BookingCancelled':
    case 'BookingCompleted':
    case 'ReviewPosted': {
      const { communityId, brandId } = event.data;
      const accounts = [`Community:${communityId}`, `Brand:${brandId}`] as const;
      yield { accounts, topic: '', say: saidOf(event), by };
      if (event.type === 'BookingRequested' || event.type === 'BookingCancelled')
        yield { topic: hoursTopic(event.data.spaceId, event.data.date) };
      return;
    }
    case 'SpaceAdded':
    case 'SpaceChanged':
    case 'SpaceClosed':
    case 'SpaceOpened':
      yield { accounts: [`Community:${event.data.communityId}`], topic: '' };
      return;
    case 'ApiKeyIssued':
    case 'ApiKeyRevoked':
      yield { accounts: [accountKey(event.data.account)], topic: '' };
      return;
    case 'WebhookRegistered':
    case 'WebhookSecretRotated':
    case 'WebhookDisabled':
    case 'WebhookEnabled':
    case 'WebhookRemoved':
      yield { accounts: [accountKey(event.data.owner.account)], topic: '' };
      return;
    case 'CommunityAdded':
    case 'BrandAdded':
    case 'IdsReserved':
      return;
    default:
      return event satisfies never;
  }
}

/** The open hours of a space on a day. */
export const hoursTopic = (spaceId: number, date: string): string => `hours:${spaceId}:${date}`;

type Told = Extract<DomainEvent, { readonly type: `Booking${string}` | 'ReviewPosted' }>;

function saidOf({ type, data }: Told): string {
  const what = `${data.spaceName}, ${data.brandName}`;
  switch (type) {
    case 'BookingRequested':
      return `New request: ${what}`;
    case 'BookingApproved':
      return `Approved: ${what}`;
    case 'BookingCancelled':
      return `Cancelled: ${what}`;
    case 'BookingCompleted':
      return `Completed: ${what}`;
    case 'ReviewPosted':
      return `New review: ${what}`;
    default:
      return type satisfies never;
  }
}
