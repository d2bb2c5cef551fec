import { randomUUID } from 'node:crypto';
import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { BookingDetails } from '../../domain/booking-details.ts';
import { isPlainDate } from '../../domain/calendar.ts';
import { termsOn } from '../../domain/day-terms.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { PlainDate } from '../../domain/ids.ts';
import type { SeriesDay } from '../../domain/series.ts';
import { clock, counted, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, done, notDone, type PageContent } from '../parts/answer.ts';
import { viaField } from '../parts/back-link.ts';
import { hiddenField, postForm } from '../parts/forms.ts';
import { changeButton, checkedDays, dayChoices, REPEAT_FIELDS, refusedText, TICK_ONE } from '../parts/repeated-days.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { BrandVisit } from '../parts/visit.ts';
import { AT_ONCE, type OfferedSpace, priceIn } from './offered-space.ts';
import { whyRefused } from './refused-request.ts';
import { CLOSED } from './start-times.ts';

/** A request on several days: what is the same on each of them, and the days. */
type Series = {
  readonly space: OfferedSpace;
  readonly details: BookingDetails;
  readonly days: readonly SeriesDay[];
};

/** The fields of the form of a request that the page of its days carries. */
const CARRIED = ['date', 'startHour', 'guests', 'message', 'again', ...REPEAT_FIELDS] as const;

/**
 * Shows the days of a request that repeats, and requests those that are ticked there, each as a booking of its own. The page of the days
 * makes the id of the series, so a form that is sent again requests nothing twice (docs/decisions/bookings.md#series).
 */
export async function requestSeries(deps: PageDeps, visit: BrandVisit, wanted: Series): Promise<Answer> {
  const { form } = visit;
  const series = form.text('series');
  if (series === '') return daysPage(deps, visit, wanted, undefined);
  const ticked = form.all('day').flatMap((text) => tickIn(text) ?? []);
  return ticked.length === 0
    ? daysPage(deps, visit, wanted, TICK_ONE)
    : requestTicked(deps, visit, wanted, { series, ticked });
}

type Tick = { readonly date: PlainDate; readonly totalPrice: number | undefined };

/** A day as its box sends it, with the price if one was shown: `2027-01-05_11500`. */
function tickIn(text: string): Tick | undefined {
  const [date = '', price] = text.split('_');
  return isPlainDate(date) ? { date, totalPrice: price === undefined ? undefined : Number(price) } : undefined;
}

async function requestTicked(
  deps: PageDeps,
  visit: BrandVisit,
  wanted: Series,
  { series, ticked }: { readonly series: string; readonly ticked: readonly Tick[] },
): Promise<Answer> {
  const { commands, queries } = deps;
  const { account, context } = visit;
  const { space, details, days } = wanted;
  const made: ReadableBooking[] = [];
  const refused: string[] = [];
  for (const { date, totalPrice } of ticked) {
    if (!days.some((day) => 'date' in day && day.date === date)) continue;
    const price = priceIn(visit, termsOn(space, date), space.agreed).totalPrice;
    if (visit.amount !== undefined && price !== totalPrice) {
      refused.push(`${shortDate(date)}: the price has changed in the meantime.`);
      continue;
    }
    const idempotencyKey = `console:${series}:${date}`;
    const command = { brandId: account.id, details: { ...details, date, series }, idempotencyKey };
    const outcome = await commands.bookings.request(command, context);
    if (isRefusal(outcome)) {
      const why = await whyRefused(queries, visit, space, { date, startHour: details.startHour }, outcome);
      refused.push(`${shortDate(date)}: ${Object.values(why).join(' ')}`);
    } else made.push(outcome);
  }
  const [first] = made;
  const why = refusedText(refused, 'requested');
  if (first === undefined) return daysPage(deps, visit, wanted, why.join(' '));
  const go = `/console/bookings/${first.bookingId}`;
  const text = [...sentTexts(made), ...why].join('\n');
  return refused.length > 0 ? notDone(go, text) : done(go, text);
}

/** What became of the requests that were made: those of a brand that is trusted are approved already. */
function sentTexts(made: readonly Pick<ReadableBooking, 'status'>[]): readonly string[] {
  const approved = made.filter(({ status }) => status === 'Approved').length;
  const waiting = made.length - approved;
  return [
    ...(approved === 0 ? [] : [`${counted(approved, 'booking')} made. ${AT_ONCE}`]),
    ...(waiting === 0
      ? []
      : [`${counted(waiting, 'request')} sent. The community answers them together or one by one.`]),
  ];
}

/** The days with their prices, or with the reason if one is not free, before anything is stored. */
async function daysPage(
  { commands, queries }: PageDeps,
  visit: BrandVisit,
  { space, details, days }: Series,
  problem: string | undefined,
): Promise<PageContent> {
  const { account, amount } = visit;
  const { spaceId, communityId } = space;
  const { startHour } = details;
  const [checked, room] = await Promise.all([
    checkedDays(queries, { account, spaceId, days, startHour }, (kind) => CLOSED[kind].long(space)),
    commands.bookings.roomFor({ brandId: account.id, communityId }),
  ]);
  const free = checked.flatMap(({ date }) => (date === undefined ? [] : [date]));
  const ticked = new Set(free.slice(0, room?.left));
  const priceOf = (date: PlainDate) => priceIn(visit, termsOn(space, date), space.agreed);
  const choiceOf = (date: PlainDate) => {
    const { totalPrice, currency } = priceOf(date);
    const isTicked = ticked.has(date);
    if (amount === undefined) return { value: date, isTicked };
    return { value: `${date}_${totalPrice}`, note: amount(totalPrice, currency), isTicked };
  };
  const total = [...ticked].reduce((sum, date) => sum + priceOf(date).totalPrice, 0);
  const sum = amount && `${amount(total, visit.settings.currency)} for ${counted(ticked.size, 'day')}. `;
  const action = space.isTrusted ? 'Book' : 'Request';
  return {
    title: `${action} these days?`,
    lead: html`${named(space.name)}, ${clock(startHour)}: ${counted(free.length, 'day')} of ${days.length} free.`,
    ...(problem !== undefined && { problems: { day: problem } }),
    ...(problem === undefined && { status: 200 }),
    main: postForm(visit, `/console/find/${spaceId}`, 'card fields narrow')`${hiddenField('series', randomUUID())}
${viaField(visit)}${carried(visit)}${dayChoices(checked, choiceOf)}
${room && roomNote(room, free.length)}
<p>${sum}${space.isTrusted ? EACH_AT_ONCE : EACH_WAITS}</p>
<div class="row">${free.length > 0 && html`<button class="button">${action} the ticked days</button>`}
${changeButton}</div>`,
  };
}

const EACH_AT_ONCE = `Each day is a booking of its own. ${AT_ONCE}`;
const EACH_WAITS =
  'Each day is a request of its own, which is charged when the community approves it. It can answer them together or one by one.';

/** The limit of unanswered requests, if these days are more than it allows. */
const roomNote = ({ max, left }: { readonly max: number; readonly left: number }, free: number): Html | undefined =>
  free <= left
    ? undefined
    : html`<p>At most ${max} of your requests may wait for an answer at once, so you can request ${left} of these days now.</p>`;

const carried = ({ form }: BrandVisit): readonly Html[] =>
  CARRIED.flatMap((name) => {
    const value = form.lines(name);
    return value === '' ? [] : [hiddenField(name, value)];
  });
