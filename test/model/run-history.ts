import { isDeepStrictEqual } from 'node:util';
import { ERROR_STATUS } from '../../src/contract/schemas/errors.ts';
import { isRefusal, type Refusal } from '../../src/domain/decision.ts';
import type { SpaceTerms } from '../../src/domain/events.ts';
import { brandId, cents, communityId } from '../../src/domain/ids.ts';
import { keysOf } from '../../src/domain/keys-of.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import { logEnd } from '../../src/event-store/event-store.ts';
import { readMarks } from '../../src/outbox/marks.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { dateIn, PARTIES, type Step, type World } from './histories.ts';
import { type Answer, Model, type Party, type Terms } from './model.ts';
import { type ModelledService, openModelledService } from './modelled-service.ts';

const HOUR_MS = 3_600_000;

/**
 * Runs a history on the service and on the model, from the beginning of the world on.
 * @throws {Error} where an answer, or what is there in the end, differs
 */
export async function runHistory(world: World, steps: readonly Step[]): Promise<void> {
  const model = new Model(world.start);
  const service = await openModelledService(() => model.now);
  const receiver = await startReceiver();
  try {
    const history = await History.begin(world, model, service, (path) => `http://127.0.0.1:${receiver.port}${path}`);
    for (const step of steps) await history.take(step);
    await history.checkAll();
    await history.checkDeliveries(receiver);
  } finally {
    await service.stop();
    await receiver.close();
  }
}

type Url = (path: string) => string;

class History {
  readonly #keys: string[] = [];
  /** The ids of the service, in the order in which they came. */
  readonly #webhooks: string[] = [];
  readonly #paths = new Map<string, string>();
  readonly #closed: string[] = [];
  readonly #apiKeys = new Map<string, string>();
  readonly #spaces: { readonly id: number; readonly communityId: number }[] = [];
  readonly #world: World;
  readonly #model: Model;
  readonly #service: ModelledService;
  readonly #url: Url;

  private constructor(world: World, model: Model, service: ModelledService, url: Url) {
    this.#world = world;
    this.#model = model;
    this.#service = service;
    this.#url = url;
  }

  static async begin(world: World, model: Model, service: ModelledService, url: Url): Promise<History> {
    const history = new History(world, model, service, url);
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
    for (const party of PARTIES) await history.#issue(party, ALL_PERMISSIONS);
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
  }

  /** Compares what every key sees of everything. */
  async checkAll(): Promise<void> {
    const ids = this.#model.bookingIds();
    for (const key of this.#keys.keys()) {
      await this.take({ do: 'list', key });
      await this.take({ do: 'webhooks', key });
      for (const community of [0, 1]) await this.take({ do: 'reviews', key, community });
      for (const booking of ids.keys()) await this.take({ do: 'booking', key, booking });
      for (const space of this.#spaces.keys())
        for (const day of [0, 1, 2, 3, 4]) await this.take({ do: 'availability', key, space, day });
    }
    const { differences, notVerified } = await this.#service.core.maintenance.verify(() => {});
    same('What verify finds', { differences, notVerified }, { differences: [], notVerified: [] });
  }

  /** Sends what waits. Each registration gets what it is owed, once, and nothing else. */
  async checkDeliveries({ received }: Pick<Receiver, 'received'>): Promise<void> {
    const { events, documents, webhooks } = this.#service.core;
    await webhooks.start();
    const owed = this.#model.owed();
    const expected = owed
      .map(({ webhookId, event, bookingId }) => `${this.#paths.get(webhookId)} ${event} ${bookingId}`)
      .toSorted();
    const delivered = () =>
      received
        .map(({ path, body }) => {
          const { event, data } = JSON.parse(body);
          return `${path} ${event} ${data.bookingId}`;
        })
        .toSorted();
    const end = await logEnd(events);
    await eventually(async () => {
      const marks = await readMarks(documents, 'webhooks');
      if (keysOf(WEBHOOK_EVENTS).some((kind) => (marks[kind] ?? '') < end))
        throw new Error('Fan-out has not reached the end of the log');
      if (received.length < expected.length) throw new Error(`${received.length} of ${expected.length} have come`);
      if ((await webhooks.oldestPendingDelivery()) !== undefined) throw new Error('A delivery waits');
    }).catch((error: unknown) => {
      same('What was delivered', delivered(), expected);
      throw error;
    });
    await webhooks.stop();
    same('What was delivered', delivered(), expected);
  }

  async #call(step: Step): Promise<readonly [Answer, Answer] | undefined> {
    const { commands } = this.#service.core;
    const model = this.#model;
    switch (step.do) {
      case 'request': {
        const key = this.#key(step.key);
        const { date, space } = this.#spaceDay(step);
        const { hour: startHour, message } = step;
        const idempotencyKey = step.idempotencyKey === undefined ? undefined : `key ${step.idempotencyKey}`;
        const body = { spaceId: space, startTime: date, startHour, ...(message !== undefined && { message }) };
        const answer = await this.#rest('POST', '/bookings', key, body, idempotencyKey);
        const request = { spaceId: space, date, startHour, ...(message !== undefined && { message }) };
        return [answer, model.request(key, request, idempotencyKey, () => idIn(answer))];
      }
      case 'availability': {
        const key = this.#key(step.key);
        const { date, space } = this.#spaceDay(step);
        const answer = await this.#rest('GET', `/spaces/${space}/availability?date=${date}`, key);
        return [answer, model.availability(key, space, date)];
      }
      case 'list': {
        const key = this.#key(step.key);
        const startDate = step.from === undefined ? undefined : dateIn(this.#world.zone, model.now, step.from);
        const filter = { ...(startDate && { startDate }), ...(step.status && { status: step.status }) };
        const answer = await this.#rest('GET', `/bookings?${new URLSearchParams(filter)}`, key);
        return [answer, model.list(key, filter)];
      }
      case 'booking': {
        const key = this.#key(step.key);
        const id = this.#booking(step.booking);
        return [await this.#rest('GET', `/bookings/${id}`, key), model.booking(key, id)];
      }
      case 'reviews': {
        const key = this.#key(step.key);
        const id = 1 + (step.community % 3);
        return [await this.#rest('GET', `/communities/${id}/reviews`, key), model.reviews(key, id)];
      }
      case 'approve': {
        const id = 1 + (step.community % 2);
        const booking = this.#booking(step.booking);
        const outcome = await commands.bookings.approve({ bookingId: booking, communityId: communityId(id) }, CONTEXT);
        return [answerOf(outcome), model.approve(id, booking)];
      }
      case 'cancel': {
        const { kind, id } = PARTIES[step.party % PARTIES.length] ?? PARTY;
        const by = kind === 'Brand' ? ({ kind, id: brandId(id) } as const) : ({ kind, id: communityId(id) } as const);
        const booking = this.#booking(step.booking);
        const outcome = await commands.bookings.cancel({ bookingId: booking, by }, CONTEXT);
        return [answerOf(outcome), model.cancel({ kind, id }, booking)];
      }
      case 'review': {
        const id = 1 + (step.brand % 2);
        const booking = this.#booking(step.booking);
        const texts = { title: `Review ${booking}`, content: 'It was good.' };
        const outcome = await commands.reviews.post(
          { bookingId: booking, brandId: brandId(id), rating: step.rating, ...texts },
          CONTEXT,
        );
        const reviewId = () => (isRefusal(outcome) ? 0 : outcome.reviewId);
        return [answerOf(outcome), model.review(id, booking, step.rating, reviewId)];
      }
      case 'close': {
        const { date, space, owner } = this.#spaceDay(step);
        const [start, until] = [step.start, Math.min(24, step.start + step.length)];
        const outcome = await commands.closures.add(
          { communityId: owner, spaceIds: [space], kind: step.kind, from: date, to: date, start, until },
          CONTEXT,
        );
        const promised = model.close(
          () => (isRefusal(outcome) ? 'none' : outcome.closureId),
          ...([step.kind, space, date, start, until] as const),
        );
        if (!isRefusal(outcome)) this.#closed.push(outcome.closureId);
        return [answerOf(outcome), promised];
      }
      case 'endClosed': {
        const id = this.#closed[step.closed % (this.#closed.length || 1)];
        if (id === undefined) return undefined;
        for (const owner of [1, 2]) await commands.closures.end({ closureId: id, communityId: owner }, CONTEXT);
        model.endClosed(id);
        return undefined;
      }
      case 'terms': {
        const { id } = this.#space(step.space);
        accepted(await commands.catalogue.changeSpace({ spaceId: id, terms: stored(step.terms) }, CONTEXT));
        model.changeTerms(id, step.terms);
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
        await this.#issue(PARTIES[step.party % PARTIES.length] ?? PARTY, step.permissions);
        return undefined;
      case 'revokeKey': {
        const key = this.#key(step.key);
        const refusal = await commands.apiKeys.revoke({ apiKeyId: this.#apiKeys.get(key) ?? '', waits: true }, CONTEXT);
        if (refusal !== undefined) throw new Error(refusal.details);
        model.revokeKey(key);
        return undefined;
      }
      case 'registerWebhook': {
        const key = this.#key(step.key);
        const path = `/${this.#paths.size}`;
        const { events } = step;
        const { status, error, body } = await this.#rest('POST', '/webhooks', key, { url: this.#url(path), events });
        const promised = model.registerWebhook(key, events, () => {
          const { id } = body as { readonly id: string };
          this.#webhooks.push(id);
          this.#paths.set(id, path);
          return id;
        });
        return [{ status, ...(error !== undefined && { error }) }, promised];
      }
      case 'removeWebhook': {
        const key = this.#key(step.key);
        const id = this.#webhooks[step.webhook % (this.#webhooks.length || 1)] ?? 'wh_none';
        return [await this.#rest('DELETE', `/webhooks/${id}`, key), model.removeWebhook(key, id)];
      }
      case 'webhooks': {
        const key = this.#key(step.key);
        const answer = await this.#rest('GET', '/webhooks', key);
        const listed = answer.body as readonly { readonly id: string }[] | undefined;
        const ids = listed?.map(({ id }) => id).toSorted();
        return [{ ...answer, ...(ids !== undefined && { body: ids }) }, model.webhooks(key)];
      }
      case 'forget': {
        const id = 1 + (step.brand % 2);
        await commands.personalData.forget(`brand:${id}`, CONTEXT);
        model.forget(id);
        return undefined;
      }
      case 'pass':
        model.now += step.hours * HOUR_MS;
        return undefined;
      case 'runScheduler':
        model.runScheduler();
        await this.#service.runScheduler();
        return undefined;
      case 'restart':
        await this.#service.restart();
        return undefined;
      default:
        return step satisfies never;
    }
  }

  async #issue(account: Party, permissions: number): Promise<void> {
    const { kind, id } = account;
    const owner = kind === 'Brand' ? ({ kind, id: brandId(id) } as const) : ({ kind, id: communityId(id) } as const);
    const issued = accepted(
      await this.#service.core.commands.apiKeys.issue({ account: owner, permissions, label: 'Model' }, CONTEXT),
    );
    this.#keys.push(issued.key);
    this.#apiKeys.set(issued.key, issued.apiKeyId);
    this.#model.issueKey(issued.key, account, permissions);
  }

  async #rest(...call: Parameters<ModelledService['call']>): Promise<Answer> {
    const { status, body } = await this.#service.call(...call);
    if (status >= 400) return { status, error: body.error };
    return { status, ...(body !== undefined && { body }) };
  }

  #key = (index: number): string => this.#keys[index % this.#keys.length] ?? '';
  #space = (index: number) => this.#spaces[index % this.#spaces.length] ?? { id: 0, communityId: 0 };
  #zoneOf = (id: number) => (id === 1 ? this.#world.zone : 'UTC');
  /** The last bookings first. 0 if there is none. */
  #booking = (index: number): number => {
    const ids = this.#model.bookingIds();
    return ids.at(-1 - (index % (ids.length || 1))) ?? 0;
  };
  #spaceDay({ space: index, day }: { readonly space: number; readonly day: number }) {
    const { id: space, communityId: owner } = this.#space(index);
    return { space, owner, date: dateIn(this.#zoneOf(owner), this.#model.now, day) };
  }
}

const PARTY: Party = { kind: 'Brand', id: 1 };

const idIn = ({ body }: Answer): number => (body as { readonly id: number } | undefined)?.id ?? 0;

/** Amounts are cents in commands. */
const stored = ({ week, eventFee, ...rest }: Partial<Terms>): Omit<SpaceTerms, 'name'> =>
  ({
    ...rest,
    ...(eventFee !== undefined && { eventFee: cents(eventFee) }),
    ...(week && {
      week: week.map((hours) => (hours === 'closed' ? hours : { ...hours, eventFee: cents(hours.eventFee) })),
    }),
  }) as Omit<SpaceTerms, 'name'>;

/** The outcome of a command as REST would answer it. */
const answerOf = (outcome: object | Refusal): Answer =>
  isRefusal(outcome) ? { status: ERROR_STATUS[outcome.refused], error: outcome.refused } : { status: 200 };

function same(what: string, actual: unknown, promised: unknown): void {
  if (isDeepStrictEqual(actual, promised)) return;
  throw new Error(`${what} differs.\nThe service: ${JSON.stringify(actual)}\nThe model:   ${JSON.stringify(promised)}`);
}
