/**
 * A model of the service: what the specification and the guides promise, in plain maps and moments. It has no stream, no projection and no lock, and
 * imports nothing of the service. Each method is a call that a client makes; it changes the model and returns the answer that is promised.
 */
import { Mails, partiesOf } from './mails.ts';
import {
  clockAt,
  daysAfter,
  type LocalDate,
  momentOf,
  showsHour,
  weekdayOf,
  yearsAfter,
  type Zone,
} from './moments.ts';

const HOUR_MS = 3_600_000;
/** Of the service, unless its settings say otherwise. */
const SERVICE_FEE_PERCENT = 15;
const MAX_YEARS_AHEAD = 5;
const WEBHOOKS_PER_KEY = 20;
/** What a text reads once its author is forgotten. */
const ERASED = 'erased';

const PERMISSION = { ReadAvailability: 1, ReadBookings: 2, WriteBookings: 4, ReadReviews: 8, Webhooks: 16 };
const EVENT = { BookingRequested: 1, BookingApproved: 2, BookingCancelled: 4, ReviewPosted: 8, BookingMoved: 16 };
type Permission = keyof typeof PERMISSION;
type EventKind = keyof typeof EVENT;
/** What a role allows, as a sum of permissions. */
const ALLOWED = { Viewer: 11, Coordinator: 15, Manager: 31 };
export type Role = keyof typeof ALLOWED;
/** Apps of histories ask for no webhooks. */
const APP_PERMISSIONS = 15;
/** An account: `Brand 1`, `Community 1`. */
export type Party = { readonly kind: 'Brand' | 'Community'; readonly id: number };
/** A user who acts for an account in person. */
export type Member = Party & { readonly userId: string };
/** An API key or an access token, a member in the console, or an account for which the operator acts. */
export type Caller = string | Member | Party;
type Hours = { readonly windowStart: number; readonly windowEnd: number; readonly eventFee: number };
export type Terms = Hours & {
  readonly durationHours: number;
  readonly answerHours: number;
  readonly gapHours?: number;
  readonly noticeHours?: number;
  readonly horizonDays?: number;
  readonly cancelHours?: number;
  /** Monday first. */
  readonly week?: readonly (Hours | 'closed')[];
};
type Space = {
  readonly id: number;
  readonly communityId: number;
  readonly name: string;
  terms: Terms;
  active: boolean;
};
type Interval = { readonly from: number; readonly until: number };
export type BookingFilter = { readonly startDate?: string; readonly status?: Status };
type Status = 'Pending' | 'Approved' | 'Cancelled' | 'Completed';

/** Where an event is to be. */
export type Place = { readonly spaceId: number; readonly date: LocalDate; readonly startHour: number };
/** A move that waits for the other party. */
type Move = {
  readonly askedBy: Party['kind'];
  readonly askedAt: string;
  readonly to: Place;
  /** What the request costs there, if that was asked for and is another price. */
  readonly totalPrice?: number | undefined;
};

/** Whether a request keeps its price when it moves, or has the one of its new space and day. */
export type MovePrice = 'agreed' | 'new';

export type Booking = Interval & {
  readonly dto: Record<string, unknown> &
    Readonly<Record<'id' | 'startHour' | 'endHour', number> & { date: LocalDate }>;
  readonly space: Space;
  move?: Move | undefined;
  readonly brandId: number;
  readonly message?: string;
  readonly madeAt: number;
  readonly expiresAt: number;
  /** Until when its brand may cancel it. */
  readonly cancelUntil: number;
  status: Status;
  wasApproved: boolean;
};
type ClosedTime = Interval & {
  readonly spaceId: number;
  readonly date: LocalDate;
  readonly kind: 'Closure' | 'OwnEvent';
};
/** An API key, or the access token of a user. */
type Key = { readonly party: Party; readonly permissions: number; readonly userId?: string; isRevoked: boolean };
type Review = { readonly bookingId: number; readonly body: Readonly<Record<string, unknown>> };
type Webhook = { readonly key: string; readonly party: Party; readonly events: number };

/** What a client is told. `body` is compared with the answer where it is given. */
export type Answer = { readonly status: number; readonly error?: string; readonly body?: unknown };
export type Request = {
  readonly spaceId: number;
  readonly date: LocalDate;
  readonly startHour: number;
  readonly message?: string;
};

const STATUS_OF: Readonly<Record<string, number>> = {
  InvalidApiKey: 401,
  InsufficientPermissions: 403,
  ScopeViolation: 403,
  ValidationError: 400,
  ResourceNotFound: 404,
  SlotUnavailable: 422,
  BookingNotAllowed: 422,
};
const refused = (error: string): Answer => ({ status: STATUS_OF[error] ?? 500, error });
const nameOf = ({ kind, id }: Party): string => `${kind} ${id}`;
/** The user who acts in person. */
const userOf = (by: Caller): string | undefined => (typeof by === 'object' && 'userId' in by ? by.userId : undefined);
/** A closed time that the clocks skip takes none. */
const overlaps = (held: Interval, use: Interval, gapMs = 0): boolean =>
  held.from < held.until && held.from < use.until + gapMs && use.from < held.until + gapMs;

const isHour = (hour: number): boolean => Number.isInteger(hour) && hour >= 0 && hour <= 23;
const endHourOf = ({ terms }: Space, startHour: number): number =>
  Math.min(23, Math.ceil(startHour + terms.durationHours));
const placeOf = ({ space, dto: { date, startHour } }: Booking): Place => ({ spaceId: space.id, date, startHour });
const isAt = (a: Place, b: Place): boolean =>
  a.spaceId === b.spaceId && a.date === b.date && a.startHour === b.startHour;

/** A delivery that is owed: which registration gets which event of which booking. */
export type Owed = { readonly webhookId: string; readonly event: EventKind; readonly bookingId: number };

export class Model {
  now: number;
  readonly #zones = new Map<number, Zone>();
  readonly #brands = new Map<number, string>();
  readonly #forgotten = new Set<string>();
  readonly #spaces = new Map<number, Space>();
  readonly #keys = new Map<string, Key>();
  readonly #bookings = new Map<number, Booking>();
  readonly #closed = new Map<string, ClosedTime>();
  /** By brand and idempotency key: the request, and the booking that it made. */
  readonly #repeats = new Map<string, { readonly request: string; readonly answer: Answer }>();
  readonly #reviews: Review[] = [];
  readonly #webhooks = new Map<string, Webhook>();
  readonly #owed: Owed[] = [];
  readonly #delivered: Owed[] = [];
  /** The role of each user in each account. */
  readonly #users = new Map<string, Map<string, Role>>();
  readonly mails = new Mails({
    now: () => this.now,
    bookings: () => this.#bookings.values(),
    membersOf: (party) => this.#membersOf(party).filter(({ userId }) => !this.isForgotten(`user:${userId}`)),
    zoneOf: ({ space }) => this.#zone(space),
  });

  constructor(now: number) {
    this.now = now;
  }

  // The operator's commands, which are not refused here.

  addCommunity(id: number, zone: Zone): void {
    this.#zones.set(id, zone);
  }
  addBrand(id: number, name: string): void {
    this.#brands.set(id, name);
  }
  addSpace(id: number, communityId: number, name: string, terms: Terms): void {
    this.#spaces.set(id, { id, communityId, name, terms, active: true });
  }
  changeTerms(id: number, terms: Partial<Terms>): void {
    const space = this.#space(id);
    space.terms = { ...space.terms, ...terms };
  }
  setActive(id: number, active: boolean): void {
    this.#space(id).active = active;
  }
  issueKey(key: string, party: Party, permissions: number): void {
    this.#keys.set(key, { party, permissions, isRevoked: false });
    this.mails.tell({ kind: 'ApiKeyIssued', parties: [party] });
  }
  revokeKey(key: string): void {
    const revoked = this.#keys.get(key);
    if (revoked !== undefined) revoked.isRevoked = true;
    this.#endWebhooks((webhook) => webhook.key === key);
  }
  /** Erases the texts of a brand or a user: `brand:1`. */
  forget = (subject: string): void => void this.#forgotten.add(subject);
  isForgotten = (subject: string): boolean => this.#forgotten.has(subject);

  /** The scheduler runs: requests that are due expire, and events that were approved and are over are completed. */
  runScheduler(): void {
    for (const booking of this.#bookings.values()) {
      if (booking.status === 'Pending' && booking.expiresAt <= this.now) this.#cancel(booking, 'System');
      if (booking.status !== 'Approved' || booking.until > this.now) continue;
      booking.status = 'Completed';
      booking.move = undefined;
    }
  }

  // Users and their roles.

  /** A user joins an account, unless the user belongs to it. */
  join(userId: string, party: Party, role: Role): void {
    const roles = this.#users.getOrInsertComputed(userId, () => new Map());
    roles.getOrInsert(nameOf(party), role);
  }
  /** An app gets a token to act for a member. */
  connect(token: string, { userId, kind, id }: Member): void {
    const role = this.roleOf({ userId, kind, id }) ?? 'Viewer';
    const permissions = ALLOWED[role] & APP_PERMISSIONS;
    this.#keys.set(token, { party: { kind, id }, permissions, userId, isRevoked: false });
  }
  roleOf({ userId, ...party }: Member): Role | undefined {
    return this.#users.get(userId)?.get(nameOf(party));
  }
  isValid = (key: string): boolean => this.#keys.get(key)?.isRevoked === false;

  setRole(by: Member | Party, member: Member, role: Role): Answer {
    const before = this.roleOf(member);
    const refusal = this.#mayManage(by, member, role);
    if (refusal !== undefined || before === role) return refusal ?? { status: 200 };
    this.#users.get(member.userId)?.set(nameOf(member), role);
    this.#endApps(member);
    this.mails.roleChanged(member, role);
    return { status: 200 };
  }

  removeMember(by: Member | Party, member: Member): Answer {
    const refusal = this.#mayManage(by, member);
    if (refusal !== undefined) return refusal;
    this.#users.get(member.userId)?.delete(nameOf(member));
    this.mails.choices.end(member);
    this.#endApps(member);
    return { status: 200 };
  }

  /** Managers decide who belongs to their account, of which a Manager stays. */
  #mayManage(by: Member | Party, member: Member, next?: Role): Answer | undefined {
    const roleOfBy = 'userId' in by ? this.roleOf(by) : 'Manager';
    if (roleOfBy === undefined) return refused('InvalidApiKey');
    if (roleOfBy !== 'Manager') return refused('InsufficientPermissions');
    const before = this.roleOf(member);
    if (before === undefined || nameOf(by) !== nameOf(member)) return refused('ResourceNotFound');
    const isLast =
      before === 'Manager' && this.#membersOf(member).filter(({ role }) => role === 'Manager').length === 1;
    return isLast && next !== 'Manager' ? refused('ValidationError') : undefined;
  }

  #endApps(member: Member): void {
    for (const key of this.#keys.values())
      if (key.userId === member.userId && nameOf(key.party) === nameOf(member)) key.isRevoked = true;
  }

  // What clients call: with a key, with a token, or in the console.

  availability(by: Caller, spaceId: number, date: LocalDate): Answer {
    const caller = this.#caller(by, 'ReadAvailability');
    if ('error' in caller) return caller;
    const space = this.#spaces.get(spaceId);
    const isForeign = caller.kind === 'Community' && space?.communityId !== caller.id;
    if (space === undefined || isForeign) return refused('ResourceNotFound');
    if (date < this.#today(space)) return refused('ValidationError');
    const { windowStart, windowEnd } = this.#hoursOn(space, date);
    const timeSlots = Array.from({ length: windowEnd - windowStart }, (_, index) => {
      const hour = windowStart + index;
      const isAvailable = this.#whyNot(space, date, hour) === undefined;
      const label = `${hour % 12 || 12}:00 ${hour < 12 ? 'AM' : 'PM'}`;
      return { hour, label, isAvailable, ...this.#usage(space, date, hour) };
    });
    const { durationHours } = space.terms;
    const body = { spaceId, spaceName: space.name, date, windowStart, windowEnd, durationHours, timeSlots };
    return { status: 200, body };
  }

  /** @param id what the service names the booking, if it makes one */
  request(by: Caller, request: Request, idempotencyKey: string | undefined, id: () => number): Answer {
    const caller = this.#caller(by, 'WriteBookings');
    if ('error' in caller) return caller;
    if (caller.kind !== 'Brand') return refused('ScopeViolation');
    const { spaceId, date, startHour, message } = request;
    if (!isHour(startHour)) return refused('ValidationError');
    if (Number.isNaN(Date.parse(date)) || (message ?? '').length > 500) return refused('ValidationError');
    const space = this.#spaces.get(spaceId);
    if (space === undefined) return refused('ResourceNotFound');
    const isErased = message !== undefined && this.isForgotten(`brand:${caller.id}`);
    // A text is compared with that of a request before, which is gone.
    if (isErased && idempotencyKey !== undefined) return refused('BookingNotAllowed');
    const repeated = idempotencyKey === undefined ? undefined : `${caller.id} ${idempotencyKey}`;
    const text = JSON.stringify([spaceId, date, startHour, message]);
    const before = repeated === undefined ? undefined : this.#repeats.get(repeated);
    if (before !== undefined) return before.request === text ? before.answer : refused('BookingNotAllowed');
    const brand = this.#brands.get(caller.id);
    if (brand === undefined) return refused('ResourceNotFound');
    const why = this.#whyNot(space, date, startHour);
    if (why !== undefined) return refused(why);
    if (isErased) return refused('BookingNotAllowed');

    const booking = this.#book(space, caller.id, brand, request, id());
    const [community] = partiesOf(booking);
    this.mails.tell({ kind: 'BookingRequested', parties: [community], booking, by: userOf(by) });
    const answer = { status: 201, body: this.#dtoOf(booking) };
    if (repeated !== undefined) this.#repeats.set(repeated, { request: text, answer });
    return answer;
  }

  list(by: Caller, { startDate = '', status }: BookingFilter): Answer {
    const caller = this.#caller(by, 'ReadBookings');
    if ('error' in caller) return caller;
    const seen = this.#bookingsOf(caller).filter(
      (booking) => booking.dto.date >= startDate && (status === undefined || booking.status === status),
    );
    const order = ({ dto: { date, startHour, id } }: Booking) => [date, startHour + 100, id + 1e9].join();
    return {
      status: 200,
      body: seen.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).map((one) => this.#dtoOf(one)),
    };
  }

  booking(by: Caller, id: number): Answer {
    const caller = this.#caller(by, 'ReadBookings');
    if ('error' in caller) return caller;
    const booking = this.#bookingsOf(caller).find(({ dto }) => dto.id === id);
    return booking === undefined ? refused('ResourceNotFound') : { status: 200, body: this.#dtoOf(booking) };
  }

  reviews(by: Caller, communityId: number): Answer {
    const caller = this.#caller(by, 'ReadReviews');
    if ('error' in caller) return caller;
    const isKnown = this.#zones.has(communityId);
    const mayRead =
      caller.kind === 'Community'
        ? caller.id === communityId
        : this.#bookingsOf(caller).some(
            ({ space, status }) => space.communityId === communityId && status === 'Completed',
          );
    if (!isKnown || !mayRead) return refused('ResourceNotFound');
    const ofCommunity = this.#reviews.filter(({ body }) => body.propertyId === communityId);
    const body = ofCommunity.map((review) => this.#reviewOf(review));
    return { status: 200, body };
  }

  registerWebhook(key: string, events: number, id: () => string): Answer {
    const caller = this.#caller(key, 'Webhooks');
    if ('error' in caller) return caller;
    const ofKey = [...this.#webhooks.values()].filter((webhook) => webhook.key === key);
    if (events < 1 || events > 31 || ofKey.length >= WEBHOOKS_PER_KEY) return refused('ValidationError');
    this.#webhooks.set(id(), { key, party: caller, events });
    return { status: 201 };
  }

  webhooks(key: string): Answer {
    const caller = this.#caller(key, 'Webhooks');
    if ('error' in caller) return caller;
    const ids = [...this.#webhooks].flatMap(([id, webhook]) => (webhook.key === key ? [id] : []));
    return { status: 200, body: ids.toSorted() };
  }

  removeWebhook(key: string, id: string): Answer {
    const caller = this.#caller(key, 'Webhooks');
    if ('error' in caller) return caller;
    if (this.#webhooks.get(id)?.key !== key) return refused('ResourceNotFound');
    this.#endWebhooks((_, each) => each === id);
    return { status: 204 };
  }

  approve(by: Caller, id: number): Answer {
    const caller = this.#caller(by, 'WriteBookings');
    if ('error' in caller) return caller;
    const booking = this.#bookings.get(id);
    if (booking === undefined || caller.kind !== 'Community' || booking.space.communityId !== caller.id)
      return refused('ResourceNotFound');
    if (booking.status !== 'Pending' || booking.from <= this.now || booking.expiresAt <= this.now)
      return refused('BookingNotAllowed');
    Object.assign(booking, { status: 'Approved', wasApproved: true });
    this.#tell('BookingApproved', booking);
    const [, brand] = partiesOf(booking);
    this.mails.tell({ kind: 'BookingApproved', parties: [brand], booking, by: userOf(by) });
    return { status: 200 };
  }

  cancel(by: Caller, id: number): Answer {
    const caller = this.#caller(by, 'WriteBookings');
    if ('error' in caller) return caller;
    // Apps cancel for brands. They may repeat it.
    if (typeof by === 'string' && caller.kind !== 'Brand') return refused('ScopeViolation');
    const booking = this.#bookings.get(id);
    if (booking === undefined || !this.#bookingsOf(caller).includes(booking)) return refused('ResourceNotFound');
    if (typeof by === 'string' && booking.status === 'Cancelled') return { status: 200 };
    const isOpen = booking.status === 'Pending' || booking.status === 'Approved';
    const isTooLate = booking.from <= this.now || (caller.kind === 'Brand' && booking.cancelUntil <= this.now);
    if (!isOpen || isTooLate) return refused('BookingNotAllowed');
    // Users give a reason, which belongs to them.
    const author = userOf(by) ?? (typeof by === 'string' ? this.#keys.get(by)?.userId : undefined);
    if (author !== undefined && this.isForgotten(`user:${author}`)) return refused('BookingNotAllowed');
    this.#cancel(booking, caller.kind, userOf(by));
    return { status: 200 };
  }

  /** A party asks for a move, or accepts it by asking for the same. */
  move(by: Caller, id: number, to: Place, price: MovePrice): Answer {
    const caller = this.#caller(by, 'WriteBookings');
    if ('error' in caller) return caller;
    if (!isHour(to.startHour) || Number.isNaN(Date.parse(to.date))) return refused('ValidationError');
    const booking = this.#bookings.get(id);
    const space = this.#spaces.get(to.spaceId);
    if (booking === undefined || space === undefined || !this.#bookingsOf(caller).includes(booking))
      return refused('ResourceNotFound');
    if (!this.#canMove(booking)) return refused('BookingNotAllowed');
    if (space.communityId !== booking.space.communityId) return refused('ResourceNotFound');
    if (isAt(placeOf(booking), to)) return refused('BookingNotAllowed');
    // What was approved was charged.
    if (price === 'new' && booking.status !== 'Pending') return refused('BookingNotAllowed');
    const there = this.#totalOn(space, to.date);
    const totalPrice = price === 'agreed' || there === booking.dto.totalPrice ? undefined : there;
    const { move } = booking;
    const isSame = move !== undefined && isAt(move.to, to) && move.totalPrice === totalPrice;
    if (isSame && move.askedBy === caller.kind) return { status: 200, body: this.#dtoOf(booking) };
    if (move !== undefined && !isSame && move.askedBy !== caller.kind) return refused('BookingNotAllowed');
    const why = this.#whyNot(space, to.date, to.startHour, booking, caller.kind === 'Brand');
    if (why !== undefined) return refused(why);
    if (isSame) return this.#agree(booking, space, move, by);
    const asked: Move = { askedBy: caller.kind, askedAt: new Date(this.now).toISOString(), to, totalPrice };
    booking.move = asked;
    const others = partiesOf(booking).filter(({ kind }) => kind !== caller.kind);
    this.mails.tell({ kind: 'BookingMoveAsked', parties: others, booking, by: userOf(by) });
    return { status: 200, body: this.#dtoOf(booking) };
  }

  /** A party accepts or declines the move that waits, or takes its own back. */
  answerMove(by: Caller, id: number, accepts: boolean): Answer {
    const caller = this.#caller(by, 'WriteBookings');
    if ('error' in caller) return caller;
    const booking = this.#bookings.get(id);
    if (booking === undefined || !this.#bookingsOf(caller).includes(booking)) return refused('ResourceNotFound');
    const { move } = booking;
    if (move === undefined || !this.#canMove(booking)) return refused('BookingNotAllowed');
    if (!accepts) {
      booking.move = undefined;
      const others = partiesOf(booking).filter(({ kind }) => kind !== caller.kind);
      this.mails.tell({ kind: 'BookingMoveEnded', parties: others, booking, by: userOf(by) });
      return { status: 200 };
    }
    if (move.askedBy === caller.kind) return refused('BookingNotAllowed');
    const space = this.#space(move.to.spaceId);
    const why = this.#whyNot(space, move.to.date, move.to.startHour, booking, false);
    return why === undefined ? this.#agree(booking, space, move, by) : refused(why);
  }

  #totalOn(space: Space, date: LocalDate): number {
    const fee = this.#hoursOn(space, date).eventFee;
    return (fee + Math.round((fee * SERVICE_FEE_PERCENT) / 100)) / 100;
  }

  #canMove = ({ status, from }: Booking): boolean => (status === 'Pending' || status === 'Approved') && from > this.now;

  /** Both parties want a booking elsewhere, for the price at its request or that of the move. That approves a request. */
  #agree(booking: Booking, space: Space, { to: { date, startHour }, totalPrice }: Move, by: Caller): Answer {
    const isRequest = booking.status === 'Pending';
    if (!isRequest && totalPrice !== undefined) return refused('BookingNotAllowed');
    if (isRequest && booking.expiresAt <= this.now) return refused('BookingNotAllowed');
    const use = this.#use(space, date, startHour);
    const { usageHours: _, ...dto } = booking.dto;
    const price = totalPrice === undefined ? {} : { totalPrice };
    const times = { date, startHour, endHour: endHourOf(space, startHour), ...this.#usage(space, date, startHour) };
    Object.assign(booking, {
      ...use,
      space,
      move: undefined,
      dto: { ...dto, spaceId: space.id, spaceName: space.name, ...times, ...price },
      cancelUntil: use.from - (space.terms.cancelHours ?? 0) * HOUR_MS,
    });
    const [community, brand] = partiesOf(booking);
    this.#tell('BookingMoved', booking);
    const told = isRequest ? [community] : [community, brand];
    this.mails.tell({ kind: 'BookingMoved', parties: told, booking, by: userOf(by) });
    if (isRequest) {
      Object.assign(booking, { status: 'Approved', wasApproved: true });
      this.#tell('BookingApproved', booking);
      this.mails.tell({ kind: 'BookingApproved', parties: [brand], booking, by: userOf(by) });
    }
    return { status: 200, body: this.#dtoOf(booking) };
  }

  review(by: Caller, id: number, rating: number, reviewId: () => number): Answer {
    const caller = this.#caller(by, 'WriteBookings');
    if ('error' in caller) return caller;
    const booking = this.#bookings.get(id);
    const brandId = caller.id;
    if (booking === undefined || caller.kind !== 'Brand' || booking.brandId !== brandId)
      return refused('ResourceNotFound');
    if (rating < 1 || rating > 5) return refused('ValidationError');
    if (this.#reviews.some(({ bookingId }) => bookingId === id) || booking.status !== 'Completed')
      return refused('BookingNotAllowed');
    if (this.isForgotten(`brand:${brandId}`)) return refused('BookingNotAllowed');
    const { communityId: propertyId, id: spaceId } = booking.space;
    const review = { id: reviewId(), propertyId, spaceId, rating, isVerifiedBooking: true };
    this.#reviews.push({ bookingId: id, body: { ...review, createdAt: new Date(this.now).toISOString() } });
    this.#tell('ReviewPosted', booking);
    const [community] = partiesOf(booking);
    this.mails.tell({ kind: 'ReviewPublished', parties: [community], booking, by: userOf(by) });
    return { status: 200 };
  }

  /** Closes hours of one space on a day, or enters an own event, which needs them free. */
  close(
    id: () => string,
    kind: ClosedTime['kind'],
    spaceId: number,
    date: LocalDate,
    start: number,
    until: number,
  ): Answer {
    const space = this.#space(spaceId);
    const today = this.#today(space);
    if (date < today || date > yearsAfter(today, MAX_YEARS_AHEAD) || start >= until) return refused('ValidationError');
    const zone = this.#zone(space);
    const wanted = { from: momentOf(zone, date, start), until: momentOf(zone, date, until) };
    if (kind === 'OwnEvent') {
      const gapMs = (space.terms.gapHours ?? 0) * HOUR_MS;
      const isTaken = this.#heldOn(space, date).some((booking) => overlaps(booking, wanted, gapMs));
      const isClosed = this.#closedOn(spaceId, date).some((closed) => overlaps(closed, wanted));
      if (wanted.from === wanted.until || isTaken || isClosed) return refused('SlotUnavailable');
    }
    this.#closed.set(id(), { ...wanted, spaceId, date, kind });
    return { status: 200 };
  }

  endClosed = (id: string): boolean => this.#closed.delete(id);

  // What is sent.

  /** Sends what waits to the registrations that are still there. @returns all deliveries so far */
  deliver(): readonly Owed[] {
    this.#delivered.push(...this.#owed.splice(0).filter(({ webhookId }) => this.#webhooks.has(webhookId)));
    return this.#delivered;
  }

  #membersOf({ kind, id }: Party): readonly (Member & { readonly role: Role })[] {
    return [...this.#users].flatMap(([userId, roles]) => {
      const role = roles.get(nameOf({ kind, id }));
      return role === undefined ? [] : [{ userId, kind, id, role }];
    });
  }

  // What must hold at any moment.

  /** The pairs of bookings that hold the same time of a space. There are none. */
  overlapping(): readonly (readonly [number, number])[] {
    const open = [...this.#bookings.values()].filter(({ status }) => status === 'Pending' || status === 'Approved');
    return open.flatMap((a) =>
      open.flatMap((b) =>
        a.dto.id < b.dto.id && a.space === b.space && overlaps(a, b) ? [[a.dto.id, b.dto.id] as const] : [],
      ),
    );
  }

  /** Whether an open booking that has not begun is there already. */
  isAt(id: number, to: Place): boolean {
    const booking = this.#bookings.get(id);
    return booking !== undefined && this.#canMove(booking) && isAt(placeOf(booking), to);
  }

  /** The fee of an event in a space on a date, in cents. Undefined if there is no such space. */
  feeOn(spaceId: number, date: LocalDate): number | undefined {
    const space = this.#spaces.get(spaceId);
    return space && this.#hoursOn(space, date).eventFee;
  }

  lookUp = (id: number): Booking | undefined => this.#bookings.get(id);

  /** The bookings whose move waits for an answer. */
  movingIds = (): readonly number[] =>
    [...this.#bookings.values()].filter(({ move }) => move !== undefined).map(({ dto }) => dto.id);

  bookingIds = (): readonly number[] => [...this.#bookings.keys()];

  // The rules.

  /** For whom a caller acts, or why it may not. */
  #caller(by: Caller, permission: Permission): Party | (Answer & { readonly error: string }) {
    const found = typeof by === 'string' ? this.#keys.get(by) : this.#inPerson(by);
    if (found === undefined || found.isRevoked) return { status: 401, error: 'InvalidApiKey' };
    const isAllowed = (found.permissions & PERMISSION[permission]) !== 0;
    return isAllowed ? found.party : { status: 403, error: 'InsufficientPermissions' };
  }

  #inPerson(by: Member | Party): Key | undefined {
    const role = 'userId' in by ? this.roleOf(by) : 'Manager';
    return role && { party: by, permissions: ALLOWED[role], isRevoked: false };
  }

  /** Why no event can start at an hour. @param leaving a booking that would leave its hours @param hasNotice whether the notice holds */
  #whyNot(
    space: Space,
    date: LocalDate,
    hour: number,
    leaving?: Booking,
    hasNotice = true,
  ): 'BookingNotAllowed' | 'SlotUnavailable' | undefined {
    const { horizonDays, gapHours = 0 } = space.terms;
    const noticeHours = hasNotice ? (space.terms.noticeHours ?? 0) : 0;
    const today = this.#today(space);
    const isTooFar =
      date > yearsAfter(today, MAX_YEARS_AHEAD) || (horizonDays !== undefined && date > daysAfter(today, horizonDays));
    if (!space.active || date < today || isTooFar) return 'BookingNotAllowed';
    const { isClosedDay, windowStart, windowEnd } = this.#hoursOn(space, date);
    if (isClosedDay || hour < windowStart || hour >= windowEnd) return 'SlotUnavailable';
    const use = this.#use(space, date, hour);
    if (use.from <= this.now || !showsHour(this.#zone(space), date, hour)) return 'SlotUnavailable';
    if (use.from <= this.now + noticeHours * HOUR_MS) return 'BookingNotAllowed';
    const gapMs = gapHours * HOUR_MS;
    const isClosed = this.#closedOn(space.id, date).some((closed) =>
      overlaps(closed, use, closed.kind === 'OwnEvent' ? gapMs : 0),
    );
    const isTaken = this.#heldOn(space, date).some((booking) => booking !== leaving && overlaps(booking, use, gapMs));
    return isClosed || isTaken ? 'SlotUnavailable' : undefined;
  }

  #use(space: Space, date: LocalDate, hour: number): Interval {
    const zone = this.#zone(space);
    const from = momentOf(zone, date, hour);
    const windowEnd = momentOf(zone, date, this.#hoursOn(space, date).windowEnd);
    return { from, until: Math.min(from + space.terms.durationHours * HOUR_MS, windowEnd) };
  }

  /** The hours left inside the window, if the event would run past it. */
  #usage(space: Space, date: LocalDate, hour: number): { readonly usageHours?: number } {
    const { from, until } = this.#use(space, date, hour);
    const usageHours = (until - from) / HOUR_MS;
    return usageHours > 0 && usageHours < space.terms.durationHours ? { usageHours } : {};
  }

  #hoursOn({ terms }: Space, date: LocalDate): Hours & { readonly isClosedDay?: boolean } {
    const ofWeekday = terms.week?.[weekdayOf(date)];
    return ofWeekday === 'closed' ? { ...terms, isClosedDay: true } : (ofWeekday ?? terms);
  }

  #book(space: Space, brandId: number, brandName: string, { message, ...request }: Request, id: number): Booking {
    const { answerHours, cancelHours = 0 } = space.terms;
    const { date, startHour } = request;
    const use = this.#use(space, date, startHour);
    const booking: Booking = {
      ...use,
      dto: {
        ...{ id, spaceId: space.id, spaceName: space.name, date, startHour, brandName },
        endHour: endHourOf(space, startHour),
        totalPrice: this.#totalOn(space, date),
        createdAt: new Date(this.now).toISOString(),
        ...this.#usage(space, date, startHour),
      },
      space,
      brandId,
      ...(message !== undefined && { message }),
      madeAt: this.now,
      expiresAt: Math.min(use.from, this.now + answerHours * HOUR_MS),
      cancelUntil: use.from - cancelHours * HOUR_MS,
      status: 'Pending',
      wasApproved: false,
    };
    this.#bookings.set(id, booking);
    this.#tell('BookingRequested', booking);
    return booking;
  }

  /** The other party hears of it, and on the side that ended it the colleagues; of a declined request the brand alone. */
  #cancel(booking: Booking, ender: Party['kind'] | 'System', by?: string): void {
    booking.status = 'Cancelled';
    booking.move = undefined;
    this.#tell('BookingCancelled', booking);
    const both = partiesOf(booking);
    if (booking.wasApproved || ender === 'Brand')
      this.mails.tell({ kind: 'BookingCancelled', parties: both, booking, by });
    else if (ender === 'System') this.mails.tell({ kind: 'BookingExpired', parties: both, booking });
    else this.mails.tell({ kind: 'BookingDeclined', parties: both.slice(1), booking, by });
  }

  /** Both parties hear of an event through those registrations that they have now. */
  #tell(event: EventKind, { dto, brandId, space }: Booking): void {
    for (const [webhookId, { party, events }] of this.#webhooks) {
      const isParty = party.id === (party.kind === 'Brand' ? brandId : space.communityId);
      if (isParty && (events & EVENT[event]) !== 0) this.#owed.push({ webhookId, event, bookingId: dto.id });
    }
  }

  #endWebhooks(isEnded: (webhook: Webhook, id: string) => boolean): void {
    for (const [id, webhook] of this.#webhooks) if (isEnded(webhook, id)) this.#webhooks.delete(id);
  }

  #dtoOf({ dto, status, message, brandId, move }: Booking) {
    const waiting = move && {
      move: {
        ...{ askedBy: move.askedBy, askedAt: move.askedAt, ...move.to },
        ...{ spaceName: this.#space(move.to.spaceId).name },
        ...(move.totalPrice !== undefined && { totalPrice: move.totalPrice }),
      },
    };
    const text = message !== undefined && this.isForgotten(`brand:${brandId}`) ? ERASED : message;
    return { ...dto, status, ...waiting, ...(text !== undefined && { message: text }) };
  }

  #reviewOf({ bookingId, body }: Review) {
    const brandId = this.#bookings.get(bookingId)?.brandId ?? 0;
    const written = { title: `Review ${bookingId}`, content: `Personal text of brand:${brandId}.` };
    const isErased = this.isForgotten(`brand:${brandId}`);
    return { ...body, ...(isErased ? { title: ERASED, content: ERASED } : written) };
  }

  #bookingsOf(party: Party): readonly Booking[] {
    return [...this.#bookings.values()].filter(({ space, brandId }) =>
      party.kind === 'Brand' ? brandId === party.id : space.communityId === party.id,
    );
  }

  /** A booking that is over keeps its hours, and the time that is to be free around it. */
  #heldOn(space: Space, date: LocalDate): readonly Booking[] {
    return [...this.#bookings.values()].filter(
      (one) => one.space === space && one.dto.date === date && one.status !== 'Cancelled',
    );
  }

  #closedOn(spaceId: number, date: LocalDate): readonly ClosedTime[] {
    return [...this.#closed.values()].filter((one) => one.spaceId === spaceId && one.date === date);
  }

  #space(id: number): Space {
    const space = this.#spaces.get(id);
    if (space === undefined) throw new Error(`There is no space ${id}`);
    return space;
  }

  #zone = ({ communityId }: Space): Zone => this.#zones.get(communityId) ?? 'UTC';
  #today = (space: Space): LocalDate => clockAt(this.#zone(space), this.now).date;
}
