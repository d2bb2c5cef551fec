import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { isPlainDate, localDate } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { BookingId, BrandId, PlainDate } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { clock, hours, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import { cursorText } from '../../queries/booking-pages.ts';
import type { Answer, PageContent } from '../parts/answer.ts';
import { bookingPager, cursorsOf, placeText, stateOf } from '../parts/booking-views.ts';
import { hasProblems, hiddenField, postForm, select } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { noticeOf } from '../parts/links.ts';
import { nextFreeDays } from '../parts/next-free-days.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { decidedIn, decideEach, MAX_MESSAGE_BYTES, messageOf } from '../requests/bulk-outcomes.ts';
import { problemsOfReason, reasonField } from '../requests/decision-forms.ts';
import { canMove } from '../requests/move-views.ts';
import {
  cancelEach,
  choicesPath,
  concernedTitle,
  enterOn,
  entersAgain,
  readTicks,
  tickOf,
  undecidedIn,
} from './closure-bookings.ts';
import { CLOSURES, closureRoutes, titleOf } from './closures.ts';

/** Bookings on one page: each is offered days, which are searched for. */
const PER_PAGE = 12;
/** Days that a booking is offered. */
const OFFERED = 3;

/** What the house chooses for a booking that it does not leave. */
type Choice = 'cancel' | PlainDate;

/**
 * The bookings inside a closed time or in the way of an own event: each is left, cancelled, or proposed to move to a free day at its hour. The
 * rules of cancelling and of moving decide. An own event is then entered on the days that are free.
 */
export function closureChoicePages({ community }: ConsoleRoutes, deps: PageDeps): void {
  const { commands, queries } = deps;
  const ofClosure = closureRoutes(community, queries);

  ofClosure.get(`${CLOSURES}/:id/bookings`, 'Coordinator', (visit, closure) => choicesPage(visit, closure, {}));

  ofClosure.post(`${CLOSURES}/:id/bookings`, 'Coordinator', async (visit, closure): Promise<Answer> => {
    const chosen = choicesIn(visit);
    const reason = visit.form.lines('reason');
    const cancels = [...chosen.values()].includes('cancel');
    const problems: Problems = {
      ...(chosen.size === 0 && { '': 'Choose what becomes of a booking. Nothing has changed.' }),
      ...((cancels || reason !== '') && problemsOfReason(reason)),
    };
    if (hasProblems(problems)) return choicesPage(visit, closure, problems);
    return { go: `${CLOSURES}/${closure.closureId}`, flash: await carryOut(visit, closure, chosen) };
  });

  /** Cancels, moves and proposes, each booking on its own. */
  async function carryOut(
    visit: CommunityVisit,
    closure: ReadableClosure,
    chosen: ReadonlyMap<number, Choice>,
  ): Promise<Flash> {
    const ticked = ticksIn(visit);
    const bookings = await queries.requests.some(visit.account, [...chosen.keys()]);
    const kept = await keptAmong(visit, bookings);
    const isCancelled = ({ bookingId }: BookingDocument) => chosen.get(bookingId) === 'cancel';
    const moving = bookings.filter((booking) => !isCancelled(booking));
    const move = (verb: 'moved' | 'proposed', some: readonly BookingDocument[]) =>
      decideEach(queries, visit, some, {
        verb,
        decide: ({ bookingId }) => moveTo(visit, bookingId, dateOf(chosen.get(bookingId))),
        undecided: undecidedIn(ticked),
      });
    const outcomes = {
      cancelled: await cancelEach(deps, visit, bookings.filter(isCancelled), ticked),
      moved: await move(
        'moved',
        moving.filter(({ brandId }) => kept.has(brandId)),
      ),
      proposed: await move(
        'proposed',
        moving.filter(({ brandId }) => !kept.has(brandId)),
      ),
    };
    const verbs = keysOf(outcomes).filter((verb) => outcomes[verb].length > 0);
    const messages = verbs.map(
      (verb) => messageOf(outcomes[verb], visit, verb, MAX_MESSAGE_BYTES / verbs.length).flash,
    );
    const isDone = messages.length > 0 && messages.every(({ kind }) => kind === 'done');
    const text = messages.map((message) => message.text).join('\n') || 'The bookings are not to this account.';
    const freed = decidedIn([...outcomes.cancelled, ...outcomes.moved]);
    return enterOn(deps, visit, closure, { kind: isDone ? 'done' : 'problem', text }, freed);
  }

  function moveTo({ account: by, form, context }: CommunityVisit, bookingId: BookingId, date: PlainDate | undefined) {
    const reason = form.lines('reason') || undefined;
    return commands.moves.move({ bookingId, by, to: defined({ date }), ...defined({ reason }) }, context);
  }

  /** The customers among the brands of some bookings that the house looks after, whose bookings move at once. */
  async function keptAmong(
    { account }: CommunityVisit,
    bookings: readonly BookingDocument[],
  ): Promise<ReadonlySet<BrandId>> {
    const ids = new Set(bookings.map(({ brandId }) => brandId));
    const read = await Promise.all([...ids].map((brandId) => queries.customers.get(account.id, brandId)));
    return new Set(read.flatMap((customer) => (customer?.isKept === true ? [customer.brandId] : [])));
  }

  async function choicesPage(visit: CommunityVisit, closure: ReadableClosure, problems: Problems): Promise<Answer> {
    const { account, accountZone, now } = visit;
    const path = `${CLOSURES}/${closure.closureId}`;
    if (closure.endedAt !== undefined) return { go: path };
    const cursors = cursorsOf(hasProblems(problems) ? visit.form : visit.query);
    const page = await queries.calendar.concernedPage(
      closure,
      localDate(now, accountZone),
      await queries.spaces.list(account),
      { period: { is: 'upcoming', now }, limit: PER_PAGE, ...cursors, isWanted: (booking) => canMove(visit, booking) },
    );
    const { bookings } = page;
    if (bookings.length === 0) return { go: path };
    const [kept, ...offered] = await Promise.all([
      keptAmong(visit, bookings),
      ...bookings.map((booking) => freeDays(visit, booking)),
    ]);
    const rows = bookings.map((booking, index) =>
      choiceView(visit, booking, offered[index] ?? [], kept.has(booking.brandId)),
    );
    const hint = 'Every brand will see it. Needed to cancel.';
    return {
      title: concernedTitle(closure),
      lead: html`${named(titleOf(closure))}: leave, cancel, or propose to move each of them.`,
      back: { href: path, label: titleOf(closure) },
      problems,
      flash: noticeOf(visit.query, cursors),
      main: html`${postForm(visit, choicesPath(closure), 'card fields narrow')`${(['after', 'before'] as const).map(
        (name) => cursors[name] && hiddenField(name, cursorText(cursors[name])),
      )}${rows}
${reasonField(visit, { label: 'Reason', hint, required: false, problems })}
<p class="small">A booking keeps its hours until its brand accepts the move, and its price. One of a customer that you look after moves
at once. Cancelling is final, and what was paid is refunded.${
        entersAgain(closure) && ' The event is entered on the days that are free then.'
      }</p>
<div class="row"><button class="button danger">Carry out</button>${buttonLink(path, 'Leave all of them', 'quiet')}</div>`}
${bookingPager(choicesPath(closure), {}, page)}`,
    } satisfies PageContent;
  }

  /** The next days on which the space of a booking is free at its hour. */
  function freeDays({ account, now }: CommunityVisit, booking: BookingDocument): Promise<readonly PlainDate[]> {
    const { spaceId, date, startHour, timeZone } = booking;
    const today = localDate(now, timeZone);
    const wanted = { account, spaceIds: [spaceId], startHour };
    return nextFreeDays(queries, wanted, date < today ? today : date, OFFERED);
  }
}

const dateOf = (choice: Choice | undefined): PlainDate | undefined => (choice === 'cancel' ? undefined : choice);

/** The field of the choice for a booking. */
const choiceOfField = (bookingId: number): string => `choice-${bookingId}`;

/** The bookings that the form lists. */
const ticksIn = ({ form }: CommunityVisit) => readTicks(form.all('listed').slice(0, PER_PAGE));

/** What is chosen for those that are not left. */
const choicesIn = (visit: CommunityVisit): ReadonlyMap<number, Choice> =>
  new Map(
    [...ticksIn(visit).keys()].flatMap((bookingId): [number, Choice][] => {
      const what = visit.form.text(choiceOfField(bookingId));
      return what === 'cancel' || isPlainDate(what) ? [[bookingId, what]] : [];
    }),
  );

function choiceView(
  { form, amount }: CommunityVisit,
  booking: BookingDocument,
  days: readonly PlainDate[],
  isKept: boolean,
): Html {
  const { bookingId, date, startHour, freeFrom, brandName, spaceName, totalPrice, currency, move, status } = booking;
  const name = choiceOfField(bookingId);
  const verb = isKept ? 'Move to' : 'Propose';
  const options = [
    { value: 'leave', label: 'Leave it' },
    { value: 'cancel', label: status === 'Pending' ? 'Decline it' : 'Cancel it' },
    ...days.map((day) => ({ value: day, label: `${verb} ${shortDate(day)}, ${clock(startHour)}` })),
  ];
  return html`<section class="stack tight"><h2>${shortDate(date)}, ${hours(startHour, freeFrom)}</h2>
<p>${named(brandName)}, ${named(spaceName)}. ${stateOf(booking)}${amount && `, ${amount(totalPrice, currency)}`},
<a href="/console/bookings/${bookingId}">booking #${bookingId}</a>.
${move && html`A move to ${placeText(move.to)} waits for an answer.`}</p>
${hiddenField('listed', tickOf(booking))}${select({ name, label: `Booking #${bookingId}`, value: form.text(name), options })}
<p class="small"><a href="/console/bookings/${bookingId}/move">Another day, hour or space for #${bookingId}…</a></p></section>`;
}
