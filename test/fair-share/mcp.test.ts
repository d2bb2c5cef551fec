import type { Client } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { toPlainDate } from '../../src/domain/calendar.ts';
import { brandId } from '../../src/domain/ids.ts';
import { yieldEvery } from '../../src/event-loop/slices.ts';
import { answerBatch } from '../../src/mcp/batch.ts';
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
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => service.stop());

const search = (client: Client) =>
  client.callTool({
    name: 'find_open_days',
    arguments: { startDate: '2026-12-02', endDate: '2027-11-30', limit: 60 },
  });

/** Makes searches of the first brand wait. */
function holdSearches() {
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
  return { begun, release: released.resolve };
}

test('calls of one account run four at a time, and do not delay other accounts', async () => {
  const { begun, release } = holdSearches();
  const calls = Array.from({ length: CALLS }, () => search(greedy));
  await eventually(() => expect(begun).toHaveLength(4));
  expect((await search(other)).isError).toBeFalsy();
  expect(begun).toHaveLength(4);

  release();
  for (const { isError, structuredContent } of await Promise.all(calls)) {
    expect(isError).toBeFalsy();
    expect(structuredContent).toMatchObject({ days: { length: 60 } });
  }
  expect(begun).toHaveLength(CALLS);
});

/** Sends batches with a service client of the first brand. */
async function batchSender() {
  const { clients } = service.core.authorizationServer;
  const account = { kind: 'Brand', id: brandId(1) } as const;
  const { clientId, clientSecret } = accepted(await clients.addClient({ account, name: 'Batches' }, BY_OPERATOR));
  const issued = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'mcp', scope: 'service.mcp' }),
  });
  const { access_token: token } = (await issued.json()) as { readonly access_token: string };
  return async (messages: readonly object[]) => {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(messages),
    });
    const text = await response.text();
    return {
      status: response.status,
      answers: [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? '')),
    };
  };
}

test('each message of a batch takes a turn', async () => {
  const send = await batchSender();
  const { begun, release } = holdSearches();
  const params = { name: 'find_open_days', arguments: { startDate: '2026-12-02', endDate: '2026-12-05' } };
  const batch = (from: number) =>
    Array.from({ length: CALLS }, (_, i) => ({ jsonrpc: '2.0', id: from + i, method: 'tools/call', params }));
  const sent = Array.from({ length: 6 }, (_, i) => send(batch(i * CALLS)));
  await eventually(() => expect(begun).toHaveLength(4));
  expect((await search(other)).isError).toBeFalsy();
  expect(begun).toHaveLength(4);

  release();
  const answered = await Promise.all(sent);
  expect(answered.map(({ answers }) => answers.map(({ id }) => id))).toEqual(
    answered.map((_, i) => batch(i * CALLS).map(({ id }) => id)),
  );
  for (const { answers } of answered)
    for (const { result } of answers) expect(result.structuredContent.days.length).toBeGreaterThan(0);
  expect(begun).toHaveLength(6 * CALLS);
});

test('a batch may hold notifications and refused messages, and is refused as a whole if it is malformed', async () => {
  const send = await batchSender();
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const wrong = { jsonrpc: '2.0', id: 8, method: 'tools/call', params: { name: 7 } };
  expect(await send([initialized, initialized])).toEqual({ status: 202, answers: [] });
  expect(await send([initialized, ping(7), wrong, { ...ping(9), method: 'unknown' }])).toMatchObject({
    status: 200,
    answers: [
      { id: 7, result: {} },
      { id: 8, error: { code: -32_602 } },
      { id: 9, error: { code: -32_601 } },
    ],
  });
  for (const refused of [[], [ping(1), 'x'], Array.from({ length: 101 }, (_, id) => ping(id))])
    expect(await send(refused as object[])).toEqual({ status: 400, answers: [] });
});

test('a batch of a hundred messages adds no listener for each', async ({ onTestFinished }) => {
  const send = await batchSender();
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const { answers } = await send(Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })));
  expect(answers).toHaveLength(100);
  expect(warnings).toEqual([]);
});

test('the next message of a batch begins once the responses before it have been read', async () => {
  let begun = 0;
  let ended = 0;
  const response = await answerBatch(Array.from({ length: 100 }), async () => {
    begun += 1;
    const response = Response.json({ id: begun });
    return {
      response,
      end() {
        ended += 1;
      },
    };
  });
  const reader = response.body?.getReader();
  for (let read = 1; read <= 3; read += 1) {
    await reader?.read();
    expect(begun - read).toBeLessThanOrEqual(1);
  }
  await reader?.cancel();
  expect(ended).toBe(begun);
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
    const nextSlice = yieldEvery(1, { waitsFirst: true });
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
