import { admissionKey, admissions } from '../../projections/admissions.ts';
import { approvedBooking, pendingBooking, type ReadableBooking } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { spaces } from '../../projections/spaces.ts';
import { standingOf } from '../domain/admission.ts';
import {
  arePersonal,
  type BookingDetails,
  fingerprintOf,
  PERSONAL_DETAILS,
  wrongDetails,
} from '../domain/booking-details.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { BookingRequested } from '../domain/events.ts';
import { type BrandId, bookingId, type Cents, type CommunityId, type Timestamp } from '../domain/ids.ts';
import { subjectOf, withTexts } from '../domain/personal-text.ts';
import { picked } from '../domain/picked.ts';
import {
  type Entry,
  findByIdempotencyKey,
  KEY_REUSED,
  type RequestBooking,
  requestBooking,
} from '../domain/request-booking.ts';
import {
  approveBooking,
  type CancelBooking,
  cancelBooking,
  completeBooking,
  expireBooking,
} from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { spaceDay } from './aggregates.ts';
import type { BookingHome } from './booking-home.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';
import { openIdempotencyKeys } from './idempotency-keys.ts';
import { bookingStatuses, openPendingQuota, pendingLimitOf } from './pending-quota.ts';
import { standingIn } from './standing.ts';

export type BookingCommands = Awaited<ReturnType<typeof createBookingCommands>>;

/** @param home where each booking is now */
export async function createBookingCommands(deps: CommandDeps, home: BookingHome) {
  const { handler, documents, readModels, clock, settings } = deps;
  const idempotencyKeys = await openIdempotencyKeys(documents, clock);
  const { serviceFeePercent, currency } = settings;
  const statuses = bookingStatuses(deps);
  const pendingQuota = await openPendingQuota({ documents, statuses });

  /** Undefined if the request has no personal text, or will be refused. */
  const fingerprintFor = (id: BrandId, details: BookingDetails) =>
    arePersonal(details) && wrongDetails(details) === undefined
      ? deps.personalData.fingerprint(subjectOf({ kind: 'Brand', id }), fingerprintOf(details))
      : undefined;

  /** Requests a booking, or finds the one that was made with its idempotency key. */
  async function requestOrRepeat(
    wanted: RequestBooking,
    limit: ReturnType<typeof pendingLimitOf>,
    context: CommandContext,
  ): Promise<ReadableBooking | Refusal> {
    const { details } = wanted;
    const stream = streamOf.spaceDay(details.spaceId, details.date);
    const { bookingId, brand, idempotencyKey } = wanted;
    const counted = { bookingId, stream, ...defined({ idempotencyKey }) };
    const quota = limit && (await pendingQuota.take(brand.brandId, counted, limit));
    if (isRefusal(quota)) {
      // A repetition still gets the booking of the first request.
      const isRepeated =
        idempotencyKey !== undefined &&
        findByIdempotencyKey(await handler.load(stream, spaceDay), wanted) !== undefined;
      if (!isRepeated) return quota;
    }
    const outcome = await home.withoutLeaving(stream, context, (day) => {
      if (quota && !isRefusal(quota) && !quota.isValid())
        throw new Unavailable(`Booking ${bookingId} waited too long to be appended`);
      return requestBooking(day, wanted, { now: clock(), serviceFeePercent, currency });
    });
    const isMade = !isRefusal(outcome) && outcome.events.length > 0;
    if (limit !== undefined && !isMade) await pendingQuota.release(brand.brandId, bookingId);
    if (isRefusal(outcome)) return outcome;

    const [event] = outcome.events;
    if (event?.type === 'BookingRequested' && outcome.at !== undefined)
      return asRequested(event.data, details, outcome.at);
    const before = findByIdempotencyKey(outcome.state, wanted);
    for await (const { type, data, metadata } of handler.read(stream, spaceDay, before?.revision)) {
      if (type !== 'BookingRequested' || data.bookingId !== before?.request.bookingId) break;
      return asRequested(data, details, metadata.at);
    }
    throw new Error(`${stream} does not hold the booking of its idempotency key`);
  }

  async function request(
    command: RequestCommand & Partial<Entered>,
    context: CommandContext,
  ): Promise<ReadableBooking | Refusal> {
    const { brandId, details, idempotencyKey, enteredBy, entry } = command;
    const { spaceId } = details;
    const [space, brand, fingerprint] = await Promise.all([
      readModels.collection(spaces).get(String(spaceId)),
      readModels.collection(brands).get(String(brandId)),
      idempotencyKey === undefined ? undefined : fingerprintFor(brandId, details),
    ]);
    if (space === undefined || (enteredBy !== undefined && space.communityId !== enteredBy))
      return refuse('ResourceNotFound', `There is no space ${spaceId}.`);
    if (enteredBy !== undefined && brand?.keptBy !== enteredBy)
      return refuse('BookingNotAllowed', `Brand ${brandId} is no customer that you look after. It requests itself.`);
    if (brand === undefined) return refuse('ResourceNotFound', `There is no brand ${brandId}.`);
    if (isRefusal(fingerprint)) return fingerprint;
    const [claim, known] = await Promise.all([
      idempotencyKey === undefined
        ? ('none' as const)
        : idempotencyKeys.claim(`brand-${brandId}`, idempotencyKey, fingerprintOf(details), fingerprint),
      readModels.collection(admissions).get(admissionKey({ communityId: space.communityId, brandId })),
    ]);
    if (claim === undefined) return KEY_REUSED;

    const wanted: RequestBooking = {
      bookingId: bookingId(await deps.ids.bookings.next()),
      space,
      brand,
      details,
      standing: standingOf(known ?? {}),
      ...defined({ agreed: known, entry, idempotencyKey, fingerprint }),
    };
    // One that is approved at once is never pending.
    const isPending = entry === undefined && wanted.standing !== 'trusted';
    const limit = isPending ? pendingLimitOf(brand, settings.pendingLimit) : undefined;
    const outcome = await requestOrRepeat(wanted, limit, context);
    if (isRefusal(outcome) && claim !== 'none') await claim.release();
    return outcome;
  }

  return {
    /**
     * How many requests of a brand may wait for an answer at once, and how many more it may send to a community. Undefined: any number.
     * A request is counted again when it is made.
     */
    async roomFor(of: { readonly brandId: BrandId; readonly communityId: CommunityId }) {
      const [brand, known] = await Promise.all([
        readModels.collection(brands).get(String(of.brandId)),
        readModels.collection(admissions).get(admissionKey(of)),
      ]);
      const limit = brand && pendingLimitOf(brand, settings.pendingLimit);
      if (limit === undefined || standingOf(known ?? {}) === 'trusted') return undefined;
      const waiting = await statuses.pending(of.brandId);
      return { max: limit.max, left: Math.max(0, limit.max - waiting.length) };
    },

    /** Requests a booking. Resolves to the booking as requested, even if it was made by an earlier request with its idempotency key. */
    request: (command: RequestCommand, context: CommandContext) => request(command, context),

    /** Enters a booking of a customer that the community looks after. Refuses other brands, and spaces of others. */
    enter: (command: RequestCommand & Entered, context: CommandContext) => request(command, context),

    approve: ({ bookingId: id, ...command }: ApproveBooking, context: CommandContext) =>
      home.onBooking(id, context, async (stored) => {
        const standing = await standingIn(readModels, stored);
        return (day) => approveBooking(day, { ...command, bookingId: stored.bookingId, standing }, { now: clock() });
      }),

    cancel: (
      { bookingId: id, ...command }: Omit<CancelBooking, 'bookingId'> & { readonly bookingId: number },
      context: CommandContext,
    ) =>
      home.onBooking(id, context, ({ bookingId }) => {
        return (day) => cancelBooking(day, { ...command, bookingId }, { now: clock() });
      }),

    /** Cancels a request that was not answered in time. For the scheduler. */
    expire: (id: number, context: CommandContext) =>
      home.onBooking(id, context, (stored) => (day) => expireBooking(day, stored, { now: clock() })),

    /** Completes an approved booking whose end has passed. For the scheduler. */
    complete: (id: number, context: CommandContext) =>
      home.onBooking(id, context, (stored) => (day) => completeBooking(day, stored, { now: clock() })),
  };
}

type ApproveBooking = {
  readonly bookingId: number;
  readonly communityId: CommunityId;
  /** A lower fee than at the request. */
  readonly eventFee?: Cents;
};

type RequestCommand = {
  readonly brandId: BrandId;
  readonly details: BookingDetails;
  readonly idempotencyKey?: string;
};

/** A booking that a community enters itself. */
type Entered = { readonly enteredBy: CommunityId; readonly entry: Entry };

/** A booking at the moment it was requested, with the texts as they were sent: the event holds them sealed. */
function asRequested(data: BookingRequested['data'], details: BookingDetails, at: Timestamp): ReadableBooking {
  const pending = pendingBooking(data, at);
  const booking = data.approval === undefined ? pending : approvedBooking(pending, { charge: data.totalPrice }, at);
  return withTexts({ data: booking }, picked(details, PERSONAL_DETAILS)).data;
}
