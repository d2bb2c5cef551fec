import type { Rating } from '../../../projections/space-ratings.ts';
import { AMENITY_LABELS, KIND_LABELS, SPACE_DESCRIPTION_LABELS } from '../../contract/description.ts';
import { addressLine, languageName } from '../../domain/description.ts';
import { MAX_COMPARED } from '../../domain/limits.ts';
import { priceOf } from '../../domain/pricing.ts';
import type { NamedSpace } from '../../domain/space.ts';
import { counted, duration, hours } from '../../html/formats.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import { backTo } from '../parts/back-link.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { type Column, dataTable, labelledColumn, rowHeading } from '../parts/tables.ts';
import { idOf, type Problems } from '../parts/typed-form.ts';
import type { BrandVisit, Settings, Visit } from '../parts/visit.ts';
import { COMPARE, SHORTLIST, shortlistButton } from './shortlist.ts';
import { spacePath } from './space-path.ts';

/** A space to compare, with the rating that the account may read. */
export type Compared = NamedSpace & { readonly rating: Rating | undefined };

/** A line of the comparison: its name, and what each space has, in parts. None: its community has not said. */
type Line = { readonly label: string; readonly parts: readonly (readonly string[])[] };

/** Spaces side by side. */
export function comparePages({ brand }: ConsoleRoutes, { queries }: PageDeps): void {
  brand.get(COMPARE, 'Viewer', async (visit) => {
    const asked = [...new Set(visit.query.all('space'))];
    const found = await Promise.all(
      asked.slice(0, MAX_COMPARED).map(async (text) => {
        const id = idOf(text);
        return id === undefined ? undefined : queries.spaces.getNamed(visit.account, id);
      }),
    );
    const spaces = found.filter((one) => one !== undefined);
    const ratings = await queries.spaceRatings.list(
      visit.account,
      spaces.map(({ space }) => space),
    );
    const compared = spaces.map((one) => ({ ...one, rating: ratings.get(one.space.spaceId) }));
    return {
      title: 'Compare spaces',
      lead: 'What differs is in bold.',
      back: backTo(visit, { href: SHORTLIST, label: 'Shortlist' }),
      problems: comparisonProblems(asked.length, found.length - spaces.length),
      main:
        compared.length < 2
          ? emptyState('list', 'Nothing to compare yet', buttonLink('/console/find', 'Find a space'))`
Choose two to ${String(MAX_COMPARED)} spaces on your shortlist or where you search.`
          : comparison(visit, compared),
    };
  });
}

/** What is wrong with the spaces of an address. @param missing spaces that the account may not see, or that do not exist */
export function comparisonProblems(asked: number, missing: number): Problems {
  if (asked > MAX_COMPARED)
    return { '': `Compare at most ${MAX_COMPARED} spaces. These are the first ${MAX_COMPARED}.` };
  return missing > 0 ? { '': `${counted(missing, 'space')} of this address cannot be found.` } : {};
}

function comparison(visit: BrandVisit, compared: readonly Compared[]): Html {
  const buttons = compared.map(
    ({ space }) => html`<li class="row apart"><a href="${spacePath(space.spaceId, {})}">${namedText(space.name)}</a>
${shortlistButton(visit, space, here(compared))}</li>`,
  );
  return html`<ul class="stack tight plain">${buttons}</ul>
${comparisonTable(compared, visit)}`;
}

/** How the prices of spaces are made and shown. */
type Priced = Pick<Visit, 'amount'> & { readonly settings: Pick<Settings, 'currency' | 'serviceFeePercent'> };

/** Spaces side by side, with a line for each thing that one of them has. What differs is in bold. */
export function comparisonTable(compared: readonly Compared[], priced: Priced): Html {
  const columns = compared.map(
    ({ space }, at): Column<Line> => labelledColumn(space.name, '', ({ parts }) => cell(parts[at] ?? [], parts)),
  );
  const heading = { ...rowHeading<Line>('What', '', ({ label }) => label), isLabelled: false };
  return dataTable<Line>('Comparison of the spaces', linesOf(compared, priced), [heading, ...columns]);
}

const here = (compared: readonly Compared[]): string =>
  `${COMPARE}?${new URLSearchParams(compared.map(({ space }) => ['space', String(space.spaceId)]))}`;

/** The parts of a space, in bold those that another one does not have. */
function cell(own: readonly string[], all: readonly (readonly string[])[]): Html {
  const isShared = (part: string) => all.every((parts) => parts.includes(part));
  if (own.length === 0) return html`–`;
  return html`${own.map((part, at) => html`${at > 0 && ', '}${isShared(part) ? part : html`<strong>${part}</strong>`}`)}`;
}

/** Lines in which no space has anything are left out. */
function linesOf(compared: readonly Compared[], { amount, settings }: Priced): readonly Line[] {
  const { currency, serviceFeePercent } = settings;
  const list = (label: string, partsOf: (one: Compared) => readonly string[] | undefined): Line => ({
    label,
    parts: compared.map((one) => partsOf(one) ?? []),
  });
  const line = (label: string, textOf: (one: Compared) => string | undefined): Line =>
    list(label, (one) => [textOf(one) ?? ''].filter((text) => text !== ''));
  const lines = [
    line('Price', ({ space }) => amount?.(priceOf(space.eventFee, serviceFeePercent).totalPrice, currency)),
    line('Length of an event', ({ space }) => duration(space.durationHours)),
    line('Start times', ({ space }) => hours(space.windowStart, space.windowEnd)),
    line('Rating', ({ rating }) => rating && `${rating.average.toFixed(1)} (${counted(rating.count, 'review')})`),
    line('Community', ({ communityName }) => namedText(communityName)),
    line('Address', ({ house }) => house?.address && addressLine(house.address)),
    line(SPACE_DESCRIPTION_LABELS.kind, ({ space }) => space.facts?.kind && KIND_LABELS[space.facts.kind]),
    line(SPACE_DESCRIPTION_LABELS.seated, ({ space }) => space.facts?.seated?.toLocaleString('en')),
    line(SPACE_DESCRIPTION_LABELS.standing, ({ space }) => space.facts?.standing?.toLocaleString('en')),
    line(SPACE_DESCRIPTION_LABELS.area, ({ space }) =>
      space.facts?.area === undefined ? '' : `${space.facts.area} m²`,
    ),
    list(SPACE_DESCRIPTION_LABELS.amenities, ({ space }) => space.facts?.amenities?.map((one) => AMENITY_LABELS[one])),
    list(SPACE_DESCRIPTION_LABELS.ownAmenities, ({ space }) => space.facts?.ownAmenities),
    list(SPACE_DESCRIPTION_LABELS.languages, ({ space }) => space.facts?.languages?.map(languageName)),
    line('Request ahead', ({ space: { noticeHours = 0 } }) => (noticeHours > 0 ? duration(noticeHours) : '')),
    line('Cancel until', ({ space: { cancelHours = 0 } }) =>
      cancelHours > 0 ? `${duration(cancelHours)} before` : 'the start',
    ),
  ];
  return lines.filter(({ parts }) => parts.some((own) => own.length > 0));
}
