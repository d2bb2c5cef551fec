import type { ReadableBooking } from '../../../projections/bookings.ts';
import { DETAIL_LABELS } from '../../contract/booking.ts';
import { type BookingDetails, wrongDetails } from '../../domain/booking-details.ts';
import { daysLater, isPlainDate, localDate, weekdayOf } from '../../domain/calendar.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { MESSAGE } from '../../domain/limits.ts';
import { priceOf } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { KEY_REUSED } from '../../domain/space-day.ts';
import { type ClosedKind, type TimeSlot, usageEnd } from '../../domain/time-slots.ts';
import { flag, type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import { hoursTopic } from '../live/live.ts';
import { addressed } from '../parts/addressed.ts';
import { addressOf } from '../parts/addresses.ts';
import { priceView } from '../parts/booking-views.ts';
import {
  csrfField,
  dateField,
  errorText,
  formProblem,
  NO_PROBLEMS,
  onceField,
  type Problems,
  problemOf,
  statusOf,
  textArea,
} from '../parts/fields.ts';
import { clock, dayAndMonth, duration, longDate, shortDate, zoneName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { readDate } from '../parts/typed-dates.ts';
import { type Answer, Form, idOf, missing, type Routes, type Visit } from '../parts/visit.ts';
import { wayBack } from './find-filter.ts';

/** Days in the strip, each with its number of available start times. */
const DAYS_AHEAD = 7;
/** How far ahead a day is looked for on which a certain hour is free. */
const LOOK_AHEAD_DAYS = 90;

/** What the page was opened with, besides its day: kept by everything on it that leads to itself. */
type Kept = {
  /** The start time that was chosen before. */
  readonly start?: number | undefined;
  /** The query of the list it was opened from. */
  readonly back?: string | undefined;
  /** The booking that is to be made once more. */
  readonly again?: number | undefined;
};

/** The page of a space, for a brand. */
export const spacePath = (
  spaceId: number,
  { date, start, back, again }: Kept & { readonly date?: PlainDate },
): string => addressOf(`/console/find/${spaceId}`, { date, start: start?.toString(), back, again: again?.toString() });

/** A space with its start times and price, and the form that requests a booking. */
export function requestPages(routes: Routes, { commands, queries, settings }: PageDeps): void {
  const { withSpace } = addressed(queries);
  const price = (space: Space) => ({
    ...priceOf(space.eventFee, settings.serviceFeePercent),
    currency: settings.currency,
  });

  routes.get(
    '/console/find/:id',
    (visit) =>
      withSpace(visit, async (space) => {
        const { query, kept } = visit;
        if (kept !== undefined) return spacePage(visit, space, kept.text('date'), kept);
        const before = await bookingAgain(visit, space, query);
        const start = query.integer('start');
        const hour = Number.isNaN(start) ? before?.startHour : start;
        const typed = new Form({ ...(before && typedAgain(before)), startHour: String(hour ?? '') });
        if (query.text('date') === '' && before !== undefined)
          return spacePage(visit, space, await dayFor(visit, space, before), typed);
        return spacePage(visit, space, query.text('date'), typed);
      }),
    'Brand',
  );

  routes.post(
    '/console/find/:id',
    (visit) =>
      withSpace(visit, async (space) => {
        const { account, form, context } = visit;
        if (account.kind !== 'Brand') return missing('space');
        const typedDate = form.text('date');
        const { date, problem } = readDate(typedDate);
        const startHour = form.integer('startHour');
        const shown = form.text('price');
        const again = (problems: Problems) => spacePage(visit, space, typedDate, form, problems);
        if (date === undefined || Number.isNaN(startHour)) {
          const details = {
            spaceId: space.spaceId,
            date: date ?? localDate(visit.now, space.timeZone),
            startHour: 0,
            ...furtherIn(form),
          };
          const wrong = wrongDetails(details);
          return again({
            ...(problem !== undefined && { date: problem }),
            ...(Number.isNaN(startHour) && { startHour: 'Choose a start time.' }),
            ...(wrong && problemOf(wrong, DETAIL_LABELS)),
          });
        }
        if (shown !== '' && shown !== String(price(space).totalPrice))
          return again({
            '': 'The community has changed the price in the meantime. Check the new price, then send your request again.',
          });
        const once = form.text('once');
        const outcome = await commands.bookings.request(
          {
            brandId: account.id,
            details: { spaceId: space.spaceId, date, startHour, ...furtherIn(form) },
            // Submitted twice, the form makes one booking; corrected after a refusal, it is a new request.
            ...defined({ idempotencyKey: once === '' ? undefined : `console:${once}` }),
          },
          context,
        );
        if (!isRefusal(outcome))
          return {
            go: `/console/bookings/${outcome.bookingId}`,
            flash: {
              kind: 'done',
              text: `Request sent. The community has up to ${space.answerHours} hours to answer. Nothing is charged until it approves.`,
            },
          };
        return again(await whyRefused(visit, space, { date, startHour }, outcome));
      }),
    'Brand',
  );

  /** The own booking of this space that is to be made once more, if one is named. */
  async function bookingAgain({ account }: Visit, space: Space, query: Form): Promise<ReadableBooking | undefined> {
    const id = idOf(query.text('again'));
    const found = id === undefined ? undefined : await queries.bookings.get(account, id);
    return found?.spaceId === space.spaceId ? found : undefined;
  }

  /** Where a booking could be made once more: the next such day of the week on which its hour is free, or else any day. */
  async function dayFor({ account, now }: Visit, space: Space, before: ReadableBooking): Promise<string> {
    const from = daysLater(localDate(now, space.timeZone), 1);
    const wanted = {
      account,
      spaceIds: [space.spaceId],
      from,
      to: daysLater(from, LOOK_AHEAD_DAYS),
      startHour: before.startHour,
      limit: 1,
    };
    for (const weekdays of [[weekdayOf(before.date)], undefined]) {
      const page = await queries.openDays({ ...wanted, ...(weekdays && { weekdays }) });
      const date = isRefusal(page) ? undefined : page.days[0]?.date;
      if (date !== undefined) return date;
    }
    return from;
  }

  async function whyRefused(
    { account }: Visit,
    space: Space,
    { date, startHour }: { readonly date: PlainDate; readonly startHour: number },
    refusal: Refusal,
  ): Promise<Problems> {
    if (refusal.details === KEY_REUSED.details)
      return {
        '': 'This form was sent before, and its request is in My bookings. Nothing was sent this time: if you want this as well, send it again.',
      };
    if (refusal.refused !== 'SlotUnavailable') return problemOf(refusal, DETAIL_LABELS);
    const found = await queries.availability({ account, spaceId: space.spaceId, date });
    const closed = isRefusal(found) ? undefined : found.closed(startHour);
    const why = closed === undefined ? '' : `: ${CLOSED[closed].long}`;
    return { startHour: `${clock(startHour)} is no longer free${why}. Choose another time.` };
  }

  async function spacePage(
    visit: Visit,
    space: Space,
    asked: string,
    typed: Form,
    problems: Problems = NO_PROBLEMS,
  ): Promise<Answer> {
    const { account, now } = visit;
    const { spaceId } = space;
    const today = localDate(now, space.timeZone);
    const read = readDate(asked);
    const date = read.date !== undefined && read.date >= today ? read.date : today;
    const wrongDate =
      asked === '' || date === read.date
        ? undefined
        : (read.problem ?? `Choose ${dayAndMonth(today)} or a later date.`);
    const wrong = wrongDate === undefined ? problems : { ...problems, date: wrongDate };
    // A form carries in its fields what an address carries in its query.
    const carried = (visit.kept ?? visit.form).text('kept');
    const kept = carried === '' ? visit.query : formOf(carried);
    const chosen = typed.integer('startHour');
    // The calendar of forms and addresses ends with the year 9999.
    const ahead = Array.from({ length: DAYS_AHEAD }, (_, day) => daysLater(date, day)).filter(isPlainDate);
    const [found, communities, before, open] = await Promise.all([
      queries.availability({ account, spaceId, date }),
      queries.spaces.communities(),
      bookingAgain(visit, space, kept),
      queries.openDays({
        account,
        spaceIds: [spaceId],
        from: date,
        to: daysLater(date, DAYS_AHEAD - 1),
        limit: DAYS_AHEAD,
      }),
    ]);
    const free = new Map(isRefusal(open) ? [] : open.days.map((day) => [day.date, day.openHours.length]));
    const community = communities.find(({ communityId }) => communityId === space.communityId);
    const slots = isRefusal(found) ? [] : found.timeSlots();
    const closed = (hour: number) => (isRefusal(found) ? undefined : found.closed(hour));
    const start = Number.isNaN(chosen) ? undefined : chosen;
    const keeping: Kept = { back: kept.text('back'), again: before?.bookingId, start };
    const to = (day: PlainDate) => spacePath(spaceId, { ...keeping, date: day });
    const missed = space.active && !problems.startHour && start !== undefined && isMissed(slots, start);
    const nextDay = missed ? await nextFree(visit, space, date, start) : undefined;
    const query = new URLSearchParams(to(date).split('?')[1]);
    query.delete('date');
    const hidden = [...query].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
    const link = wayBack(keeping.back ?? '', now, communities) ?? `/console/find?date=${date}`;
    return {
      title: namedText(space.name),
      section: 'find',
      status: statusOf(problems),
      main: html`<p class="back">${
        before === undefined
          ? html`<a href="${link}">${icon('back')} Find a space</a>`
          : html`<a href="/console/bookings/${before.bookingId}">${icon('back')} Booking #${before.bookingId}</a>`
      }</p>
<div class="head"><div><h1>${named(space.name)}</h1><p class="lead">${community && html`${named(community.name)}. `}Open from ${clock(space.windowStart)} to ${clock(space.windowEnd)} ${zoneName(space.timeZone)}. Events last ${duration(space.durationHours)}.</p></div></div>
${formProblem(wrong)}
${before && html`<div class="flash notice">${icon('info')}<p>The same as booking #${before.bookingId}, on a new date: choose a day, check the rest, and send the request.</p></div>`}
<div class="split to-book"><div>
<form class="card fields-row end" method="get" action="/console/find/${spaceId}">${hidden}${dateField({ name: 'date', label: 'Date', value: wrongDate === undefined ? date : asked, required: true, problems: wrong, earliest: today })}<div><button class="button quiet">Show this day</button></div></form>
<nav aria-label="Days"><ul class="days">${ahead.map((day) => dayLink(to(day), day, free.get(day) ?? 0, day === date))}</ul></nav>
<section class="card" aria-labelledby="day"><h2 id="day">${longDate(date)}</h2>
<div id="hours" data-live-region="${hoursTopic(spaceId, date)}">${
        space.active
          ? html`${missed && start !== undefined && missedHour(start, closed(start), nextDay && { date: nextDay, href: to(nextDay) })}${slotFields(space, slots, closed, start, problems)}`
          : html`<p>This space is not taking bookings at the moment.</p>`
      }</div></section></div>
<form class="card fields panel" id="request" method="post" action="/console/find/${spaceId}">${csrfField(visit)}${onceField()}<input type="hidden" name="date" value="${date}"><input type="hidden" name="price" value="${price(space).totalPrice}"><input type="hidden" name="kept" value="${query.toString()}">
<h2>Price</h2>${priceView(price(space))}
${space.active && furtherControls(typed, problems)}
${space.active && html`<button class="button">Request booking</button>`}
<p class="muted small">The price is the same at any time of day. You are charged when the community approves; sending a request is free.</p></form></div>`,
    };
  }

  /** The next day on which an event can start at an hour that is not free on this one. */
  async function nextFree({ account }: Visit, space: Space, date: PlainDate, startHour: number) {
    const [from, to] = [daysLater(date, 1), daysLater(date, LOOK_AHEAD_DAYS)];
    const page = await queries.openDays({ account, spaceIds: [space.spaceId], from, to, startHour, limit: 1 });
    return isRefusal(page) ? undefined : page.days[0]?.date;
  }
}

/** The details that a brand may add besides space, date and start time. */
type Further = Exclude<keyof BookingDetails, 'spaceId' | 'date' | 'startHour'>;

/** The form control of each, and how it is read. Exhaustive: a new detail does not compile without one. */
const FURTHER: {
  readonly [F in Further]-?: {
    control(form: Form, problems: Problems): Html;
    read(form: Form): BookingDetails[F] | undefined;
  };
} = {
  message: {
    control: (form, problems) =>
      textArea({
        name: 'message',
        label: 'Message to the community (optional)',
        hint: `Your plans, the number of guests, what you need. Up to ${MESSAGE.max} characters.`,
        value: form.text('message'),
        problems,
        attributes: { maxlength: MESSAGE.max, rows: 3 },
      }),
    read: (form) => form.text('message').replaceAll('\r\n', '\n') || undefined,
  },
};

const furtherControls = (form: Form, problems: Problems): readonly Html[] =>
  Object.values(FURTHER).map(({ control }) => control(form, problems));

function furtherIn(form: Form): Pick<BookingDetails, Further>;
function furtherIn(form: Form): object {
  return defined(Object.fromEntries(Object.entries(FURTHER).map(([field, { read }]) => [field, read(form)])));
}

const formOf = (query: string): Form => new Form(Object.fromEntries(new URLSearchParams(query)));

/** What a booking once said, as it is typed into the form. */
const typedAgain = (before: ReadableBooking): Readonly<Record<string, string>> =>
  Object.fromEntries(keysOf(FURTHER).map((field) => [field, String(before[field] ?? '')]));

const dayLink = (href: string, day: string, available: number, current: boolean): Html => {
  const [weekday, date] = dayAndMonth(day).split(' ');
  const text = html`<span aria-hidden="true">${weekday} ${date}</span><span class="visually-hidden">${longDate(day)}, </span><span class="small">${available === 0 ? 'none free' : `${available} free`}</span>`;
  return current
    ? html`<li><a href="${href}" aria-current="date">${text}</a></li>`
    : html`<li><a href="${href}">${text}</a></li>`;
};

/** What is said of an hour that is closed: on its tile, and in a sentence. Nobody learns whose the booking is. */
const CLOSED: { readonly [K in ClosedKind]: { readonly short: string; readonly long: string } } = {
  Inactive: { short: 'closed', long: 'the space is closed' },
  OutsideWindow: { short: 'closed', long: 'the space is not open then' },
  Past: { short: 'past', long: 'it is in the past' },
  Skipped: { short: 'no such hour', long: 'the clocks are changed and skip it' },
  Booked: { short: 'booked', long: 'booked by somebody else' },
  Requested: { short: 'requested', long: 'requested by somebody else, who waits for an answer' },
  BookedByYou: { short: 'your booking', long: 'you have booked it' },
  RequestedByYou: { short: 'your request', long: 'you have requested it yourself' },
};

/** What a booking closes. */
const HOLDING: ReadonlySet<ClosedKind> = new Set(['Booked', 'Requested', 'BookedByYou', 'RequestedByYou']);

const isMissed = (slots: readonly TimeSlot[], start: number): boolean =>
  !slots.some(({ hour, isAvailable }) => hour === start && isAvailable);

/** Of the hour that was chosen before the day was: why it is not free, and when it is. */
function missedHour(
  start: number,
  closed: ClosedKind | undefined,
  free: { readonly date: PlainDate; readonly href: string } | undefined,
): Html | undefined {
  if (start < 0 || start > 23) return undefined;
  const said =
    closed === undefined || closed === 'OutsideWindow'
      ? `${clock(start)} is not a start time of this space.`
      : `${clock(start)} is not free on this day: ${CLOSED[closed].long}.`;
  return html`<div class="flash notice">${icon('info')}<p>${said} ${free && html`<a href="${free.href}">Next day with ${clock(start)} free: ${shortDate(free.date)}</a>`}</p></div>`;
}

function slotFields(
  space: Space,
  slots: readonly TimeSlot[],
  closed: (hour: number) => ClosedKind | undefined,
  chosen: number | undefined,
  problems: Problems,
): Html {
  const firstOpen = slots.find(({ isAvailable }) => isAvailable)?.hour;
  const error = errorText('startHour', problems.startHour);
  const tiles = html`<ul class="slots">${slots.map((slot) => tile(space, slot, closed(slot.hour), chosen, slot.hour === firstOpen))}</ul>`;
  if (firstOpen === undefined)
    return html`<p id="startHour">No time is free on this day. Choose another day above.</p>${tiles}${error}`;
  const isTaken = slots.some(({ hour }) => HOLDING.has(closed(hour) ?? 'Past'));
  return html`<fieldset class="field"><legend>Start time</legend><p class="hint">${zoneName(space.timeZone)}.${isTaken && space.durationHours > 1 && ` An event of ${duration(space.durationHours)} must end before the next one begins, which closes the hours before it too.`}</p>${tiles}${error}</fieldset>`;
}

/** @param isFirst the tile that a link to the errors of the form leads to */
function tile(
  space: Space,
  { hour, isAvailable, usageHours }: TimeSlot,
  closed: ClosedKind | undefined,
  chosen: number | undefined,
  isFirst: boolean,
): Html {
  const why = closed === undefined ? 'not free' : CLOSED[closed].short;
  const kind = closed === undefined ? '' : ` is-${closed.toLowerCase()}`;
  return html`<li><label class="slot${!isAvailable && kind}"><input${isFirst && html` id="startHour"`} form="request" type="radio" name="startHour" value="${hour}" required${flag('disabled', !isAvailable)}${flag('checked', isAvailable && chosen === hour)}><span class="time">${isAvailable ? clock(hour) : html`<s>${clock(hour)}</s>`}</span> <span class="small">${isAvailable ? html`to ${clock(usageEnd(space, hour))}${usageHours !== undefined && html`<br>only ${usageHours} h`}` : why}</span></label></li>`;
}
