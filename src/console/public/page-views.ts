import type { FastifyRequest } from 'fastify';
import type { Collection, DocumentStore } from '../../document-store/document-store.ts';
import { daysLater, localDate, toTimestamp } from '../../domain/calendar.ts';
import type { PlainDate, SpaceId, Timestamp } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';

/** How often the page of a space was opened on a day, by the clock of the space. */
type PageViewsOfDay = { readonly count: number; readonly expiresAt: Timestamp };

const collection: Collection<PageViewsOfDay> = { name: 'pageViews', kind: 'record', ttl: 'expiresAt', indexes: [] };

const DAY_MS = 24 * 3_600_000;
/** How long counts are kept. */
const KEPT_DAYS = 400;
/** How often counts are stored. Those of a process that is killed are lost until then. */
const EVERY_MS = 10_000;
/** Programs that say so in their name are not counted. */
const PROGRAM = /bot|crawl|spider|slurp|preview|curl|wget|python|monitor/i;

export type PageViews = Awaited<ReturnType<typeof openPageViews>>;

/** Counts how often public pages are opened, without cookies or addresses of their readers. */
export async function openPageViews(deps: {
  readonly documents: DocumentStore;
  clock(): number;
  readonly logger: { warn(details: object, text: string): void };
}) {
  const { documents, clock, logger } = deps;
  const stored = await documents.open(collection);
  let counted = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  async function store(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = counted;
    counted = new Map();
    for (const [key, count] of batch) {
      const expiresAt = toTimestamp(clock() + KEPT_DAYS * DAY_MS);
      await stored.update(key, (before) => ({ count: (before?.count ?? 0) + count, expiresAt }));
    }
  }

  const storeOrLog = () =>
    store().catch((error: unknown) => logger.warn({ err: error }, 'views of pages were not counted'));

  return {
    add({ spaceId, timeZone }: Space, { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): void {
      if (method !== 'GET' || PROGRAM.test(headers['user-agent'] ?? 'bot')) return;
      const key = keyOf(spaceId, localDate(clock(), timeZone));
      counted.set(key, (counted.get(key) ?? 0) + 1);
      timer ??= setTimeout(storeOrLog, EVERY_MS).unref();
    },

    /** How often the pages of spaces were opened in the last 30 days. What was opened in the last seconds may be missing. */
    async inLast30Days(spaces: readonly Space[]): Promise<ReadonlyMap<SpaceId, number>> {
      const counts = spaces.map(async ({ spaceId, timeZone }) => {
        const today = localDate(clock(), timeZone);
        const keys = Array.from({ length: 30 }, (_, day) => keyOf(spaceId, daysLater(today, -day)));
        const days = await stored.getMany(keys);
        return [spaceId, days.reduce((sum, { document }) => sum + document.count, 0)] as const;
      });
      return new Map(await Promise.all(counts));
    },

    stop: storeOrLog,
  };
}

const keyOf = (spaceId: SpaceId, date: PlainDate): string => `${spaceId}-${date}`;
