import type { Booking, Member, Party, Role, Status } from './model.ts';
import { clockAt, daysAfter, momentOf, type Zone } from './moments.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Mails about bookings that a user gets in an hour, before the others come in one. */
const MAILS_AN_HOUR = 20;

/** As long as what a mail about a booking says is so, it is news. */
const IS_NEWS_WHILE = {
  BookingRequested: (status: Status) => status === 'Pending',
  AnswerDue: (status: Status) => status === 'Pending',
  BookingApproved: (status: Status) => status !== 'Cancelled',
  BookingDeclined: () => true,
  BookingCancelled: () => true,
  BookingExpired: () => true,
  ReviewPublished: () => true,
};
type MailKind = keyof typeof IS_NEWS_WHILE | 'EventTomorrow' | 'ApiKeyIssued' | 'RoleChanged';

/** Something of which the members of some accounts hear, but not the one who did it. */
export type News = {
  readonly kind: MailKind;
  readonly parties: readonly Party[];
  readonly booking?: Booking;
  /** The user who did it in person. */
  readonly by?: string | undefined;
};
/** A mail to a member of an account. */
export type Mail = {
  readonly kind: MailKind;
  readonly to: Member;
  readonly at: number;
  readonly booking?: Booking | undefined;
  readonly role?: Role;
};

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
  /** Users who were to get so many mails that the last ones came in one. */
  readonly digested = new Set<string>();
  readonly #world: World;
  readonly #news: (News & { readonly at: number })[] = [];
  readonly #made: Mail[] = [];
  readonly #arrived: Mail[] = [];
  readonly #reminded = new Set<string>();
  /** When each user was to get mails about bookings. */
  readonly #counted = new Map<string, readonly number[]>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Something has happened. */
  tell(news: News): void {
    this.#news.push({ ...news, at: this.#world.now() });
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
    for (const { kind, to } of made) if (kind in IS_NEWS_WHILE) this.#count(to.userId);
    if (!isAway) this.#arrived.push(...this.#made.splice(0).filter((mail) => this.#isNews(mail)));
    return this.#arrived;
  }

  #count(userId: string): void {
    const now = this.#world.now();
    const times = [...(this.#counted.get(userId) ?? []), now].filter((at) => at > now - HOUR_MS);
    this.#counted.set(userId, times);
    if (times.length > MAILS_AN_HOUR) this.digested.add(userId);
  }

  /** One mail to each reader, also if the reader belongs to both parties; a receipt to the member who requests. */
  #mailsOf({ kind, parties, at, booking, by }: News & { readonly at: number }): readonly Mail[] {
    const readers = parties.flatMap((party) => this.#readersOf(kind, party)).filter(({ userId }) => userId !== by);
    const brand: Party = { kind: 'Brand', id: booking?.brandId ?? 0 };
    const own = this.#readersOf(kind, brand).filter(({ userId }) => kind === 'BookingRequested' && userId === by);
    const first = new Map(readers.toReversed().map((to) => [to.userId, to]));
    return [...first.values(), ...own].map((to) => ({ kind, at, booking, to }));
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
    const readers = parties.flatMap((party) => this.#readersOf(kind, party));
    return readers.flatMap((to) => {
      const id = [kind, cause, named(to), to.userId].join();
      if (this.#reminded.has(id)) return [];
      this.#reminded.add(id);
      return [{ kind, at, booking, to }];
    });
  }

  /** Whether a mail is still for its reader, and still true. */
  #isNews({ kind, at, to, role, booking }: Mail): boolean {
    const reader = this.#readersOf(kind, to).find(({ userId }) => userId === to.userId);
    if (at + DAY_MS <= this.#world.now() || reader === undefined) return false;
    if (kind === 'RoleChanged') return reader.role === role;
    if (kind === 'ApiKeyIssued' || booking === undefined) return true;
    if (kind !== 'EventTomorrow') return IS_NEWS_WHILE[kind](booking.status);
    return [...this.#world.bookings()].some(
      (one) =>
        one.status === 'Approved' &&
        one.dto.date === booking.dto.date &&
        partiesOf(one).some((party) => named(party) === named(to)) &&
        this.#isTomorrow(one),
    );
  }

  /** Everything is on at first, but for Viewers off. */
  #readersOf(kind: MailKind, party: Party) {
    return this.#world
      .membersOf(party)
      .filter(
        ({ role }) => kind === 'RoleChanged' || role === 'Manager' || (kind !== 'ApiKeyIssued' && role !== 'Viewer'),
      );
  }

  #isTomorrow(booking: Booking): boolean {
    return clockAt(this.#world.zoneOf(booking), this.#world.now()).date === daysAfter(booking.dto.date, -1);
  }
}
