import type { FastifyRequest } from 'fastify';
import type { Collection, DocumentStore } from '../../document-store/document-store.ts';
import { daysLater, localDate, toTimestamp } from '../../domain/calendar.ts';
import type { PlainDate, SpaceId, Timestamp } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';

/** How often the page of a space was opened on a day, by the clock of the space. */
type PageViewsOfDay = { readonly count: number; readonly expiresAt: Timestamp };

const collection: Collection<PageViewsOfDay> = { name: 'pageViews', kind: 'record', ttl: 'expiresAt', indexes: [] };

type ViewsOfDay = { readonly date: PlainDate; readonly count: number };

const DAY_MS = 24 * 3_600_000;
/** How long counts are kept. */
const KEPT_DAYS = 400;
/** Days that are shown. */
const DAYS = 30;
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

    /**
     * On which of the last 30 days the pages of spaces were opened, and how often, the latest first. What was opened in the last seconds may be
     * missing.
     */
    async inLast30Days(spaces: readonly Space[]): Promise<ReadonlyMap<SpaceId, readonly ViewsOfDay[]>> {
      const counts = spaces.map(async ({ spaceId, timeZone }) => {
        const today = localDate(clock(), timeZone);
        const dates = Array.from({ length: DAYS }, (_, day) => daysLater(today, -day));
        const found = await stored.getMany(dates.map((date) => keyOf(spaceId, date)));
        const byKey = new Map(found.map(({ key, document }) => [key, document.count]));
        const days = dates.map((date) => ({ date, count: byKey.get(keyOf(spaceId, date)) ?? 0 }));
        return [spaceId, days.filter(({ count }) => count > 0)] as const;
      });
      return new Map(await Promise.all(counts));
    },

    stop: storeOrLog,
  };
}

const keyOf = (spaceId: SpaceId, date: PlainDate): string => `${spaceId}-${date}`;
