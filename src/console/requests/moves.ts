import type { ReadableBooking } from '../../../projections/bookings.ts';
import { localDate } from '../../domain/calendar.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { feeOn } from '../../domain/fee-on.ts';
import { MOVE_PRICES, type MoveTo } from '../../domain/move-booking.ts';
import { type Price, priceOf } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { hours, longDate, shortDate, zoneName } from '../../html/formats.ts';
import { html, named, namedText } from '../../html/html.ts';
import { type Answer, done, notDone } from '../parts/answer.ts';
import { viaField } from '../parts/back-link.ts';
import {
  choices,
  dateField,
  HOUR_OPTIONS,
  hasProblems,
  hiddenField,
  postForm,
  problemOf,
  select,
} from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { bookingRoutes, type ConsoleRoutes, type PageDeps } from '../parts/routes.ts';
import { readDate } from '../parts/typed-dates.ts';
import { idOrZero, type Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { reasonField } from './decision-forms.ts';
import { pathOf } from './decisions.ts';
import { canMove, movePath, priceChange } from './move-views.ts';

const FIELDS = ['space', 'date', 'startHour', 'price', 'seenFee'] as const;
type TypedMove = Readonly<Record<(typeof FIELDS)[number], string>>;

/** Asking for a move of a booking, and answering one (docs/decisions/moves.md). */
export function movePages(routes: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofAny = bookingRoutes(routes, queries);

  ofAny.get('/console/bookings/:id/move', 'Coordinator', (visit, booking) =>
    canMove(visit, booking) ? movePage(visit, booking, typedOf(booking)) : { go: pathOf(visit, booking) },
  );

  ofAny.post('/console/bookings/:id/move', 'Coordinator', async (visit, booking) => {
    const { account: by, form, context } = visit;
    const typed = form.texts(FIELDS);
    const spaces = await queries.spaces.ofCommunity(booking.communityId);
    const read = readMove(typed, spaces);
    if (read.to === undefined) return movePage(visit, booking, typed, read.problems);
    const there = await otherPrice(visit, booking, read.to, spaces);
    const seenFee = there?.eventFee;
    const price = MOVE_PRICES.find((each) => each === typed.price);
    if (there !== undefined && (price === undefined || typed.seenFee !== String(seenFee)))
      return movePage(visit, booking, typed, { price: 'It costs another price there. Choose one.' }, there);
    const reason = form.lines('reason') || undefined;
    const chosen = there && defined({ price, seenFee });
    const command = { bookingId: booking.bookingId, by, to: read.to, ...chosen, ...defined({ reason }) };
    const outcome = await commands.moves.move(command, context);
    if (isRefusal(outcome)) return movePage(visit, booking, typed, problemsOf(outcome), there);
    return done(pathOf(visit, booking), await whatHappened(visit, booking));
  });

  ofAny.post('/console/bookings/:id/move/answer', 'Coordinator', async (visit, booking) => {
    const { account: by, form, context } = visit;
    const accepts = form.text('answer') === 'accept';
    const command = { bookingId: booking.bookingId, by, moveId: form.text('moveId'), accepts };
    const outcome = await commands.moves.answer(command, context);
    if (isRefusal(outcome)) return notDone(pathOf(visit, booking), outcome.details);
    if (accepts) return done(pathOf(visit, booking), await whatHappened(visit, booking));
    return done(pathOf(visit, booking), 'The booking stays where it is.');
  });

  // A user who signs in again after sending the answer arrives here.
  ofAny.get('/console/bookings/:id/move/answer', 'Viewer', (visit, booking) => ({ go: pathOf(visit, booking) }));

  /** Whether the booking has moved, or waits for the other party. */
  async function whatHappened({ account }: Visit, { bookingId }: ReadableBooking): Promise<string> {
    const now = await queries.bookings.get(account, bookingId);
    if (now?.move !== undefined) {
      const party = account.kind === 'Brand' ? 'the community' : namedText(now.brandName);
      return `Asked ${party}. The booking keeps its hours until the move is accepted.`;
    }
    return now === undefined
      ? 'The booking was moved.'
      : `The booking is in ${namedText(now.spaceName)} on ${shortDate(now.date)}, ${hours(now.startHour, now.freeFrom)} now.`;
  }

  /** What a request costs at its target, if that is another price and the user sees amounts. */
  async function otherPrice(
    { amount }: Visit,
    { status, brandId, communityId, eventFee, serviceFeePercent }: ReadableBooking,
    { spaceId, date }: Required<MoveTo>,
    spaces: readonly Space[],
  ): Promise<Price | undefined> {
    const space = spaces.find((each) => each.spaceId === spaceId);
    if (space === undefined || amount === undefined || status !== 'Pending') return undefined;
    const { agreed } = await queries.customers.asSeenBy(brandId, communityId);
    const fee = feeOn(space, date, agreed);
    return fee === eventFee ? undefined : priceOf(fee, serviceFeePercent);
  }

  /** @param there what it costs at the target, to be chosen or not */
  async function movePage(
    visit: Visit,
    booking: ReadableBooking,
    typed: TypedMove,
    problems: Problems = {},
    there?: Price,
  ): Promise<Answer> {
    const { account, now, amount } = visit;
    const { bookingId, timeZone, totalPrice, currency } = booking;
    const prices =
      amount &&
      there &&
      html`${choices({ name: 'price', label: 'Price', problems }, 'radio', [
        {
          value: 'agreed',
          label: html`As agreed: ${amount(totalPrice, currency)}`,
          checked: typed.price === 'agreed',
        },
        {
          value: 'new',
          label: html`The price there: ${priceChange(amount, totalPrice, there.totalPrice, currency)}`,
          checked: typed.price === 'new',
        },
      ])}${hiddenField('seenFee', there.eventFee)}`;
    const [spaces, brand] = await Promise.all([
      queries.spaces.ofCommunity(booking.communityId),
      account.kind === 'Community' ? queries.customers.get(account.id, booking.brandId) : undefined,
    ]);
    const isAtOnce = brand?.isKept === true;
    const options = spaces
      .filter(({ active, spaceId }) => active || spaceId === booking.spaceId)
      .map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(name) }));
    const other = account.kind === 'Brand' ? 'the community' : named(booking.brandName);
    const back = { href: pathOf(visit, booking), label: `Booking #${bookingId}` };
    const control = <N extends keyof TypedMove>(name: N, label: string) => ({
      name,
      label,
      value: typed[name],
      problems,
    });
    const earliest = localDate(now, timeZone);
    return {
      title: `Move booking #${bookingId}`,
      heading: 'Move this booking?',
      back,
      problems,
      main: postForm(visit, movePath(booking), 'card fields narrow')`${viaField(visit)}
<p>Now: ${named(booking.spaceName)}, ${longDate(booking.date)}, ${hours(booking.startHour, booking.freeFrom)}
<span class="muted nowrap">${zoneName(timeZone)}</span>.</p>
${select({ ...control('space', 'Space'), options })}
<div class="fields-row">${dateField({ ...control('date', 'Day'), required: true, earliest })}
${select({ ...control('startHour', 'Start'), options: HOUR_OPTIONS })}</div>
${prices}
${!isAtOnce && reasonField(visit, { label: 'Reason (optional)', hint: html`${other} will see it.`, required: false, problems })}
<p class="small">${
        isAtOnce
          ? 'It is your customer, so the booking moves at once.'
          : html`The booking keeps its hours until ${other} accepts.`
      } ${
        booking.status === 'Pending' && amount
          ? 'If the price there is another one, you choose before it is asked.'
          : 'The price stays as agreed.'
      }</p>
<div class="row"><button class="button">${isAtOnce ? 'Move booking' : 'Ask to move'}</button>
${buttonLink(back.href, 'Keep it', 'quiet')}</div>`,
    };
  }
}

const typedOf = ({ spaceId, date, startHour }: ReadableBooking): TypedMove => ({
  price: '',
  seenFee: '',
  space: String(spaceId),
  date: shortDate(date),
  startHour: String(startHour),
});

function readMove(
  typed: TypedMove,
  spaces: readonly Space[],
):
  | { readonly to: Required<MoveTo>; readonly problems?: undefined }
  | { readonly to?: undefined; readonly problems: Problems } {
  const space = spaces.find(({ spaceId }) => String(spaceId) === typed.space);
  const { date, problem } = readDate(typed.date);
  const startHour = idOrZero(typed.startHour);
  const problems = defined({
    space: space === undefined ? 'Choose a space.' : undefined,
    date: problem,
    startHour: startHour === undefined ? 'Choose an hour.' : undefined,
  });
  if (hasProblems(problems) || space === undefined || date === undefined || startHour === undefined)
    return { problems };
  return { to: { spaceId: space.spaceId, date, startHour } };
}

/** The reason beside the field that it is about: the day, if it is none. */
function problemsOf(refusal: Refusal): Problems {
  if (refusal.field === undefined) return { date: refusal.details };
  return problemOf(refusal, { reason: 'Reason', startHour: 'Start' });
}
