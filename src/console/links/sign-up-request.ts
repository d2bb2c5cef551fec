import type { WantedBooking } from '../../auth/sign-ups.ts';
import { daysLater, localDate } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import { capacityOf } from '../../domain/description.ts';
import { type PlainDate, spaceId } from '../../domain/ids.ts';
import { CAPACITY, HOUR, isWithin, MESSAGE } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { clock, longDate, shortDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Published } from '../../queries/published.ts';
import { WAITS_FOR_LOOK } from '../find/new-brand-note.ts';
import { controlsOf, dateField, field, hiddenField, select, textArea } from '../parts/forms.ts';
import type { Fields } from '../parts/links.ts';
import type { PageDeps } from '../parts/routes.ts';
import { readDate } from '../parts/typed-dates.ts';
import { Form, idOf, type Problems } from '../parts/typed-form.ts';

/** The request that a sign-up begins with. All of it but the space can be chosen later. */

export const REQUEST_LABELS = {
  date: 'Date',
  startHour: 'Start time',
  guests: 'Guests',
  message: 'Message',
} as const;

/** How far ahead to look for another day with a free time. */
const LOOK_AHEAD_DAYS = 31;

/** The space that the person wants, and what else the address says about the request. */
export function wantedIn(form: Form): WantedBooking | undefined {
  const space = idOf(form.text('space'));
  if (space === undefined) return undefined;
  const startHour = form.integer('startHour');
  const { date } = form.text('date') === '' ? {} : readDate(form.text('date'));
  return defined({
    spaceId: spaceId(space),
    date,
    startHour: isWithin(startHour, HOUR) ? startHour : undefined,
    guests: form.text('guests') === '' ? undefined : form.integer('guests'),
    message: form.lines('message') || undefined,
  });
}

/** What strangers may know of a space that they want: undefined if it is not published. */
export type Offer = {
  readonly space: Space;
  /** Whether its community looks at new brands first. */
  readonly waits: boolean;
  readonly today: PlainDate;
  /** The start times that can be requested on the wanted day, and if there is none, the next day that has one. */
  readonly hours: readonly number[];
  readonly nextDay: PlainDate | undefined;
};

/** What can be requested of a wanted space, and when. */
export async function offerOf(
  published: PageDeps['queries']['published'],
  { spaceId: id, date }: WantedBooking,
  now: number,
): Promise<Offer | undefined> {
  const found = await published.space(id);
  if (found === undefined) return undefined;
  const today = localDate(now, found.space.timeZone);
  const hours = date === undefined ? [] : await published.freeHours(found, date);
  const isFull = date !== undefined && hours.length === 0 && found.space.active;
  return {
    space: found.space,
    waits: found.community.newBrands === 'wait',
    today,
    hours,
    nextDay: isFull ? await nextDayOf(published, found, date, today) : undefined,
  };
}

async function nextDayOf(
  published: PageDeps['queries']['published'],
  of: Published,
  date: PlainDate,
  today: PlainDate,
): Promise<PlainDate | undefined> {
  const from = date < today ? today : date;
  return [...(await published.freeDays(of, from, daysLater(from, LOOK_AHEAD_DAYS)))].sort()[0];
}

/** What of a wanted request cannot be requested, by field. Nothing that tells of bookings. */
export function problemsIn({ date, startHour, guests = 0 }: WantedBooking, offer: Offer | undefined): Problems {
  if (offer === undefined || !offer.space.active) return {};
  const most = capacityOf(offer.space.facts ?? {});
  return defined({
    date: date === undefined ? undefined : noneFree(date, offer),
    startHour:
      date === undefined || startHour === undefined || offer.hours.length === 0 || offer.hours.includes(startHour)
        ? undefined
        : `${clock(startHour)} is not available on ${longDate(date)}. Choose another time.`,
    guests: most === undefined || guests <= most ? undefined : `This space takes up to ${most} guests.`,
  });
}

function noneFree(date: PlainDate, { today, hours }: Offer): string | undefined {
  if (date < today) return `${longDate(date)} is over. Choose another day.`;
  return hours.length === 0 ? `No time is available on ${longDate(date)}. Choose another day.` : undefined;
}

/** The request, in the form that signs up. */
export function requestFields(form: Form, wanted: WantedBooking, problems: Problems, offer: Offer | undefined): Html {
  const of = offer !== undefined && html` for ${named(offer.space.name)}`;
  return html`${hiddenField('space', wanted.spaceId)}<fieldset class="stack full"><legend><h2>Your request${of}</h2></legend>
${
  offer?.space.active === false
    ? html`<p>This space is not taking bookings at the moment.</p>`
    : chosenFields(form, wanted, problems, offer)
}</fieldset>`;
}

function chosenFields(form: Form, wanted: WantedBooking, problems: Problems, offer: Offer | undefined): Html {
  const control = controlsOf(form, problems);
  const most = offer && capacityOf(offer.space.facts ?? {});
  return html`<p class="hint">It is sent once you have confirmed your address. You can also choose later.
${offer?.waits && WAITS_FOR_LOOK}</p>
<div class="fields-row end">${dateField({ ...control('date', REQUEST_LABELS.date), ...defined({ earliest: offer?.today }) })}
${offer && timesButton(wanted)}</div>${offer?.nextDay && nextDayButton(offer.nextDay)}
<div class="fields-row">${hoursField(form, problems, offer)}
${field({
  ...control('guests', REQUEST_LABELS.guests),
  type: 'number',
  hint: most === undefined ? undefined : `Up to ${most}`,
  attributes: { min: CAPACITY.min, max: most ?? CAPACITY.max, inputmode: 'numeric' },
})}</div>
${textArea({
  ...control('message', REQUEST_LABELS.message),
  value: form.lines('message'),
  attributes: { maxlength: MESSAGE.max, rows: 3 },
})}`;
}

/** Shows the page again with the times of the date in the form. It names the date whose times are shown now. */
const timesButton = ({ date }: WantedBooking): Html =>
  html`<div><button class="button quiet" name="times" value="${date ?? 'none'}" formnovalidate>Show start times</button></div>`;

const nextDayButton = (date: PlainDate): Html =>
  html`<div><button class="button quiet" name="next" value="${date}" formnovalidate>Next free day: ${shortDate(date)}</button></div>`;

/**
 * The form with the day whose times it asks for, if it does not sign up. Enter in a field presses the first button, the one for the times: with a
 * password, and the day that is shown, that signs up.
 */
export function withAskedDay(form: Form, fields: readonly string[]): Form | undefined {
  const [times, next] = [form.text('times'), form.text('next')];
  const typed = { ...form.texts(fields), message: form.lines('message') };
  if (next !== '') return new Form({ ...typed, date: next });
  const { date = 'none' } = wantedIn(form) ?? {};
  return times !== '' && (times !== date || form.password() === '') ? new Form(typed) : undefined;
}

/** The start times: of a space that strangers may not know, any. */
function hoursField(form: Form, problems: Problems, offer: Offer | undefined): Html | false {
  const hours = offer?.hours ?? Array.from({ length: HOUR.max + 1 }, (_, hour) => hour);
  if (hours.length === 0) return false;
  const options = hours.map((hour) => ({ value: String(hour), label: clock(hour) }));
  return select({
    ...controlsOf(form, problems)('startHour', REQUEST_LABELS.startHour),
    options: [{ value: '', label: 'Choose' }, ...options],
  });
}

/** A request as the fields of a form or an address. */
export const fieldsOf = ({ spaceId: space, date, startHour, guests, message }: WantedBooking): Fields => ({
  space: String(space),
  date,
  startHour: startHour?.toString(),
  guests: guests === undefined || Number.isNaN(guests) ? undefined : String(guests),
  message,
});

/** What is sent for a person, or begun: without the name of the space, which strangers may not know. */
export function wantedView(wanted: WantedBooking): Html | false {
  const { date, startHour, guests, message } = wanted;
  const facts: readonly (readonly [label: string, text: string])[] = Object.entries(
    defined({
      [REQUEST_LABELS.date]: date && longDate(date),
      [REQUEST_LABELS.startHour]: startHour === undefined ? undefined : clock(startHour),
      [REQUEST_LABELS.guests]: guests === undefined ? undefined : String(guests),
      [REQUEST_LABELS.message]: message,
    }),
  );
  if (facts.length === 0) return false;
  const isWhole = date !== undefined && startHour !== undefined;
  return html`<section class="stack tight full" aria-labelledby="wanted"><h2 id="wanted">Your request</h2>
<p>${isWhole ? 'It is sent once you have confirmed your address.' : 'You choose the rest once you have confirmed your address.'}</p>
<dl class="facts">${facts.map(([label, text]) => html`<dt>${label}</dt><dd>${named(text)}</dd>`)}</dl></section>`;
}
