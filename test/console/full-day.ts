import type { Core } from '../../src/core.ts';
import type { CommunityId, PlainDate, SpaceId } from '../../src/domain/ids.ts';
import { brandId, cents } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'full-day' }, correlationId: 'full-day' } as const;

const SPACES = [
  'The large hall on the second floor, which was the machine room of the old cannery until 1987',
  'Donaudampfschifffahrtsgesellschaftskapitänskajütenkonferenzraum',
  'قاعة الاحتفالات الكبرى',
  '👩‍👩‍👧‍👦 Family loft 🎉',
  '東京ホール 二階',
  'M'.repeat(190),
  'Studio',
] as const;

const BRANDS = ['شركة القهوة العربية للمناسبات', 'W'.repeat(200), 'コーヒー株式会社 🍵', 'Bakery'] as const;

const FIRST_HOUR = 8;
/** One-hour events on a full day of a space. */
const PER_SPACE = 14;

/** Adds spaces that are open from 8 to 22 for events of one hour, and brands with names of all kinds. */
export async function addPlaces(
  { commands: { catalogue } }: Core,
  communityId: CommunityId,
  count: number,
): Promise<readonly SpaceId[]> {
  const terms = { windowStart: FIRST_HOUR, windowEnd: 22, durationHours: 1, eventFee: cents(100_00), answerHours: 72 };
  const ids: SpaceId[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = `${SPACES[index % SPACES.length]} ${index}`;
    ids.push(accepted(await catalogue.addSpace({ ...terms, name, communityId }, CONTEXT)));
  }
  return ids;
}

/** Requests a number of events on one day, spread over the spaces, and approves all but every fifth. */
export async function fillDay(
  { commands: { catalogue, bookings } }: Core,
  { communityId, spaceIds, date }: Day,
  count: number,
): Promise<void> {
  const brands = [brandId(1)];
  for (const name of BRANDS) brands.push(accepted(await catalogue.addBrand({ name }, CONTEXT)).brandId);
  const request = async (number: number) => {
    const spaceId = spaceIds[number % spaceIds.length];
    const startHour = FIRST_HOUR + (Math.floor(number / spaceIds.length) % PER_SPACE);
    if (spaceId === undefined) throw new Error('There is no space');
    const command = { brandId: brands[number % brands.length] ?? brandId(1), details: { spaceId, date, startHour } };
    const { bookingId } = accepted(await bookings.request(command, CONTEXT));
    if (number % 5 !== 0) accepted(await bookings.approve({ bookingId, communityId }, CONTEXT));
  };
  for (let from = 0; from < count; from += 100)
    await Promise.all(Array.from({ length: Math.min(100, count - from) }, (_, index) => request(from + index)));
}

type Day = { readonly communityId: CommunityId; readonly spaceIds: readonly SpaceId[]; readonly date: PlainDate };
