import { ERROR_STATUS } from '../../src/contract/schemas/errors.ts';
import { isRefusal, type Refusal } from '../../src/domain/decision.ts';
import { type BookingId, brandId, communityId } from '../../src/domain/ids.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { accountOf, type Calling, type ConnectedApp, type Faces } from './faces.ts';
import { CHOSEN_KINDS, type Ticked } from './mail-choices.ts';
import type { Answer, BookingFilter, Caller, Member, Model, MovePrice, Party, Place, Request, Role } from './model.ts';
import type { ModelledService } from './modelled-service.ts';

/** What the service answered, and what the model says. */
export type Both = readonly [answer: Answer, promised: Answer];
type InConsole = Extract<Calling, { face: 'console' }>;
type Space = { readonly id: number; readonly communityId: number };

/** Every text that people write has it. */
export const WRITTEN = 'Personal text of';
/** What is written for a brand or by a user until they are forgotten, which is how subjects are named. */
export const writtenBy = (subject: string): string => `${WRITTEN} ${subject}.`;
export const partyOf = (calling: Calling): Party => {
  const { kind, id } = 'party' in calling ? calling.party : calling.member;
  return { kind, id };
};

/** The same call on each face that has it. Where a face has none, the operator makes it for the account, or nothing is called. */
export class Calls {
  readonly #faces: Faces;
  readonly #model: Model;
  readonly #service: ModelledService;

  constructor(faces: Faces, model: Model, service: ModelledService) {
    this.#faces = faces;
    this.#model = model;
    this.#service = service;
  }

  async request(calling: Calling, request: Request, idempotencyKey: string | undefined): Promise<Both> {
    const { spaceId, date, startHour, message } = request;
    const texts = message === undefined ? {} : { message };
    const id = (answer: Answer) => () => idIn(answer);
    // In a form and for a tool, an empty text is none.
    const meant = message === '' ? { spaceId, date, startHour } : request;
    if (calling.face === 'console') {
      const requestKey = idempotencyKey ?? '';
      const fields = { date, startHour: String(startHour), price: '', requestKey, ...texts };
      const answer = await this.#faces.console(calling, `/console/find/${spaceId}`, fields);
      const key = idempotencyKey && `console:${idempotencyKey}`;
      return [answer, inConsole(this.#model.request(calling.member, meant, key, id(answer)))];
    }
    const secret = await this.secretOf(calling);
    if (calling.face === 'mcp') {
      const input = { spaceId, date, startHour, ...(idempotencyKey && { idempotencyKey }), ...texts };
      const answer = await this.#faces.mcp(secret, 'request_booking', input);
      return [
        withId(answer),
        withId(this.#toBrand(calling, () => this.#model.request(calling.name, meant, idempotencyKey, id(answer)))),
      ];
    }
    const body = { spaceId, startTime: date, startHour, ...texts };
    const answer = await this.#faces.rest('POST', '/bookings', secret, body, idempotencyKey);
    return [answer, this.#model.request(nameOf(calling), request, idempotencyKey, id(answer))];
  }

  async availability(calling: Calling, spaceId: number, date: string): Promise<Both | undefined> {
    if (calling.face === 'console') return undefined;
    const secret = await this.secretOf(calling);
    const promised = this.#model.availability(nameOf(calling), spaceId, date);
    if (calling.face !== 'mcp')
      return [await this.#faces.rest('GET', `/spaces/${spaceId}/availability?date=${date}`, secret), promised];
    const { body, ...answer } = await this.#faces.mcp(secret, 'check_availability', { spaceId, date });
    if (body === undefined) return [answer, overMcp(promised)];
    const { reason: _, ...rest } = body as { readonly reason?: unknown };
    return [{ ...answer, body: rest }, promised];
  }

  async list(calling: Calling, filter: BookingFilter): Promise<Both> {
    if (calling.face === 'console') {
      const answer = await this.#faces.console(calling, '/console/bookings');
      return [answer, inConsole(withoutBody(this.#model.list(calling.member, {})))];
    }
    const secret = await this.secretOf(calling);
    const promised = this.#model.list(nameOf(calling), filter);
    if (calling.face !== 'mcp')
      return [await this.#faces.rest('GET', `/bookings?${new URLSearchParams(filter)}`, secret), promised];
    const { body, ...answer } = await this.#faces.mcp(secret, 'list_bookings', { ...filter, limit: 500 });
    const { bookings } = (body ?? {}) as { readonly bookings?: readonly { readonly id: number }[] };
    const ids = bookings?.map(({ id }) => id).toSorted(byNumber);
    return [{ ...answer, ...(ids && { body: ids }) }, withIds(overMcp(promised))];
  }

  async booking(calling: Calling, id: number): Promise<Both> {
    if (calling.face === 'console') {
      const answer = await this.#faces.console(calling, `/console/bookings/${id}`);
      return [answer, inConsole(withoutBody(this.#model.booking(calling.member, id)))];
    }
    const secret = await this.secretOf(calling);
    const promised = this.#model.booking(nameOf(calling), id);
    if (calling.face !== 'mcp') return [await this.#faces.rest('GET', `/bookings/${id}`, secret), promised];
    const answer = await this.#faces.mcp(secret, 'booking_history', { bookingId: id });
    return [withoutBody(answer), withoutBody(overMcp(promised))];
  }

  async reviews(calling: Calling, communityId: number): Promise<Both | undefined> {
    if (calling.face === 'console') return undefined;
    const secret = await this.secretOf(calling);
    const promised = this.#model.reviews(nameOf(calling), communityId);
    if (calling.face !== 'mcp')
      return [await this.#faces.rest('GET', `/communities/${communityId}/reviews`, secret), promised];
    const answer = await this.#faces.mcp(secret, 'list_reviews', { communityId });
    return [withoutBody(answer), withoutBody(overMcp(promised))];
  }

  async approve(calling: Calling, bookingId: BookingId): Promise<Both> {
    if (calling.face === 'console') {
      const answer = await this.#faces.console(calling, `/console/bookings/${bookingId}/approve`, {});
      return [withoutBody(answer), inConsole(this.#model.approve(calling.member, bookingId))];
    }
    const { id } = partyOf(calling);
    const community = { kind: 'Community', id } as const;
    const { bookings } = this.#service.core.commands;
    const outcome = await bookings.approve({ bookingId, communityId: communityId(id) }, CONTEXT);
    return [answerOf(outcome), this.#model.approve(community, bookingId)];
  }

  async cancel(calling: Calling, bookingId: BookingId): Promise<Both> {
    if (calling.face === 'console') {
      // The page says what it ends.
      const was = this.#model.lookUp(bookingId)?.status === 'Pending' ? 'Pending' : 'Approved';
      const fields = { was, reason: this.textOf(`user:${calling.member.userId}`) };
      const answer = await this.#faces.console(calling, `/console/bookings/${bookingId}/cancel`, fields);
      return [withoutBody(answer), inConsole(this.#model.cancel(calling.member, bookingId))];
    }
    const party = partyOf(calling);
    if (calling.face === 'mcp') {
      const input = { bookingId, reason: this.textOf(`user:${calling.member.userId}`) };
      const answer = await this.#faces.mcp(await this.secretOf(calling), 'cancel_booking', input);
      return [withoutBody(answer), this.#toBrand(calling, () => this.#model.cancel(calling.name, bookingId))];
    }
    const outcome = await this.#service.core.commands.bookings.cancel({ bookingId, by: accountOf(party) }, CONTEXT);
    return [answerOf(outcome), this.#model.cancel(party, bookingId)];
  }

  async move(calling: Calling, bookingId: BookingId, to: Place, price: MovePrice): Promise<Both> {
    const { spaceId, date, startHour } = to;
    if (calling.face === 'console') {
      const seenFee = String(this.#model.feeOn(spaceId, date) ?? '');
      const fields = { space: String(spaceId), date, startHour: String(startHour), reason: '', price, seenFee };
      const answer = await this.#faces.console(calling, `/console/bookings/${bookingId}/move`, fields);
      // The form of an approved booking has no choice.
      const isRequest = this.#model.lookUp(bookingId)?.status === 'Pending';
      const isSeen = this.#model.booking(calling.member, bookingId).status === 200;
      const promised = inConsole(this.#model.move(calling.member, bookingId, to, isRequest ? price : 'agreed'));
      // A booking that is not seen has no form, and the form offers the spaces of the community alone.
      const isOther = promised.status === 404 || promised.status === 422;
      return [withoutBody(answer), isOther ? { status: isSeen ? 422 : 404 } : withoutBody(promised)];
    }
    const secret = await this.secretOf(calling);
    if (calling.face === 'mcp') {
      const isThere = this.#model.isAt(bookingId, to);
      const answer = await this.#faces.mcp(secret, 'move_booking', { bookingId, ...to, price });
      const promised = withoutBody(this.#toBrand(calling, () => this.#model.move(calling.name, bookingId, to, price)));
      // The tool may be repeated.
      return [withoutBody(answer), promised.error === 'BookingNotAllowed' && isThere ? { status: 200 } : promised];
    }
    const body = { spaceId, startTime: date, startHour, price };
    const answer = await this.#faces.rest('POST', `/bookings/${bookingId}/move`, secret, body);
    return [answer, this.#model.move(nameOf(calling), bookingId, to, price)];
  }

  /** What a tool promises that apps of communities do not have: their calls change nothing. */
  #toBrand({ name, member }: ConnectedApp, call: () => Answer): Answer {
    if (member.kind === 'Brand') return overMcp(call());
    const known = this.#model.booking(name, 0);
    return known.status === 401 ? overMcp(known) : { status: 400, error: 'NoSuchTool' };
  }

  async answerMove(calling: Calling, bookingId: BookingId, accepts: boolean): Promise<Both | undefined> {
    const party = partyOf(calling);
    const stored = await this.#service.core.queries.bookings.get(accountOf(party), bookingId);
    const moveId = stored?.move?.moveId ?? 'none';
    if (calling.face === 'console') {
      const fields = { answer: accepts ? 'accept' : 'no', moveId };
      const answer = await this.#faces.console(calling, `/console/bookings/${bookingId}/move/answer`, fields);
      const promised = inConsole(this.#model.answerMove(calling.member, bookingId, accepts));
      return [withoutBody(answer), withoutBody(promised)];
    }
    if (!accepts && calling.face !== 'mcp') {
      const secret = await this.secretOf(calling);
      const answer = await this.#faces.rest('POST', `/bookings/${bookingId}/move/decline`, secret, {});
      return [withoutBody(answer), withoutBody(this.#model.answerMove(nameOf(calling), bookingId, false))];
    }
    if (stored === undefined) return undefined;
    const command = { bookingId, by: accountOf(party), moveId, accepts };
    const outcome = await this.#service.core.commands.moves.answer(command, CONTEXT);
    return [answerOf(outcome), withoutBody(this.#model.answerMove(party, bookingId, accepts))];
  }

  async review(calling: Calling, bookingId: BookingId, rating: number): Promise<Both> {
    const party = partyOf(calling);
    const texts = { title: `Review ${bookingId}`, content: this.textOf(`brand:${party.id}`) };
    if (calling.face === 'console') {
      const fields = { rating: String(rating), ...texts };
      const answer = await this.#faces.console(calling, `/console/bookings/${bookingId}/review`, fields);
      const posted = await this.#service.core.queries.reviews.ofBooking({ bookingId });
      const reviewId = () => posted?.reviewId ?? 0;
      return [withoutBody(answer), inConsole(this.#model.review(calling.member, bookingId, rating, reviewId))];
    }
    const brand = { kind: 'Brand', id: party.id } as const;
    const posting = { bookingId, brandId: brandId(brand.id), rating, ...texts };
    const outcome = await this.#service.core.commands.reviews.post(posting, CONTEXT);
    const reviewId = () => (isRefusal(outcome) ? 0 : outcome.reviewId);
    return [answerOf(outcome), this.#model.review(brand, bookingId, rating, reviewId)];
  }

  async setRole(by: InConsole | Party, member: Member, role: Role): Promise<Both> {
    if ('face' in by) {
      const fields = { role, was: this.#model.roleOf(member) ?? '' };
      const answer = await this.#faces.console(by, `/console/people/${member.userId}/role`, fields);
      const isSame = this.#model.roleOf(member) === role;
      const promised = inConsole(this.#model.setRole(by.member, member, role));
      // That nothing has changed is said, too.
      return [withoutBody(answer), promised.status === 200 && isSame ? { status: 422 } : promised];
    }
    const outcome = await this.#service.core.users.setRole(member.userId, accountOf(by), role, CONTEXT);
    return [answerOf(outcome), this.#model.setRole(by, member, role)];
  }

  async removeMember(by: InConsole | Party, member: Member): Promise<Both | undefined> {
    if ('face' in by) {
      const answer = await this.#faces.console(by, `/console/people/${member.userId}/remove`, {});
      return [withoutBody(answer), inConsole(this.#model.removeMember(by.member, member))];
    }
    // The operator sees who has left already.
    if (this.#model.roleOf(member) === undefined) return undefined;
    const outcome = await this.#service.core.users.removeMember(member.userId, accountOf(by), CONTEXT);
    const answer = outcome === 'removed' ? { status: 200 } : answerOf(outcome);
    return [answer, this.#model.removeMember(by, member)];
  }

  /** A member chooses mail: for all spaces, or for one. */
  async chooseMail(calling: InConsole, ticked: Ticked, space: Space | undefined): Promise<Both> {
    const { member } = calling;
    const fields = space === undefined ? { kind: ticked.on } : { space: String(space.id), ...selected(ticked) };
    const page = `/console/mail/settings${space === undefined ? '' : '/space'}`;
    const answer = withoutBody(await this.#faces.console(calling, page, fields));
    const role = this.#model.roleOf(member);
    if (role === undefined) return [answer, { status: 401 }];
    const { choices } = this.#model.mails;
    if (space === undefined) choices.choose(member, role, ticked);
    else if (member.kind === 'Brand' || member.id !== space.communityId) return [answer, { status: 404 }];
    else choices.chooseFor(space.id, member, role, ticked);
    return [answer, { status: 200 }];
  }

  /** What people write later differs from what is forgotten. */
  textOf(subject: string): string {
    return this.#model.isForgotten(subject) ? `${WRITTEN} ${subject}, later.` : writtenBy(subject);
  }

  /** The key of a client, or the token of an app. */
  async secretOf(calling: Exclude<Calling, InConsole>): Promise<string> {
    return calling.face === 'key' ? calling.secret : this.#faces.tokenOf(calling, this.#model.isValid(calling.name));
  }
}

/** What the model calls a client. */
const nameOf = (calling: Calling): Caller =>
  calling.face === 'key' ? calling.secret : calling.face === 'console' ? calling.member : calling.name;

/** The fields of the form of a space. */
const selected = ({ on, off }: Ticked): Readonly<Record<string, string>> =>
  Object.fromEntries(CHOSEN_KINDS.map((kind) => [kind, on.includes(kind) ? 'on' : off.includes(kind) ? 'off' : '']));

const byNumber = (a: number, b: number): number => a - b;
const idIn = ({ body }: Answer): number => (body as { readonly id?: number } | undefined)?.id ?? 0;
const withId = (answer: Answer): Answer => (answer.body === undefined ? answer : { ...answer, body: idIn(answer) });
const withIds = ({ body, ...answer }: Answer): Answer =>
  body === undefined
    ? answer
    : { ...answer, body: (body as readonly { readonly id: number }[]).map(({ id }) => id).toSorted(byNumber) };
const withoutBody = ({ body: _, ...answer }: Answer): Answer => answer;

/** The outcome of a command as REST would answer it. */
const answerOf = (outcome: object | Refusal): Answer =>
  isRefusal(outcome) ? { status: ERROR_STATUS[outcome.refused], error: outcome.refused } : { status: 200 };

/** Tools name the error, and have no status. */
const overMcp = ({ status, error, body }: Answer): Answer => {
  if (error !== undefined) return { status: status === 401 ? 401 : 400, error };
  return { status: 200, ...(body !== undefined && { body }) };
};

/** Pages have no codes: a sign-in, a page that says so, or a message. What an account does not have is missing. */
const inConsole = ({ status, error, body }: Answer): Answer => {
  if (error === 'InvalidApiKey') return { status: 401 };
  if (error === 'InsufficientPermissions') return { status: 403 };
  if (error === 'ResourceNotFound' || error === 'ScopeViolation') return { status: 404 };
  if (status >= 400) return { status: 422 };
  return { status: 200, ...(body !== undefined && { body: { id: idIn({ status, body }) } }) };
};
