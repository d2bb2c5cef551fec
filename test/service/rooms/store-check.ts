import { pino } from 'pino';
import { housePhotos } from '../../../projections/house-photos.ts';
import { spacePhotos } from '../../../projections/space-photos.ts';
import { readConfig } from '../../../src/config.ts';
import type { Core } from '../../../src/core.ts';
import { everyDocument } from '../../../src/document-store/queries.ts';
import { communityId } from '../../../src/domain/ids.ts';
import { PHOTO_SIZES } from '../../../src/domain/photos.ts';
import { jsonWith } from '../../cli/in-process.ts';
import { checkClosedTimes } from '../../closed-times.ts';
import { startInProcess } from '../../running-service.fixture.ts';
import type { Environment } from '../node-process.ts';
import type { Change } from './change.ts';
import { aboutOf } from './room-client.ts';
import { problemsOf, type RoomLog, readRoomLog } from './room-log.ts';

const HOUR_MS = 3_600_000;
/** The house that the rooms are in. */
const COMMUNITY = communityId(1);

/** Opens a store on which nothing else runs, with the service in this process. */
export async function onStore<R>(
  settings: Environment,
  work: (core: Core) => Promise<R>,
  clock = Date.now,
): Promise<R> {
  const { core, close } = await startInProcess(readConfig(settings), pino({ level: 'silent' }), { clock });
  return work(core).finally(close);
}

/** What is wrong with a store: changes that were answered and are missing, photos without bytes, bookings that overlap, read models. */
export async function problemsIn(settings: Environment, changes: readonly Change[]): Promise<readonly string[]> {
  const found = await onStore(settings, async (core) => {
    const log = await readRoomLog(core);
    const { wrong } = await checkClosedTimes(core.events);
    return [...problemsOf(log, changes), ...wrong, ...(await notShown(core, log)), ...(await withoutBytes(core))];
  });
  const { differences, notVerified } = await jsonWith(settings, 'verify');
  return [...found, ...[...differences, ...notVerified].map((each) => `verify: ${JSON.stringify(each)}`)];
}

/** Rooms and lists that are shown in another way than the log has them last. */
async function notShown({ queries }: Core, { areas, photos }: RoomLog): Promise<readonly string[]> {
  const wrong: string[] = [];
  const spaces = await queries.spaces.list({ kind: 'Community', id: COMMUNITY });
  for (const space of spaces) {
    const area = areas.get(space.spaceId);
    if (area === undefined) continue;
    const shown = await queries.descriptions.ofSpace(space);
    if (shown.area !== area || shown.about !== aboutOf(String(area)))
      wrong.push(`Room ${space.spaceId} is shown with ${shown.area} m² and “${shown.about}” instead of ${area} m²`);
  }
  for (const [place, { names }] of photos) {
    const of =
      place === 'house' ? ({ kind: 'house', id: COMMUNITY } as const) : ({ kind: 'space', id: place } as const);
    const shown = (await queries.photos.listOf(of)).photos.map(({ photo }) => photo);
    if (shown.join() !== names.join()) wrong.push(`The photos of ${place} are ${shown} instead of ${names}`);
  }
  return wrong;
}

/** Photos that a list names and that cannot be read in every size. */
async function withoutBytes({ photos, projector: { readModels } }: Core): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const name of await namesIn(readModels))
    for (const size of PHOTO_SIZES) {
      const found = await photos.sizeOf(name, size);
      const bytes = found === undefined ? [] : await Array.fromAsync(photos.read(found)).catch(() => []);
      const { length } = Buffer.concat(bytes);
      if (found === undefined || length !== found.length)
        wrong.push(`The photo ${name} lacks the size ${size}: ${length} bytes`);
    }
  return wrong;
}

async function namesIn(readModels: Core['projector']['readModels']): Promise<ReadonlySet<string>> {
  const rooms = await readModels.collection(spacePhotos).list(everyDocument());
  const houses = await readModels.collection(housePhotos).list(everyDocument());
  return new Set([...rooms, ...houses].flatMap(({ photos }) => photos.map(({ photo }) => photo)));
}

/** Removes what no list names, hours later. @returns photos, files and parts beyond those that lists name */
export async function leftAfterRemovals(settings: Environment): Promise<readonly string[]> {
  let hours = 2;
  return onStore(
    settings,
    async (core) => {
      for (; hours <= 6; hours += 2) await core.commands.photos.removeUnnamed();
      const names = await namesIn(core.projector.readModels);
      const keysOf = async (name: string) => {
        const collection = await core.documents.open<{ photo?: string }>({ name, kind: 'record', indexes: [] });
        return Array.fromAsync(collection.find(everyDocument()));
      };
      const photos = (await keysOf('photos')).map(({ key }) => key);
      const files = await keysOf('photoFiles');
      const fileNames = new Set(files.map(({ key }) => key));
      const parts = (await keysOf('photoParts')).map(({ key }) => key);
      return [
        ...photos.filter((key) => !names.has(key)),
        ...files.filter(({ document }) => !names.has(document.photo ?? '')).map(({ key }) => key),
        ...parts.filter((key) => !fileNames.has(key.split(':', 1)[0] ?? '')),
        ...(files.length === names.size ? [] : [`${files.length} files of ${names.size} photos`]),
      ];
    },
    () => Date.now() + hours * HOUR_MS,
  );
}
