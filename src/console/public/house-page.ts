import { addressLine } from '../../domain/description.ts';
import { priceOf } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { amount } from '../../html/amounts.ts';
import { counted, duration } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { coverOf, gallery } from '../../html/photo-views.ts';
import { factsLine, houseView } from '../parts/description-views.ts';
import { problemSummary } from '../parts/frame.ts';
import { housePath, roomPath } from '../parts/public-addresses.ts';
import { ratingText } from '../parts/review-views.ts';
import type { PageDeps } from '../parts/routes.ts';
import { searchedSpaces, spacePage } from '../parts/space-pages.ts';
import type { Form } from '../parts/typed-form.ts';
import type { PublicPage } from './public-page.ts';
import { postalAddress } from './room-page.ts';

type House = NonNullable<Awaited<ReturnType<PageDeps['queries']['published']['house']>>>;

/** The page of a house for everyone: what it says of itself, and the spaces that it has published. */
export async function housePage(
  { queries, settings }: Pick<PageDeps, 'queries' | 'settings'>,
  house: House,
  query: Form,
): Promise<PublicPage> {
  const { community, about, ratings, groups } = house;
  const path = housePath(community);
  const shown = spacePage(groups, query);
  const [ofHouse, ofSpaces] = await Promise.all([
    queries.photos.ofHouse(community.communityId),
    queries.photos.ofSpaces(shown.groups.flatMap(({ spaces }) => spaces.map(({ spaceId }) => spaceId))),
  ]);
  const [first] = [...ofHouse, ...[...ofSpaces.values()].flat()];
  const image = first && `${settings.publicUrl}/photos/${first.photo}/1600.webp`;
  const address = `${settings.publicUrl}${path}`;
  const where = about.address && addressLine(about.address);

  function card(space: Space): Html {
    const rating = ratings.get(space.spaceId);
    const { totalPrice } = priceOf(space.eventFee, settings.serviceFeePercent);
    return html`<li class="card"><a class="whole" href="${roomPath(community, space)}">
${coverOf(space, ofSpaces.get(space.spaceId) ?? [], { sizes: '(width < 48rem) 92vw, 24rem' })}
<h3>${named(space.name)}</h3></a>
<p class="muted small">${factsLine(space.facts)}${rating && html` ${ratingText(rating)}`}</p>
<p><strong>${amount(totalPrice, settings.currency)}</strong> for ${duration(space.durationHours)}</p></li>`;
  }

  const list = html`${shown.groups.map(
    ({ name, spaces }) => html`<section class="stack"><h2>${name === undefined ? 'Rooms' : named(name)}</h2>
<ul class="grid">${spaces.map(card)}</ul></section>`,
  )}`;

  return {
    title: namedText(community.name),
    description: [community.name, where, counted(shown.total, 'room')].filter(Boolean).join('. ').concat(' to book.'),
    address,
    problems: shown.problems,
    image,
    data: {
      '@context': 'https://schema.org',
      '@type': 'EventVenue',
      name: community.name,
      url: address,
      ...(image && { image }),
      ...(about.address && { address: postalAddress(about.address) }),
      ...(about.coordinates && { geo: { '@type': 'GeoCoordinates', ...about.coordinates } }),
      ...(about.website && { sameAs: about.website }),
    },
    main: html`<h1>${named(community.name)}</h1>${where && html`<p class="lead">${where}</p>`}
${problemSummary(shown.problems)}${gallery(ofHouse, `Photos of ${namedText(community.name)}`)}
${searchedSpaces(path, shown, list)}${houseView(about)}`,
  };
}
