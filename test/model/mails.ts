import { MailChoices } from './mail-choices.ts';
import type { Booking, Member, Party, Role } from './model.ts';
import { clockAt, daysAfter, momentOf, type Zone } from './moments.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Mails about bookings that a user gets in an hour, before the others come in one. */
export const MAILS_AN_HOUR = 20;
/** Once the hour is over, a digest is sent within so long. */
const DIGEST_WITHIN_MS = 60_000;

const isPending = ({ status }: Booking) => status === 'Pending';
const isNotCancelled = ({ status }: Booking) => status !== 'Cancelled';
/** As long as what a mail about a booking says is so, it is news. */
const IS_NEWS_WHILE = {
  BookingRequested: isPending,
  AnswerDue: isPending,
  BookingApproved: isNotCancelled,
  BookingDeclined: () => true,
  BookingCancelled: () => true,
  BookingExpired: () => true,
  BookingMoveAsked: (booking: Booking, asked: Mail['move']) => asked !== undefined && booking.move === asked,
  BookingMoveEnded: isNotCancelled,
  BookingMoved: isNotCancelled,
  ReviewPublished: () => true,
};
/** Whether a user gets at most so many of them in an hour. */
export const isLimited = (kind: string): boolean => kind in IS_NEWS_WHILE;
type MailKind = keyof typeof IS_NEWS_WHILE | 'EventTomorrow' | 'ApiKeyIssued' | 'RoleChanged';

/** Something of which the members of some accounts hear, but not the one who did it. */
export type News = {
  readonly kind: MailKind;
  readonly parties: readonly Party[];
  readonly booking?: Booking;
  /** The user who did it in person. */
  readonly by?: string | undefined;
};
type Told = News & { readonly at: number; readonly place: Place | undefined; readonly move: Booking['move'] };
/** A mail to a member of an account. */
export type Mail = {
  readonly kind: MailKind;
  readonly to: Member;
  readonly at: number;
  readonly booking?: Booking | undefined;
  /** Where and when the event was to be. The booking may move. */
  readonly place?: Place | undefined;
  /** The move that waited. */
  readonly move?: Booking['move'];
  readonly role?: Role;
};
type Place = { readonly spaceId: number; readonly date: string };

/** What the mails are about. */
type World = {
  readonly now: () => number;
  readonly bookings: () => Iterable<Booking>;
  readonly membersOf: (party: Party) => readonly (Member & { readonly role: Role })[];
  readonly zoneOf: (booking: Booking) => Zone;
};

const named = ({ kind, id }: Party): string => `${kind} ${id}`;
/** The community and the brand. */
export const partiesOf = ({ brandId, space }: Booking): readonly [Party, Party] => [
  { kind: 'Community', id: space.communityId },
  { kind: 'Brand', id: brandId },
];

/** The part of the model that knows which mail goes to whom (docs/guides/mail.md). */
export class Mails {
  readonly choices = new MailChoices();
  /** The mails to each user who was to get so many that some of them come in one. Which of them is not promised. */
  readonly digested = new Map<string, readonly Mail[]>();
  readonly #world: World;
  readonly #news: Told[] = [];
  readonly #made: Mail[] = [];
  /** All mails of which a user gets at most so many in an hour. */
  readonly #limited: Mail[] = [];
  readonly #arrived: Mail[] = [];
  readonly #reminded = new Set<string>();
  /** When each user got mails about bookings one by one. */
  readonly #counted = new Map<string, readonly number[]>();
  /** Of users with a digest: what is still to come, in it or alone, and when the digest is due. */
  readonly #toCome = new Map<string, { readonly digestAt: number; readonly mails: readonly Mail[] }>();
  /** Mails that were not true any more, or not wanted, when mail was sent. */
  readonly #lapsed = new Set<Mail>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Something has happened. */
  tell(news: News): void {
    const { booking } = news;
    this.#news.push({ ...news, at: this.#world.now(), place: booking && placeOf(booking), move: booking?.move });
  }

  roleChanged(to: Member, role: Role): void {
    this.#made.push({ kind: 'RoleChanged', to, role, at: this.#world.now() });
  }

  /** Finds out who is to hear of what, and sends it, unless the mail server is away. @returns all mails so far */
  send(isAway: boolean): readonly Mail[] {
    const now = this.#world.now();
    const news = this.#news.splice(0).flatMap((one) => this.#mailsOf(one));
    const made = [...news, ...this.#reminders()].filter(({ at }) => at + DAY_MS > now);
    this.#made.push(...made);
    const limited = made.filter(({ kind }) => isLimited(kind));
    this.#limited.push(...limited);
    for (const [userId, mails] of Map.groupBy(limited, ({ to }) => to.userId)) this.#limit(userId, mails);
    if (!isAway) this.#arrived.push(...this.#made.splice(0).filter((mail) => this.#isNews(mail)));
    return this.#arrived;
  }

  /** How many mails wait for the mail server, and are still to be sent. */
  waiting = (): number => this.#made.filter((mail) => this.#isNews(mail)).length;

  /** Counts new mails to a user. Those that are too many wait for a digest, an hour after the first of them. */
  #limit(userId: string, mails: readonly Mail[]): void {
    const now = this.#world.now();
    const lately = (this.#counted.get(userId) ?? []).filter((at) => at > now - HOUR_MS);
    const alone = Math.min(mails.length, MAILS_AN_HOUR - lately.length);
    this.#counted.set(userId, [...lately, ...mails.slice(0, alone).map(() => now)]);
    if (alone === mails.length && !this.digested.has(userId)) return;
    const { digestAt = now, mails: before = [] } = this.#toCome.get(userId) ?? {};
    const all = this.#limited.filter(({ to }) => to.userId === userId);
    this.digested.set(userId, all);
    this.#toCome.set(userId, {
      digestAt: digestAt > now || alone === mails.length ? digestAt : now + HOUR_MS,
      mails: [...before, ...mails],
    });
  }

  /**
   * Call after mails were sent. @returns the mails that each user with a digest has by now, alone or in it, since the last digest; the end of a
   * request that has come among them is not told
   */
  digests(): ReadonlyMap<string, readonly Mail[]> {
    const arrived = new Map<string, readonly Mail[]>();
    for (const [userId, { digestAt, mails }] of this.#toCome) {
      for (const mail of mails) if (!this.#isNews(mail)) this.#lapsed.add(mail);
      if (digestAt + DIGEST_WITHIN_MS > this.#world.now()) continue;
      const told = mails.filter((mail) => !this.#lapsed.has(mail) && !isEnd(mail, mails));
      arrived.set(userId, told);
      this.#toCome.set(userId, { digestAt, mails: [] });
    }
    return arrived;
  }

  /** One mail to each reader, also if the reader belongs to both parties; a receipt to the member who requests. */
  #mailsOf({ kind, parties, at, booking, place, move, by }: Told): readonly Mail[] {
    const readers = parties.flatMap((party) => this.#readersOf(kind, party, place));
    const others = readers.filter(({ userId }) => userId !== by);
    const brand: Party = { kind: 'Brand', id: booking?.brandId ?? 0 };
    const own = this.#readersOf(kind, brand, place).filter(
      ({ userId }) => kind === 'BookingRequested' && userId === by,
    );
    const first = new Map(others.toReversed().map((to) => [to.userId, to]));
    return [...first.values(), ...own].map((to) => ({ kind, at, booking, place, move, to }));
  }

  /** Requests that expire soon, and the events of tomorrow: each once, and one mail for all events of a day. */
  #reminders(): readonly Mail[] {
    const now = this.#world.now();
    return [...this.#world.bookings()].flatMap((booking) => {
      const { status, expiresAt, madeAt, dto } = booking;
      const answerDue = expiresAt - Math.min(DAY_MS, (expiresAt - madeAt) / 4);
      if (status === 'Pending' && answerDue <= now && now < expiresAt)
        return this.#remind('AnswerDue', partiesOf(booking).slice(0, 1), booking, answerDue, `${dto.id}`);
      const tomorrow = momentOf(this.#world.zoneOf(booking), daysAfter(dto.date, -1), 8);
      if (status !== 'Approved' || tomorrow > now || !this.#isTomorrow(booking)) return [];
      return this.#remind('EventTomorrow', partiesOf(booking), booking, tomorrow, dto.date);
    });
  }

  #remind(kind: MailKind, parties: readonly Party[], booking: Booking, at: number, cause: string): readonly Mail[] {
    const place = placeOf(booking);
    const readers = parties.flatMap((party) => this.#readersOf(kind, party, place));
    return readers.flatMap((to) => {
      const id = [kind, cause, named(to), to.userId].join();
      if (this.#reminded.has(id)) return [];
      this.#reminded.add(id);
      return [{ kind, at, booking, place, to }];
    });
  }

  /** Whether a mail is still for its reader, and still true. */
  #isNews({ kind, at, to, role, booking, place, move }: Mail): boolean {
    if (at + DAY_MS <= this.#world.now()) return false;
    const readerOf = (about?: Place) => this.#readersOf(kind, to, about).find(({ userId }) => userId === to.userId);
    if (kind === 'EventTomorrow')
      return this.#eventsOf(to, place?.date).some((one) => readerOf(placeOf(one)) !== undefined);
    const reader = readerOf(place);
    if (reader === undefined) return false;
    if (kind === 'RoleChanged') return reader.role === role;
    return kind === 'ApiKeyIssued' || booking === undefined || IS_NEWS_WHILE[kind](booking, move);
  }

  /** The approved events of an account on a date, if that is tomorrow. */
  #eventsOf(party: Party, date: string | undefined): readonly Booking[] {
    return [...this.#world.bookings()].filter(
      (one) =>
        one.status === 'Approved' &&
        one.dto.date === date &&
        partiesOf(one).some((each) => named(each) === named(party)) &&
        this.#isTomorrow(one),
    );
  }

  /** The members who may get a mail, and want it. */
  #readersOf(kind: MailKind, party: Party, place: Place | undefined) {
    return this.#world
      .membersOf(party)
      .filter(
        (member) =>
          (kind !== 'ApiKeyIssued' || member.role === 'Manager') &&
          (kind !== 'AnswerDue' || member.role !== 'Viewer') &&
          this.choices.wants(member, kind, place?.spaceId),
      );
  }

  #isTomorrow(booking: Booking): boolean {
    return clockAt(this.#world.zoneOf(booking), this.#world.now()).date === daysAfter(booking.dto.date, -1);
  }
}

const placeOf = ({ space, dto }: Booking): Place => ({ spaceId: space.id, date: dto.date });

/** Whether a mail tells the end of a request that has come among the same mails. */
const isEnd = ({ kind, to, booking }: Mail, mails: readonly Mail[]): boolean =>
  (kind === 'BookingCancelled' || kind === 'BookingExpired') &&
  mails.some((each) => each.kind === 'BookingRequested' && each.booking === booking && named(each.to) === named(to));
