import type { Core } from '../../src/core.ts';
import { localDate } from '../../src/domain/calendar.ts';
import { type BrandId, brandId, cents, communityId, type SpaceId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import type { DemoAccounts } from './console.fixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CONTEXT = { actor: { kind: 'operator', id: 'house' }, correlationId: 'house' } as const;

/** Spaces that Harbour Lofts has besides those of the demo data: name, window, length of an event, fee. */
const SPACES = [
  ['Winter Garden', 9, 22, 4, 360_00],
  ['Boathouse Kitchen', 8, 20, 3, 240_00],
  ['Captain’s Library', 9, 21, 2, 160_00],
  ['North Gallery', 10, 22, 3, 310_00],
] as const;

const BRANDS = [
  'Maison Lefèvre',
  'Fjord & Fern',
  'Lantern Books',
  'Olive Street Bakery',
  'Brightside Records',
] as const;

type Event = {
  readonly space: string;
  readonly brand: string;
  readonly day: number;
  readonly hour: number;
  readonly message: string;
  /** Hours since the request. */
  readonly asked: number;
};

const WAITING: readonly Event[] = [
  {
    space: 'Winter Garden',
    brand: 'Fjord & Fern',
    day: 12,
    hour: 17,
    asked: 62,
    message: 'Spring collection dinner for sixty guests at long tables. We bring the flowers.',
  },
  {
    space: 'Harbour Hall',
    brand: 'Brightside Records',
    day: 16,
    hour: 18,
    asked: 55,
    message: 'Album release with an acoustic set. Sound check from four, doors at six.',
  },
  {
    space: 'Boathouse Kitchen',
    brand: 'Olive Street Bakery',
    day: 10,
    hour: 9,
    asked: 47,
    message: 'Sourdough class for twelve. Could we use both ovens?',
  },
  {
    space: 'Captain’s Library',
    brand: 'Lantern Books',
    day: 8,
    hour: 18,
    asked: 31,
    message: 'Reading and signing with Ida Holm. Forty chairs would be lovely.',
  },
  {
    space: 'Rooftop Terrace',
    brand: 'Maison Lefèvre',
    day: 14,
    hour: 16,
    asked: 26,
    message: 'Chocolate and wine pairing at sunset, with a rain plan indoors if you have one.',
  },
];

const APPROVED: readonly Event[] = [
  ['Winter Garden', 'Maison Lefèvre', 7, 10],
  ['Winter Garden', 'Lantern Books', 7, 16],
  ['Boathouse Kitchen', 'Olive Street Bakery', 7, 8],
  ['Boathouse Kitchen', 'Northwind Coffee', 7, 14],
  ['Captain’s Library', 'Lantern Books', 7, 11],
  ['Harbour Hall', 'Brightside Records', 7, 17],
  ['Rooftop Terrace', 'Juniper & Sons', 7, 15],
  ['North Gallery', 'Fjord & Fern', 7, 12],
  ['North Gallery', 'Maison Lefèvre', 12, 16],
  ['Captain’s Library', 'Maison Lefèvre', 8, 10],
].map(([space, brand, day, hour]) => ({ space, brand, day, hour, message: '', asked: 30 * 24 }) as Event);

type Reviewed = Event & { readonly rating: number; readonly title: string; readonly content: string };

const REVIEWED: readonly Reviewed[] = [
  {
    space: 'Harbour Hall',
    brand: 'Lantern Books',
    day: -15,
    hour: 15,
    message: '',
    asked: 30 * 24,
    rating: 5,
    title: 'Our readers want to come back',
    content: 'Tall windows, evening sun on the water, and a team that had every chair in place before we asked.',
  },
  {
    space: 'Harbour Hall',
    brand: 'Maison Lefèvre',
    day: -10,
    hour: 9,
    message: '',
    asked: 30 * 24,
    rating: 4,
    title: 'A beautiful room',
    content: 'The kitchen next door is well equipped. Parking is scarce, so come by tram.',
  },
  {
    space: 'Rooftop Terrace',
    brand: 'Fjord & Fern',
    day: -9,
    hour: 16,
    message: '',
    asked: 30 * 24,
    rating: 5,
    title: 'Sunset over the harbour',
    content: 'Sixty guests, string lights, and not one of them left early.',
  },
];

/** Adds to the demo data what a well-booked house has: more spaces and brands, a full day in a week, reviews, five more open requests. */
export async function fillHouse(core: Core, { communities: [harbour], brands }: DemoAccounts): Promise<void> {
  const today = Date.now();
  let now = today - 31 * DAY_MS;
  const commands = await core.commandsAt(() => now);
  const community = communityId(harbour.id);

  const spaces = new Map<string, SpaceId>(harbour.spaces.map(({ name, id }) => [name, spaceId(id)]));
  for (const [name, windowStart, windowEnd, durationHours, fee] of SPACES) {
    const terms = { name, windowStart, windowEnd, durationHours, eventFee: cents(fee), answerHours: 72 };
    spaces.set(name, accepted(await commands.catalogue.addSpace({ ...terms, communityId: community }, CONTEXT)));
  }
  const brandIds = new Map<string, BrandId>(brands.map(({ name, id }) => [name, brandId(id)]));
  for (const name of BRANDS) brandIds.set(name, accepted(await commands.catalogue.addBrand({ name }, CONTEXT)).brandId);

  const request = async ({ space, brand, day, hour, message, asked }: Event) => {
    const [space_, brand_] = [spaces.get(space), brandIds.get(brand)];
    if (space_ === undefined || brand_ === undefined) throw new Error(`${space} or ${brand} is missing`);
    now = today - asked * HOUR_MS;
    const date = localDate(today + day * DAY_MS, harbour.timeZone);
    const details = { spaceId: space_, date, startHour: hour, ...(message !== '' && { message }) };
    return accepted(await commands.bookings.request({ brandId: brand_, details }, CONTEXT)).bookingId;
  };
  for (const event of APPROVED) {
    const bookingId = await request(event);
    accepted(await commands.bookings.approve({ bookingId, communityId: community }, CONTEXT));
  }
  for (const event of REVIEWED) {
    const bookingId = await request(event);
    accepted(await commands.bookings.approve({ bookingId, communityId: community }, CONTEXT));
    now = today + event.day * DAY_MS + DAY_MS;
    accepted(await commands.bookings.complete(bookingId, CONTEXT));
    const { rating, title, content } = event;
    accepted(await commands.reviews.post({ bookingId, rating, title, content }, CONTEXT));
  }
  for (const event of WAITING) await request(event);
}
