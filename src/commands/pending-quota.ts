import { hash } from 'node:crypto';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { accountKey, accountOfKey } from '../domain/account.ts';
import { isStranger } from '../domain/brand.ts';
import { daysLater, localDate } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { type BookingId, type BrandId, brandId, type PlainDate } from '../domain/ids.ts';
import { type BookingStatus, findBooking } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import { openAccountQuota } from '../quotas/account-quota.ts';
import { spaceDay } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';

/** A request that counts towards the limit of its brand. */
type PendingRequest = {
  readonly bookingId: BookingId;
  /** The stream of its space and day. */
  readonly stream: string;
  /** Digest of its idempotency key. Repetitions on that day count as one request, because only one of them books. */
  readonly key?: string;
};

/** How long after it was counted a request may be appended: less than it counts while it is in neither log nor read model. */
const VALID_MS = 5 * 60_000;

const pendingOf = declareQuery(
  bookings,
  (id: BrandId, from: PlainDate): Find<BookingDocument> => ({
    where: { brandId: id, status: 'Pending', date: { from } },
    sort: [{ field: 'date' }, { field: 'startHour' }, { field: 'bookingId' }],
  }),
  [brandId(1), '2026-12-01' as PlainDate],
);

export type BookingStatuses = ReturnType<typeof bookingStatuses>;

/** Lookups of bookings in the read model and the log. */
export function bookingStatuses({ handler, readModels, clock }: CommandDeps) {
  const documents = readModels.collection(bookings);
  return {
    /** The statuses of these bookings in the read model; missing ones are left out. */
    async inReadModel(ids: readonly BookingId[]): Promise<ReadonlyMap<BookingId, BookingStatus>> {
      const found = await documents.getMany(ids.map(String));
      return new Map(found.values().map(({ bookingId, status }) => [bookingId, status]));
    },
    /** The status in the log; undefined if it is not there. */
    async inLog(bookingId: BookingId, stream: string): Promise<BookingStatus | undefined> {
      return findBooking(await handler.load(stream, spaceDay), bookingId)?.status;
    },
    /** The pending requests of a brand in the read model. */
    async pending(id: BrandId): Promise<readonly PendingRequest[]> {
      // No zone is more than a day behind UTC.
      const pending = await documents.list(pendingOf(id, daysLater(localDate(clock(), 'UTC'), -1)));
      return pending.map(({ bookingId, spaceId, date }) => ({ bookingId, stream: streamOf.spaceDay(spaceId, date) }));
    },
  };
}

/** Counts each brand's pending requests (docs/decisions/bookings.md). */
export async function openPendingQuota(deps: {
  readonly documents: DocumentStore;
  readonly statuses: BookingStatuses;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic?: () => number;
}) {
  const { documents, statuses, monotonic = () => performance.now() } = deps;
  const quota = await openAccountQuota<PendingRequest>({
    documents,
    collection: { name: 'requestQuotas', kind: 'record', indexes: [] },
    idOf: ({ bookingId }) => String(bookingId),
    async exist(requests) {
      const known = await statuses.inReadModel(requests.map(({ bookingId }) => bookingId));
      return Promise.all(
        requests.map(async ({ bookingId, stream }) => {
          const status = known.get(bookingId) ?? (await statuses.inLog(bookingId, stream));
          return status && status === 'Pending';
        }),
      );
    },
    async existing(account) {
      const brand = accountOfKey(account);
      return brand?.kind === 'Brand' ? statuses.pending(brand.id) : [];
    },
    monotonic,
  });

  return {
    /**
     * Counts a request that is about to be appended. One with the idempotency key of another counts together with that.
     * @param limit how many the brand may have, and the refusal of one more
     * @returns a refusal if the brand has as many as allowed, otherwise whether the request may still be appended
     */
    async take(
      id: BrandId,
      request: { readonly bookingId: BookingId; readonly stream: string; readonly idempotencyKey?: string },
      limit: PendingLimit,
    ) {
      const { bookingId, stream, idempotencyKey } = request;
      const key = idempotencyKey && hash('sha256', idempotencyKey, 'base64url');
      const own: PendingRequest = { bookingId, stream, ...defined({ key }) };
      const takenAt = monotonic();
      const taken = await quota.take(
        accountKey({ kind: 'Brand', id }),
        () => own,
        ({ items }) => {
          const requests = new Set(items.map(idOfRequest));
          return requests.size < limit.max || requests.has(idOfRequest(own)) ? undefined : limit.refusal;
        },
      );
      return isRefusal(taken) ? taken : { isValid: () => monotonic() - takenAt < VALID_MS };
    },

    /** Stops counting a request that was refused, or repeats an earlier one. */
    release: (id: BrandId, bookingId: BookingId): Promise<void> =>
      quota.release(accountKey({ kind: 'Brand', id }), String(bookingId)),
  };
}

export type PendingQuota = Awaited<ReturnType<typeof openPendingQuota>>;

/** The same for all repetitions of a request. */
const idOfRequest = ({ bookingId, stream, key }: PendingRequest): string =>
  key === undefined ? String(bookingId) : `${stream} ${key}`;

type PendingLimit = { readonly max: number; readonly refusal: Refusal };

/** Unanswered requests of a brand that signed up, until a community knows it: enough to ask a few houses for one event. */
const OF_STRANGER = 5;

/** How many unanswered requests a brand may have; undefined: any number. @param setting that of all brands */
export function pendingLimitOf(
  brand: Parameters<typeof isStranger>[0],
  setting: number | undefined,
): PendingLimit | undefined {
  const isFew = isStranger(brand) && (setting ?? OF_STRANGER) >= OF_STRANGER;
  const max = isFew ? OF_STRANGER : setting;
  if (max === undefined) return undefined;
  const [who, until] = isFew ? ['a new brand', ', until a community has let it in or approved one'] : ['a brand', ''];
  const most = `At most ${max} requests of ${who} may wait for an answer at once${until}.`;
  return { max, refusal: refuse('BookingNotAllowed', `${most} Wait for an answer, or cancel a request.`) };
}
