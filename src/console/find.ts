import { DETAIL_LABELS } from '../contract/booking.ts';
import type { BookingDetails } from '../domain/booking-details.ts';
import { isPlainDate, localDate } from '../domain/calendar.ts';
import type { Community } from '../domain/community.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { PlainDate } from '../domain/ids.ts';
import { MESSAGE } from '../domain/limits.ts';
import { priceOf } from '../domain/pricing.ts';
import type { Space } from '../domain/space.ts';
import type { TimeSlot } from '../domain/time-slots.ts';
import { usageEnd } from '../domain/time-slots.ts';
import { flag, type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { named, namedText } from '../html/names.ts';
import { priceView } from './booking-views.ts';
import {
  csrfField,
  errorText,
  field,
  formProblem,
  NO_PROBLEMS,
  onceField,
  type Problems,
  problemOf,
  select,
  statusOf,
  textArea,
} from './fields.ts';
import { addDays, amount, clock, counted, dayAndMonth, duration, longDate, zoneName } from './formats.ts';
import { hoursTopic } from './live.ts';
import type { PageDeps } from './page-deps.ts';
import { type Answer, type Form, idOf, missing, type Routes, type Visit } from './visit.ts';

const PER_PAGE = 24;
/** Days in the strip on a space's page, each with its number of available start times. */
const DAYS_AHEAD = 7;

/** Where a brand finds a space and a date, sees available start times and the price breakdown, and sends a request. */
export function findPages(routes: Routes, { commands, queries, settings }: PageDeps): void {
  const price = (space: Space) => ({
    ...priceOf(space.eventFee, settings.serviceFeePercent),
    currency: settings.currency,
  });

  routes.get(
    '/console/find',
    async (visit) => {
      const { account, query, now } = visit;
      const [all, communities] = await Promise.all([queries.spaces.list(account), queries.spaces.communities()]);
      const byId = new Map(communities.map((one) => [String(one.communityId), one]));
      const community = byId.get(query.text('community'));
      // UTC-12 is the last zone to leave a day: the earliest date that is still today somewhere.
      const earliest = localDate(now, 'Etc/GMT+12');
      const asked = query.text('date');
      const date = isPlainDate(asked) && asked >= earliest ? asked : addDays(localDate(now, 'UTC'), 1);
      const problems: Problems =
        asked !== '' && date !== asked ? { date: 'Choose today or a later date.' } : NO_PROBLEMS;
      const found = all.filter((space) => community === undefined || space.communityId === community.communityId);
      const page = Math.max(1, idOf(query.text('page')) ?? 1);
      const shown = found.slice((page - 1) * PER_PAGE, page * PER_PAGE);
      const cards = await Promise.all(
        shown.map(async (space) => {
          const available = await availableSlots(visit, space, date);
          return spaceCard(
            space,
            byId.get(String(space.communityId)),
            date,
            available,
            price(space).totalPrice,
            settings.currency,
          );
        }),
      );
      const href = (to: number) =>
        `/console/find?date=${date}${community ? `&community=${community.communityId}` : ''}&page=${to}`;
      return {
        title: 'Find a space',
        section: 'find',
        main: html`<div class="head"><div><h1>Find a space</h1><p class="lead">Available start times on ${longDate(date)}, in each space’s local time.</p></div></div>
<form class="card fields-row end" method="get" action="/console/find">
${field({ name: 'date', label: 'Date', type: 'date', value: problems === NO_PROBLEMS ? date : asked, required: true, problems, attributes: { min: earliest } })}
${select({
  name: 'community',
  label: 'Community',
  value: community === undefined ? '' : String(community.communityId),
  options: [
    { value: '', label: 'All communities' },
    ...communities.map(({ communityId, name }) => ({ value: String(communityId), label: namedText(name) })),
  ],
})}
<div><button class="button">Show available times</button></div></form>
${
  found.length === 0
    ? html`<div class="empty">${icon('space')}<h2>No spaces yet</h2><p>Spaces appear here as soon as a community adds one.</p></div>`
    : html`<p class="muted">${counted(found.length, 'space')}</p><ul class="grid">${cards}</ul>`
}
${
  found.length > PER_PAGE &&
  html`<nav class="pager" aria-label="Pages">${page > 1 ? html`<a class="button quiet" href="${href(page - 1)}">${icon('back')} Page ${page - 1}</a>` : html`<span></span>`}${page * PER_PAGE < found.length && html`<a class="button quiet" href="${href(page + 1)}">Page ${page + 1} ${icon('next')}</a>`}</nav>`
}`,
      };
    },
    'Brand',
  );

  routes.get(
    '/console/find/:id',
    (visit) => withSpace(visit, (space) => spacePage(visit, space, visit.query.text('date'))),
    'Brand',
  );

  routes.post(
    '/console/find/:id',
    (visit) =>
      withSpace(visit, async (space) => {
        const { account, form, context } = visit;
        if (account.kind !== 'Brand') return missing('space');
        const date = form.text('date');
        if (!isPlainDate(date)) return spacePage(visit, space, '', { '': 'Choose a valid date.' });
        const startHour = form.integer('startHour');
        if (Number.isNaN(startHour)) return spacePage(visit, space, date, { startHour: 'Choose a start time.' });
        const shown = form.text('price');
        if (shown !== '' && shown !== String(price(space).totalPrice))
          return spacePage(visit, space, date, {
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
        const problems =
          outcome.refused === 'SlotUnavailable'
            ? { startHour: 'This time is no longer available. Choose another one.' }
            : problemOf(outcome, DETAIL_LABELS);
        return spacePage(visit, space, date, problems);
      }),
    'Brand',
  );

  async function withSpace(visit: Visit, then: (space: Space) => Promise<Answer>): Promise<Answer> {
    const id = idOf(visit.params.id);
    const space = id === undefined ? undefined : await queries.spaces.get(visit.account, id);
    return space === undefined ? missing('space') : then(space);
  }

  async function availableSlots(visit: Visit, space: Space, date: PlainDate): Promise<readonly TimeSlot[]> {
    const found = await queries.availability({ account: visit.account, spaceId: space.spaceId, date });
    return isRefusal(found) ? [] : found.timeSlots().filter(({ isAvailable }) => isAvailable);
  }

  async function spacePage(
    visit: Visit,
    space: Space,
    asked: string,
    problems: Problems = NO_PROBLEMS,
  ): Promise<Answer> {
    const { account, form, now } = visit;
    const today = localDate(now, space.timeZone);
    const date = isPlainDate(asked) && asked >= today ? asked : today;
    const wrongDate: Problems =
      asked !== '' && asked !== date ? { date: `Choose ${dayAndMonth(today)} or a later date.` } : NO_PROBLEMS;
    const ahead = Array.from({ length: DAYS_AHEAD }, (_, day) => addDays(date, day));
    const [found, community, counts] = await Promise.all([
      queries.availability({ account, spaceId: space.spaceId, date }),
      queries.spaces.community(space.communityId),
      Promise.all(ahead.map(async (day) => (await availableSlots(visit, space, day)).length)),
    ]);
    const slots = isRefusal(found) ? [] : found.timeSlots();
    const chosen = form.text('startHour');
    return {
      title: namedText(space.name),
      section: 'find',
      status: statusOf(problems),
      main: html`<p class="back"><a href="/console/find?date=${date}">${icon('back')} Find a space</a></p>
<div class="head"><div><h1>${named(space.name)}</h1><p class="lead">${community && named(community.name)}. Open from ${clock(space.windowStart)} to ${clock(space.windowEnd)} ${zoneName(space.timeZone)}. Events last ${duration(space.durationHours)}.</p></div></div>
${formProblem(problems)}
<div class="split"><div>
<form class="card fields-row end" method="get" action="/console/find/${space.spaceId}">${field({ name: 'date', label: 'Date', type: 'date', value: asked === '' ? date : asked, required: true, problems: wrongDate, attributes: { min: today } })}<div><button class="button quiet">Show this day</button></div></form>
<nav aria-label="Days"><ul class="days">${ahead.map((day, index) => dayLink(space, day, counts[index] ?? 0, day === date))}</ul></nav>
<form class="card fields" method="post" action="/console/find/${space.spaceId}">${csrfField(visit)}${onceField()}<input type="hidden" name="date" value="${date}"><input type="hidden" name="price" value="${price(space).totalPrice}">
<h2>${longDate(date)}</h2>
<div id="hours" data-live-region="${hoursTopic(space.spaceId, date)}">${space.active ? slotFields(space, slots, chosen, problems) : html`<p>This space is not taking bookings at the moment.</p>`}</div>
${space.active && furtherControls(form, problems)}
${space.active && html`<div><button class="button">Request booking</button></div>`}
</form></div><div>
<section class="card"><h2>Price</h2>${priceView(price(space))}<p class="muted small">The price is the same at any time of day. You are charged when the community approves; sending a request is free.</p></section>
</div></div>`,
    };
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

const spaceCard = (
  space: Space,
  community: Community | undefined,
  date: string,
  available: readonly TimeSlot[],
  total: number,
  currency: string,
): Html => html`<li class="card space-card"><div><h2><a href="/console/find/${space.spaceId}?date=${date}">${named(space.name)}</a></h2><p class="muted">${community && named(community.name)}, ${zoneName(space.timeZone)}</p></div>
<p><strong>${amount(total, currency)}</strong> <span class="muted">for ${duration(space.durationHours)}, fees included</span></p>
${
  !space.active
    ? html`<p class="muted">Not taking bookings at the moment.</p>`
    : available.length === 0
      ? html`<p class="muted">No times available on this day.</p>`
      : html`<p class="open-hours"><span class="visually-hidden">Starts at </span>${available.slice(0, 6).map(({ hour }) => html`<a class="hour" href="/console/find/${space.spaceId}?date=${date}">${clock(hour)}</a>`)}${available.length > 6 && html`<span class="muted small">and ${available.length - 6} more</span>`}</p>`
}</li>`;

const dayLink = (space: Space, day: string, available: number, current: boolean): Html => {
  const [weekday, date] = dayAndMonth(day).split(' ');
  const text = html`<span aria-hidden="true">${weekday} ${date}</span><span class="visually-hidden">${longDate(day)}, </span><span class="small">${available === 0 ? 'none free' : `${available} free`}</span>`;
  const href = `/console/find/${space.spaceId}?date=${day}`;
  return current
    ? html`<li><a href="${href}" aria-current="date">${text}</a></li>`
    : html`<li><a href="${href}">${text}</a></li>`;
};

function slotFields(space: Space, slots: readonly TimeSlot[], chosen: string, problems: Problems): Html {
  if (!slots.some(({ isAvailable }) => isAvailable))
    return html`<p>No times are available on this day. Choose another day above.</p>${errorText('startHour', problems.startHour)}`;
  return html`<fieldset class="field"><legend>Start time</legend><p class="hint">${zoneName(space.timeZone)}. Times that are crossed out are taken or in the past.</p><ul class="slots">${slots.map(
    ({ hour, isAvailable, usageHours }) =>
      html`<li><label class="slot"><input type="radio" name="startHour" value="${hour}" required${flag('disabled', !isAvailable)}${flag('checked', isAvailable && chosen === String(hour))}><span>${isAvailable ? clock(hour) : html`<s>${clock(hour)}</s>`}</span> <span class="small">${isAvailable ? html`to ${clock(usageEnd(space, hour))}${usageHours !== undefined && html`, ${duration(usageHours)} only`}` : html`unavailable`}</span></label></li>`,
  )}</ul>${errorText('startHour', problems.startHour)}</fieldset>`;
}
