import { WEEKDAYS } from '../../domain/calendar.ts';
import type { DayHours } from '../../domain/events.ts';
import type { SpaceId } from '../../domain/ids.ts';
import type { Photo } from '../../domain/photos.ts';
import { priceOf } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { horizonOf } from '../../domain/time-slots.ts';
import { clock, duration, hours, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { coverOf } from '../../html/photo-views.ts';
import type { PageContent } from '../parts/answer.ts';
import { onlyZone, zoneNote } from '../parts/booking-views.ts';
import { actionButton, confirm } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { spacePage, spacesWithSearch } from '../parts/space-pages.ts';
import { column, dataTable, labelledColumn, rowHeading } from '../parts/tables.ts';
import { may, type Visit } from '../parts/visit.ts';

export const PATH = '/console/spaces';

/** The page of the address and the description of a community. */
export const HOUSE_PATH = `${PATH}/house`;

/** The page about what is public. */
export const PUBLIC_PATH = `${PATH}/public`;

/** The page of the order of the spaces, and of their groups. */
export const ORDER_PATH = `${PATH}/order`;

/** The page of the photos of a space, or of the house. */
export const photosPath = (spaceId: number | 'house'): string => `${PATH}/${spaceId}/photos`;

/** The page of what happens to requests of new brands. */
export const NEW_BRANDS_PATH = `${PATH}/new-brands`;

/** The page of the hours of a space. */
export const hoursPath = (spaceId: number): string => `${PATH}/${spaceId}/hours`;

export const LABELS = {
  name: 'Name',
  windowStart: 'Opens at',
  windowEnd: 'Closes at',
  durationHours: 'Event length',
  eventFee: 'Event fee',
  answerHours: 'Time to answer',
} as const;

/** The form's fields as they were typed. */
export type Typed = Readonly<Record<keyof typeof LABELS, string>>;

/** How pages show amounts to their reader. */
type Priced = Pick<Visit, 'amount' | 'settings'>;

/** The terms as pages show them. The fee is empty for members who do not see amounts. */
export const shownTerms = (space: Space, { amount, settings }: Priced): Typed => ({
  name: namedText(space.name),
  windowStart: clock(space.windowStart),
  windowEnd: clock(space.windowEnd),
  durationHours: duration(space.durationHours),
  eventFee: amount?.(space.eventFee, settings.currency) ?? '',
  answerHours: duration(space.answerHours),
});

/** `09:00–21:00`, with the fee if the day has one of its own; `closed`. */
export function dayText(day: DayHours | 'closed', { amount, settings }: Priced): string {
  if (day === 'closed') return 'closed';
  const fee = day.eventFee === undefined || !amount ? '' : ` for ${amount(day.eventFee, settings.currency)}`;
  return `${hours(day.windowStart, day.windowEnd)}${fee}`;
}

/** The hours of the week: `09:00–22:00`, or `Mon–Fri 09:00–21:00, Sat 10:00–18:00 for $600.00, Sun closed`. */
export function weekText(space: Space, priced: Priced): string {
  if (!space.week?.length) return hours(space.windowStart, space.windowEnd);
  const runs: { readonly from: string; to: string; readonly text: string }[] = [];
  for (const [index, day] of space.week.entries()) {
    const [name, text] = [WEEKDAYS[index]?.slice(0, 3) ?? '', dayText(day, priced)];
    const last = runs.at(-1);
    if (last?.text === text) last.to = name;
    else runs.push({ from: name, to: name, text });
  }
  return runs.map(({ from, to, text }) => `${from === to ? from : `${from}–${to}`} ${text}`).join(', ');
}

/** The rules about time that differ from the default, after the hours. */
export function rulesText({ gapHours = 0, noticeHours = 0, cancelHours = 0, ...space }: Space): string {
  return [
    gapHours > 0 && ` ${duration(gapHours)} between bookings.`,
    noticeHours > 0 && ` Requests at least ${duration(noticeHours)} ahead.`,
    space.horizonDays !== undefined && ` Bookings for the next ${horizonOf(space)}.`,
    cancelHours > 0 && ` Brands cancel until ${duration(cancelHours)} before the start.`,
  ]
    .filter((rule) => rule !== false)
    .join('');
}

export const openBadge = ({ active }: Space): Html =>
  active
    ? html`<span class="status is-approved">${icon('approved')}Open</span>`
    : html`<span class="status is-cancelled">${icon('cancelled')}Closed</span>`;

/** The form that closes or reopens a space. @param to completes its address */
export const openOrClose = (
  visit: Visit,
  { spaceId, active, name }: Space,
  to: (path: string) => string = (path) => path,
): Html =>
  active
    ? confirm(visit, to(`${PATH}/${spaceId}/close`), {
        open: 'Close…',
        name,
        submit: 'Close space',
      })`Close ${named(name)}? It
takes no new bookings until you reopen it. Existing ones are kept.`
    : actionButton(
        visit,
        to(`${PATH}/${spaceId}/open`),
        html`Reopen<span class="visually-hidden"> ${named(name)}</span>`,
        'small',
      );

/** Spaces that are shown together. */
type Group = { readonly name?: string; readonly spaces: readonly Space[] };

/** More spaces than these are shown as a table with a search, in pages. */
const MAX_CARDS = 8;

/** The spaces that the list shows as cards with pictures. */
export const cardsOf = (spaces: readonly Space[]): readonly Space[] => (spaces.length <= MAX_CARDS ? spaces : []);

type PhotosOf = ReadonlyMap<SpaceId, readonly Photo[]>;

/** A community's spaces with their terms. @param photos those of the cards */
export function spaceList(visit: Visit, groups: readonly Group[], photos: PhotosOf): PageContent {
  const isManager = may(visit, 'Manager');
  const spaces = groups.flatMap((group) => group.spaces);
  const page = {
    title: 'Spaces',
    lead: 'What brands can book, and on what terms.',
    actions: html`<div class="row">
${isManager && buttonLink(HOUSE_PATH, 'Address and description', 'quiet')}
${isManager && spaces.length > 0 && buttonLink(PUBLIC_PATH, 'Public pages', 'quiet')}
${isManager && spaces.length > 1 && buttonLink(ORDER_PATH, 'Order and groups', 'quiet')}
${isManager && buttonLink(photosPath('house'), 'Photos of the house', 'quiet')}
${isManager && buttonLink(`${PATH}/community`, 'Name and time zone', 'quiet')}
${isManager && buttonLink(NEW_BRANDS_PATH, 'New brands', 'quiet')}
${buttonLink('/console/calendar/closures', 'Closed times', 'quiet')}
${isManager && buttonLink(`${PATH}/new`, html`${icon('plus')} Add a space`)}</div>`,
  };
  if (spaces.length === 0) {
    const add = isManager && buttonLink(`${PATH}/new`, 'Add your first space');
    const text = isManager
      ? 'Set its opening hours, event length and fee, and brands can find it right away.'
      : 'A Manager can add one.';
    return { ...page, main: emptyState('space', 'No spaces yet', add)`${text}` };
  }
  if (cardsOf(spaces).length > 0)
    return {
      ...page,
      main: html`${zoneNote(onlyZone(spaces))}${groups.map((group) => cards(visit, group, photos))}`,
    };

  const shown = spacePage(groups, visit.query);
  const zone = onlyZone(shown.matching);
  const tables = shown.groups.map(
    ({ name, spaces }) => html`${groupHeading(name)}${spaceTable(visit, spaces, name, zone)}`,
  );
  return {
    ...page,
    problems: shown.problems,
    main: spacesWithSearch(PATH, shown, html`${zoneNote(zone)}${tables}`),
  };
}

const groupHeading = (name: string | undefined): Html | undefined =>
  name === undefined ? undefined : html`<h2>${named(name)}</h2>`;

function spaceTable(visit: Visit, spaces: readonly Space[], group: string | undefined, zone: string | undefined): Html {
  const { amount, settings } = visit;
  const { currency, serviceFeePercent } = settings;
  const term = (name: keyof typeof LABELS, classes: string, label: string = LABELS[name]) =>
    labelledColumn<Space>(label, classes, (space) => shownTerms(space, visit)[name]);
  const caption = group === undefined ? 'Spaces' : namedText(group);
  return dataTable({ caption, classes: 'lines' }, spaces, [
    rowHeading(
      LABELS.name,
      'long line',
      ({ spaceId, name }) => html`<a class="whole" href="${PATH}/${spaceId}">${named(name)}</a>`,
    ),
    labelledColumn(
      'Opening hours',
      'long',
      (space) =>
        html`${weekText(space, visit)}${
          space.timeZone !== zone && html` <span class="muted small">${zoneName(space.timeZone)}</span>`
        }`,
    ),
    term('durationHours', 'nowrap'),
    amount !== undefined && term('eventFee', 'number', 'You earn'),
    amount !== undefined &&
      labelledColumn('Brands pay', 'number', ({ eventFee }) =>
        amount(priceOf(eventFee, serviceFeePercent).totalPrice, currency),
      ),
    term('answerHours', 'nowrap'),
    column('Status', 'state', openBadge),
  ]);
}

const cardActions = (visit: Visit, space: Space): Html =>
  html`<div class="row">
${buttonLink(`${PATH}/${space.spaceId}`, html`Edit<span class="visually-hidden"> ${named(space.name)}</span>`, 'quiet small')}
${openOrClose(visit, space)}</div>`;

/** The facts of a space that brands ask for. */
export function termFacts(space: Space, visit: Priced): Html {
  const { amount, settings } = visit;
  const { currency, serviceFeePercent } = settings;
  const terms = shownTerms(space, visit);
  const { totalPrice } = priceOf(space.eventFee, serviceFeePercent);
  return html`<dt>${LABELS.durationHours}</dt><dd>${terms.durationHours}</dd>${
    amount &&
    html`<dt>You earn</dt><dd>${terms.eventFee} <span class="muted">(brands pay ${amount(totalPrice, currency)})</span></dd>`
  }
<dt>${LABELS.answerHours}</dt><dd>${terms.answerHours}</dd>`;
}

const cards = (visit: Visit, { name, spaces }: Group, photos: PhotosOf): Html =>
  html`${groupHeading(name)}<ul class="grid">${spaces.map((space) => card(visit, space, photos.get(space.spaceId) ?? []))}</ul>`;

function card(visit: Visit, space: Space, photos: readonly Photo[]): Html {
  return html`<li class="card">${coverOf(space, photos, { sizes: '(width < 40rem) 90vw, 24rem' })}
<div class="row apart"><h2><a href="${PATH}/${space.spaceId}">${named(space.name)}</a></h2>
${openBadge(space)}</div>
<dl class="facts"><dt>Opening hours</dt><dd>${weekText(space, visit)}</dd>${termFacts(space, visit)}</dl>
${may(visit, 'Manager') && cardActions(visit, space)}</li>`;
}
