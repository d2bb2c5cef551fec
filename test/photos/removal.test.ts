import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { jpeg } from './pictures.ts';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.stop());

const HOUR_MS = 3_600_000;
const ROUNDS = Number(process.env.PHOTO_REMOVALS ?? 12);

test('a photo that is uploaded, or copied to another room, while it is being removed is there', async () => {
  const { photos, catalogue } = service.core.commands;
  const harbour = await service.community();
  const hall = await service.space(harbour);
  const of = { kind: 'space', id: hall } as const;
  const bytes = await jpeg('#f0f', 400, 300);
  const path = `/photos/${hash('sha256', bytes, 'hex')}/400.webp`;
  const isThere = async () => (await service.call('GET', path)).statusCode === 200;
  const add = async () => accepted(await photos.add(of, [{ bytes }], CONTEXT));
  /** The next removal takes the photo away, unless something wants it. */
  const isFoundUnnamed = async () => {
    service.time.now += HOUR_MS + 60_000;
    await photos.removeUnnamed();
    service.time.now += HOUR_MS + 60_000;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    accepted(await photos.arrange(of, { arrange: [] }, CONTEXT));
    await isFoundUnnamed();
    const uploaded = sleep(round).then(add);
    await Promise.all([photos.removeUnnamed(), uploaded]);
    expect(await isThere(), `round ${round}`).toBe(true);
    // As in a restored store, where it was found so before the log ends.
    service.time.now += HOUR_MS + 60_000;
    await service.core.photos.removeUnnamed(() => false);
    service.time.now += HOUR_MS + 60_000;
    const copied = catalogue.duplicateSpace({ spaceId: hall, name: `Hall ${round}` }, CONTEXT);
    const taken = sleep(round % 7).then(() => photos.arrange(of, { arrange: [] }, CONTEXT));
    const [copy] = await Promise.all([copied, taken, sleep(round % 9).then(() => photos.removeUnnamed())]);
    const listed = (await service.core.queries.photos.ofSpaces([accepted(copy)])).size > 0;
    if (listed) expect(await isThere(), `copy of round ${round}`).toBe(true);
    if (listed) accepted(await photos.arrange({ kind: 'space', id: accepted(copy) }, { arrange: [] }, CONTEXT));
  }
});
