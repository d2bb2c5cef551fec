import { HOUSE_DESCRIPTION_LABELS as LABELS } from '../../contract/description.ts';
import { type Changes, withChanges } from '../../domain/changed-values.ts';
import type { Community } from '../../domain/community.ts';
import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { type Coordinates, countries, type HouseDescription, SHOWN_OF_HOUSE } from '../../domain/description.ts';
import { ABOUT, ADDRESS_LINE, PRACTICAL_TEXT, WEBSITE } from '../../domain/limits.ts';
import { html, named } from '../../html/html.ts';
import { done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { editedIn, outdatedProblems, seenField } from '../parts/described-form.ts';
import { controlsOf, field, postForm, problemOf, select, textArea } from '../parts/forms.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { HOUSE_PATH, PATH } from './space-list.ts';

const ADDRESS_LABELS = {
  street: 'Street and number',
  postalCode: 'Postal code',
  city: 'Town or city',
  country: 'Country',
} as const;
const FIELD_LABELS = { ...ADDRESS_LABELS, ...LABELS };

const wrongCoordinates = {
  field: 'coordinates',
  text: '“Coordinates” must be degrees north and east, such as 53.5436, 9.9888.',
};
const OWN_PROBLEMS = {
  latitude: wrongCoordinates,
  longitude: wrongCoordinates,
  country: { field: 'country', text: 'Choose the country of the address.' },
} as const;

/** Where a community is, and what brands read about it. */
export function houseDescriptionPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  community.get(HOUSE_PATH, 'Manager', async (visit) => {
    const house = await queries.spaces.community(visit.account.id);
    if (house === undefined) return missing('page');
    const current = await queries.descriptions.ofHouse(house);
    return editPage(visit, house, current, visit.restored ?? typedOf(current));
  });

  community.post(HOUSE_PATH, 'Manager', async (visit) => {
    const { form, context, account } = visit;
    const house = await queries.spaces.community(account.id);
    if (house === undefined) return missing('page');
    const current = await queries.descriptions.ofHouse(house);
    const { wanted, outdated } = editedIn(form, { typed: readIn(form), current, fields: SHOWN_OF_HOUSE });
    if (outdated.length > 0) {
      const merged = typedOf(withChanges(current, wanted, SHOWN_OF_HOUSE));
      return { ...editPage(visit, house, current, merged, outdatedProblems(outdated, LABELS)), status: 409 };
    }
    const command = { communityId: account.id, wanted, seen: current };
    const outcome = await commands.catalogue.describeCommunity(command, context);
    if (isRefusal(outcome))
      return editPage(visit, house, current, form, problemOf(outcome, FIELD_LABELS, OWN_PROBLEMS));
    return outcome.events.length > 0
      ? done(PATH, 'Saved. Brands see it now.')
      : nothingToDo(PATH, 'Nothing has changed.');
  });
}

function editPage(
  visit: CommunityVisit,
  { name }: Community,
  current: HouseDescription,
  typed: Form,
  problems: Problems = {},
): PageContent {
  const control = controlsOf(typed, problems);
  const line = (of: keyof typeof ADDRESS_LABELS, autocomplete: string) =>
    field({ ...control(of, ADDRESS_LABELS[of]), attributes: { maxlength: ADDRESS_LINE.max, autocomplete } });
  const text = (of: 'about' | 'directions' | 'contact', hint: string, { max }: { readonly max: number }) =>
    textArea({ ...control(of, LABELS[of]), value: typed.lines(of), hint, attributes: { maxlength: max, rows: 5 } });
  const options = [{ value: '', label: 'Choose' }, ...countries().map(([value, label]) => ({ value, label }))];
  const coordinates = field({
    ...control('coordinates', LABELS.coordinates),
    hint: 'Degrees north and east, such as 53.5436, 9.9888. For searches by distance.',
  });
  const website = field({
    ...control('website', LABELS.website),
    type: 'url',
    attributes: { maxlength: WEBSITE.max, placeholder: 'https://' },
  });
  const content = html`${seenField(typed, current, SHOWN_OF_HOUSE)}
${line('street', 'street-address')}
<div class="fields-row">${line('postalCode', 'postal-code')}${line('city', 'address-level2')}</div>
${select({ ...control('country', ADDRESS_LABELS.country), options })}
${coordinates}
${text('directions', 'The way from the station, the right door, where to park.', PRACTICAL_TEXT)}
${text('contact', 'Whom guests can ask, and how. Everyone who may book can read it.', PRACTICAL_TEXT)}
${website}
${text('about', 'Use **bold**, *italic*, lists with - and links.', ABOUT)}
<div><button class="button">Save</button></div>`;
  return {
    title: 'Address and description',
    lead: html`Brands see it with each space of ${named(name)}, and get the address with an approved booking. All of it is optional.`,
    back: { href: PATH, label: 'Spaces' },
    problems,
    main: postForm(visit, HOUSE_PATH, 'card fields narrow')`${content}`,
  };
}

/** The form of a description as it is stored. */
function typedOf({
  address,
  coordinates,
  website = '',
  about = '',
  directions = '',
  contact = '',
}: HouseDescription): Form {
  const { street = '', postalCode = '', city = '', country = '' } = address ?? {};
  const place = coordinates === undefined ? '' : `${coordinates.latitude}, ${coordinates.longitude}`;
  return new Form({ street, postalCode, city, country, coordinates: place, website, about, directions, contact });
}

/** What a form says. What is no number becomes NaN, which the rules refuse. */
function readIn(form: Form): Changes<HouseDescription> {
  const { street, postalCode, city, country } = form.texts(['street', 'postalCode', 'city', 'country']);
  const hasAddress = [street, postalCode, city, country].some((part) => part !== '');
  return {
    address: hasAddress ? { street, ...defined({ postalCode: postalCode || undefined }), city, country } : null,
    coordinates: form.text('coordinates') === '' ? null : coordinatesIn(form.text('coordinates')),
    website: form.text('website') || null,
    about: form.lines('about') || null,
    directions: form.lines('directions') || null,
    contact: form.lines('contact') || null,
  };
}

function coordinatesIn(text: string): Coordinates {
  const [, latitude, longitude] = /^(-?\d{1,3}(?:\.\d{1,10})?)[\s,;]{1,5}(-?\d{1,3}(?:\.\d{1,10})?)$/.exec(text) ?? [];
  return { latitude: Number(latitude), longitude: Number(longitude) };
}
