import { randomBytes } from 'node:crypto';
import type { Users } from '../auth/users.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import type { Commands } from '../commands/commands.ts';
import type { Account } from '../domain/account.ts';
import { localDate, weekdayOf } from '../domain/calendar.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import type { SpaceTerms } from '../domain/events.ts';
import { type BrandId, type CommunityId, cents, type SpaceId } from '../domain/ids.ts';
import { DEFAULT_ANSWER_HOURS } from '../domain/limits.ts';
import { ALL_PERMISSIONS } from '../domain/permissions.ts';
import type { PhotoStore } from '../photos/photos.ts';
import type { Clock } from '../runtime/clock.ts';
import { DESCRIPTIONS, HOUSES } from './demo-descriptions.ts';
import type { Demo, DemoUser } from './demo-file.ts';
import { DRAWINGS, storeDrawing } from './demo-photos.ts';

export type SeedDeps = {
  /** Creates commands that use the given clock, because past bookings are requested in the past. */
  readonly at: (clock: Clock) => Promise<Commands>;
  readonly users: Users;
  readonly photos: Pick<PhotoStore, 'store'>;
  readonly clock: Clock;
};

const CONTEXT: CommandContext = { actor: { kind: 'operator', id: 'demo' }, correlationId: 'demo' };
const DAY_MS = 24 * 3_600_000;

const COMMUNITIES = [
  {
    name: 'Harbour Lofts',
    timeZone: 'Europe/Berlin',
    email: 'harbour@demo.example',
    spaces: [terms('Harbour Hall', 9, 22, 4, 420_00), terms('Rooftop Terrace', 10, 23, 3, 280_00)],
  },
  {
    name: 'Union Yard',
    timeZone: 'America/New_York',
    email: 'union@demo.example',
    spaces: [terms('Courtyard', 8, 20, 2.5, 150_00), terms('Print Workshop (closed for repairs)', 9, 17, 4, 199_99)],
  },
] as const;
/** The inactive space. */
const INACTIVE = 'Print Workshop (closed for repairs)';

const BRANDS = [
  { name: 'Northwind Coffee', email: 'northwind@demo.example' },
  { name: 'Juniper & Sons', email: 'juniper@demo.example' },
] as const;

function terms(
  name: string,
  windowStart: number,
  windowEnd: number,
  durationHours: number,
  eventFee: number,
): SpaceTerms {
  return { name, windowStart, windowEnd, durationHours, eventFee: cents(eventFee), answerHours: DEFAULT_ANSWER_HOURS };
}

/** The commands that create the demo data, and their current time. */
type Seed = {
  readonly commands: Commands;
  readonly users: Users;
  /** Milliseconds since the epoch. */
  readonly today: number;
  /** Moves the clock this many days before or after today. */
  setDay(inDays: number): void;
};

/**
 * Creates two communities in different time zones, four spaces (one inactive), two brands, bookings in every state and reviews, and in the
 * first community hours by weekday, a closed day and a weekly own event.
 */
export async function seedDemoData(deps: SeedDeps): Promise<Pick<Demo, 'communities' | 'brands'>> {
  const today = deps.clock();
  let now = today;
  const commands = await deps.at(() => now);
  const setDay = (inDays: number) => {
    now = today + inDays * DAY_MS;
  };
  const seed: Seed = { commands, users: deps.users, today, setDay };
  setDay(-30);
  // Independent commands run side by side, because each one waits for the disk and the read models. Those of one kind run in order, so that
  // every first start gives communities, spaces and brands the same numbers.
  const [communities, brands] = await Promise.all([
    Array.fromAsync(COMMUNITIES, (community) => addCommunity(seed, community)),
    Array.fromAsync(BRANDS, (brand) => addBrand(seed, brand)),
  ]);
  await addBookings(seed, communities, brands);
  await Promise.all([addHours(seed, communities), addPhotos(seed, deps.photos, communities)]);
  return {
    communities: await Promise.all(communities.map(withUser)),
    brands: await Promise.all(brands.map(withUser)),
  };
}

type AddedCommunity = Awaited<ReturnType<typeof addCommunity>>;
type AddedBrand = Awaited<ReturnType<typeof addBrand>>;

async function addCommunity(seed: Seed, { name, timeZone, email, spaces }: (typeof COMMUNITIES)[number]) {
  const { catalogue } = seed.commands;
  const { communityId } = done(await catalogue.addCommunity({ name, timeZone }, CONTEXT));
  const house = HOUSES[name];
  if (house !== undefined) done(await catalogue.describeCommunity({ communityId, wanted: house }, CONTEXT));
  const account: Account = { kind: 'Community', id: communityId };
  const addSpace = async (space: SpaceTerms) => {
    const id = done(await catalogue.addSpace({ ...space, communityId }, CONTEXT));
    const wanted = DESCRIPTIONS[space.name];
    if (wanted !== undefined) done(await catalogue.describeSpace({ spaceId: id, wanted }, CONTEXT));
    if (space.name === INACTIVE) done(await catalogue.closeSpace(id, CONTEXT));
    return { id, name: space.name, active: space.name !== INACTIVE };
  };
  const [apiKey, listed] = await Promise.all([keyFor(seed, account), Array.fromAsync(spaces, addSpace)]);
  return { id: communityId, name, timeZone, apiKey, user: addMember(seed, account, email), spaces: listed };
}

async function addBrand(seed: Seed, { name, email }: (typeof BRANDS)[number]) {
  const { brandId } = done(await seed.commands.catalogue.addBrand({ name }, CONTEXT));
  const account: Account = { kind: 'Brand', id: brandId };
  return { id: brandId, name, apiKey: await keyFor(seed, account), user: addMember(seed, account, email) };
}

/** Not awaited until the end, because hashing a password takes a while. */
async function addMember({ users }: Seed, account: Account, email: string): Promise<DemoUser> {
  const password = `demo-${randomBytes(6).toString('base64url')}`;
  // An interrupted first start may have left this user behind.
  const before = await users.byEmail(email);
  if (before !== undefined) await users.remove(before.id, CONTEXT);
  done(await users.add({ email, password, accounts: [account] }, CONTEXT));
  return { email, password };
}

async function keyFor({ commands }: Seed, account: Account): Promise<string> {
  return done(await commands.apiKeys.issue({ account, permissions: ALL_PERMISSIONS, label: 'Demo' }, CONTEXT)).key;
}

const withUser = async <A extends { readonly user: Promise<DemoUser> }>(account: A) => ({
  ...account,
  user: await account.user,
});

async function addBookings(
  { commands, today, setDay }: Seed,
  [harbour, union]: readonly AddedCommunity[],
  [northwind, juniper]: readonly AddedBrand[],
): Promise<void> {
  const [hall, terrace] = harbour?.spaces ?? [];
  const [courtyard] = union?.spaces ?? [];
  if (!harbour || !union || !northwind || !juniper || !hall || !terrace || !courtyard)
    throw new Error('The demo data lacks a community, a space or a brand');

  const request = async (
    brand: { readonly id: BrandId },
    space: { readonly id: SpaceId },
    inDays: number,
    startHour: number,
    message: string,
  ): Promise<number> => {
    const date = localDate(today + inDays * DAY_MS, space === courtyard ? union.timeZone : harbour.timeZone);
    const command = { brandId: brand.id, details: { spaceId: space.id, date, startHour, message } };
    return done(await commands.bookings.request(command, CONTEXT)).bookingId;
  };
  const approve = async (bookingId: number, community: { readonly id: CommunityId }) =>
    done(await commands.bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
  const cancel = async (bookingId: number, by: Account, reason: string) =>
    done(await commands.bookings.cancel({ bookingId, by, reason }, CONTEXT));
  const review = async (bookingId: number, rating: number, title: string, content: string) =>
    done(await commands.reviews.post({ bookingId, rating, title, content }, CONTEXT));
  const complete = async (bookingId: number) => done(await commands.bookings.complete(bookingId, CONTEXT));

  setDay(-20);
  const [tasting, launch, workshop, called] = await Promise.all([
    request(northwind, hall, -12, 10, 'Spring roast tasting for forty guests. Long tables if you have them.'),
    request(juniper, courtyard, -9, 12, 'Launch of our gin. We bring our own sound and a small bar.'),
    request(northwind, terrace, -5, 15, 'Latte art workshop for twelve, in two groups.'),
    request(juniper, hall, -8, 16, 'Team dinner for thirty at one long table.'),
  ]);
  setDay(-19);
  await Promise.all([
    approve(tasting, harbour),
    approve(launch, union),
    approve(workshop, harbour),
    cancel(called, { kind: 'Brand', id: juniper.id }, 'Our date moved to spring.'),
  ]);
  setDay(-2);
  await Promise.all([complete(tasting), complete(launch), complete(workshop)]);
  await Promise.all([
    review(
      tasting,
      5,
      'Light, space, quiet',
      'The hall was ready when we arrived, the light was lovely, and the crew knew every socket.',
    ),
    review(
      launch,
      4,
      'Lovely yard',
      'Our guests loved the brick walls and the old elm. The gate code arrived a little late.',
    ),
  ]);

  setDay(-1);
  const [championship, , , , breakfast, concert] = await Promise.all([
    request(northwind, hall, 3, 10, 'Barista championship, first round. Sixty visitors, four machines.'),
    request(juniper, hall, 3, 15, 'Seated evening tasting for thirty, with a short talk.'),
    request(northwind, terrace, 6, 12, 'Photo shoot for the summer menu. We need the evening light.'),
    request(juniper, courtyard, 4, 17, 'Pop-up shop with three local makers. It may run late.'),
    request(northwind, courtyard, 9, 9, 'Neighbourhood breakfast, open to everyone on the street.'),
    request(northwind, hall, 5, 18, 'Late concert of a string quartet.'),
  ]);
  await Promise.all([
    approve(championship, harbour),
    approve(breakfast, union),
    cancel(concert, { kind: 'Community', id: harbour.id }, 'No music after 21:00.'),
  ]);
}

/** Shorter Sundays and dearer Saturdays on the terrace, a day on which all spaces are closed, and an own event that repeats weekly. */
async function addHours({ commands, today }: Seed, [harbour]: readonly AddedCommunity[]): Promise<void> {
  const terrace = harbour?.spaces[1];
  if (!harbour || !terrace) throw new Error('The demo data lacks the terrace');
  const day = (inDays: number) => localDate(today + inDays * DAY_MS, harbour.timeZone);
  const usual = { windowStart: 10, windowEnd: 23 };
  const week = [
    ...Array.from({ length: 5 }, () => usual),
    { ...usual, eventFee: cents(340_00) },
    { windowStart: 10, windowEnd: 20 },
  ];
  const yoga = { spaceIds: [terrace.id], from: day(8), to: day(8 + 7 * 7), weekdays: [weekdayOf(day(8))] };
  const { catalogue, closures } = commands;
  const of = { communityId: harbour.id } as const;
  await Promise.all([
    catalogue.changeSpace({ spaceId: terrace.id, terms: { week } }, CONTEXT).then(done),
    closures
      .add({ ...of, kind: 'Closure', from: day(26), to: day(26), start: 0, until: 24, title: 'Staff outing' }, CONTEXT)
      .then(done),
    closures.add({ ...of, ...yoga, kind: 'OwnEvent', start: 10, until: 11, title: 'Yoga' }, CONTEXT).then(done),
  ]);
}

async function addPhotos(
  { commands }: Seed,
  store: SeedDeps['photos'],
  communities: readonly AddedCommunity[],
): Promise<void> {
  const owners = communities.flatMap(({ id, name, spaces }) => [
    { name, of: { kind: 'house', id } as const },
    ...spaces.map((space) => ({ name: space.name, of: { kind: 'space', id: space.id } as const })),
  ]);
  await Promise.all(
    owners.map(async ({ name, of }) => {
      const drawings = DRAWINGS[name] ?? [];
      const photos = await Promise.all(drawings.map((drawing) => storeDrawing(store, drawing)));
      if (photos.length > 0) done(await commands.photos.addStored(of, photos, CONTEXT));
    }),
  );
}

/** A refusal is a mistake in this file. */
function done<T>(outcome: T | Refusal): T {
  if (isRefusal(outcome)) throw new Error(`Demo data was refused: ${outcome.refused}: ${outcome.details}`);
  return outcome;
}
