import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { BookingRows } from '../../src/queries/bookings.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

/** Pages of a long list: more than the chunks that are made before an answer begins. */
const PAGES = 1_000;

let service: RunningService;
let url: string;
let key: string;
beforeAll(async () => {
  const running = await runServiceAt();
  ({ service, url } = running);
  await running.listen();
  const space = await service.space(await service.community());
  ({ key } = await service.brand());
  const body = { spaceId: space, startTime: '2026-12-10', startHour: 9 };
  expect((await service.post('/bookings', { key, body })).statusCode).toBe(201);
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => service.stop());

const get = (path: string, encoding: string) =>
  fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}`, 'accept-encoding': encoding } });

/** Makes the list of bookings long; `between` runs before each page. */
function lengthen(between: (page: number) => Promise<void> = async () => {}): void {
  const { bookings } = service.core.queries;
  const { pages } = bookings;
  vi.spyOn(bookings, 'pages').mockImplementation(async function* (account, filter): AsyncGenerator<BookingRows> {
    for (let page = 0; page < PAGES; page += 1) {
      await between(page);
      yield* pages(account, filter);
    }
  });
}

test.each(['gzip', 'br'])(
  'a client that accepts %s gets long answers in it, and short ones as they are',
  async (encoding) => {
    lengthen();
    const plain = await get('/bookings', 'identity');
    const compressed = await get('/bookings', encoding);
    expect([plain.headers.get('content-encoding'), compressed.headers.get('content-encoding')]).toEqual([
      null,
      encoding,
    ]);
    expect(compressed.headers.get('vary')?.toLowerCase()).toContain('accept-encoding');
    const bookings = await compressed.json();
    expect(bookings).toHaveLength(PAGES);
    expect(bookings).toEqual(await plain.json());
    const short = await get('/bookings/1', encoding);
    expect([short.status, short.headers.get('content-encoding')]).toEqual([200, null]);
  },
);

test.each(['identity', 'gzip', 'br'])(
  'a list in %s is sent as it is made, and breaks off if it cannot be finished',
  async (encoding) => {
    const { promise: broken, reject: breakOff } = Promise.withResolvers<void>();
    broken.catch(() => {});
    lengthen((page) => (page < PAGES - 1 ? Promise.resolve() : broken));
    const { status, body } = await get('/bookings', encoding);
    expect(status).toBe(200);
    const reader = body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toMatch(/^\[\{"id":1,/);
    breakOff(new Error('The store is gone'));
    await expect(
      (async () => {
        for (let read = await reader?.read(); read?.done === false; read = await reader?.read());
      })(),
    ).rejects.toThrow();
  },
);
