import { createHash } from 'node:crypto';
import { isDeliverable } from '../../src/contract/webhook-payload.ts';
import { accountKey, partiesOf } from '../../src/domain/account.ts';
import type { BookingMoved, BookingRequested, Recorded } from '../../src/domain/events.ts';
import { knownEvent } from '../../src/domain/known-event.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { momentOf } from '../model/moments.ts';
import type { DeliveryAttempt } from './outside.ts';
import { virtualNow } from './virtual-time.ts';

const HOUR_MS = 3_600_000;
/** Clocks that differ by less count as right. */
const TOLERATED_MS = 30_000;

type Status = 'Pending' | 'Approved' | 'Cancelled' | 'Completed';
export type Booking = {
  readonly id: number;
  space: number;
  start: number;
  end: number;
  readonly expiry: number;
  status: Status;
  readonly events: LoggedEvent[];
};
/** An event, and when it was appended: by the right clock of the calendar, and virtual. */
export type LoggedEvent = { readonly event: Recorded; readonly on: number; readonly at: number };

export type Registration = {
  readonly id: string;
  readonly account: string;
  readonly mask: number;
  readonly since: string;
  removedAt: number | undefined;
};

/** Follows the log, and says at once what must not happen in it. */
export class LogChecks {
  readonly bookings = new Map<number, Booking>();
  readonly registrations = new Map<string, Registration>();
  readonly events = new Map<string, LoggedEvent>();
  readonly #now: () => number;
  readonly #report: (problem: string) => void;
  readonly #wasClockWrongAfter: (at: number) => boolean;
  readonly #tried = new Map<string, DeliveryAttempt[]>();
  readonly #since = virtualNow();
  readonly #hash = createHash('sha256');
  #read = 0;

  constructor(deps: {
    readonly now: () => number;
    readonly report: (problem: string) => void;
    readonly wasClockWrongAfter: (at: number) => boolean;
  }) {
    this.#now = deps.now;
    this.#report = deps.report;
    this.#wasClockWrongAfter = deps.wasClockWrongAfter;
  }

  /** Identifies everything that was appended and sent so far. */
  readonly digest = (): string => this.#hash.copy().digest('hex').slice(0, 16);

  /** Reads what is new in the log. */
  read(log: readonly StoredEvent[]): void {
    for (const stored of log.slice(this.#read)) {
      this.#read += 1;
      this.#hash.update(
        `${virtualNow() - this.#since} ${stored.stream} ${stored.revision} ${stored.id} ${stored.type}`,
      );
      const logged = { event: knownEvent(stored), on: this.#now(), at: virtualNow() };
      this.events.set(stored.id, logged);
      this.#fold(logged);
    }
  }

  #fold(logged: LoggedEvent): void {
    const { event } = logged;
    switch (event.type) {
      case 'BookingRequested':
        this.#requested(logged, event.data);
        break;
      case 'BookingApproved':
      case 'BookingCancelled':
      case 'BookingCompleted': {
        const booking = this.bookings.get(event.data.bookingId);
        booking?.events.push(logged);
        if (booking !== undefined) this.#answered(booking, logged);
        break;
      }
      case 'BookingMoved': {
        const booking = this.bookings.get(event.data.bookingId);
        booking?.events.push(logged);
        if (booking !== undefined) this.#moved(booking, event.data);
        break;
      }
      case 'ReviewPosted':
        this.bookings.get(event.data.bookingId)?.events.push(logged);
        break;
      case 'WebhookRegistered': {
        const { webhookId: id, owner, events: mask } = event.data;
        const account = accountKey(owner.account);
        this.registrations.set(id, { id, account, mask, since: event.position, removedAt: undefined });
        break;
      }
      case 'WebhookRemoved': {
        const removed = this.registrations.get(event.data.webhookId);
        if (removed !== undefined) removed.removedAt = logged.at;
        break;
      }
      default:
    }
  }

  #requested(logged: LoggedEvent, data: BookingRequested['data']): void {
    const { bookingId: id, expiresAt } = data;
    if (this.bookings.has(id)) this.#report(`Two requests have the id ${id}`);
    const place = placeIn(data);
    const expiry = Math.min(place.start, Date.parse(expiresAt));
    this.bookings.set(id, { id, ...place, expiry, status: 'Pending', events: [logged] });
  }

  #moved(booking: Booking, data: BookingMoved['data']): void {
    const { id, status } = booking;
    if (status !== data.status) this.#report(`Booking ${id}, which is ${status}, was moved as ${data.status}`);
    Object.assign(booking, placeIn(data));
    if (status === 'Approved') this.#checkOverlaps(booking);
  }

  #checkOverlaps(booking: Booking): void {
    for (const other of this.bookings.values())
      if (other !== booking && areOverlapping(other, booking))
        this.#report(`The approved bookings ${other.id} and ${booking.id} overlap`);
  }

  #answered(booking: Booking, { event, on }: LoggedEvent): void {
    const { id, status } = booking;
    const isEarly = (due: number) => on < due - TOLERATED_MS;
    switch (event.type) {
      case 'BookingApproved': {
        if (status !== 'Pending') this.#report(`Booking ${id} was approved while ${status}`);
        booking.status = 'Approved';
        this.#checkOverlaps(booking);
        break;
      }
      case 'BookingCancelled':
        if (status !== 'Pending' && status !== 'Approved') this.#report(`Booking ${id} was cancelled while ${status}`);
        if (event.data.cancelledBy === 'System' && isEarly(booking.expiry))
          this.#report(`Booking ${id} expired too early`);
        booking.status = 'Cancelled';
        break;
      case 'BookingCompleted':
        if (status !== 'Approved') this.#report(`Booking ${id} was completed while ${status}`);
        if (isEarly(booking.end)) this.#report(`Booking ${id} was completed too early`);
        booking.status = 'Completed';
        break;
      default:
    }
  }

  /** The events of bookings that a registration gets. */
  owedTo({ account, mask, since }: Registration, events: readonly LoggedEvent[]): readonly LoggedEvent[] {
    return events.filter(
      ({ event }) =>
        isDeliverable(event) &&
        (WEBHOOK_EVENTS[event.type] & mask) !== 0 &&
        event.position > since &&
        partiesOf(event.data).some((party) => accountKey(party) === account),
    );
  }

  /** A process begins to send a delivery. */
  readonly sends = (attempt: DeliveryAttempt): void => {
    const { deliveryId, process } = attempt;
    this.#hash.update(`${virtualNow() - this.#since} ${process.index} ${deliveryId}`);
    const [eventId = '', webhookId = ''] = deliveryId.split(':');
    const [logged, registration] = [this.events.get(eventId), this.registrations.get(webhookId)];
    const owed = registration === undefined ? [] : this.owedTo(registration, this.#ofBooking(logged));
    if (logged === undefined || !owed.includes(logged)) this.#report(`${deliveryId} is sent, and is not owed`);
    else for (const earlier of owed.slice(0, owed.indexOf(logged))) this.#checkOrder(attempt, earlier, webhookId);
    const { removedAt = Number.POSITIVE_INFINITY } = registration ?? {};
    if (virtualNow() > removedAt + REMOVED_FOR_MS)
      this.#report(`${deliveryId} is sent, long after it was unregistered`);
    const own = this.#tried.getOrInsertComputed(deliveryId, () => []);
    if (own.some((before) => before.process === process && !before.isAnswered))
      this.#report(`${deliveryId} is sent twice at once`);
    own.push(attempt);
  };

  /** The events of the same booking. */
  #ofBooking(logged: LoggedEvent | undefined): readonly LoggedEvent[] {
    if (logged === undefined || !isDeliverable(logged.event)) return [];
    return this.bookings.get(logged.event.data.bookingId)?.events ?? [];
  }

  /** An earlier event of the booking goes first, and is not being sent now. */
  #checkOrder({ deliveryId, process }: DeliveryAttempt, earlier: LoggedEvent, webhookId: string): void {
    const before = this.#tried.get(`${earlier.event.id}:${webhookId}`) ?? [];
    // A wrong clock may have put it off.
    if (before.length === 0 && !this.#wasClockWrongAfter(earlier.at))
      this.#report(`${deliveryId} is sent before the delivery of ${earlier.event.id}, which comes first`);
    if (before.some((attempt) => attempt.process === process && !attempt.isAnswered))
      this.#report(`${deliveryId} is sent together with the delivery of ${earlier.event.id}`);
  }

  /** The attempts to send a delivery. */
  attempts = (deliveryId: string): readonly DeliveryAttempt[] => this.#tried.get(deliveryId) ?? [];
}

/** What was begun before a registration ended may still be sent. */
const REMOVED_FOR_MS = 60_000;

/** Where and when an event is. */
function placeIn(data: Pick<BookingRequested['data'], PlaceField>) {
  const { spaceId: space, timeZone, date, startHour, durationHours, usageHours = durationHours } = data;
  const start = momentOf(timeZone, date, startHour);
  return { space, start, end: start + usageHours * HOUR_MS };
}
type PlaceField = 'spaceId' | 'timeZone' | 'date' | 'startHour' | 'durationHours' | 'usageHours';

const isHeld = ({ status }: Booking) => status === 'Approved' || status === 'Completed';

const areOverlapping = (one: Booking, other: Booking): boolean =>
  isHeld(one) && isHeld(other) && one.space === other.space && one.start < other.end && other.start < one.end;
