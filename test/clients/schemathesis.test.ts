import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import document from '../../docs/openapi.json' with { type: 'json' };
import { lacks } from '../lacks.ts';
import { envInVenv, inVenv } from '../python.ts';
import { type ServiceForClients, serviceForClients } from './signed-in.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;
const SCHEMATHESIS = inVenv('Schemathesis', 'schemathesis');

/** Requests of a run. */
const MOST = 2_000;

let service: ServiceForClients;
beforeAll(async () => {
  service = await serviceForClients();
  await addPending();
});
afterAll(() => service.stop());

test.skipIf(lacks(SCHEMATHESIS))(
  'Schemathesis finds nothing undocumented, with valid and with invalid requests',
  async () => {
    const { folder } = service;
    const { schemas } = document.components;
    const { CreateBooking, MoveBooking } = schemas;
    const { message, ...others } = CreateBooking.properties;
    // The guide says so in words: several generators of clients cannot read it as a type.
    const nullable = { ...message, type: ['string', 'null'] };
    const moveTo = Object.fromEntries(
      Object.entries(MoveBooking.properties).map(([name, schema]) => [name, { anyOf: [schema, { type: 'null' }] }]),
    );
    const said = {
      ...document,
      components: {
        ...document.components,
        schemas: {
          ...schemas,
          CreateBooking: { ...CreateBooking, properties: { ...others, message: nullable } },
          MoveBooking: { ...MoveBooking, properties: moveTo },
        },
      },
    };
    const path = join(folder, 'openapi.json');
    await writeFile(path, JSON.stringify(said));
    const { key, community, requests } = service;
    const before = requests();
    const options = ['--config-file', here('schemathesis.toml'), 'run', path, '--url', `${service.url}/api/v1`];
    const env = { ...envInVenv(SCHEMATHESIS), VENUE_KEY: key, COMMUNITY_KEY: community.key };
    const { stdout } = await run('schemathesis', options, { env, cwd: folder, maxBuffer: 2 ** 26 }).catch(
      (failed) => failed,
    );
    expect(stdout.slice(0, 20_000)).toMatch(/No issues found/);
    expect(requests() - before).toBeGreaterThan(300);
    expect(requests() - before).toBeLessThanOrEqual(MOST);
    const { events } = service.service.core;
    const added = await Array.fromAsync(events.readAll({ types: ['BrandAdded'] }));
    const asked = await Array.fromAsync(events.readAll({ types: ['BookingMoveAsked'] }));
    expect(added.filter(({ data }) => data.keptBy === service.community.id).length).toBeGreaterThan(5);
    expect(asked.length).toBeGreaterThan(2);
  },
);

/** The bookings and spaces that schemathesis.toml names. */
async function addPending(): Promise<void> {
  const { spaceId, key, service: running } = service;
  expect([spaceId, await running.space(service.community)]).toEqual([1, 2]);
  for (const [index, startTime] of ['2026-12-08', '2026-12-09'].entries()) {
    const booked = await running.post('/bookings', { key, body: { spaceId, startTime, startHour: 10 } });
    expect(booked.json().id).toBe(index + 2);
  }
}
