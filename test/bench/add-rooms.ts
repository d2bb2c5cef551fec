/**
 * Adds houses with rooms and bookings of a month to the store that the environment names: `node add-rooms.ts MONTH ROOMS`, in the folder of a
 * checkout, whose commands it uses. A process of its own, because adding so many on the command line would take an hour.
 */
import { pino } from 'pino';
import { AMENITIES, SPACE_KINDS } from '../../src/domain/description.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'bench' }, correlationId: 'bench' } as const;
const HOUSES = 100;
const TOGETHER = 100;
const DAYS = 28;

const [month = '', rooms = ''] = process.argv.slice(2);
const source = (file: string) => import(`${process.cwd()}/src/${file}`);
const { readConfig }: typeof import('../../src/config.ts') = await source('config.ts');
const { openCore }: typeof import('../../src/core.ts') = await source('core.ts');
const core = await openCore(readConfig(process.env), pino({ level: 'warn' }));
core.projector.start();
await core.projector.readModels.readable(10_000);
const { catalogue } = core.commands;
const { bookings } = await core.commandsAt(Date.now, 10_000);

/** Runs `work` for so many numbers, some at a time. */
async function each(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += TOGETHER)
    await Promise.all(Array.from({ length: Math.min(TOGETHER, count - from) }, (_, at) => work(from + at)));
}

const houses: number[] = [];
await each(HOUSES, async (at) => {
  const house = accepted(await catalogue.addCommunity({ name: `House ${at}`, timeZone: 'Europe/Berlin' }, CONTEXT));
  houses.push(house.communityId);
  const address = { street: `Street ${at}`, city: `City ${at % 10}`, country: 'DE' };
  const coordinates = { latitude: 48 + (at % 10) / 2, longitude: 8 + at / 20 };
  const of = { communityId: communityId(house.communityId), wanted: { address, coordinates } };
  accepted(await catalogue.describeCommunity(of, CONTEXT));
});
const ids: number[] = [];
await each(Number(rooms), async (at) => {
  const terms = {
    windowStart: 8,
    windowEnd: 22,
    durationHours: 2,
    answerHours: 72,
    eventFee: cents(10_000 + (at % 500) * 100),
  };
  const of = { ...terms, name: `Room ${at}`, communityId: communityId(houses[at % HOUSES] ?? 1) };
  const id = spaceId(accepted(await catalogue.addSpace(of, CONTEXT)));
  ids.push(id);
  const amenities = AMENITIES.filter((_, index) => at % (index + 2) === 0);
  const kind = SPACE_KINDS[at % SPACE_KINDS.length] ?? 'Hall';
  accepted(
    await catalogue.describeSpace(
      { spaceId: id, wanted: { kind, seated: 10 + (at % 200), amenities, published: true } },
      CONTEXT,
    ),
  );
});
await each(2 * Number(rooms), async (at) => {
  const date = `${month}-${String(1 + (at % DAYS)).padStart(2, '0')}` as PlainDate;
  const details = { spaceId: spaceId(ids[(at * 7) % ids.length] ?? 1), date, startHour: 8 + (at % 12) };
  await bookings.request({ brandId: brandId(1), details }, CONTEXT);
});
await core.projector.stop();
await core.close();
