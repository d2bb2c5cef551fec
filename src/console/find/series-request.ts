import { randomUUID } from 'node:crypto';
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
import { buttonLink } from '../parts/frame.ts';
import { checkedDays, dayChoices, REPEAT_FIELDS, refusedText } from '../parts/repeated-days.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { BrandVisit } from '../parts/visit.ts';
import { type OfferedSpace, priceIn } from './offered-space.ts';
import { spacePath } from './space-path.ts';
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
  const ticked = form.all('day').flatMap((text) => tickIn(text) ?? []);
  return series === '' || ticked.length === 0
    ? daysPage(deps, visit, wanted, series === '' ? undefined : 'Tick at least one day.')
    : requestTicked(deps, visit, wanted, { series, ticked });
}

type Tick = { readonly date: PlainDate; readonly totalPrice: number | undefined };

/** A day as its box sends it, with the price if one was shown: `2027-01-05_11500`. */
function tickIn(text: string): Tick | undefined {
  const [date = '', price] = text.split('_');
  return isPlainDate(date) ? { date, totalPrice: price === undefined ? undefined : Number(price) } : undefined;
}

async function requestTicked(
  { commands }: PageDeps,
  visit: BrandVisit,
  { space, details, days }: Series,
  { series, ticked }: { readonly series: string; readonly ticked: readonly Tick[] },
): Promise<Answer> {
  const { account, context } = visit;
  const made: number[] = [];
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
    if (isRefusal(outcome)) refused.push(`${shortDate(date)}: ${outcome.details}`);
    else made.push(outcome.bookingId);
  }
  const sent = `${counted(made.length, 'request')} sent. The community answers them together or one by one.`;
  const text = [...(made.length === 0 ? [] : [sent]), ...refusedText(refused, 'requested')].join('\n');
  const [first] = made;
  if (first === undefined) return notDone(spacePath(space.spaceId, { date: details.date, via: visit.via }), text);
  return refused.length > 0 ? notDone(pathOf(first), text) : done(pathOf(first), text);
}

const pathOf = (bookingId: number): string => `/console/bookings/${bookingId}`;

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
  const back = { href: spacePath(spaceId, { date: details.date, start: startHour, via: visit.via }), label: 'Change' };
  return {
    title: 'Request these days?',
    lead: html`${named(space.name)}, ${clock(startHour)}: ${counted(free.length, 'day')} of ${days.length} free.`,
    ...(problem !== undefined && { problems: { day: problem } }),
    ...(problem === undefined && { status: 200 }),
    main: postForm(visit, `/console/find/${spaceId}`, 'card fields narrow')`${hiddenField('series', randomUUID())}
${viaField(visit)}${carried(visit)}${dayChoices(checked, choiceOf)}
${room && roomNote(room, free.length)}
<p>${sum}Each day is a request of its own, which is charged when the community approves it. It can answer them
together or one by one.</p>
<div class="row">${free.length > 0 && html`<button class="button">Request the ticked days</button>`}
${buttonLink(back.href, back.label, 'quiet')}</div>`,
  };
}

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
