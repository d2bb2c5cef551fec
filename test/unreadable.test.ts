import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser } from './browser.ts';
import { type Running, startDemo } from './console/console.fixture.ts';
import { eventually } from './eventually.ts';
import { connect } from './mcp/connected-client.ts';

/** An event from a newer release, which this one cannot interpret. */
const FROM_A_NEWER_RELEASE = {
  at: '2026-12-01T11:00:00.000Z',
  actor: { kind: 'system', id: 's' },
  correlationId: 'c',
  schema: 99,
};

let running: Running;
beforeAll(async () => {
  running = await startDemo({ LOG_LEVEL: 'silent' });
});
afterAll(() => running.stop());

test('every interface names a failed read model, and shows no stale or empty data instead', async () => {
  const { url, service, demo } = running;
  const [harbour] = demo.communities;
  const [northwind] = demo.brands;
  const console = new Browser(url);
  await console.signIn(harbour.user);
  const { client } = await connect(url, { ...northwind.user, account: `Brand:${northwind.id}` });
  expect((await console.open('/console/inbox')).text).toContain('Requests');

  await service.core.events.append(
    'spaceDay-99-2030-01-01',
    [{ id: randomUUIDv7(), type: 'BookingCompleted', data: {}, metadata: FROM_A_NEWER_RELEASE }],
    { expectedRevision: 'none' },
  );
  await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(503));

  const rest = await fetch(`${url}/api/v1/bookings`, { headers: { authorization: `Bearer ${northwind.apiKey}` } });
  expect([rest.status, rest.headers.get('retry-after'), await rest.json()]).toEqual([
    500,
    '2',
    {
      error: 'InternalError',
      details: expect.stringMatching(/^The read model bookings fails on an event .*Retrying is safe/),
    },
  ]);
  const page = await console.request('/console/inbox');
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, '2']);
  expect(page.text).toContain('The read model bookings fails on an event. Nothing is lost.');
  // With its menu, which links to the working pages.
  expect(page.text).toContain('/console/webhooks');
  const tool = await client.callTool({ name: 'list_bookings', arguments: {} });
  expect(tool).toMatchObject({
    isError: true,
    content: [{ text: 'InternalError: The read model bookings fails on an event. Retrying in a few seconds is safe.' }],
  });
  // Requests that do not need it continue, on every interface.
  const date = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  const free = await fetch(`${url}/api/v1/spaces/${harbour.spaces[0].id}/availability?date=${date}`, {
    headers: { authorization: `Bearer ${northwind.apiKey}` },
  });
  expect(free.status).toBe(200);
  expect((await console.open('/console/webhooks')).text).toContain('Webhooks');
  expect(await client.callTool({ name: 'find_spaces', arguments: {} })).not.toMatchObject({ isError: true });
});
