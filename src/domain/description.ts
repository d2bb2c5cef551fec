import { changesOf, type Describe, type Rules } from './changed-values.ts';
import { type Refusal, refuse, refuseField, refuseFor } from './decision.ts';
import { keysOf } from './keys-of.ts';
import {
  ABOUT,
  ADDRESS_LINE,
  AREA,
  brokenTextRule,
  CAPACITY,
  MAX_LANGUAGES,
  MAX_OWN_AMENITIES,
  MAX_SITES,
  OWN_AMENITY,
  PRACTICAL_TEXT,
  WEBSITE,
  wrongNumber,
  wrongText,
} from './limits.ts';
import type { PersonalText } from './personal-text.ts';
import { type SpaceGroup, wrongGroups } from './space-groups.ts';

/** What a space is. */
export const SPACE_KINDS = [
  'Hall',
  'MeetingRoom',
  'Studio',
  'Gallery',
  'Loft',
  'Bar',
  'Restaurant',
  'Kitchen',
  'Workshop',
  'Shop',
  'Stage',
  'Terrace',
  'Garden',
  'Other',
] as const;
export type SpaceKind = (typeof SPACE_KINDS)[number];

/** What a space has. A community names others in its own words. */
export const AMENITIES = [
  'Wifi',
  'Projector',
  'Screen',
  'VideoConferencing',
  'Whiteboard',
  'Flipchart',
  'SoundSystem',
  'Microphones',
  'StageLighting',
  'Piano',
  'DanceFloor',
  'Tables',
  'Chairs',
  'Bar',
  'Kitchen',
  'Fridge',
  'CoffeeMachine',
  'Dishes',
  'OwnCatering',
  'Heating',
  'AirConditioning',
  'Daylight',
  'Blackout',
  'OutdoorSpace',
  'Cloakroom',
  'DressingRoom',
  'Shower',
  'Lift',
  'StepFreeAccess',
  'AccessibleToilet',
  'Parking',
  'LoadingAccess',
] as const;
export type Amenity = (typeof AMENITIES)[number];

/** What can be searched for in a space. Absent: the community has not said. */
export type SpaceFacts = {
  readonly kind?: SpaceKind;
  /** Guests who can sit, and who can stand. */
  readonly seated?: number;
  readonly standing?: number;
  /** In m². */
  readonly area?: number;
  readonly amenities?: readonly Amenity[];
  /** In the community's own words. */
  readonly ownAmenities?: readonly string[];
  /** Codes of ISO 639, such as `de`. */
  readonly languages?: readonly string[];
  /** Whether people without an account can see its page. */
  readonly published?: true;
};

/** What is written about a space. `about` is Markdown, `access` says on which floor it is and how to get in. */
export type SpaceTexts<T extends PersonalText = string> = {
  readonly about?: T;
  readonly houseRules?: T;
  readonly access?: T;
};

export type SpaceDescription<T extends PersonalText = string> = SpaceFacts & SpaceTexts<T>;

export type Address = {
  /** With the number of the house. */
  readonly street: string;
  readonly postalCode?: string;
  readonly city: string;
  /** ISO 3166-1 alpha-2, such as `DE`. */
  readonly country: string;
};

/** In degrees, WGS 84. */
export type Coordinates = { readonly latitude: number; readonly longitude: number };

/** Where a community is. Absent: it has not said. */
export type HouseFacts = {
  readonly address?: Address;
  readonly coordinates?: Coordinates;
  /** An address of the web, with its scheme. */
  readonly website?: string;
  /** The order in which its own pages, and those that it publishes, show its spaces. */
  readonly groups?: readonly SpaceGroup[];
  /** Origins of the websites that may embed the calendars of its published spaces. */
  readonly sites?: readonly string[];
};

/** What is written about a community. `about` is Markdown. */
export type HouseTexts<T extends PersonalText = string> = {
  readonly about?: T;
  /** How to get there. */
  readonly directions?: T;
  /** Whom to ask, and how. */
  readonly contact?: T;
};

export type HouseDescription<T extends PersonalText = string> = HouseFacts & HouseTexts<T>;

const SPACE_RULES: Rules<SpaceDescription> = {
  kind: (kind) => wrongChoice('kind', kind, SPACE_KINDS),
  seated: (guests) => wrongNumber('seated', guests, CAPACITY),
  standing: (guests) => wrongNumber('standing', guests, CAPACITY),
  area: (area) => wrongNumber('area', area, AREA),
  amenities: (list) =>
    wrongList('amenities', list, AMENITIES.length) ??
    refuseFor(list.map((amenity) => wrongChoice('amenities', amenity, AMENITIES))),
  ownAmenities: (list) =>
    wrongList('ownAmenities', list, MAX_OWN_AMENITIES) ??
    refuseFor(list.map((text) => wrongItem('ownAmenities', brokenTextRule(text, OWN_AMENITY)))),
  languages: (list) =>
    wrongList('languages', list, MAX_LANGUAGES) ??
    refuseFor(
      list.map((code) =>
        wrongItem('languages', isLanguage(code) ? undefined : 'must have codes of languages, such as en or de'),
      ),
    ),
  published: () => undefined,
  about: (text) => wrongText('about', text, ABOUT),
  houseRules: (text) => wrongText('houseRules', text, PRACTICAL_TEXT),
  access: (text) => wrongText('access', text, PRACTICAL_TEXT),
};

const HOUSE_RULES: Rules<HouseDescription> = {
  address: ({ street, postalCode, city, country }) =>
    refuseFor([
      wrongText('street', street, ADDRESS_LINE),
      postalCode === undefined ? undefined : wrongText('postalCode', postalCode, ADDRESS_LINE),
      wrongText('city', city, ADDRESS_LINE),
      isCountry(country) ? undefined : refuseField('country', 'must be the code of a country, such as DE'),
    ]),
  coordinates: ({ latitude, longitude }) =>
    refuseFor([
      Math.abs(latitude) <= 90 ? undefined : refuseField('latitude', 'must be -90 to 90 degrees'),
      Math.abs(longitude) <= 180 ? undefined : refuseField('longitude', 'must be -180 to 180 degrees'),
    ]),
  website: (url) => wrongText('website', url, WEBSITE) ?? wrongWebsite(url),
  groups: wrongGroups,
  sites: (list) => wrongList('sites', list, MAX_SITES) ?? refuseFor(list.map(wrongSite)),
  about: (text) => wrongText('about', text, ABOUT),
  directions: (text) => wrongText('directions', text, PRACTICAL_TEXT),
  contact: (text) => wrongText('contact', text, PRACTICAL_TEXT),
};

export const SPACE_DESCRIPTION = keysOf(SPACE_RULES);
export const HOUSE_DESCRIPTION = keysOf(HOUSE_RULES);
export const SPACE_TEXTS = ['about', 'houseRules', 'access'] as const satisfies readonly (keyof SpaceTexts)[];
export const HOUSE_TEXTS = ['about', 'directions', 'contact'] as const satisfies readonly (keyof HouseTexts)[];
export const SPACE_FACTS = SPACE_DESCRIPTION.filter((field): field is keyof SpaceFacts => !isIn(field, SPACE_TEXTS));
export const HOUSE_FACTS = HOUSE_DESCRIPTION.filter((field): field is keyof HouseFacts => !isIn(field, HOUSE_TEXTS));
/** What a community has decided about its pages, which does not describe anything. */
const OF_PAGES = ['published', 'groups', 'sites'] as const;
type OfPages = (typeof OF_PAGES)[number];

/** What brands read about a space and a house. */
export type ShownOfSpace = Exclude<keyof SpaceDescription, OfPages>;
export type ShownOfHouse = Exclude<keyof HouseDescription, OfPages>;
export const SHOWN_OF_SPACE = SPACE_DESCRIPTION.filter((field): field is ShownOfSpace => !isIn(field, OF_PAGES));
export const SHOWN_OF_HOUSE = HOUSE_DESCRIPTION.filter((field): field is ShownOfHouse => !isIn(field, OF_PAGES));

export const spaceChanges = (before: SpaceDescription, command: Describe<SpaceDescription>) =>
  changesOf(before, command, SPACE_RULES);

export const houseChanges = (before: HouseDescription, command: Describe<HouseDescription>) =>
  changesOf(before, command, HOUSE_RULES);

/** The most guests that a space takes. Undefined if its community has not said. */
export const capacityOf = ({ seated, standing }: SpaceFacts): number | undefined =>
  seated === undefined && standing === undefined ? undefined : Math.max(seated ?? 0, standing ?? 0);

/** Refuses more guests than the community says that the space takes. */
export function moreThanFit(facts: SpaceFacts = {}, guests = 0): Refusal | undefined {
  const capacity = capacityOf(facts);
  return capacity === undefined || guests <= capacity
    ? undefined
    : refuse('BookingNotAllowed', `The space takes at most ${capacity} guests.`, { field: 'guests' });
}

/** An address in one line. */
export const addressLine = ({ street, postalCode, city, country }: Address): string =>
  [street, [postalCode, city].filter((part) => part !== undefined).join(' '), countryName(country)].join(', ');

/** The English name of a country. */
const countryName = (code: string): string => nameIn('region', code) ?? code;
/** The English name of a language; what is no code, as it is. */
export const languageName = (code: string): string => nameIn('language', code) ?? code;

/** The codes and English names of all countries, by name. */
export const countries = (): readonly (readonly [code: string, name: string])[] =>
  LETTERS.flatMap((first) => LETTERS.map((second) => `${first}${second}`))
    .filter((code) => isCountry(code))
    .map((code) => [code, countryName(code)] as const)
    .sort(([, a], [, b]) => a.localeCompare(b, 'en'));

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
/** Regions that ICU names beside the countries. */
const NO_COUNTRIES = ['EU', 'EZ', 'UN', 'QO', 'XA', 'XB', 'ZZ'];

const isCountry = (code: string): boolean => !NO_COUNTRIES.includes(code) && nameIn('region', code) !== undefined;
const isLanguage = (code: string): boolean => nameIn('language', code) !== undefined;

const CODES = { region: /^[A-Z]{2}$/, language: /^[a-z]{2,3}$/ } as const;

const names = new Map<'region' | 'language', Intl.DisplayNames>();

/** Undefined for what is no code, with which `Intl` would throw. */
function nameIn(type: keyof typeof CODES, code: string): string | undefined {
  if (!CODES[type].test(code)) return undefined;
  return names.getOrInsertComputed(type, () => new Intl.DisplayNames('en', { type, fallback: 'none' })).of(code);
}

/** Of the web, without a path: `frame-ancestors` compares origins. On this machine, sites can be tried without TLS. */
function wrongSite(site: string): Refusal | undefined {
  const url = URL.parse(site);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && url.hostname === 'localhost');
  return isSafe && url.origin === site && /^[a-z0-9.-]+$/.test(url.hostname)
    ? undefined
    : refuseField('sites', 'must be addresses without a path, such as https://www.example.com');
}

function wrongWebsite(url: string): Refusal | undefined {
  const isAddress = URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
  return isAddress ? undefined : refuseField('website', 'must be an address that begins with https:// or http://');
}

const wrongChoice = (field: string, value: string, choices: readonly string[]): Refusal | undefined =>
  choices.includes(value) ? undefined : refuseField(field, `must be one of ${choices.join(', ')}`);

const wrongItem = (field: string, rule: string | undefined): Refusal | undefined =>
  rule === undefined ? undefined : refuseField(field, rule);

function wrongList(field: string, list: readonly string[], max: number): Refusal | undefined {
  if (list.length > max) return refuseField(field, `must have at most ${max} entries`);
  return new Set(list).size === list.length ? undefined : refuseField(field, 'must have each entry once');
}

function isIn(field: string, list: readonly string[]): boolean {
  return list.includes(field);
}
