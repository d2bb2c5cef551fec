import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spaces } from '../../projections/spaces.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { type NodeProcess, startNode } from '../service/node-process.ts';
import { type Bench, type Figure, interleaved } from './figure.ts';
import { load } from './load.ts';
import { appendBookings, dateIn, makeVenue, SLOTS_PER_DAY, withCore } from './venue.ts';

const ROUNDS = 3;
const SECONDS = 2;
const BOOKINGS = 10_000;

/**
 * Reads beside their ceilings: a call with a token beside one with a key, a poll that is answered 304 beside the whole answer, and a
 * list of 10,000 bookings, unchanged and changed, beside serialising the same objects from memory.
 */
export const reads: Bench = async () => {
  const venue = await makeVenue(1);
  const client = await withCore(venue.dataDir, async (core) => {
    const space = await core.projector.readModels.collection(spaces).get(String(venue.spaceIds[0]));
    if (space === undefined) throw new Error('The space is not in the read model');
    await appendBookings(core, venue, space.document, BOOKINGS);
    while ((await core.projector.status()).lag > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    const account = { kind: 'Brand', id: venue.brandId } as const;
    return accepted(
      await core.authorizationServer.clients.addClient(
        { account, grant: 'client_credentials', name: 'Bench' },
        BY_OPERATOR,
      ),
    );
  });
  const service = await startNode('src/main.js', '/readyz', {
    ...{ DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn' },
  });
  const { key } = venue;
  const listed = await fetch(`${service.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${key}` } });
  const file = join(venue.dataDir, 'bookings.json');
  await writeFile(file, await listed.text());
  const bare = await startNode('test/bench/bare-server.ts', '/healthz', { BARE_LIST: file });
  try {
    const requests = Array.from({ length: 28 }, (_, i) => ({
      path: `/api/v1/spaces/${venue.spaceIds[0]}/availability?date=${dateIn(2 + i)}`,
    }));
    const token = await tokenOf(service, client);
    const bookings = [{ path: '/api/v1/bookings' }];
    const one = requests.slice(0, 1);
    const etag = await entityTagOf(`${service.url}${one[0]?.path}`, key);
    const calls = async (asked: Parameters<typeof load>[0], expected = '200') => {
      const { perSecond, statuses } = await load(asked);
      if (Object.keys(statuses).join() !== expected) throw new Error(`Responses were ${JSON.stringify(statuses)}`);
      return perSecond;
    };
    const common = { url: service.url, key, connections: 32, seconds: SECONDS };
    const byKey = () => calls({ ...common, requests });
    const byToken = () => calls({ ...common, key: token, requests });
    const whole = () => calls({ ...common, requests: one });
    const poll = () => calls({ ...common, requests: one, headers: { 'if-none-match': etag } }, '304');
    const list = (url: string) => () => calls({ ...common, url, connections: 4, requests: bookings });
    const ask = async (url: string, init: RequestInit, expected: number) => {
      const answer = await fetch(`${url}/api/v1/bookings`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
      await answer.arrayBuffer();
      if (answer.status !== expected) throw new Error(`The response was ${answer.status}`);
    };
    let booked = 0;
    /** Lists per second, one after another; what happens between two of them does not count. */
    const changedList = (url: string) => async () => {
      let spent = 0;
      let lists = 0;
      while (spent < SECONDS * 1_000) {
        // After all others, on days of their own.
        const day = 2 + Math.ceil(BOOKINGS / SLOTS_PER_DAY) + Math.floor(booked / SLOTS_PER_DAY);
        const body = { spaceId: venue.spaceIds[0], startTime: dateIn(day), startHour: booked++ % SLOTS_PER_DAY };
        await ask(service.url, { method: 'POST', body: JSON.stringify(body) }, 201);
        const began = performance.now();
        await ask(url, {}, 200);
        spent += performance.now() - began;
        lists += 1;
      }
      return (lists / spent) * 1_000;
    };
    await byKey();
    await list(service.url)();
    const figure = async (
      name: string,
      what: string,
      measure: Parameters<typeof interleaved>[1],
      aim?: Figure['aim'],
    ): Promise<Figure> => {
      const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, measure);
      return { name, value, unit: '/s', ceiling: { what, value: ceiling }, ratio, ranges, ...(aim && { aim }) };
    };
    return [
      // A call may take 1.15 times as long as with a key.
      await figure(
        'GET availability with a token',
        'with a key',
        { value: byToken, ceiling: byKey },
        { atLeast: 1 / 1.15 },
      ),
      await figure('GET availability, unchanged (304)', 'the whole answer', { value: poll, ceiling: whole }),
      await figure(
        `GET /bookings of ${BOOKINGS.toLocaleString('en')}, unchanged`,
        'serialising the same from memory',
        { value: list(service.url), ceiling: list(bare.url) },
        { atLeast: 0.5 },
      ),
      await figure(
        `GET /bookings of ${BOOKINGS.toLocaleString('en')}, changed before each`,
        'serialising the same from memory',
        { value: changedList(service.url), ceiling: changedList(bare.url) },
        { atLeast: 0.5 },
      ),
    ];
  } finally {
    await Promise.all([service.end('SIGKILL'), bare.end('SIGKILL')]);
    await venue.remove();
  }
};

async function tokenOf({ url }: NodeProcess, client: { readonly clientId: string; readonly clientSecret: string }) {
  const basic = Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64');
  const answer = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'api' }),
  });
  const { access_token: token } = (await answer.json()) as { readonly access_token: string };
  return token;
}

async function entityTagOf(url: string, key: string): Promise<string> {
  const { headers } = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return headers.get('etag') ?? '';
}
