import { ERROR_STATUS } from '../../src/contract/schemas/errors.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { stored } from '../domain/model-values.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { Callers } from './callers.ts';
import { type Both, Calls, partyOf, WRITTEN, writtenBy } from './calls.ts';
import { compareChoices } from './chosen-mail.ts';
import { type Calling, Faces } from './faces.ts';
import { type Day, dateIn, moveOf, PARTIES, rivalOf, type Step, type World, withoutGap } from './histories.ts';
import { CHOSEN_KINDS, MOVES } from './mail-choices.ts';
import { partiesOf } from './mails.ts';
import { Model, type Party } from './model.ts';
import { type ModelledService, type Outside, openModelledService } from './modelled-service.ts';
import { Registrations } from './registrations.ts';
import { type Release, THIS_RELEASE } from './release.ts';
import { same } from './same.ts';
import { Sending } from './sending.ts';

const HOUR_MS = 3_600_000;

/**
 * Runs a history on the service and on the model, from the beginning of the world on.
 * @throws {Error} where an answer, or what is there in the end, differs
 */
export async function runHistory(world: World, steps: readonly Step[], outside: Outside): Promise<void> {
  const model = new Model(world.start);
  const before = world.isUpgraded ? outside.earlier : undefined;
  const service = await openModelledService(() => model.now, outside, before);
  let unsealed: readonly string[] = [];
  try {
    const history = await History.begin(world, model, service, outside);
    for (const step of steps) await history.take(step);
    await history.checkAll();
    if (before !== undefined) {
      await history.take({ do: 'restart' });
      await history.checkAll();
    }
  } finally {
    unsealed = await service.stop(WRITTEN);
  }
  same('Files with texts that are not sealed', unsealed, []);
}

/** All permissions that the release before knows, too. */
const KNOWN_PERMISSIONS = 31;
/** The flag of `BookingMoved`, which it does not know. */
const MOVED = 16;

class History {
  /** The ids of the service, in the order in which they came. */
  readonly #closed: string[] = [];
  readonly #spaces: { readonly id: number; readonly communityId: number }[] = [];
  readonly #world: World;
  readonly #model: Model;
  readonly #service: ModelledService;
  readonly #callers: Callers;
  readonly #calls: Calls;
  readonly #registrations: Registrations;
  readonly #sending: Sending;
  readonly #outside: Outside;
  #once = 0;
  /** Makes the last request with a key that was accepted once more. */
  #retry: (() => Promise<Both>) | undefined;
  /** Texts that no answer, delivery or mail may show any more. */
  readonly #forgotten: string[] = [];

  private constructor(world: World, model: Model, service: ModelledService, outside: Outside) {
    this.#world = world;
    this.#model = model;
    this.#service = service;
    this.#outside = outside;
    const look = (text: string) => this.#look(text);
    const faces = new Faces({ service, clock: () => model.now, look });
    this.#callers = new Callers({ service, model, faces });
    this.#calls = new Calls(faces, model, service);
    const origin = `http://127.0.0.1:${outside.receiver.port}`;
    this.#registrations = new Registrations({ faces, calls: this.#calls, model, origin });
    this.#sending = new Sending(service, model, outside);
  }

  static async begin(world: World, model: Model, service: ModelledService, outside: Outside): Promise<History> {
    const history = new History(world, model, service, outside);
    const { catalogue } = service.core.commands;
    for (const { kind, id } of PARTIES) {
      const name = `${kind} ${id}`;
      if (kind === 'Brand') {
        accepted(await catalogue.addBrand({ name }, CONTEXT));
        model.addBrand(id, name);
      } else {
        const timeZone = history.#zoneOf(id);
        accepted(await catalogue.addCommunity({ name, timeZone }, CONTEXT));
        model.addCommunity(id, timeZone);
      }
    }
    for (const [index, terms] of world.terms.entries()) {
      const owner = index < 2 ? 1 : 2;
      const name = `Space ${index}`;
      const id = accepted(await catalogue.addSpace({ ...stored(terms), name, communityId: owner }, CONTEXT));
      model.addSpace(id, owner, name, terms);
      history.#spaces.push({ id, communityId: owner });
    }
    const callers = history.#callers;
    for (const party of PARTIES) await callers.issueKey(party, KNOWN_PERMISSIONS);
    for (const party of [COMMUNITY, BRAND]) await callers.join(0, party, 'Manager');
    await callers.join(1, BRAND, 'Manager');
    await callers.join(1, COMMUNITY, 'Coordinator');
    return history;
  }

  /** Makes one call, and compares the answers. */
  async take(step: Step): Promise<void> {
    const both = await this.#call(step);
    if (both === undefined) return;
    const [answer, promised] = both;
    same(`The answer to ${JSON.stringify(step)}`, answer, promised);
    const overlapping = this.#model.overlapping();
    if (overlapping.length > 0) throw new Error(`The model lets bookings overlap: ${JSON.stringify(overlapping)}`);
    if ((step.do === 'request' || step.do === 'rival') && promised.error === undefined) await this.#lookAtDay();
    if (step.do === 'chooseMail' || step.do === 'unsubscribe') await this.#compareChoices();
  }

  /** Compares the open hours of the day of the last booking, as a brand sees them. */
  async #lookAtDay(): Promise<void> {
    const last = this.#model.lookUp(this.#booking(0));
    const brand = this.#callers.brandKey();
    if (last === undefined || brand === undefined) return;
    const { space, dto } = last;
    const both = await this.#calls.availability(brand, space.id, dto.date);
    if (both !== undefined) same(`The open hours after booking ${dto.id}`, ...both);
  }

  /** Compares what callers see of everything, and what was sent. */
  async checkAll(): Promise<void> {
    for (let by = 0; by < this.#callers.count; by += 1) {
      // Of each account one caller looks at more.
      const isFirst = by < PARTIES.length;
      const bookings = this.#model.bookingIds().slice(isFirst ? -10 : -2);
      for (const booking of bookings.keys()) await this.take({ do: 'booking', by, booking });
      await this.take({ do: 'list', by });
      await this.take({ do: 'webhooks', by });
      for (const community of isFirst ? [0, 1] : []) await this.take({ do: 'reviews', by, community });
      for (const space of isFirst ? this.#spaces.keys() : [])
        for (const day of [0, 1, 2, 3, 4, 'change'] as const) await this.take({ do: 'availability', by, space, day });
    }
    await this.#compareChoices();
    const { differences, notVerified } = await this.#service.core.maintenance.verify(() => {});
    same('What verify finds', { differences, notVerified }, { differences: [], notVerified: [] });
    await this.take({ do: 'send', isMailAway: false });
    if (this.#model.mails.digested.size === 0) return;
    // Digests have come by then.
    await this.take({ do: 'pass', hours: 2 });
    await this.take({ do: 'send', isMailAway: false });
  }

  /** The flags of events that the release before knows, too. */
  #known = (events: number): number => (this.#world.isUpgraded ? events & ~MOVED : events);

  #compareChoices(): Promise<void> {
    const members = this.#callers.members().map(({ member }) => member);
    const kinds = this.#world.isUpgraded
      ? CHOSEN_KINDS.filter((kind) => !MOVES.some((each) => each === kind))
      : CHOSEN_KINDS;
    return compareChoices(this.#service, this.#model, members, this.#spaces, kinds);
  }

  async #call(step: Step): Promise<Both | undefined> {
    switch (step.do) {
      case 'request':
      case 'rival':
      case 'availability':
      case 'list':
      case 'booking':
      case 'reviews':
      case 'approve':
      case 'cancel':
      case 'review':
        return this.#callBy(this.#callers.at(step.by), step);
      case 'move':
      case 'answerMove':
        return this.#world.isUpgraded ? undefined : this.#move(step);
      case 'retry':
        return this.#retry?.();
      case 'registerWebhook':
        return this.#registrations.register(this.#callers.at(step.by), this.#known(step.events));
      case 'removeWebhook':
        return this.#registrations.remove(this.#callers.at(step.by), step.webhook);
      case 'webhooks':
        return this.#registrations.list(this.#callers.at(step.by));
      case 'join':
      case 'setRole':
      case 'removeMember':
      case 'connect':
      case 'chooseMail':
        return this.#member(step);
      case 'flood':
        return this.#flood(this.#callers.at(step.by), step.days);
      default:
        return this.#operate(step);
    }
  }

  async #callBy(calling: Calling, step: Extract<Step, { do: BookingStep }>): Promise<Both | undefined> {
    switch (step.do) {
      case 'request': {
        const { date, space: spaceId } = this.#spaceDay(step);
        const texts = { '': '', text: this.#calls.textOf(`brand:${partyOf(calling).id}`), long: 'x'.repeat(501) };
        const text = step.message === undefined ? undefined : texts[step.message];
        const request = { spaceId, date, startHour: step.hour, ...(text !== undefined && { message: text }) };
        // Tools always have a key.
        const otherwise = calling.face === 'mcp' ? `once ${this.#once++}` : undefined;
        const idempotencyKey = step.idempotencyKey === undefined ? otherwise : `key ${step.idempotencyKey}`;
        const call = () => this.#calls.request(calling, request, idempotencyKey);
        const both = await call();
        if (idempotencyKey !== undefined && both[1].error === undefined) this.#retry = call;
        return both;
      }
      case 'rival': {
        const request = rivalOf(this.#model.lookUp(this.#booking(step.booking)), step.offset);
        const idempotencyKey = calling.face === 'mcp' ? `once ${this.#once++}` : undefined;
        return request && this.#calls.request(calling, request, idempotencyKey);
      }
      case 'availability': {
        const { date, space } = this.#spaceDay(step);
        return this.#calls.availability(calling, space, date);
      }
      case 'list': {
        const startDate = step.from === undefined ? undefined : dateIn(this.#world.zone, this.#model.now, step.from);
        const filter = { ...(startDate && { startDate }), ...(step.status && { status: step.status }) };
        return this.#calls.list(calling, filter);
      }
      case 'booking':
        return this.#calls.booking(calling, this.#booking(step.booking));
      case 'reviews':
        return this.#calls.reviews(calling, 1 + (step.community % 3));
      case 'approve':
        return this.#calls.approve(calling, this.#booking(step.booking));
      case 'cancel':
        return this.#calls.cancel(calling, this.#booking(step.booking));
      case 'review':
        return this.#calls.review(calling, this.#booking(step.booking), step.rating);
      default:
        return step satisfies never;
    }
  }

  /** Moves a booking, or answers its move. */
  async #move(step: Extract<Step, { do: 'move' | 'answerMove' }>): Promise<Both | undefined> {
    const moving = step.do === 'answerMove' ? this.#model.movingIds() : [];
    const last = moving.at(-1 - (step.booking % (moving.length || 1)));
    const id = last === undefined ? this.#booking(step.booking) : bookingId(last);
    const booking = this.#model.lookUp(id);
    const isMeant = (kind: Party['kind']) =>
      step.do === 'answerMove' && step.accepts ? kind !== booking?.move?.askedBy : kind === step.side;
    const party = step.side && booking && partiesOf(booking).find(({ kind }) => isMeant(kind));
    const calling = party === undefined ? this.#callers.at(step.by) : this.#callers.of(party, Math.abs(step.by));
    if (step.do === 'answerMove') return this.#calls.answerMove(calling, id, step.accepts);
    if (booking === undefined) return undefined;
    const { to, price } = moveOf(booking, step, this.#space(step.space).id);
    return this.#calls.move(calling, id, to, price);
  }

  /** The first space is open all night, and asks for no notice. */
  async #flood(calling: Calling, days: number): Promise<undefined> {
    for (let day = 1; day <= days; day += 1) {
      const request = {
        spaceId: this.#space(0).id,
        date: dateIn(this.#zoneOf(1), this.#model.now, 4 + day),
        startHour: 12,
      };
      same(`The answer on day ${day}`, ...(await this.#calls.request(calling, request, `once ${this.#once++}`)));
    }
  }

  async #member(step: Extract<Step, { do: MemberStep }>): Promise<Both | undefined> {
    if (step.do === 'join') {
      await this.#callers.join(step.user, PARTIES[step.party % PARTIES.length] ?? BRAND, step.role);
      return undefined;
    }
    const members = this.#callers.members();
    const calling = members[step.member % members.length];
    if (calling === undefined) return undefined;
    const { member } = calling;
    if (step.do === 'chooseMail')
      return this.#calls.chooseMail(calling, step, step.space === undefined ? undefined : this.#space(step.space));
    if (step.do === 'connect') {
      await this.#callers.connect(step.face, member);
      return undefined;
    }
    const { kind, id } = member;
    const colleagues = members.filter((each) => each.member.kind === kind && each.member.id === id);
    const by = [{ kind, id }, ...colleagues][step.by % (1 + colleagues.length)] ?? { kind, id };
    if (step.do === 'removeMember') return this.#calls.removeMember(by, member);
    return this.#calls.setRole(by, member, step.role);
  }

  async #operate(step: Extract<Step, { do: OperatorStep }>): Promise<Both | undefined> {
    const { commands } = this.#service.core;
    const model = this.#model;
    switch (step.do) {
      case 'close':
        return this.#close(step);
      case 'endClosed': {
        const id = this.#closed[step.closed % (this.#closed.length || 1)];
        if (id === undefined) return undefined;
        for (const { id: owner } of PARTIES.slice(0, 2))
          await commands.closures.end({ closureId: id, communityId: communityId(owner) }, CONTEXT);
        model.endClosed(id);
        return undefined;
      }
      case 'terms': {
        const { id } = this.#space(step.space);
        const terms = this.#world.isUpgraded ? withoutGap(step.terms) : step.terms;
        accepted(await commands.catalogue.changeSpace({ spaceId: id, terms: stored(terms) }, CONTEXT));
        model.changeTerms(id, terms);
        return undefined;
      }
      case 'active': {
        const { id } = this.#space(step.space);
        const change = step.active ? commands.catalogue.openSpace : commands.catalogue.closeSpace;
        accepted(await change(id, CONTEXT));
        model.setActive(id, step.active);
        return undefined;
      }
      case 'issueKey':
        await this.#callers.issueKey(PARTIES[step.party % PARTIES.length] ?? BRAND, step.permissions);
        return undefined;
      case 'revokeKey':
        await this.#callers.revokeKey(step.key);
        return undefined;
      case 'forget': {
        const users = this.#callers.userIds().map((id) => `user:${id}` as const);
        const subject = (['brand:1', 'brand:2', ...users] as const)[step.subject % (2 + users.length)] ?? 'brand:1';
        await commands.personalData.forget(subject, CONTEXT);
        model.forget(subject);
        this.#forgotten.push(writtenBy(subject));
        this.#retry = undefined;
        return undefined;
      }
      case 'pass':
        model.now += step.hours * HOUR_MS;
        return undefined;
      case 'unsubscribe':
        return this.#sending.unsubscribe(step.mail);
      case 'runScheduler':
        model.runScheduler();
        await this.#service.runScheduler();
        return undefined;
      case 'send':
        return this.#send(step.isMailAway);
      case 'restart':
        await this.#service.restart(this.#nextRelease());
        return undefined;
      default:
        return step satisfies never;
    }
  }

  async #close(step: Extract<Step, { do: 'close' }>): Promise<Both> {
    const { date, space, owner } = this.#spaceDay(step);
    const [start, until] = [step.start, Math.min(24, step.start + step.length)];
    const outcome = await this.#service.core.commands.closures.add(
      { communityId: owner, spaceIds: [space], kind: step.kind, from: date, to: date, start, until },
      CONTEXT,
    );
    const id = () => (isRefusal(outcome) ? 'none' : outcome.closureId);
    const promised = this.#model.close(id, step.kind, space, date, start, until);
    if (isRefusal(outcome)) return [{ status: ERROR_STATUS[outcome.refused], error: outcome.refused }, promised];
    this.#closed.push(outcome.closureId);
    return [{ status: 200 }, promised];
  }

  async #send(isMailAway: boolean): Promise<undefined> {
    const texts = await this.#sending.send({
      isMailAway,
      pathOf: this.#registrations.pathOf,
      emailOf: this.#callers.emailOf,
    });
    for (const text of texts) this.#look(text);
    return undefined;
  }

  /** @throws {Error} if a text shows what is forgotten */
  #look(text: string): void {
    const shown = this.#forgotten.find((each) => text.includes(each));
    if (shown !== undefined)
      throw new Error(`Shown, though forgotten: ${text.split('\n').find((line) => line.includes(shown))}`);
  }

  /** A history that has begun on the release before goes from one to the other. */
  #nextRelease(): Release | undefined {
    const { earlier } = this.#outside;
    if (!this.#world.isUpgraded || earlier === undefined) return undefined;
    return this.#service.release === THIS_RELEASE ? earlier : THIS_RELEASE;
  }

  #space = (index: number) => this.#spaces[index % this.#spaces.length] ?? SPACE;
  #zoneOf = (id: number) => (id === 1 ? this.#world.zone : 'UTC');
  /** The last bookings first. */
  #booking = (index: number) => {
    const ids = this.#model.bookingIds();
    return bookingId(ids.at(-1 - (index % (ids.length || 1))) ?? NO_BOOKING);
  };
  #spaceDay({ space: index, day }: { readonly space: number; readonly day: Day }) {
    const { id: space, communityId: owner } = this.#space(index);
    const { change } = this.#world;
    return { space, owner, date: day === 'change' ? change : dateIn(this.#zoneOf(owner), this.#model.now, day) };
  }
}

type BookingStep =
  | 'request'
  | 'rival'
  | 'availability'
  | 'list'
  | 'booking'
  | 'reviews'
  | 'approve'
  | 'cancel'
  | 'review';
type WebhookStep = 'registerWebhook' | 'removeWebhook' | 'webhooks';
type MemberStep = 'join' | 'setRole' | 'removeMember' | 'connect' | 'chooseMail';
type OperatorStep = Exclude<
  Step['do'],
  'retry' | 'flood' | 'move' | 'answerMove' | BookingStep | WebhookStep | MemberStep
>;

const COMMUNITY: Party = { kind: 'Community', id: 1 };
const BRAND: Party = { kind: 'Brand', id: 1 };
const NO_BOOKING = 999_999;
const SPACE = { id: 0, communityId: 0 };
