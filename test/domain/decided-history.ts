import { availability, availabilityKey } from '../../projections/availability.ts';
import { bookings } from '../../projections/bookings.ts';
import { reviews } from '../../projections/reviews.ts';
import { type Access, refuseAccess } from '../../src/auth/access.ts';
import * as aggregates from '../../src/commands/aggregates.ts';
import type { Account } from '../../src/domain/account.ts';
import { issueApiKey, revokeApiKey } from '../../src/domain/api-key.ts';
import { addBrand } from '../../src/domain/brand.ts';
import { localDate } from '../../src/domain/calendar.ts';
import { closeTime, reopenTime } from '../../src/domain/closed-time.ts';
import { addClosure, endClosure, spaceDatesOf } from '../../src/domain/closure.ts';
import { addCommunity } from '../../src/domain/community.ts';
import { type Decision, isRefusal } from '../../src/domain/decision.ts';
import type { SpaceDayEvent, SpaceEvent } from '../../src/domain/events.ts';
import {
  apiKeyId,
  bookingId,
  brandId,
  closureId,
  communityId,
  type PlainDate,
  reviewId,
  spaceId,
} from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import { postReview } from '../../src/domain/review.ts';
import { addSpace, changeSpace, type Space, switchSpace } from '../../src/domain/space.ts';
import {
  approveBooking,
  cancelBooking,
  completeBooking,
  expireBooking,
  findBooking,
  type SpaceDay,
} from '../../src/domain/space-day.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { timeSlots } from '../../src/domain/time-slots.ts';
import { type Day, dateIn, PARTIES, rivalOf, type Step, type World } from '../model/histories.ts';
import { type Answer, Model, type Party, type Request, type Terms } from '../model/model.ts';
import { same } from '../model/same.ts';
import { DecidedLog } from './decided-log.ts';
import { type Both, DecidedWebhooks } from './decided-webhooks.ts';
import { accountOf, answerOf, dtoOf, listed, refused, reviewOf, stored } from './model-values.ts';

const HOUR_MS = 3_600_000;
const TEXTS = { text: 'A tasting.', long: 'x'.repeat(501) };

type StepOf<K extends Step['do']> = Extract<Step, { readonly do: K }>;

/**
 * A history of the rules without a service: each step is decided on a log in memory, taken by the model as well, and the answers are compared.
 */
export class DecidedHistory {
  readonly log = new DecidedLog();
  readonly #world: World;
  readonly #model: Model;
  readonly #keys: string[] = [];
  readonly #webhooks: DecidedWebhooks;
  readonly #closed: string[] = [];
  /** The stream of the day of each booking, by its id. */
  readonly #days = new Map<number, string>();
  #lastId = 0;

  constructor(world: World) {
    this.#world = world;
    this.#model = new Model(world.start);
    const answer = (key: string, decide: (by: Account) => Answer) =>
      this.#answer(key, { permission: 'Webhooks' }, decide);
    this.#webhooks = new DecidedWebhooks({ log: this.log, model: this.#model, answer });
    for (const party of PARTIES) this.#addAccount(party);
    for (const [index, terms] of world.terms.entries()) this.#addSpace(index + 1, terms);
    // In the order of the callers of a service: keys, then members of the first accounts.
    const [community, , brand] = PARTIES;
    for (const party of [...PARTIES, community, brand, brand, community]) this.#issueKey(party, ALL_PERMISSIONS);
  }

  /** @throws {Error} where the answers differ */
  take(step: Step): void {
    const both = this.#answers(step);
    if (both === undefined) return;
    same(`The answer to ${JSON.stringify(step)}`, ...both);
    const isRequest = step.do === 'request' || step.do === 'rival';
    const last = isRequest && both[1].error === undefined ? this.#model.lookUp(this.#booking(0)) : undefined;
    if (last !== undefined)
      same('The open hours then', ...this.#availability(this.#key(2), last.space.id, last.dto.date));
  }

  /** Compares what every key sees of everything. */
  checkAll(): void {
    for (const by of this.#keys.keys()) {
      this.take({ do: 'list', by });
      this.take({ do: 'webhooks', by });
      for (const community of [0, 1]) this.take({ do: 'reviews', by, community });
      for (const space of this.#world.terms.keys())
        for (const day of [0, 1, 2]) this.take({ do: 'availability', by, space, day });
    }
  }

  #answers(step: Step): Both | undefined {
    switch (step.do) {
      case 'request': {
        const { space, date } = this.#spaceDay(step);
        const message = step.message && TEXTS[step.message];
        const request = { spaceId: space, date, startHour: step.hour, ...(message !== undefined && { message }) };
        return this.#request(this.#key(step.by), request, step.idempotencyKey);
      }
      case 'rival': {
        const request = rivalOf(this.#model.lookUp(this.#booking(step.booking)), step.offset);
        return request && this.#request(this.#key(step.by), request, undefined);
      }
      case 'availability': {
        const { space, date } = this.#spaceDay(step);
        return this.#availability(this.#key(step.by), space, date);
      }
      case 'list':
        return this.#list(this.#key(step.by));
      case 'reviews':
        return this.#reviews(this.#key(step.by), 1 + (step.community % 2));
      case 'approve':
        return this.#approve(1 + (step.by % 2), this.#booking(step.booking));
      case 'cancel':
        return this.#cancel(PARTIES[step.by % PARTIES.length], this.#booking(step.booking));
      case 'review':
        return this.#review(1 + (step.by % 2), this.#booking(step.booking), step.rating);
      case 'close':
        return this.#close(step);
      case 'endClosed':
        return this.#endClosed(this.#closed[step.closed % (this.#closed.length || 1)]);
      case 'terms':
        return this.#changeTerms(this.#spaceId(step.space), step.terms);
      case 'active':
        return this.#switch(this.#spaceId(step.space), step.active);
      case 'issueKey':
        return this.#issueKey(PARTIES[step.party % PARTIES.length], step.permissions);
      case 'revokeKey':
        return this.#revokeKey(this.#key(step.key));
      case 'registerWebhook':
        return this.#webhooks.register(this.#key(step.by), step.events);
      case 'removeWebhook':
        return this.#webhooks.remove(this.#key(step.by), step.webhook);
      case 'webhooks':
        return this.#webhooks.list(this.#key(step.by));
      case 'runScheduler':
        return this.#runScheduler();
      case 'pass':
        this.#model.now += step.hours * HOUR_MS;
        return;
      // What takes a service, such as a restart, is left out.
      default:
        return;
    }
  }

  #request(key: string, request: Request, keyNumber: number | undefined): Both {
    const { spaceId: id } = request;
    const details = { ...request, spaceId: spaceId(id), date: request.date as PlainDate };
    const day = streamOf.spaceDay(id, request.date);
    // Which day a key belongs to is found before the rules are asked.
    const idempotencyKey = keyNumber === undefined ? undefined : `key ${keyNumber} of ${day}`;
    let made = 0;
    const answer = this.#answer(key, { permission: 'WriteBookings', scope: 'Brand' }, ({ id: by }) => {
      const command = {
        bookingId: bookingId(this.#nextId()),
        space: this.#space(id),
        brand: { brandId: brandId(by), name: `Brand ${by}` },
        details,
        ...(idempotencyKey !== undefined && { idempotencyKey, fingerprint: JSON.stringify(details) }),
      };
      const decision = this.#onDay(day, (state) =>
        requestBooking(state, command, { now: this.#model.now, serviceFeePercent: 15, currency: 'USD' }),
      );
      if (isRefusal(decision)) return refused(decision.refused);
      const before = this.log.state(day, aggregates.spaceDay).bookingByKey.get(`${by}:${idempotencyKey}`);
      made = decision[0]?.data.bookingId ?? before?.request.bookingId ?? 0;
      this.#days.set(made, day);
      // A repeated request is answered as it was the first time.
      const document = this.log.documents(bookings).get(String(made));
      return { status: 201, body: document && { ...dtoOf(document), status: 'Pending' } };
    });
    return [answer, this.#model.request(key, request, idempotencyKey, () => made)];
  }

  #availability(key: string, id: number, day: string): Both {
    const date = day as PlainDate;
    const promised = this.#model.availability(key, id, date);
    const answer = this.#answer(key, { permission: 'ReadAvailability' }, (by) => {
      const space = this.#space(id);
      if (by.kind === 'Community' && by.id !== space.communityId) return refused('ResourceNotFound');
      if (date < localDate(this.#model.now, space.timeZone)) return refused('ValidationError');
      const held = this.log.documents(availability).get(availabilityKey(id, date)) ?? { taken: [], closed: [] };
      return { status: 200, body: timeSlots(space, date, held, this.#model.now) };
    });
    const slots = (promised.body as { readonly timeSlots: unknown } | undefined)?.timeSlots;
    return [answer, slots === undefined ? promised : { ...promised, body: slots }];
  }

  #list(key: string): Both {
    const answer = this.#answer(key, { permission: 'ReadBookings' }, ({ kind, id }) => {
      const own = [...this.log.documents(bookings).values()].filter(
        (each) => (kind === 'Brand' ? each.brandId : each.communityId) === id,
      );
      return { status: 200, body: listed(own) };
    });
    return [answer, this.#model.list(key, {})];
  }

  #approve(owner: number, id: number): Both {
    const command = { bookingId: bookingId(id), communityId: communityId(owner) };
    const decision = this.#onDay(this.#dayOf(id), (day) => approveBooking(day, command, this.#model));
    return [answerOf(decision), this.#model.approve({ kind: 'Community', id: owner }, id)];
  }

  #cancel(party: Party = { kind: 'Brand', id: 1 }, id: number): Both {
    const command = { bookingId: bookingId(id), by: accountOf(party) };
    const decision = this.#onDay(this.#dayOf(id), (day) => cancelBooking(day, command, this.#model));
    return [answerOf(decision), this.#model.cancel(party, id)];
  }

  #runScheduler(): undefined {
    this.#model.runScheduler();
    for (const [id, stream] of this.#days) {
      this.#onDay(stream, (day) => expireBooking(day, { bookingId: bookingId(id) }, this.#model));
      this.#onDay(stream, (day) => completeBooking(day, { bookingId: bookingId(id) }, this.#model));
    }
  }

  #review(by: number, booking: number, rating: number): Both {
    const id = this.#nextId();
    const texts = { title: `Review ${booking}`, content: `Personal text of brand:${by}.` };
    const ids = { reviewId: reviewId(id), bookingId: bookingId(booking), brandId: brandId(by) };
    const state = findBooking(this.log.state(this.#dayOf(booking), aggregates.spaceDay), bookingId(booking));
    const decision = this.log.decide(streamOf.review(booking), aggregates.review, this.#model.now, (before) =>
      postReview(before, { ...ids, ...texts, rating }, state),
    );
    return [answerOf(decision), this.#model.review({ kind: 'Brand', id: by }, booking, rating, () => id)];
  }

  #reviews(key: string, community: number): Both {
    const answer = this.#answer(key, { permission: 'ReadReviews' }, ({ kind, id }) => {
      const hasCompleted = [...this.log.documents(bookings).values()].some(
        (each) => each.brandId === id && each.communityId === community && each.status === 'Completed',
      );
      if (kind === 'Brand' ? !hasCompleted : id !== community) return refused('ResourceNotFound');
      const own = [...this.log.documents(reviews).values()].filter((each) => each.communityId === community);
      return { status: 200, body: own.map(reviewOf) };
    });
    return [answer, this.#model.reviews(key, community)];
  }

  #close(step: StepOf<'close'>): Both {
    const { space: id, date } = this.#spaceDay(step);
    const { kind, start } = step;
    const until = Math.min(24, start + step.length);
    const closing = closureId(`closure-${this.#nextId()}`);
    const space = this.#space(id);
    const wanted = { closureId: closing, communityId: space.communityId, kind, start, until };
    const intended = addClosure(
      undefined,
      { ...wanted, spaceIds: [space.spaceId], from: date, to: date },
      localDate(this.#model.now, space.timeZone),
    );
    const onDay = { ...wanted, spaceId: space.spaceId, date };
    const closed = isRefusal(intended)
      ? intended
      : this.#onDay(streamOf.spaceDay(id, date), (day) => closeTime(day, onDay, space));
    if (!isRefusal(closed)) {
      this.log.decide(streamOf.venue_closure(closing), aggregates.closure, this.#model.now, () => intended);
      this.#closed.push(closing);
    }
    return [answerOf(closed), this.#model.close(() => closing, kind, id, date, start, until)];
  }

  #endClosed(id: string | undefined): undefined {
    const stream = streamOf.venue_closure(id ?? '');
    const closure = this.log.state(stream, aggregates.closure);
    if (id === undefined || closure === undefined) return;
    this.log.decide(stream, aggregates.closure, this.#model.now, (state) => endClosure(state, closure));
    const { closureId, communityId } = closure;
    for (const { spaceId, date } of spaceDatesOf(closure))
      this.#onDay(streamOf.spaceDay(spaceId, date), (day) =>
        reopenTime(day, { closureId, communityId, spaceId, date }),
      );
    this.#model.endClosed(id);
  }

  #changeTerms(id: number, terms: Partial<Terms>): undefined {
    const change = { spaceId: spaceId(id), terms: stored(terms) };
    this.#onSpace(id, (space) => changeSpace(space, change, this.#model));
    this.#model.changeTerms(id, terms);
  }

  #switch(id: number, active: boolean): undefined {
    this.#onSpace(id, (space) => switchSpace(space, { spaceId: spaceId(id), active }));
    this.#model.setActive(id, active);
  }

  #issueKey(party: Party = { kind: 'Brand', id: 1 }, permissions: number): undefined {
    const key = `key-${this.#keys.length}`;
    const secret = { label: 'Model', hash: key, preview: key };
    const command = { apiKeyId: apiKeyId(key), account: accountOf(party), permissions, ...secret };
    this.log.decide(streamOf.apiKey(key), aggregates.apiKey, this.#model.now, (state) => issueApiKey(state, command));
    this.#keys.push(key);
    this.#model.issueKey(key, party, permissions);
  }

  #revokeKey(key: string): undefined {
    const command = { apiKeyId: apiKeyId(key) };
    this.log.decide(streamOf.apiKey(key), aggregates.apiKey, this.#model.now, (state) => revokeApiKey(state, command));
    this.#webhooks.endAllOf(key);
    this.#model.revokeKey(key);
  }

  /** Answers a call with a key, if that may make it. */
  #answer(key: string, access: Access, answer: (by: Account) => Answer): Answer {
    const state = this.log.state(streamOf.apiKey(key), aggregates.apiKey);
    if (state === undefined || state.revoked) return { status: 401, error: 'InvalidApiKey' };
    const refusal = refuseAccess({ ...state, credential: { kind: 'apiKey', id: key } }, access);
    return refusal === undefined ? answer(state.account) : refused(refusal.refused);
  }

  #addAccount({ kind, id }: Party): void {
    const name = `${kind} ${id}`;
    const { now } = this.#model;
    if (kind === 'Brand') {
      const command = { brandId: brandId(id), name };
      this.log.decide(streamOf.brand(id), aggregates.brand, now, (before) => addBrand(before, command));
      this.#model.addBrand(id, name);
    } else {
      const command = { communityId: communityId(id), name, timeZone: this.#zoneOf(id) };
      this.log.decide(streamOf.community(id), aggregates.community, now, (before) => addCommunity(before, command));
      this.#model.addCommunity(id, command.timeZone);
    }
  }

  #addSpace(id: number, terms: Terms): void {
    const owner = id < 3 ? 1 : 2;
    const name = `Space ${id}`;
    const ids = { spaceId: spaceId(id), communityId: communityId(owner), timeZone: this.#zoneOf(owner) };
    this.#onSpace(id, (before) => addSpace(before, { ...stored(terms), name, ...ids }));
    this.#model.addSpace(id, owner, name, terms);
  }

  #onDay<E extends SpaceDayEvent>(stream: string, decide: (day: SpaceDay) => Decision<E>): Decision<E> {
    return this.log.decide(stream, aggregates.spaceDay, this.#model.now, decide);
  }

  #onSpace = (id: number, decide: (space: Space | undefined) => Decision<SpaceEvent>) =>
    this.log.decide(streamOf.space(id), aggregates.space, this.#model.now, decide);

  #space(id: number): Space {
    const space = this.log.state(streamOf.space(id), aggregates.space);
    if (space === undefined) throw new Error(`There is no space ${id}`);
    return space;
  }

  #nextId = (): number => ++this.#lastId;
  #key = (index: number): string => this.#keys.at(index % this.#keys.length) ?? '';
  #zoneOf = (community: number): string => (community === 1 ? this.#world.zone : 'UTC');
  #spaceId = (index: number): number => 1 + (index % this.#world.terms.length);
  #dayOf = (booking: number): string => this.#days.get(booking) ?? streamOf.spaceDay(0, '');
  /** The last bookings first. 0 if there is none. */
  #booking(index: number): number {
    const ids = this.#model.bookingIds();
    return ids.at(-1 - (index % (ids.length || 1))) ?? 0;
  }
  #spaceDay({ space: index, day }: { readonly space: number; readonly day: Day }) {
    const space = this.#spaceId(index);
    const { timeZone } = this.#space(space);
    return {
      space,
      date: (day === 'change' ? this.#world.change : dateIn(timeZone, this.#model.now, day)) as PlainDate,
    };
  }
}
