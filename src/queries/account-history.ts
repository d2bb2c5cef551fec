import { type AccountHistoryDocument, accountHistory } from '../../projections/account-history.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { type AccountChange, accountChange, type NamedChange, type Topic } from '../domain/account-change.ts';
import { defined } from '../domain/defined.ts';
import type { DomainEvent, EventType, Recorded, SpaceEvent } from '../domain/events.ts';
import { apiKeyId } from '../domain/ids.ts';
import { ownerOf, sealedTextsIn, withTexts } from '../domain/personal-text.ts';
import type { NamedActor, Viewer } from '../domain/shown-actor.ts';
import { evolveSpace, type Space } from '../domain/space.ts';
import { isKnown, upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { ActorNames } from './actor-names.ts';
import { documentsOf, isAny } from './documents.ts';

export type AuditFilter = {
  /** Inclusive, in milliseconds since the epoch. */
  readonly from?: number;
  /** Exclusive. */
  readonly to?: number;
  /** The id, the name or the kind of who did it. */
  readonly actor?: string;
  readonly topics?: readonly Topic[];
  readonly types?: readonly EventType[];
  /** The correlation id of a request. */
  readonly request?: string;
};

/** How far an audit has read. */
export type AuditProgress = { readonly read: number; readonly at: string };

export type ChangePage = {
  /** Newest first. */
  readonly changes: readonly NamedChange[];
  /** Where the next page begins: its `before`. Undefined on the last one. */
  readonly next: string | undefined;
  /** Where the page before ends: its `after`. Undefined on the first one. */
  readonly previous: string | undefined;
};

type Places = {
  readonly topic?: Topic;
  readonly of?: string;
  /** Only what happened before this position, the latest of it. */
  readonly before?: string;
  /** Only what happened after this position, the earliest of it. Takes precedence. */
  readonly after?: string;
  readonly limit: number;
};

const PLACE = { limit: 1, before: 'p' };
const placesOf = declareQuery(
  accountHistory,
  (account: AccountKey, { topic, of, before, after, limit }: Places): Find<AccountHistoryDocument> => {
    const beside = before === undefined ? undefined : { below: before };
    const position = after === undefined ? beside : { above: after };
    return {
      where: { account, ...defined({ topic, of, position }) },
      sort: [{ field: 'position', direction: after === undefined ? 'descending' : 'ascending' }],
      limit,
    };
  },
  ['Brand:1', { limit: 1 }],
  ['Brand:1', PLACE],
  ['Brand:1', { ...PLACE, topic: 'keys' }],
  ['Brand:1', { ...PLACE, of: 'space:1' }],
  ['Brand:1', { limit: 1, after: 'p' }],
  ['Brand:1', { limit: 1, after: 'p', topic: 'keys' }],
);

const changeAt = declareQuery(
  accountHistory,
  (account: AccountKey, position: string): Find<AccountHistoryDocument> => ({ where: { account, position }, limit: 1 }),
  ['Brand:1', 'p'],
);

/** How many events have their texts opened and their actors named together. */
const BATCH = 200;
const PROGRESS_EVERY = 50_000;

type Found = AccountChange & { readonly event: Recorded; readonly before?: Space };

/** What changed for an account (docs/decisions/accounts.md). */
export function createAccountHistory(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly personalData: PersonalData;
  readonly names: ActorNames;
}) {
  const { events, readModels, personalData, names } = deps;

  async function calledOf({ of, event, before }: Found): Promise<string | undefined> {
    switch (of.kind) {
      case 'user':
        return names.user(of.id);
      case 'client':
        return event.type === 'ClientAdded' ? event.data.name : names.client(of.id);
      case 'apiKey':
        return names.apiKey(apiKeyId(of.id));
      case 'space':
        return event.type === 'SpaceAdded' ? event.data.name : before?.name;
      case 'webhook':
        return event.type === 'WebhookRegistered' ? event.data.url : names.webhook(of.id);
      case 'account':
      case 'booking':
      case 'review':
        return undefined;
      default:
        return of.kind satisfies never;
    }
  }

  /** Names what was found, all together, and opens its texts. */
  function naming(viewer: Viewer): (found: readonly Found[]) => Promise<NamedChange[]> {
    const nameOf = names.for(viewer);
    const called = new Map<string, Promise<string | undefined>>();
    return async (found) => {
      const texts = await personalData.openTexts(
        found.map(({ event }) => ({ texts: sealedTextsIn(event.data), of: holderOf(event) })),
      );
      const named = found.map(async (each, index): Promise<NamedChange> => {
        const key = `${each.of.kind}:${each.of.id}`;
        // The name of a space changes, and is in its events.
        const calling = each.of.kind === 'space' ? calledOf(each) : (called.get(key) ?? calledOf(each));
        called.set(key, calling);
        const [by, name] = await Promise.all([nameOf(each.event.metadata.actor), calling]);
        return { ...each, event: withTexts<Recorded>(each.event, texts[index] ?? {}), by, ...defined({ name }) };
      });
      return Promise.all(named);
    };
  }

  return {
    /** Whether a change of the account is at a position: only such ones are the `next` and `previous` of its pages. */
    async hasChangeAt(account: Account, position: string): Promise<boolean> {
      const wanted = changeAt(accountKey(account), position);
      return isAny(readModels.collection(accountHistory).find(wanted));
    },

    /** A page of the changes of an account, for itself: those of one topic, or of one thing (`space:3`), or all. Newest first. */
    async page(account: Account, query: Places): Promise<ChangePage> {
      const { limit, after, ...first } = query;
      const wanted = placesOf(accountKey(account), { ...query, limit: limit + 1 });
      const places = await documentsOf(readModels.collection(accountHistory).find(wanted));
      const more = places.length > limit;
      // Close to the newest a page read backwards would be short: the first one is whole.
      if (after !== undefined && !more) {
        const { before: _, ...newest } = first;
        return this.page(account, { ...newest, limit });
      }
      const shown = places.slice(0, limit);
      if (after !== undefined) shown.reverse();
      const streams = new Map(
        await Promise.all(
          [...new Set(shown.map(({ stream }) => stream))].map(
            async (stream) => [stream, await withStates(events.readStream(stream))] as const,
          ),
        ),
      );
      const found = shown.flatMap(({ stream, revision }) => streams.get(stream)?.get(revision) ?? []);
      return {
        changes: await naming(account)(found),
        next: more || after !== undefined ? shown.at(-1)?.position : undefined,
        previous: query.before !== undefined || after !== undefined ? shown[0]?.position : undefined,
      };
    },

    /**
     * Everything that changed for an account, or for all of them, in the order of the log, for the operator. The whole log is read;
     * memory stays flat.
     * @param report.progress is called now and then
     * @param report.unknown is called for events of a newer release, whose accounts this release does not know
     */
    async *audit(
      account: Account | undefined,
      filter: AuditFilter,
      report: { readonly progress?: (at: AuditProgress) => void; readonly unknown?: () => void } = {},
    ): AsyncGenerator<NamedChange> {
      const named = naming('operator');
      const states = createSpaces();
      let found: Found[] = [];
      let read = 0;
      const matching = async function* () {
        for (const change of await named(found)) if (isBy(change.by, filter.actor)) yield change;
        found = [];
      };
      for await (const stored of events.readAll()) {
        read += 1;
        if (read % PROGRESS_EVERY === 0) report.progress?.({ read, at: String(stored.metadata.at) });
        const isOfRequest = filter.request === undefined || stored.metadata.correlationId === filter.request;
        if (!isKnown(stored)) {
          if (isOfRequest) report.unknown?.();
          continue;
        }
        const event = upcast(stored);
        const change = accountChange(event);
        if (change === undefined || !isOf(change, account)) continue;
        const before = states.next(event);
        if (!isOfRequest || !isWanted(event, change, filter)) continue;
        found.push({ ...change, event, ...defined({ before }) });
        if (found.length === BATCH) yield* matching();
      }
      yield* matching();
    },
  };
}

/** The events of a stream by their revisions, those of spaces with what the space was before. */
async function withStates(stream: AsyncIterable<Parameters<typeof upcast>[0]>): Promise<ReadonlyMap<number, Found>> {
  const states = createSpaces();
  const found = new Map<number, Found>();
  for await (const stored of stream) {
    if (!isKnown(stored)) continue;
    const event = upcast(stored);
    const change = accountChange(event);
    const before = states.next(event);
    if (change !== undefined) found.set(event.revision, { ...change, event, ...defined({ before }) });
  }
  return found;
}

/** Folds the events of spaces. */
function createSpaces() {
  const spaces = new Map<number, Space | undefined>();
  return {
    /** @returns what the space of the event was before it */
    next(event: DomainEvent): Space | undefined {
      if (!isSpaceEvent(event)) return undefined;
      const before = spaces.get(event.data.spaceId);
      spaces.set(event.data.spaceId, evolveSpace(before, event));
      return before;
    },
  };
}

const isSpaceEvent = (event: DomainEvent): event is SpaceEvent => event.type.startsWith('Space');

/** What the texts of an event belong to. */
const holderOf = ({ type, data }: DomainEvent): string => {
  if (!('bookingId' in data)) return '';
  return type === 'ReviewPosted' ? ownerOf.review(data) : ownerOf.booking(data);
};

const isOf = ({ accounts }: AccountChange, account: Account | undefined): boolean =>
  account === undefined || accounts.some((each) => accountKey(each) === accountKey(account));

function isWanted(event: Recorded, { topic }: AccountChange, { from, to, topics, types }: AuditFilter): boolean {
  const at = Date.parse(event.metadata.at);
  if ((from !== undefined && at < from) || (to !== undefined && at >= to)) return false;
  if (topics === undefined && types === undefined) return true;
  return topics?.includes(topic) === true || types?.includes(event.type) === true;
}

const isBy = ({ kind, id, name }: NamedActor, actor: string | undefined): boolean =>
  actor === undefined || actor === id || actor === name || actor === kind;
