import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { toPlainDate } from '../../src/domain/calendar.ts';
import { brandId } from '../../src/domain/ids.ts';
import { startSlices } from '../../src/runtime/slices.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { eventually } from '../eventually.ts';
import { connect } from '../mcp/connected-client.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

const PASSWORD = 'correct horse battery';
const CALLS = 20;

let service: RunningService;
let url: string;
let greedy: Client;
let other: Client;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ service, url } = running);
  const harbour = await service.community();
  for (let i = 0; i < 4; i += 1) await service.space(harbour, { name: `Hall ${i}` });
  await running.listen();
  const connected = async (email: string, name: string): Promise<Client> => {
    const { account } = await service.brand(name);
    accepted(await service.core.users.add({ email, password: PASSWORD, accounts: [account] }, BY_OPERATOR));
    return (await connect(url, { email, password: PASSWORD, account: `${account.kind}:${account.id}` })).client;
  };
  greedy = await connected('ada@example.com', 'Acme');
  other = await connected('bea@example.com', 'Rival');
});
afterAll(() => service.stop());

const search = (client: Client) =>
  client.callTool({
    name: 'find_open_days',
    arguments: { startDate: '2026-12-02', endDate: '2027-11-30', limit: 300 },
  });

test('calls of one caller run four at a time, and do not delay other callers', async () => {
  const { queries } = service.core;
  const openDays = queries.openDays;
  const released = Promise.withResolvers<void>();
  const begun: number[] = [];
  vi.spyOn(queries, 'openDays').mockImplementation(async (query) => {
    if (query.account.id !== 1) return openDays(query);
    begun.push(begun.length);
    await released.promise;
    return openDays(query);
  });
  const calls = Array.from({ length: CALLS }, () => search(greedy));
  await eventually(() => expect(begun).toHaveLength(4));
  expect((await search(other)).isError).toBeFalsy();
  expect(begun).toHaveLength(4);

  released.resolve();
  for (const { isError, structuredContent } of await Promise.all(calls)) {
    expect(isError).toBeFalsy();
    expect(structuredContent).toMatchObject({ days: { length: 300 } });
  }
  expect(begun).toHaveLength(CALLS);
});

test('a search stops when its client disconnects', async () => {
  let looks = 0;
  const isWanted = () => {
    looks += 1;
    return looks < 10;
  };
  const from = toPlainDate(new Temporal.PlainDate(2026, 12, 2));
  const to = toPlainDate(new Temporal.PlainDate(2027, 11, 30));
  const account = { kind: 'Brand', id: brandId(2) } as const;
  await expect(service.core.queries.openDays({ account, from, to, limit: 1_000, isWanted })).rejects.toThrow(
    'given up',
  );
  expect(looks).toBe(10);
});

test('many computations take turns on the event loop', async () => {
  let inTurn = 0;
  let most = 0;
  let isOver = false;
  const endTurn = () => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  const compute = async () => {
    const nextSlice = startSlices();
    for (let step = 0; step < 3; step += 1) {
      await nextSlice();
      inTurn += 1;
      for (const until = performance.now() + 6; performance.now() < until; );
    }
  };
  await Promise.all(Array.from({ length: 8 }, compute));
  isOver = true;
  expect(most).toBe(1);
});

test('a body of more than 64 KiB is refused', async () => {
  await expect(other.callTool({ name: 'find_spaces', arguments: { name: 'x'.repeat(70_000) } })).rejects.toThrow(
    /too large/,
  );
});
