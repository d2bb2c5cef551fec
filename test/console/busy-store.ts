import type { Commands } from '../../src/commands/commands.ts';
import type { Core } from '../../src/core.ts';
import type { Account } from '../../src/domain/account.ts';
import { localDate } from '../../src/domain/calendar.ts';
import {
  type BookingId,
  type BrandId,
  brandId,
  type CommunityId,
  cents,
  communityId,
  type SpaceId,
} from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import type { DemoAccounts } from './console.fixture.ts';

/** The number of each, including the demo data. */
const BUSY = { communities: 3, spaces: 40, brands: 24, bookings: 2_000, waiting: 90 } as const;
const IN_DEMO = { spaces: 4, brands: 2, bookings: 10 } as const;

/** Realistic names: long, without spaces, in other scripts, with emoji, and with HTML markup. */
const SPACES = [
  'Assembly Room',
  'The large hall on the second floor, which was the machine room of the old cannery until 1987',
  'قاعة الاحتفالات الكبرى',
  'Donaudampfschifffahrtsgesellschaftskapitänskajütenkonferenzraum',
  '東京ホール 二階',
  '👩‍👩‍👧‍👦 Family loft 🎉',
  'Kitchen <b>&</b> Bar',
  'x'.repeat(190),
  'M'.repeat(60),
  'Winter Garden',
  'Salle Éléonore',
  'Зал «Маяк»',
] as const;

const BRANDS = [
  'شركة القهوة العربية للمناسبات',
  'コーヒー株式会社 🍵',
  'W'.repeat(60),
  'Maison Lefèvre & Filles, Torréfacteurs depuis 1911, Bruxelles, Liège et Namur',
  'Ölmühle Groß-Umstadt',
  'Παγωτό',
  'Bakery',
  '🍕🍕🍕',
  'Fjord',
  "O'Neill's",
  'Lantern Books',
] as const;

const MESSAGES = [
  'We expect about forty guests and bring our own sound.',
  undefined,
  'نحتاج إلى مدخل للكراسي المتحركة.',
  'ワークショップです。よろしくお願いします。',
  undefined,
  `A long message. ${'It goes on and on, because somebody copied the whole plan of the evening into it. '.repeat(4)}`,
] as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CONTEXT = { actor: { kind: 'operator', id: 'busy' }, correlationId: 'busy' } as const;
/** Commands sent concurrently, so that they share commits. */
const COMMANDS_AT_ONCE = 100;

type Place = {
  readonly community: Account & { readonly kind: 'Community' };
  readonly id: SpaceId;
  readonly hours: number;
};
type Wanted = { readonly place: Place; readonly day: number; readonly startHour: number; readonly number: number };
type Asked = Wanted & { readonly bookingId: BookingId; readonly brand: BrandId };

/**
 * Makes the demo data busy: a community with 36 of the 40 spaces and nearly all of 2,000 bookings, 40 days back and 60 ahead, a full
 * day in a week, and 90 requests that wait for an answer, with deadlines from two hours to three days. No scheduler may run
 * meanwhile: by its clock, the past requests have expired.
 */
export async function fillBusyStore(core: Core, demo: DemoAccounts): Promise<void> {
  const today = Date.now();
  let now = today - 50 * DAY_MS;
  const commands = await core.commandsAt(() => now);
  const [harbour, union] = demo.communities;

  const oasis = accepted(
    await commands.catalogue.addCommunity({ name: 'نادي الواحة', timeZone: 'Asia/Riyadh' }, CONTEXT),
  );
  const places = await addSpaces(commands, communityId(harbour.id), oasis.communityId);
  const brands = [...demo.brands.map(({ id }) => brandId(id)), ...(await addBrands(commands))];
  const zones = [harbour.timeZone, union.timeZone, 'Asia/Riyadh'];

  // A named member decides, so that the history shows a name.
  const manager = await core.users.byEmail(harbour.user.email);
  if (manager === undefined) throw new Error('The demo lacks a user');
  const byManager = { actor: { kind: 'user', id: manager.id }, correlationId: 'busy' } as const;

  const request = async (wanted: Wanted): Promise<Asked> => {
    const { place, day, startHour, number } = wanted;
    const zone = zones[place.community.id - 1] ?? 'UTC';
    // Two brands make half of all bookings.
    const brand = brands[number % 2 === 0 ? (number / 2) % 2 : number % brands.length] ?? brandId(1);
    const message = MESSAGES[number % MESSAGES.length];
    const details = { spaceId: place.id, date: localDate(today + day * DAY_MS, zone), startHour };
    const command = { brandId: brand, details: { ...details, ...(message !== undefined && { message }) } };
    const { bookingId } = accepted(await commands.bookings.request(command, CONTEXT));
    return { ...wanted, bookingId, brand };
  };
  const approve = async ({ bookingId, place }: Asked) =>
    accepted(await commands.bookings.approve({ bookingId, communityId: place.community.id }, byManager));
  const decline = async ({ bookingId, place }: Asked) =>
    accepted(await commands.bookings.cancel({ bookingId, by: place.community, reason: 'We are full. 😔' }, byManager));
  const withdraw = async ({ bookingId, brand }: Asked) =>
    accepted(await commands.bookings.cancel({ bookingId, by: { kind: 'Brand', id: brand } }, CONTEXT));

  const wanted = plan(places, BUSY.bookings - IN_DEMO.bookings);
  const past = wanted.filter(({ day }) => day < 0);
  const ahead = wanted.filter(({ day }) => day > 0);
  const waiting = ahead.filter(({ number }) => number % 12 === 5).slice(-BUSY.waiting);
  const decided = ahead.filter((one) => !waiting.includes(one));

  now = today - 45 * DAY_MS;
  const [before, soon] = [await inTurn(past, request), await inTurn(decided, request)];
  now = today - 44 * DAY_MS;
  const asked = [...before, ...soon];
  await inTurn(
    asked.filter(({ number }) => number % 10 > 1),
    approve,
  );
  await inTurn(
    asked.filter(({ number }) => number % 10 === 0),
    decline,
  );
  await inTurn(
    asked.filter(({ number }) => number % 10 === 1),
    withdraw,
  );

  // Unanswered requests were made at different hours, so their deadlines differ.
  for (const [index, one] of waiting.entries()) {
    now = today - (1 + ((index * 7) % 70)) * HOUR_MS;
    await request(one);
  }

  now = today;
  await inTurn(
    before.filter(({ number }) => number % 10 > 1),
    async ({ bookingId }) => {
      accepted(await commands.bookings.complete(bookingId, CONTEXT));
      const review = { bookingId, rating: 1 + (bookingId % 5), title: 'مكان جميل', content: 'Would come again. 🎈' };
      if (bookingId % 3 === 0) accepted(await commands.reviews.post(review, CONTEXT));
    },
  );
}

async function addSpaces({ catalogue }: Commands, harbour: CommunityId, oasis: CommunityId): Promise<readonly Place[]> {
  const add = async (index: number): Promise<Place> => {
    const community = { kind: 'Community', id: index < 34 ? harbour : oasis } as const;
    const hours = 1 + (index % 3);
    const name = `${SPACES[index % SPACES.length]}${index < SPACES.length ? '' : ` ${1 + Math.floor(index / SPACES.length)}`}`;
    const terms = { windowStart: 8, windowEnd: 22, durationHours: hours, answerHours: 72 };
    const eventFee = cents(index === 7 ? 15_000_00 : 80_00 + index * 12_50);
    return {
      community,
      id: accepted(await catalogue.addSpace({ ...terms, name, eventFee, communityId: community.id }, CONTEXT)),
      hours,
    };
  };
  // The demo data has four.
  return inTurn(
    Array.from({ length: BUSY.spaces - 4 }, (_, index) => index),
    add,
  );
}

async function addBrands({ catalogue }: Commands): Promise<readonly BrandId[]> {
  const names = Array.from(
    { length: BUSY.brands - IN_DEMO.brands },
    (_, index) => BRANDS[index] ?? `Brand ${index + 1}`,
  );
  return inTurn(names, async (name) => accepted(await catalogue.addBrand({ name }, CONTEXT)).brandId);
}

/** The events of the bookings: three in each space on the day in a week, the others spread over the days. */
function plan(places: readonly Place[], count: number): readonly Wanted[] {
  const taken = new Set<string>();
  const wanted: Wanted[] = [];
  const want = (place: Place | undefined, day: number, turn: number) => {
    if (place === undefined) return;
    const startHour = 8 + turn * place.hours;
    const slot = `${place.id} ${day} ${turn}`;
    if (startHour + place.hours > 22 || taken.has(slot)) return;
    taken.add(slot);
    wanted.push({ place, day, startHour, number: wanted.length });
  };
  for (const place of places) for (const turn of [0, 1, 3]) want(place, 7, turn);
  for (let step = 0; wanted.length < count; step += 1) {
    const day = (step % 100) - 40;
    if (day !== 0) want(places[(step * 7) % places.length], day, (step * 3) % 13);
  }
  return wanted.toSorted((a, b) => a.day - b.day);
}

/** Runs a function for each item, a hundred at a time. */
async function inTurn<T, R>(list: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < list.length; from += COMMANDS_AT_ONCE)
    results.push(...(await Promise.all(list.slice(from, from + COMMANDS_AT_ONCE).map(work))));
  return results;
}
