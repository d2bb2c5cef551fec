import { hash } from 'node:crypto';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Collection, DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { daysLater, localDate } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { type BookingId, type BrandId, brandId, type PlainDate } from '../domain/ids.ts';
import { type BookingStatus, findBooking } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { spaceDay } from './aggregates.ts';
import type { CommandHandler } from './command-handler.ts';

/** A request that counts towards the limit of its brand. It is counted before it is in the log. */
type Counted = {
  /** The stream of its space and day. */
  readonly stream: string;
  /** Digest of its idempotency key. Repetitions on that day count as one request, because only one of them books. */
  readonly key?: string;
  /** The ids that the request and its repetitions have. */
  readonly bookings: readonly BookingId[];
};

type QuotaDocument = { readonly counted: readonly Counted[] };

/** One document per brand. */
const collection: Collection<QuotaDocument> = { name: 'pendingQuotas', kind: 'record', indexes: [] };

/** How long after it was counted a request may be appended. */
const VALID_MS = 5 * 60_000;
/**
 * How long a request counts that is in neither log nor read model, by the monotonic clock of the process that finds it missing. Longer than
 * {@link VALID_MS}, so that it can no longer be appended.
 */
const UNFINISHED_MS = 10 * 60_000;
/** Entries of the caches below. */
const CACHED = 10_000;

const pendingOf = declareQuery(
  bookings,
  (id: BrandId, from: PlainDate): Find<BookingDocument> => ({
    where: { brandId: id, status: 'Pending', date: { from } },
    sort: [{ field: 'date' }, { field: 'startHour' }, { field: 'bookingId' }],
  }),
  [brandId(1), '2026-12-01' as PlainDate],
);

type Pending = { readonly bookingId: BookingId; readonly stream: string };

/** Lookups of bookings in the read model and the log. */
export type BookingStatuses = {
  /** The statuses of these bookings in the read model; missing ones are left out. */
  inReadModel(ids: readonly BookingId[]): Promise<ReadonlyMap<BookingId, BookingStatus>>;
  /** The status in the log; undefined if it is not there. */
  inLog(bookingId: BookingId, stream: string): Promise<BookingStatus | undefined>;
  /** The pending requests of a brand in the read model. */
  pending(id: BrandId): Promise<readonly Pending[]>;
};

export function bookingStatuses(deps: {
  readonly readModels: ReadModels;
  readonly handler: Pick<CommandHandler, 'load'>;
  readonly clock: Clock;
}): BookingStatuses {
  const documents = deps.readModels.collection(bookings);
  return {
    async inReadModel(ids) {
      const stored = await documents.getMany(ids.map(String));
      return new Map(stored.map(({ document: { bookingId, status } }) => [bookingId, status]));
    },
    async inLog(bookingId, stream) {
      return findBooking(await deps.handler.load(stream, spaceDay), bookingId)?.status;
    },
    pending: (id) =>
      // No zone is more than a day behind UTC.
      Array.fromAsync(
        documents.find(pendingOf(id, daysLater(localDate(deps.clock(), 'UTC'), -1))),
        ({ document: { bookingId, spaceId, date } }) => ({ bookingId, stream: streamOf.spaceDay(spaceId, date) }),
      ),
  };
}

/**
 * Counts each brand's pending requests across all processes (docs/decisions/bookings.md). A request is counted before it is appended.
 * Only when the limit is reached are the counted requests compared with read model and log, and those no longer pending or never appended are dropped.
 */
export async function openPendingQuota(deps: {
  readonly documents: DocumentStore;
  readonly limit: number;
  readonly statuses: BookingStatuses;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: () => number;
}) {
  const { limit, statuses, monotonic = () => performance.now() } = deps;
  const quotas = await deps.documents.open(collection);
  /** Serialises the counting of a brand's requests: concurrent ones would only compete for its document. */
  const brands = new SerialQueue();
  /** Brands whose requests in the read model this process has counted. Records restored from a copy older than the log lack the latest. */
  const compared = createLruCache<BrandId, true>(CACHED);
  const missingSince = createLruCache<BookingId, number>(CACHED);

  async function isPending({ bookingId, stream }: Pending, status: BookingStatus | undefined): Promise<boolean> {
    if (status !== undefined) return status === 'Pending';
    const since = missingSince.get(bookingId) ?? monotonic();
    missingSince.set(bookingId, since);
    return monotonic() - since < UNFINISHED_MS || (await statuses.inLog(bookingId, stream)) === 'Pending';
  }

  /** The entries that are pending, or may still be appended. */
  async function pendingOnes(counted: readonly Counted[]): Promise<Counted[]> {
    const byId = await statuses.inReadModel(counted.flatMap((each) => each.bookings));
    const pending: Counted[] = [];
    for (const each of counted) {
      const { stream } = each;
      const stillPending = each.bookings.map((bookingId) => isPending({ bookingId, stream }, byId.get(bookingId)));
      if ((await Promise.all(stillPending)).includes(true)) pending.push(each);
    }
    return pending;
  }

  async function uncounted(id: BrandId, counted: readonly Counted[]): Promise<Counted[]> {
    const ids = new Set(counted.flatMap((each) => each.bookings));
    const pending = (await statuses.pending(id)).filter(({ bookingId }) => !ids.has(bookingId));
    return pending.map(({ bookingId, stream }) => ({ stream, bookings: [bookingId] }));
  }

  return {
    limit,

    /**
     * Counts a request that is about to be appended. One with the idempotency key of another counts together with that.
     * @returns undefined if the brand has as many as allowed
     */
    async take(
      id: BrandId,
      request: { readonly bookingId: BookingId; readonly stream: string; readonly idempotencyKey?: string },
    ): Promise<{ /** Whether the request may still be appended now. */ isValid(): boolean } | undefined> {
      const { bookingId, stream, idempotencyKey } = request;
      const key = idempotencyKey === undefined ? undefined : hash('sha256', idempotencyKey, 'base64url');
      const takenAt = monotonic();
      let isTaken = true;
      await brands.run(String(id), () =>
        quotas.update(String(id), async (stored) => {
          const before = stored?.counted ?? [];
          let counted = compared.has(id) ? before : [...before, ...(await uncounted(id, before))];
          const repeated =
            key === undefined ? undefined : counted.find((each) => each.key === key && each.stream === stream);
          if (repeated === undefined && counted.length >= limit) counted = await pendingOnes(counted);
          isTaken = repeated !== undefined || counted.length < limit;
          const own = { stream, ...defined({ key }), bookings: [...(repeated?.bookings ?? []), bookingId] };
          if (isTaken) counted = [...counted.filter((each) => each !== repeated), own];
          return isTaken || counted.length !== before.length ? { counted } : undefined;
        }),
      );
      compared.set(id, true);
      return isTaken ? { isValid: () => monotonic() - takenAt < VALID_MS } : undefined;
    },

    /** Stops counting a request that was refused, or repeats an earlier one. If that cannot be stored, the next check at the limit does it. */
    async release(id: BrandId, bookingId: BookingId): Promise<void> {
      const without = (each: Counted) => ({ ...each, bookings: each.bookings.filter((other) => other !== bookingId) });
      try {
        await brands.run(String(id), () =>
          quotas.update(String(id), (stored) => {
            if (stored?.counted.some((each) => each.bookings.includes(bookingId)) !== true) return undefined;
            return { counted: stored.counted.map(without).filter((each) => each.bookings.length > 0) };
          }),
        );
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    },
  };
}

export type PendingQuota = Awaited<ReturnType<typeof openPendingQuota>>;
