import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { lacks } from '../lacks.ts';
import { call } from '../service/client.ts';
import { createFleet } from '../soak/fleet.ts';
import { embeddedEngines } from '../soak/store.ts';
import { earlierRelease, HISTORY } from './releases.ts';

test.skipIf(lacks(HISTORY))(
  'keys issued and revoked by either of two releases work and stop in both, also while only one of them runs',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'venue-release-'));
    const earlier = earlierRelease(folder);
    const store = await embeddedEngines.openStore();
    const fleet = createFleet(store);
    onTestFinished(async () => {
      await fleet.stop();
      await store.remove();
      await rm(folder, { recursive: true, force: true });
    });
    const run = async (args: readonly string[], release?: string) => {
      const ended = await store.venue(args, release);
      expect(ended).toMatchObject({ code: 0 });
      return JSON.parse(ended.stdout);
    };
    const brand = await run(['brand', 'add', '--name', 'Aurora'], earlier);
    const issue = (release?: string): Promise<{ readonly id: string; readonly key: string }> =>
      run(['api-key', 'issue', '--brand', String(brand.id)], release);
    const revoke = ({ id }: { readonly id: string }, release?: string) => run(['api-key', 'revoke', id], release);

    const revokedBefore = await issue(earlier);
    await revoke(revokedBefore, earlier);
    const processes = [await fleet.start({ release: earlier }), await fleet.start()];
    const statuses = ({ key }: { readonly key: string }, asked = processes) =>
      Promise.all(asked.map(async (each) => (await call(each, key, '/bookings')).status));
    expect(await statuses(revokedBefore)).toEqual([401, 401]);

    for (const [issuing, revoking] of [
      [earlier, undefined],
      [undefined, earlier],
    ]) {
      const key = await issue(issuing);
      expect(await statuses(key)).toEqual([200, 200]);
      await revoke(key, revoking);
      await eventually(async () => expect(await statuses(key)).toEqual([401, 401]));
    }

    // Rolled back, and out again.
    const [before, after] = processes;
    if (before === undefined || after === undefined) throw new Error('No processes');
    const rolledBack = await issue();
    expect(await statuses(rolledBack)).toEqual([200, 200]);
    await fleet.end(after, 'SIGTERM');
    await revoke(rolledBack, earlier);
    const again = await fleet.start();
    expect(await statuses(rolledBack, [before, again])).toEqual([401, 401]);
    expect(fleet.broken).toEqual([]);
  },
  300_000,
);
