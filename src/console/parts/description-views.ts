import {
  AMENITY_LABELS,
  HOUSE_DESCRIPTION_LABELS,
  KIND_LABELS,
  SPACE_DESCRIPTION_LABELS,
} from '../../contract/description.ts';
import {
  type Amenity,
  addressLine,
  type HouseDescription,
  languageName,
  type SpaceDescription,
  type SpaceFacts,
} from '../../domain/description.ts';
import { type Html, html, type Interpolated } from '../../html/html.ts';
import { amenityIcon } from '../../html/layout.ts';
import { markdown, writtenLink } from '../../html/markdown.ts';

/** `Hall · 60 seated, 120 standing · 140 m²`; empty if its community has not said. */
export const factsLine = ({ kind, seated, standing, area }: SpaceFacts = {}): string =>
  [
    kind && KIND_LABELS[kind],
    [seated && `${seated} seated`, standing && `${standing} standing`].filter(Boolean).join(', '),
    area && `${area} m²`,
  ]
    .filter(Boolean)
    .join(' · ');

/** An amenity with its icon. */
export const amenityLabel = (amenity: Amenity): Html => html`${amenityIcon(amenity)} ${AMENITY_LABELS[amenity]}`;

/** What a community says of a space, and of the house that it is in. Undefined if it says nothing. */
export function descriptionView(space: SpaceDescription, house: HouseDescription): Html | undefined {
  const { about, amenities = [], ownAmenities = [] } = space;
  const facts = factsLine(space);
  const has = [...amenities.map(amenityLabel), ...ownAmenities];
  const practical = practicalFacts(space, house);
  const parts = [
    facts !== '' && html`<p><strong>${facts}</strong></p>`,
    about !== undefined && markdown(about),
    has.length > 0 &&
      html`<ul class="chips" aria-label="Amenities">${has.map((one) => html`<li class="chip">${one}</li>`)}</ul>`,
    practical.length > 0 && factList(practical),
    house.about !== undefined && html`<h3>${HOUSE_DESCRIPTION_LABELS.about}</h3>${markdown(house.about)}`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return undefined;
  return html`<section class="card prose" id="about" aria-labelledby="about-title"><h2 id="about-title">About this space</h2>
${parts}</section>`;
}

/** What a community says of its house. Undefined if it says nothing. */
export function houseView(house: HouseDescription): Html | undefined {
  const practical = practicalFacts({}, house);
  if (practical.length === 0 && house.about === undefined) return undefined;
  return html`<section class="card prose"><h2>${HOUSE_DESCRIPTION_LABELS.about}</h2>
${house.about !== undefined && markdown(house.about)}${factList(practical)}</section>`;
}

/** What guests must know, with labels. */
function practicalFacts(
  { languages, access, houseRules }: SpaceDescription,
  { address, directions, contact, website }: HouseDescription,
): readonly (readonly [label: string, value: Interpolated])[] {
  const facts = [
    [HOUSE_DESCRIPTION_LABELS.address, address && addressLine(address)],
    [HOUSE_DESCRIPTION_LABELS.directions, directions && lines(directions)],
    [SPACE_DESCRIPTION_LABELS.access, access && lines(access)],
    [HOUSE_DESCRIPTION_LABELS.contact, contact && lines(contact)],
    [HOUSE_DESCRIPTION_LABELS.website, website && writtenLink(website, website)],
    [SPACE_DESCRIPTION_LABELS.languages, languages?.map(languageName).join(', ')],
    [SPACE_DESCRIPTION_LABELS.houseRules, houseRules && lines(houseRules)],
  ] as const;
  return facts.filter(([, value]) => value !== undefined && value !== '');
}

const factList = (facts: ReturnType<typeof practicalFacts>): Html =>
  html`<dl class="facts">${facts.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>`;

/** A text with its line breaks. */
const lines = (text: string): Html =>
  html`${text.split('\n').map((line, index) => html`${index > 0 && html`<br>`}${line}`)}`;
