import type { ReadableBooking } from '../../../projections/bookings.ts';
import { DETAIL_LABELS } from '../../contract/booking.ts';
import { type BookingDetails, wrongDetails } from '../../domain/booking-details.ts';
import { daysLater, isPlainDate, localDate, weekdayOf } from '../../domain/calendar.ts';
import { type DayTerms, termsOn } from '../../domain/day-terms.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { capacityOf } from '../../domain/description.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { CAPACITY, MESSAGE } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { clock, dayAndMonth, duration, longDate, monthName, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { gallery } from '../../html/photo-views.ts';
import { hoursTopic } from '../live/live.ts';
import { done, type PageContent } from '../parts/answer.ts';
import { backTo, viaField } from '../parts/back-link.ts';
import { priceView } from '../parts/booking-views.ts';
import { descriptionView } from '../parts/description-views.ts';
import {
  controlsOf,
  csrfField,
  dateField,
  field,
  hasProblems,
  hiddenField,
  onceField,
  problemOf,
  textArea,
} from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { linkItem } from '../parts/links.ts';
import { nextFreeDays } from '../parts/next-free-days.ts';
import { questionPath } from '../parts/question-links.ts';
import { isToBeChanged, REPEAT_FIELDS, readDays, repeatFields } from '../parts/repeated-days.ts';
import { ratingText, reviewText } from '../parts/review-views.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import { readDate } from '../parts/typed-dates.ts';
import { Form, idOf, type Problems } from '../parts/typed-form.ts';
import { type BrandVisit, may } from '../parts/visit.ts';
import { newBrandNote } from './new-brand-note.ts';
import { AT_ONCE, asOffered, type OfferedSpace, priceIn } from './offered-space.ts';
import { startTimes, whyRefused } from './refused-request.ts';
import { requestSeries } from './series-request.ts';
import { shortlistButton } from './shortlist.ts';
import { type CarriedFields, fieldsOf, hourIn, monthPath, spacePath } from './space-path.ts';
import { isFree, notFreeNotice, startTimeField, whyNoneFree } from './start-times.ts';

/** Days in the strip of links, each with its number of free start times. */
const DAYS_AHEAD = 7;

/** A space with its start times and price, and the form that requests a booking. */
export function requestPages({ brand }: ConsoleRoutes, deps: PageDeps): void {
  const { commands, queries } = deps;
  const ofSpace = spaceRoutes(brand, queries);

  ofSpace.get('/console/find/:id', 'Viewer', async (visit, stored) => {
    const { query, restored } = visit;
    const space = await asOffered(queries, visit, stored);
    if (restored !== undefined) return spacePage(queries, visit, space, restored.text('date'), restored);
    const before = await bookingToRepeat(queries, visit, space);
    const startHour = String(hourIn(query, 'start') ?? before?.startHour ?? '');
    const typed = query.text('date');
    const date = typed === '' && before ? await dayToRepeat(queries, visit, space, before) : typed;
    return spacePage(queries, visit, space, date, new Form({ ...(before && typedIn(before)), startHour }));
  });

  ofSpace.post('/console/find/:id', 'Coordinator', async (visit, stored) => {
    const { account, form, context } = visit;
    const space = await asOffered(queries, visit, stored);
    const again = (problems: Problems) => spacePage(queries, visit, space, form.text('date'), form, problems);
    if (isToBeChanged(form)) return again({});
    const read = readRequest(visit, space);
    if (read.details === undefined) return again(read.problems);
    const repeated = readDays(form.texts(REPEAT_FIELDS), read.details.date);
    if (hasProblems(repeated.problems)) return again(repeated.problems);
    if (repeated.days.length > 1 && space.active)
      return requestSeries(deps, visit, { space, details: read.details, days: repeated.days });
    // A form that is sent twice makes one booking. A page that shows a refusal has a new key.
    const key = form.text('requestKey');
    const idempotency = key === '' ? {} : { idempotencyKey: `console:${key}` };
    const command = { brandId: account.id, details: read.details, ...idempotency };
    const outcome = await commands.bookings.request(command, context);
    if (isRefusal(outcome)) return again(await whyRefused(queries, visit, space, read.details, outcome));
    return done(
      `/console/bookings/${outcome.bookingId}`,
      outcome.status === 'Approved'
        ? `Booked. ${AT_ONCE}`
        : `Request sent. The community has up to ${space.answerHours} hours to answer. Nothing is charged until it approves.`,
    );
  });
}

/** The booking of this space that the address or the form asks to repeat. */
async function bookingToRepeat({ bookings }: Queries, visit: BrandVisit, space: Space) {
  const { account, query, form, restored } = visit;
  const id = idOf((restored ?? form).text('again') || query.text('again'));
  const booking = id === undefined ? undefined : await bookings.get(account, id);
  return booking?.spaceId === space.spaceId ? booking : undefined;
}

/** The day to offer for a booking to repeat: the next of its weekday on which its hour is free, else of any weekday, else tomorrow. */
async function dayToRepeat(queries: Queries, visit: BrandVisit, space: Space, { date, startHour }: ReadableBooking) {
  const today = localDate(visit.now, space.timeZone);
  const wanted = { account: visit.account, spaceIds: [space.spaceId], startHour };
  const [same] = await nextFreeDays(queries, { ...wanted, weekdays: [weekdayOf(date)] }, today, 1);
  if (same !== undefined) return same;
  const [any = daysLater(today, 1)] = await nextFreeDays(queries, wanted, today, 1);
  return any;
}

/** The number of free start times on each of the days from a date on. */
async function freeTimes({ openDays }: Queries, { account }: BrandVisit, { spaceId }: Space, from: PlainDate) {
  const to = daysLater(from, DAYS_AHEAD - 1);
  const open = await openDays({ account, spaceIds: [spaceId], from, to, limit: DAYS_AHEAD });
  return new Map(isRefusal(open) ? [] : open.days.map((day) => [day.date, day.openHours.length]));
}

/** @param asked the date as it was typed */
async function spacePage(
  queries: Queries,
  visit: BrandVisit,
  space: OfferedSpace,
  typedText: string,
  typed: Form,
  problems: Problems = {},
): Promise<PageContent> {
  const { account, now } = visit;
  const { spaceId } = space;
  const today = localDate(now, space.timeZone);
  const { date, problem } = shownDate(typedText, today);
  const [times, community, before, free, rated, photos, ofHouse, note] = await Promise.all([
    startTimes(queries, { account, spaceId, date }),
    queries.spaces.community(space.communityId),
    bookingToRepeat(queries, visit, space),
    freeTimes(queries, visit, space, date),
    queries.spaceRatings.ofSpace(account, space),
    queries.photos.ofSpaces([spaceId]),
    queries.photos.ofHouse(space.communityId),
    newBrandNote(queries, { communityId: space.communityId, brandId: account.id }),
  ]);
  const terms = termsOn(space, date);
  const description = await queries.descriptions.ofNamed({ space, ...defined({ house: community?.house }) });
  const start = hourIn(typed, 'startHour');
  const carried: CarriedFields = { start, again: before?.bookingId, via: visit.via };
  const to = (day: PlainDate) => spacePath(spaceId, { ...carried, date: day });
  const isMissed = space.active && !problems.startHour && start !== undefined && !isFree(times, start);
  const [next] = isMissed
    ? await nextFreeDays(queries, { account, spaceIds: [spaceId], startHour: start }, date, 1)
    : [];
  const wrong = problem === undefined ? problems : { ...problems, date: problem };
  const typedDate = problem === undefined ? date : typedText;
  const shown = { date, noneFree: whyNoneFree(terms, times) };
  const missed = isMissed && notFreeNotice(terms, times, start, next && { date: next, href: to(next) });
  return {
    title: namedText(space.name),
    lead: html`${community && html`${named(community.name)}. `}${openingHours(terms, date)}
${zoneName(space.timeZone)}. Events last ${duration(space.durationHours)}.${noticeText(space)}${
      rated && html` <a class="nowrap" href="#reviews">${ratingText(rated.rating)}</a>`
    }`,
    back: before
      ? { href: `/console/bookings/${before.bookingId}`, label: `Booking #${before.bookingId}` }
      : backTo(visit, { href: `/console/find?date=${date}`, label: 'Find a space' }),
    problems: wrong,
    actions: html`<div class="row">${
      may(visit, 'Coordinator') &&
      !space.isBlocked &&
      buttonLink(questionPath({ spaceId, brandId: account.id }), 'Ask a question', 'quiet')
    }${shortlistButton(visit, space)}</div>`,
    main: html`${before && repeatNotice(before)}${gallery([...(photos.get(spaceId) ?? []), ...ofHouse], 'Photos')}
<div class="split to-book"><div>
${dayForm(space, carried, typedDate, today, wrong)}
<nav aria-label="Days"><ul class="days">${daysFrom(date).map((day) => dayLink(to(day), day, free.get(day) ?? 0, day === date))}</ul></nav>
<p><a href="${monthPath(spaceId, date.slice(0, 7), carried)}">Free days of ${monthName(date.slice(0, 7))}</a></p>
<section class="card" aria-labelledby="day"><h2 id="day">${longDate(date)}</h2>
<div id="hours" data-live-region="${hoursTopic(spaceId, date)}">${missed}${
      space.active
        ? startTimeField(terms, times, may(visit, 'Coordinator') ? start : 'unchoosable', problems)
        : html`<p>This space is not taking bookings at the moment.</p>`
    }</div></section></div>
${requestForm(visit, { ...space, ...terms }, carried, { ...shown, note }, typed, problems)}
${descriptionView(description.space, description.house)}${rated && reviewsOf(rated, space)}</div>`,
  };
}

const openingHours = ({ isClosedDay, windowStart, windowEnd }: DayTerms, date: PlainDate): string =>
  isClosedDay ? `Closed on ${weekdayOf(date)}s,` : `Open from ${clock(windowStart)} to ${clock(windowEnd)}`;

const noticeText = ({ noticeHours = 0 }: Space): string =>
  noticeHours > 0 ? ` Request them ${duration(noticeHours)} ahead.` : '';

const cancelText = ({ cancelHours = 0 }: Space): string =>
  cancelHours > 0 ? ` You can cancel until ${duration(cancelHours)} before the start.` : '';

type Queries = PageDeps['queries'];
type Rated = NonNullable<Awaited<ReturnType<Queries['spaceRatings']['ofSpace']>>>;

const reviewsOf = ({ rating, latest }: Rated, { timeZone }: Space): Html =>
  html`<section class="card" id="reviews" aria-labelledby="reviews-title"><div class="row apart">
<h2 id="reviews-title">${latest.length < rating.count ? 'Latest reviews' : 'Reviews'}</h2>${ratingText(rating)}</div>
${latest.map((review) => html`<article class="stack tight">${reviewText(review, timeZone)}</article>`)}</section>`;

type ReadRequest = { readonly details: BookingDetails } | { readonly details?: undefined; readonly problems: Problems };

/** Reads a request from its form, or returns its errors. */
function readRequest(visit: BrandVisit, space: OfferedSpace): ReadRequest {
  const { form, now } = visit;
  const { date, problem } = readDate(form.text('date'));
  const startHour = form.integer('startHour');
  const isHour = !Number.isNaN(startHour);
  const further = furtherIn(form);
  if (date === undefined || !isHour) {
    const today = localDate(now, space.timeZone);
    const rest = wrongDetails({ spaceId: space.spaceId, date: date ?? today, startHour: 0, ...further });
    return {
      problems: {
        ...defined({ date: problem, startHour: isHour ? undefined : 'Choose a start time.' }),
        ...(rest && problemOf(rest, DETAIL_LABELS)),
      },
    };
  }
  const shownPrice = form.text('price');
  if (shownPrice !== '' && shownPrice !== String(priceIn(visit, termsOn(space, date), space.agreed).totalPrice))
    return {
      problems: { '': 'The price has changed in the meantime. Check the new price, then send your request again.' },
    };
  return { details: { spaceId: space.spaceId, date, startHour, ...further } };
}

/** The date that the page shows: the one asked for, or today if that is no date or in the past. */
function shownDate(typed: string, today: PlainDate): { readonly date: PlainDate; readonly problem?: string } {
  if (typed === '') return { date: today };
  const { date, problem } = readDate(typed);
  if (date === undefined) return { date: today, problem };
  return date >= today ? { date } : { date: today, problem: `Choose ${dayAndMonth(today)} or a later date.` };
}

/** The days of the strip, which ends with the year 9999, like all dates in forms and addresses. */
const daysFrom = (date: PlainDate): PlainDate[] =>
  Array.from({ length: DAYS_AHEAD }, (_, day) => daysLater(date, day)).filter(isPlainDate);

const repeatNotice = ({ bookingId }: ReadableBooking): Html =>
  html`<div class="flash notice">${icon('info')}<p>The same as booking #${bookingId}, on a new date: choose a day, check
the rest, and send the request.</p></div>`;

/** The form that shows another day. */
function dayForm(
  { spaceId }: Space,
  carried: CarriedFields,
  value: string,
  earliest: PlainDate,
  problems: Problems,
): Html {
  const hidden = Object.entries(fieldsOf(carried)).map(([name, value]) => value && hiddenField(name, value));
  return html`<form class="card fields-row end" method="get" action="/console/find/${spaceId}">
${hidden}${dateField({ name: 'date', label: 'Date', value, required: true, problems, earliest })}
<div><button class="button quiet">Show this day</button></div></form>`;
}

function requestForm(
  visit: BrandVisit,
  space: DayTerms & OfferedSpace,
  { again }: CarriedFields,
  shown: { readonly date: PlainDate; readonly noneFree: string | undefined; readonly note: string | undefined },
  typed: Form,
  problems: Problems,
): Html {
  const { spaceId, active, agreed, isTrusted } = space;
  const { date, noneFree, note } = shown;
  const { amount } = visit;
  const price = priceIn(visit, space, agreed);
  const heading = amount ? html`<h2>Price</h2>${priceView(visit, amount, price)}` : html`<h2>Request</h2>`;
  if (!may(visit, 'Coordinator'))
    return html`<section class="card fields panel">${heading}
<p class="muted small">The price is the same at any time of day.${cancelText(space)}</p>${
      active && html`<p class="muted small">A Coordinator or a Manager of the brand can request it.</p>`
    }</section>`;
  return html`<form class="card fields panel" id="request" method="post" action="/console/find/${spaceId}">
${csrfField(visit)}${onceField('requestKey')}${hiddenField('date', date)}${amount && hiddenField('price', price.totalPrice)}
${viaField(visit)}${again !== undefined && hiddenField('again', again)}
${heading}
${
  active &&
  html`${furtherControls(typed, problems, space)}
${repeatFields(typed.texts(REPEAT_FIELDS), problems, date)}${requestButton(isTrusted, hoursTopic(spaceId, date), noneFree)}`
}
<p class="muted small">The price is the same at any time of day. ${
    isTrusted ? AT_ONCE : 'You are charged when the community approves; sending a request is free.'
  }${cancelText(space)}${note && ` ${note}`}</p></form>`;
}

/** Inactive, with the reason, while no time of the day is free. Replaced when the hours change. */
const requestButton = (isTrusted: boolean, topic: string, noneFree: string | undefined): Html =>
  html`<div class="stack tight" id="send" data-live-region="${topic}"><button class="button"${
    noneFree !== undefined && html` disabled aria-describedby="none-free"`
  }>${isTrusted ? 'Book' : 'Request booking'}</button>${
    noneFree !== undefined && html`<p class="hint" id="none-free">${noneFree} Choose another day.</p>`
  }</div>`;

/** The details that a brand may add besides space, date and start time. The page of the days adds the series. */
type Further = Exclude<keyof BookingDetails, 'spaceId' | 'date' | 'startHour' | 'series'>;

/** The form control of each, and how it is read. Exhaustive: a new detail does not compile without one. */
const FURTHER: {
  readonly [F in Further]-?: {
    control(form: Form, problems: Problems, space: Space): Html;
    read(form: Form): BookingDetails[F] | undefined;
  };
} = {
  guests: {
    control(form, problems, { facts = {} }) {
      const most = capacityOf(facts);
      return field({
        ...controlsOf(form, problems)('guests', 'Guests (optional)'),
        type: 'number',
        hint: most === undefined ? undefined : `This space takes up to ${most}.`,
        attributes: { min: CAPACITY.min, max: most ?? CAPACITY.max, inputmode: 'numeric' },
      });
    },
    read: (form) => (form.text('guests') === '' ? undefined : form.integer('guests')),
  },
  message: {
    control: (form, problems) =>
      textArea({
        ...controlsOf(form, problems)('message', 'Message to the community (optional)'),
        hint: `Your plans, and what you need. Up to ${MESSAGE.max} characters.`,
        attributes: { maxlength: MESSAGE.max, rows: 3 },
      }),
    read: (form) => form.lines('message') || undefined,
  },
};

const furtherControls = (form: Form, problems: Problems, space: Space): readonly Html[] =>
  Object.values(FURTHER).map(({ control }) => control(form, problems, space));

function furtherIn(form: Form): Pick<BookingDetails, Further>;
function furtherIn(form: Form): object {
  return defined(Object.fromEntries(Object.entries(FURTHER).map(([field, { read }]) => [field, read(form)])));
}

/** The further details of a booking, as they are typed into the form. */
const typedIn = (booking: ReadableBooking): Readonly<Record<string, string>> =>
  Object.fromEntries(keysOf(FURTHER).map((field) => [field, String(booking[field] ?? '')]));

const dayLink = (href: string, day: string, available: number, isCurrent: boolean): Html => {
  const [weekday, date] = dayAndMonth(day).split(' ');
  const free = available === 0 ? 'none free' : `${available} free`;
  const spoken = html`<span class="visually-hidden">${longDate(day)}, </span>`;
  const label = html`<span aria-hidden="true">${weekday} ${date}</span>${spoken}<span class="small">${free}</span>`;
  return linkItem(href, label, isCurrent && 'date');
};
