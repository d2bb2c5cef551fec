import { daysLater, daysOfMonth, isMonth, localDate, monthsLater } from '../../domain/calendar.ts';
import { type Address, addressLine, capacityOf } from '../../domain/description.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { SEARCHED_MONTHS_AHEAD } from '../../domain/limits.ts';
import { priceOf } from '../../domain/pricing.ts';
import { amount } from '../../html/amounts.ts';
import { duration, monthName } from '../../html/formats.ts';
import { type Html, html, named, namedText, written } from '../../html/html.ts';
import { coverOf, gallery } from '../../html/photo-views.ts';
import type { Published } from '../../queries/published.ts';
import { descriptionView, factsLine } from '../parts/description-views.ts';
import { problemSummary } from '../parts/frame.ts';
import { addressOf, neighbours } from '../parts/links.ts';
import { housePath, roomPath } from '../parts/public-addresses.ts';
import { answerView, ratingText, stars } from '../parts/review-views.ts';
import type { PageDeps } from '../parts/routes.ts';
import { monthProblem } from '../parts/typed-dates.ts';
import type { Problems } from '../parts/typed-form.ts';
import { askPath } from './ask-path.ts';
import { freeDaysTable } from './free-days.ts';
import type { PublicPage } from './public-page.ts';

type Deps = Pick<PageDeps, 'queries' | 'settings'>;

/** The month that is shown at first is that of the day so many days ahead. */
const SOON_DAYS = 7;

/** The page of a space for everyone. @param typed the month that the address names */
export async function roomPage(deps: Deps, published: Published, now: number, typed: string): Promise<PublicPage> {
  const { queries, settings } = deps;
  const { space, community } = published;
  const [{ about, house, rating, reviews }, photos, { problems, days }] = await Promise.all([
    queries.published.details(published),
    queries.photos.ofSpaces([space.spaceId]),
    monthOf(deps, published, now, { typed, path: roomPath(community, space) }),
  ]);
  const pictures = photos.get(space.spaceId) ?? [];
  const { totalPrice } = priceOf(space.eventFee, settings.serviceFeePercent);
  const price = amount(totalPrice, settings.currency);
  const address = `${settings.publicUrl}${roomPath(community, space)}`;
  const facts = factsLine(about);
  const description = [
    `${space.name}, ${community.name}`,
    facts,
    house.address && addressLine(house.address),
    `${price} for ${duration(space.durationHours)}`,
  ];
  const image = pictures[0] && `${settings.publicUrl}/photos/${pictures[0].photo}/1600.webp`;
  return {
    title: `${namedText(space.name)}, ${namedText(community.name)}`,
    description: `${description.filter(Boolean).join('. ')}.`,
    address,
    image,
    problems,
    data: {
      '@context': 'https://schema.org',
      '@type': 'EventVenue',
      name: space.name,
      url: address,
      ...(image && { image }),
      ...(capacityOf(about) !== undefined && { maximumAttendeeCapacity: capacityOf(about) }),
      ...(house.address && { address: postalAddress(house.address) }),
      ...(house.coordinates && { geo: { '@type': 'GeoCoordinates', ...house.coordinates } }),
      containedInPlace: {
        '@type': 'Place',
        name: community.name,
        url: `${settings.publicUrl}${housePath(community)}`,
      },
      ...(rating && {
        aggregateRating: { '@type': 'AggregateRating', ratingValue: rating.average, reviewCount: rating.count },
      }),
    },
    main: html`<p><a href="${housePath(community)}">${named(community.name)}</a></p>
<h1>${named(space.name)}</h1>${problemSummary(problems)}
<p class="lead">${facts}${rating && html` ${ratingText(rating)}`}</p>
${gallery(pictures, `Photos of ${namedText(space.name)}`) ?? coverOf(space, [], { sizes: '60rem' })}
<div class="split">
<section class="card stack"><h2>Free days</h2>${days}</section>
<section class="card stack"><h2>Price</h2><p><strong>${price}</strong> for ${duration(space.durationHours)}, fees included.</p>
${
  space.active
    ? html`<p><a class="button" href="${askPath(settings, space)}">Ask for this room</a></p>
<p class="muted small">Asking is free. ${named(community.name)} answers within ${duration(space.answerHours)}.</p>`
    : html`<p>It takes no bookings at the moment.</p>`
}</section></div>
${descriptionView(about, house)}
${reviews.length > 0 && reviewList(reviews)}`,
  };
}

/**
 * The free days of a month, with links to the months beside it, and what is wrong with the one that was typed.
 * @param shown `opens`: free days open a page of their own
 */
export async function monthOf(
  { queries, settings }: Deps,
  published: Published,
  now: number,
  { typed, path, opens = false }: { readonly typed: string; readonly path: string; readonly opens?: boolean },
): Promise<{ readonly days: Html; readonly problems: Problems }> {
  const { space } = published;
  const today = localDate(now, space.timeZone);
  const first = today.slice(0, 7);
  const last = monthsLater(first, SEARCHED_MONTHS_AHEAD);
  // The last days of a month would say little.
  const shown = daysLater(today, SOON_DAYS).slice(0, 7);
  const month = isMonth(typed) && typed >= first && typed <= last ? typed : shown;
  const { startDate, endDate } = daysOfMonth(month);
  const free = space.active ? await queries.published.freeDays(published, startDate, endDate) : new Set<PlainDate>();
  const link = (to: string) =>
    to >= first && to <= last && { href: addressOf(path, { month: to }), label: monthName(to) };
  const table = freeDaysTable(month, today, free, { hrefOf: (date) => askPath(settings, space, { date }), opens });
  return {
    days: html`${neighbours('Month', link(monthsLater(month, -1)), link(monthsLater(month, 1)))}\n${table}`,
    problems: monthProblem(typed, month),
  };
}

function reviewList(
  reviews: readonly {
    readonly rating: number;
    readonly title: string;
    readonly content: string;
    readonly createdAt: string;
    readonly answer?: string;
  }[],
): Html {
  const items = reviews.map(
    ({
      rating,
      title,
      content,
      createdAt,
      answer,
    }) => html`<li class="stack tight"><p>${stars(rating)} <strong>${named(title)}</strong></p>
${written(content)}<p class="muted small">${monthName(createdAt.slice(0, 7))}</p>${answerView(answer)}</li>`,
  );
  return html`<section class="card stack"><h2>Reviews</h2><ul class="stack plain">${items}</ul></section>`;
}

/** An address in the words of schema.org. */
export const postalAddress = ({ street, postalCode, city, country }: Address): object => ({
  '@type': 'PostalAddress',
  streetAddress: street,
  ...(postalCode !== undefined && { postalCode }),
  addressLocality: city,
  addressCountry: country,
});
