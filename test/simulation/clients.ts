import { setTimeout as sleep } from 'node:timers/promises';
import type { Core } from '../../src/core.ts';
import type { Account, Actor } from '../../src/domain/account.ts';
import { isPlainDate } from '../../src/domain/calendar.ts';
import { isRefusal, type Refusal } from '../../src/domain/decision.ts';
import type { SpaceTerms } from '../../src/domain/events.ts';
import { brandId, cents, closureId, communityId, spaceId } from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { clockAt, daysAfter } from '../model/moments.ts';
import type { Fleet } from './fleet.ts';
import type { Action } from './plan.ts';
import type { Process } from './process.ts';
import { virtualNow } from './virtual-time.ts';

/** How long a client waits for an answer, and how often it asks another process after none. */
const ANSWERED_WITHIN_MS = 30_000;
const TRIES = 4;
const TRY_AGAIN_MS = 1_500;
/** A mail that was written before may still be on its way, until its process has gone on for as long. */
const LEFT_FOR_MS = 15_000;

/** A try of a command, as its client saw it. */
export type Try = {
  readonly correlationId: string;
  readonly at: number;
  outcome: 'accepted' | 'refused' | 'unknown';
  /** How many events it appended, if its client could see that. */
  events?: number;
  /** The booking that it asked for. */
  bookingId?: number;
  readonly key?: string;
};

const ZONES: readonly string[] = ['Europe/Berlin', 'America/New_York'];
const TERMS: SpaceTerms = {
  name: 'Hall',
  windowStart: 0,
  windowEnd: 23,
  durationHours: 4,
  eventFee: cents(20_000),
  answerHours: 48,
};
const SPACES = [
  { communityId: 1, terms: TERMS },
  { communityId: 1, terms: { ...TERMS, windowStart: 9, windowEnd: 22, gapHours: 1 } },
  { communityId: 2, terms: { ...TERMS, durationHours: 2, answerHours: 12, cancelHours: 6 } },
] as const;
const ACCOUNTS: readonly Account[] = [
  { kind: 'Community', id: communityId(1) },
  { kind: 'Community', id: communityId(2) },
  { kind: 'Brand', id: brandId(1) },
  { kind: 'Brand', id: brandId(2) },
];
const OPERATOR: Actor = { kind: 'operator', id: 'simulation' };
const by = (correlationId: string, actor = OPERATOR) => ({ actor, correlationId });

type Context = ReturnType<typeof by>;
type OfKind<K extends Action['do']> = Extract<Action, { do: K }>;
type How = { readonly key?: string | undefined; readonly isRepeatable?: boolean };

/** Clients that use the service through any process, and remember what they were told. */
export class Clients {
  readonly tries: Try[] = [];
  /** The members, by name. */
  readonly users = new Map<string, string>();
  /** Since when the helper has not belonged to the only account that sends it mails. */
  #helperLeftAt: number | undefined;
  readonly #joins = { begun: 0, ended: 0 };
  readonly #fleet: Fleet;
  readonly #now: () => number;
  readonly #bookings: number[] = [];
  readonly #closures: string[] = [];
  readonly #webhooks: string[] = [];
  readonly #keys: string[] = [];

  constructor(fleet: Fleet, now: () => number) {
    this.#fleet = fleet;
    this.#now = now;
  }

  /** What is there before anything goes wrong. */
  async setUp(): Promise<void> {
    const { commands, users } = await this.#anyCore();
    const { catalogue, apiKeys } = commands;
    for (const [n, timeZone] of ZONES.entries())
      accepted(await catalogue.addCommunity({ name: `Community ${n + 1}`, timeZone }, by('set-up')));
    for (const name of ['Brand 1', 'Brand 2']) accepted(await catalogue.addBrand({ name }, by('set-up')));
    for (const { communityId: owner, terms } of SPACES)
      accepted(await catalogue.addSpace({ ...terms, communityId: owner }, by('set-up')));
    const members = [
      ['community', 0, 'Manager'],
      ['helper', 0, 'Coordinator'],
      ['brand', 2, 'Manager'],
    ] as const;
    for (const [name, account, role] of members) {
      const accounts = ACCOUNTS.slice(account, account + 1);
      const user = { email: `${name}@example.com`, password: 'a long password', accounts, role };
      this.users.set(name, accepted(await users.add(user, by('set-up'))).id);
    }
    // The helper also belongs to another account, so that leaving the first one does not remove the user.
    const helper = this.#user('helper');
    accepted(await users.addAccount(helper, this.#account(1), 'Viewer', by('set-up')));
    for (const account of ACCOUNTS) {
      const key = { account, permissions: ALL_PERMISSIONS, label: 'Key' };
      this.#keys.push(accepted(await apiKeys.issue(key, by('set-up'))).apiKeyId);
    }
    for (const account of ACCOUNTS.keys())
      await this.take({ do: 'register', account, events: 31 }, 0, `set-up-${account}`);
  }

  /** Whether a user has left for so long that a process must know it. */
  hasLeft(userId: string, { thawedAt }: Process): boolean {
    const since = Math.max(this.#helperLeftAt ?? Number.POSITIVE_INFINITY, thawedAt);
    return userId === this.#user('helper') && virtualNow() > since + LEFT_FOR_MS;
  }

  /** Carries out an action, as often as it takes. */
  async take(action: Action, via: number, id: string): Promise<void> {
    switch (action.do) {
      case 'request':
        return this.#request(action, via, id);
      case 'approve':
      case 'cancel':
      case 'review': {
        const booking = this.#bookings.at(-1 - action.booking);
        if (booking !== undefined) await this.#onBooking(action, booking, via, id);
        return;
      }
      case 'move':
      case 'answerMove': {
        const booking = this.#bookings.at(-1 - action.booking);
        if (booking !== undefined) await this.#move(action, booking, via, id);
        return;
      }
      case 'close':
        return this.#close(action, via, id);
      case 'endClosed': {
        const closed = this.#closures.at(-1 - action.closed);
        if (closed === undefined) return;
        const end = { closureId: closureId(closed), communityId: communityId(1) };
        await this.#try(via, id, async ({ commands }, context) => commands.closures.end(end, context));
        return;
      }
      case 'register':
        return this.#register(action, via, id);
      case 'unregister': {
        const webhookId = this.#webhooks.at(-1 - action.webhook);
        // Those of the set-up stay.
        if (webhookId === undefined || this.#webhooks.indexOf(webhookId) < ACCOUNTS.length) return;
        await this.#try(via, id, ({ commands }, context) => commands.webhooks.remove({ webhookId }, context));
        return;
      }
      default:
        return this.#changeHelper(action, via, id);
    }
  }

  async #request({ brand, space, day, hour, hasKey }: OfKind<'request'>, via: number, id: string): Promise<void> {
    const date = this.#date(SPACES[space]?.communityId, day);
    const details = { spaceId: spaceId(space + 1), date, startHour: hour, message: `Request ${id}` };
    const key = hasKey ? `key-${id}` : undefined;
    const owner = brandId(brand + 1);
    const command = { brandId: owner, details, ...(key !== undefined && { idempotencyKey: key }) };
    const actor: Actor = { kind: 'apiKey', id: this.#keys[2 + brand] ?? '', account: { kind: 'Brand', id: owner } };
    const call = ({ commands }: Core, context: Context) => commands.bookings.request(command, { ...context, actor });
    const made = await this.#try(via, id, call, { key, isRepeatable: hasKey });
    if (made !== undefined) this.#bookings.push(made.bookingId);
  }

  async #onBooking(action: OfKind<'approve' | 'cancel' | 'review'>, booking: number, via: number, id: string) {
    await this.#try(via, id, async ({ commands: { bookings, reviews } }, context) => {
      if (action.do === 'review')
        return reviews.post({ bookingId: booking, rating: 4, title: `Review ${id}`, content: 'Good' }, context);
      const answer = (owner: number) => {
        if (action.do === 'approve')
          return bookings.approve({ bookingId: booking, communityId: communityId(owner) }, context);
        return bookings.cancel({ bookingId: booking, by: partyOf(action, owner) }, context);
      };
      return ofEither(answer);
    });
  }

  /** A move has further events, on two days, some of which another try may append. */
  async #move(action: OfKind<'move' | 'answerMove'>, booking: number, via: number, id: string): Promise<void> {
    await this.#try(via, id, async ({ commands: { moves }, queries }, context) => {
      const answered = await ofEither(async (owner: number) => {
        const party = partyOf(action, owner);
        const of = { bookingId: booking, by: party };
        if (action.do === 'move') {
          const date = this.#date(SPACES[action.space]?.communityId, action.day);
          const to = { spaceId: spaceId(action.space + 1), date, startHour: action.hour };
          return moves.move({ ...of, to }, context);
        }
        const moveId = (await queries.bookings.get(party, booking))?.move?.moveId ?? 'none';
        return moves.answer({ ...of, moveId, accepts: action.accepts }, context);
      });
      return isRefusal(answered) ? answered : {};
    });
  }

  async #close({ space, day, hour }: OfKind<'close'>, via: number, id: string): Promise<void> {
    const { communityId: owner = 1 } = SPACES[space] ?? {};
    const closure = {
      communityId: owner,
      spaceIds: [space + 1],
      kind: 'Closure',
      from: this.#date(owner, day),
      to: this.#date(owner, day + 2),
      start: hour,
      until: Math.min(24, hour + 3),
    } as const;
    const closed = await this.#try(via, id, ({ commands }, context) => commands.closures.add(closure, context));
    if (closed !== undefined) this.#closures.push(closed.closureId);
  }

  async #register({ account, events }: OfKind<'register'>, via: number, id: string): Promise<void> {
    const owner = { account: this.#account(account), credential: `apiKey:${this.#keys[account] ?? ''}` as const };
    const url = `http://127.0.0.1:9000/${account}`;
    const made = await this.#try(via, id, ({ commands }, context) =>
      commands.webhooks.register({ owner, url, events }, context),
    );
    if (made !== undefined) this.#webhooks.push(made.webhookId);
  }

  async #changeHelper(action: OfKind<'setRole' | 'leave' | 'join'>, via: number, id: string): Promise<void> {
    const [helper, account] = [this.#user('helper'), this.#account(0)];
    const call = ({ users }: Core, context: Context) => {
      if (action.do === 'leave') return users.removeAccount(helper, account, context);
      if (action.do === 'join') return users.addAccount(helper, account, 'Coordinator', context);
      return users.setRole(helper, account, action.role, context);
    };
    if (action.do === 'join') {
      this.#joins.begun += 1;
      this.#helperLeftAt = undefined;
    }
    const { begun, ended } = this.#joins;
    const done = await this.#try(via, id, call);
    // One without an answer may still take effect, at any time.
    if (action.do === 'join' && done !== undefined) this.#joins.ended += 1;
    const hasJoined = begun !== ended || this.#joins.begun !== begun;
    if (action.do === 'leave' && done !== undefined && !hasJoined) this.#helperLeftAt = virtualNow();
  }

  /** @returns what an accepted try was told */
  async #try<R>(
    via: number,
    id: string,
    call: (core: Core, context: Context) => Promise<R | Refusal>,
    { key, isRepeatable = true }: How = {},
  ): Promise<R | undefined> {
    for (let n = 0; n < TRIES; n += 1) {
      const [process] = this.#fleet.from(via + n);
      const core = process?.service?.core;
      if (process === undefined || core === undefined) {
        await sleep(TRY_AGAIN_MS);
        continue;
      }
      const correlationId = `${id}.${n}`;
      const made: Try = { correlationId, at: virtualNow(), outcome: 'unknown', ...(key !== undefined && { key }) };
      this.tries.push(made);
      const late = sleep(ANSWERED_WITHIN_MS).then((): never => {
        throw new Error('No answer');
      });
      try {
        const answer = await Promise.race([process.run(() => call(core, by(correlationId))), late]);
        made.outcome = isRefusal(answer) ? 'refused' : 'accepted';
        if (isRefusal(answer)) return undefined;
        Object.assign(made, toldBy(answer));
        return answer;
      } catch {
        if (!isRepeatable) return undefined;
        await sleep(TRY_AGAIN_MS);
      }
    }
    return undefined;
  }

  async #anyCore(): Promise<Core> {
    for (;;) {
      const core = this.#fleet.from(0)[0]?.service?.core;
      if (core !== undefined) return core;
      await sleep(100);
    }
  }

  #account = (index: number): Account => {
    const account = ACCOUNTS[index];
    if (account === undefined) throw new Error(`There is no account ${index}`);
    return account;
  };
  /** So many days from now, where a community is. */
  #date(community = 1, days: number) {
    const date = daysAfter(clockAt(ZONES[community - 1] ?? 'UTC', this.#now()).date, days);
    if (!isPlainDate(date)) throw new Error(`${date} is not a date`);
    return date;
  }
  #user = (name: string): string => this.users.get(name) ?? '';
}

const partyOf = ({ by: kind }: { readonly by: 'Brand' | 'Community' }, owner: number): Account =>
  kind === 'Brand' ? { kind, id: brandId(owner) } : { kind, id: communityId(owner) };

/** Asks as the first account of a kind, and as the second if the booking is not the first one's. */
async function ofEither<R>(ask: (owner: number) => Promise<R | Refusal>): Promise<R | Refusal> {
  const first = await ask(1);
  return isRefusal(first) && first.refused === 'ResourceNotFound' ? ask(2) : first;
}

/** How many events were appended, and which booking was made, if a client could see that. */
const toldBy = (answer: unknown): Pick<Try, 'events' | 'bookingId'> => ({
  ...(hasField(answer, 'events') && Array.isArray(answer.events) && { events: answer.events.length }),
  ...(hasField(answer, 'bookingId') && { bookingId: Number(answer.bookingId) }),
});

const hasField = <F extends string>(value: unknown, field: F): value is { readonly [K in F]: unknown } =>
  typeof value === 'object' && value !== null && field in value;
