import { type AccountHistoryDocument, accountHistory } from '../../projections/account-history.ts';
import { closures } from '../../projections/closures.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { type AccountChange, accountChange, type NamedChange, type Topic } from '../domain/account-change.ts';
import { ownerOfFeed } from '../domain/calendar-feed.ts';
import { type Community, evolveCommunity } from '../domain/community.ts';
import { defined } from '../domain/defined.ts';
import type { CommunityEvent, DomainEvent, EventType, Recorded, SpaceEvent } from '../domain/events.ts';
import { apiKeyId } from '../domain/ids.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import { sealedTextsIn, withTexts } from '../domain/personal-text.ts';
import type { NamedActor, Viewer } from '../domain/shown-actor.ts';
import { evolveSpace, type Space } from '../domain/space.ts';
import { textOwnerOf } from '../domain/text-owner.ts';
import { inPages } from '../event-loop/in-pages.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { QueryDeps } from './query-deps.ts';
import { type Beginning, newestFirst, readPage } from './read-page.ts';

export type AuditFilter = {
  /** Inclusive, in milliseconds since the epoch. */
  readonly from?: number;
  /** Exclusive. */
  readonly to?: number;
  /** The id, name or kind of the actor. */
  readonly actor?: string;
  readonly topics?: readonly Topic[];
  readonly types?: readonly EventType[];
  /** The correlation id of a request. */
  readonly request?: string;
};

/** How far an audit has read. */
type AuditProgress = { readonly read: number; readonly at: string };

/** Changes of one topic, or of one subject (`space:3`). */
type ChangeFilter = { readonly topic?: Topic; readonly of?: string };

type ChangeQuery = ChangeFilter & {
  /** Only the latest changes before this position. */
  readonly before?: string;
  /** Only the earliest changes after this position. Takes precedence. */
  readonly after?: string;
  readonly limit: number;
};

const NEWEST = { isBackwards: false, after: undefined, limit: 1 };
const OLDER = { ...NEWEST, after: 'p' };
const NEWER = { ...OLDER, isBackwards: true };
const changesOfAccount = declareQuery(
  accountHistory,
  (account: AccountKey, { topic, of }: ChangeFilter, page: Beginning<string>): Find<AccountHistoryDocument> => {
    const { beyond: position, direction } = newestFirst(page);
    return {
      where: { account, ...defined({ topic, of, position }) },
      sort: [{ field: 'position', direction }],
      limit: page.limit,
    };
  },
  ['Brand:1', {}, NEWEST],
  ['Brand:1', {}, OLDER],
  ['Brand:1', { topic: 'keys' }, OLDER],
  ['Brand:1', { of: 'space:1' }, OLDER],
  ['Brand:1', {}, NEWER],
  ['Brand:1', { topic: 'keys' }, NEWER],
);

const changeAt = declareQuery(
  accountHistory,
  (account: AccountKey, position: string): Find<AccountHistoryDocument> => ({ where: { account, position }, limit: 1 }),
  ['Brand:1', 'p'],
);

/** Events whose texts and actors are resolved in one batch. */
const BATCH = 200;
const PROGRESS_EVERY = 50_000;

type RecordedChange = AccountChange & { readonly event: Recorded; readonly before?: Space | Community };

/** The changes of an account (docs/decisions/accounts.md). */
export function createAccountHistory({ events, readModels, personalData, names }: QueryDeps) {
  async function subjectNameOf({ of, event, before }: RecordedChange): Promise<string | undefined> {
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
      case 'brand':
        return names.brand(Number(of.id));
      case 'calendarFeed':
        return names.user(ownerOfFeed(of.id).userId);
      case 'account':
      case 'invitation':
      case 'closure':
      case 'booking':
      case 'review':
        return undefined;
      default:
        return of.kind satisfies never;
    }
  }

  const kindOf = async ({ of: { kind, id } }: RecordedChange): Promise<NamedChange['closureKind']> =>
    kind === 'closure' ? (await readModels.collection(closures).get(id))?.kind : undefined;

  /** What a new closed time has replaced. Its read model never changes hours and title. */
  async function replacedBy(event: DomainEvent): Promise<NamedChange['replaced']> {
    if (event.type !== 'ClosureAdded' || event.data.replaces === undefined) return undefined;
    const stored = await readModels.collection(closures).get(event.data.replaces.closureId);
    const [opened] = await personalData.openClosures(stored === undefined ? [] : [stored]);
    return opened;
  }

  /** Resolves the names and opens the texts of changes. */
  function naming(viewer: Viewer): (changes: readonly RecordedChange[]) => Promise<NamedChange[]> {
    const nameOf = names.for(viewer);
    const subjectNames = new Map<string, Promise<string | undefined>>();
    return async (changes) => {
      const texts = await personalData.openTexts(
        changes.map(({ event }) => ({ texts: sealedTextsIn(event.data), of: textOwnerOf(event) ?? '' })),
      );
      const named = changes.map(async (each, index): Promise<NamedChange> => {
        const key = `${each.of.kind}:${each.of.id}`;
        // Not cached for spaces, which can be renamed: each change shows the name of its time.
        const subjectName =
          each.of.kind === 'space' ? subjectNameOf(each) : (subjectNames.get(key) ?? subjectNameOf(each));
        subjectNames.set(key, subjectName);
        const [by, name, closureKind, replaced] = await Promise.all([
          nameOf(each.event.metadata.actor),
          subjectName,
          kindOf(each),
          replacedBy(each.event),
        ]);
        return {
          ...each,
          event: withTexts<Recorded>(each.event, texts[index] ?? {}),
          by,
          ...defined({ name, closureKind, replaced }),
        };
      });
      return Promise.all(named);
    };
  }

  return {
    /** Whether there is a change of the account at a position: only such positions are cursors. */
    async hasChangeAt(account: Account, position: string): Promise<boolean> {
      const found = await readModels.collection(accountHistory).list(changeAt(accountKey(account), position));
      return found.length > 0;
    },

    /** A page of the changes of an account, visible to it, newest first, with the `before` of the next page and the `after` of the one before. */
    async page(account: Account, { before, after, limit, ...filter }: ChangeQuery) {
      const documents = readModels.collection(accountHistory);
      const { items, previous, next } = await readPage<AccountHistoryDocument, string>(
        { limit, after: before, before: after },
        ({ position }) => position,
        (page) => documents.find(changesOfAccount(accountKey(account), filter, page)),
      );
      const streams = new Map(
        await Promise.all(
          [...new Set(items.map(({ stream }) => stream))].map(
            async (stream) => [stream, await withStates(events.readStream(stream))] as const,
          ),
        ),
      );
      const changes = items.flatMap(({ stream, revision }) => streams.get(stream)?.get(revision) ?? []);
      return { changes: await naming(account)(changes), next, previous };
    },

    /**
     * All changes of an account, or of all accounts, in log order, for the operator. Reads the whole log, a batch at a time.
     * @param report.progress is called every {@link PROGRESS_EVERY} events
     * @param report.unknown is called for events of a newer release, whose accounts this release does not know
     */
    async *audit(
      account: Account | undefined,
      filter: AuditFilter,
      report: AuditReport = {},
    ): AsyncGenerator<NamedChange> {
      const named = naming('operator');
      for await (const batch of inPages(auditedChanges(events, account, filter, report), BATCH))
        for (const change of await named(batch)) if (isBy(change.by, filter.actor)) yield change;
    },
  };
}

type AuditReport = { readonly progress?: (at: AuditProgress) => void; readonly unknown?: () => void };

/** The changes in the log that match every part of the filter except the actor, whose name is not resolved yet. */
async function* auditedChanges(
  events: EventStore,
  account: Account | undefined,
  filter: AuditFilter,
  report: AuditReport,
): AsyncGenerator<RecordedChange> {
  const states = createStates();
  let read = 0;
  for await (const stored of events.readAll()) {
    read += 1;
    if (read % PROGRESS_EVERY === 0) report.progress?.({ read, at: String(stored.metadata.at) });
    const isOfRequest = filter.request === undefined || stored.metadata.correlationId === filter.request;
    if (!isKnown(stored)) {
      if (isOfRequest) report.unknown?.();
      continue;
    }
    const event = knownEvent(stored);
    const change = accountChange(event);
    if (change === undefined || !isOf(change, account)) continue;
    const before = states.next(event);
    if (isOfRequest && isWanted(event, change, filter)) yield { ...change, event, ...defined({ before }) };
  }
}

/** The events of a stream by revision; events of a space or a community with its previous state. */
async function withStates(
  stream: AsyncIterable<Parameters<typeof knownEvent>[0]>,
): Promise<ReadonlyMap<number, RecordedChange>> {
  const states = createStates();
  const changes = new Map<number, RecordedChange>();
  for await (const stored of stream) {
    if (!isKnown(stored)) continue;
    const event = knownEvent(stored);
    const change = accountChange(event);
    const before = states.next(event);
    if (change !== undefined) changes.set(event.revision, { ...change, event, ...defined({ before }) });
  }
  return changes;
}

/** Folds the events of spaces and communities. */
function createStates() {
  const spacesById = new Map<number, Space | undefined>();
  const communities = new Map<number, Community | undefined>();
  return {
    /** Folds an event. @returns the state of its space or community before it */
    next(event: DomainEvent): Space | Community | undefined {
      if (isCommunityEvent(event)) {
        const before = communities.get(event.data.communityId);
        communities.set(event.data.communityId, evolveCommunity(before, event));
        return before;
      }
      if (!isSpaceEvent(event)) return undefined;
      const before = spacesById.get(event.data.spaceId);
      spacesById.set(event.data.spaceId, evolveSpace(before, event));
      return before;
    },
  };
}

const isCommunityEvent = (event: DomainEvent): event is CommunityEvent => event.type.startsWith('Community');
const isSpaceEvent = (event: DomainEvent): event is SpaceEvent => spaces.types.includes(event.type);

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
