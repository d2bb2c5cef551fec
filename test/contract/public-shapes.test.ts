import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Caller } from '../../src/auth/caller.ts';
import { DETAIL_LABELS } from '../../src/contract/booking.ts';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { Account } from '../../src/domain/account.ts';
import { BOOKING_DETAILS, type BookingDetails } from '../../src/domain/booking-details.ts';
import { spaceId } from '../../src/domain/ids.ts';
import { knownEvent } from '../../src/domain/known-event.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { createTools } from '../../src/mcp/tools.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { json } from '../cli/in-process.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runServiceAt } from '../running-service.fixture.ts';

/** Which details of a booking a shape leaves out, and why. It shows all others. */
type LeavesOut = { readonly [F in keyof BookingDetails]?: string };

/** The shapes that show a booking. */
const BOOKING_SHAPES = {
  BookingDto: {},
  AssistantBooking: { message: 'Shown to the community only, as text of the brand.' },
  'AssistantBooking for the community': {},
  OperatorBooking: {},
  HistoryEntry: {},
  BookingRequested: {},
  BookingApproved: {
    guests: 'The specification lists the fields; subscribers got the number with the request.',
    message: 'The specification lists the fields; subscribers got the message with the request.',
    series: 'The specification lists the fields; subscribers got the series with the request.',
  },
  BookingCancelled: {
    guests: 'Subscribers got the number with the request.',
    message: 'Subscribers got the message with the request.',
    series: 'Subscribers got the series with the request.',
  },
} as const satisfies { readonly [shape: string]: LeavesOut };
type Shape = keyof typeof BOOKING_SHAPES;

/** Two valid values for every detail. Without them, a new detail does not compile. */
const DETAILS: Required<BookingDetails> = {
  spaceId: spaceId(1),
  date: inDays(30),
  startHour: 10,
  guests: 40,
  message: 'Forty guests',
  series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40',
};
const OTHER_DETAILS: Required<BookingDetails> = {
  spaceId: spaceId(2),
  date: inDays(31),
  startHour: 16,
  guests: 50,
  message: 'Fifty guests',
  series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d50',
};

/** A request body for REST. */
const bodyOf = ({ date, ...details }: BookingDetails) => ({ ...details, startTime: date });

describe('the details of a booking', () => {
  let service: RunningService;
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  /** The pages and texts that show a booking to people. */
  const read: { readonly where: string; readonly text: string }[] = [];
  /** Every returned booking, with its shape and origin. */
  const seen: { readonly shape: Shape; readonly where: string; readonly shown: unknown }[] = [];

  beforeAll(async () => {
    const running = await runServiceAt('localhost');
    service = running.service;
    const { core, time } = service;
    time.now = Date.now();
    const community = await service.community();
    brand = await service.brand();
    await service.space(community);
    await service.space(community);
    const answer = await service.post('/bookings', { key: brand.key, body: bodyOf(DETAILS) });
    const bookingId: number = answer.json().id;
    const { id: communityId } = community;
    accepted(await core.commands.bookings.approve({ bookingId, communityId: communityId as never }, CONTEXT));
    const by = { kind: 'Brand', id: brand.account.id } as never;
    accepted(await core.commands.bookings.cancel({ bookingId, by, reason: 'Our date moved.' }, CONTEXT));

    const see = (shape: Shape, where: string, shown: unknown) => seen.push({ shape, where, shown });
    see('BookingDto', 'POST /bookings', answer.json());
    see('BookingDto', 'GET /bookings', (await service.get('/bookings', { key: brand.key })).json()[0]);
    const history = await service.get(`/bookings/${bookingId}/history`, { key: brand.key });
    see('HistoryEntry', 'GET /bookings/{id}/history', madeIn(history.json()));

    const tools = toolsOf(service, brand.account);
    see('AssistantBooking', 'MCP list_bookings', (await tools('list_bookings', {})).bookings[0]);
    see('HistoryEntry', 'MCP booking_history', madeIn((await tools('booking_history', { bookingId })).history));
    const [ofCommunity] = (await toolsOf(service, community.account)('list_bookings', {})).bookings;
    see('AssistantBooking for the community', 'MCP list_bookings', { ...ofCommunity, ...ofCommunity.writtenByBrand });
    const requested = await tools('request_booking', { ...DETAILS, idempotencyKey: 'mcp', startHour: 17 });
    see('AssistantBooking', 'MCP request_booking', { ...requested, startHour: DETAILS.startHour });

    vi.stubEnv('DATA_DIR', service.config.dataDir);
    see('OperatorBooking', 'venue booking show', await json('booking', 'show', String(bookingId)));
    see('HistoryEntry', 'venue booking history', madeIn((await json('booking', 'history', String(bookingId))).events));

    const user = { email: 'harbour@example.com', password: 'correct horse battery staple' };
    accepted(await core.users.add({ ...user, accounts: [community.account] }, BY_OPERATOR));
    await running.listen();
    const browser = new Browser(running.url);
    await browser.signIn(user);
    const page = await browser.open(`/console/bookings/${bookingId}`);
    read.push({ where: "the console's page of a booking", text: page.text });

    for await (const stored of core.events.readStream(`spaceDay-${DETAILS.spaceId}-${DETAILS.date}`)) {
      const event = knownEvent(stored);
      if (event.type !== 'BookingRequested' && event.type !== 'BookingApproved' && event.type !== 'BookingCancelled')
        continue;
      if (event.data.bookingId !== bookingId) continue;
      const [readable = event] = await core.personalData.openEvents([event]);
      see(event.type, `webhook ${event.type}`, noticeOf(readable).payload.data);
    }
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await service.stop();
  });

  /** The fields of the request, taken from the first entry of a history. */
  const madeIn = (entries: readonly { readonly changes: Readonly<Record<string, { to: unknown }>> }[]) =>
    Object.fromEntries(Object.entries(entries[0]?.changes ?? {}).map(([field, { to }]) => [field, to]));

  test('are verified in every shape of the table', () => {
    expect(new Set(seen.map(({ shape }) => shape))).toEqual(new Set(Object.keys(BOOKING_SHAPES)));
  });

  test.each(BOOKING_DETAILS)('include %s wherever a booking is returned, unless the table gives a reason', (field) => {
    for (const { shape, where, shown } of seen) {
      const leavesOut: { readonly [F in keyof BookingDetails]?: string } = BOOKING_SHAPES[shape];
      if (leavesOut[field] === undefined) expect.soft(shown, where).toHaveProperty(field, DETAILS[field]);
      else expect.soft(shown, `${where}: ${leavesOut[field]}`).not.toHaveProperty(field);
    }
  });

  // The place and time have a layout of their own, and the days of a series are links.
  test.each(BOOKING_DETAILS.filter((field) => !['spaceId', 'date', 'startHour', 'series'].includes(field)))(
    'include %s on every page that shows a booking',
    (field) => {
      const label = DETAIL_LABELS[field] ?? field;
      const labelled = new RegExp(
        `${RegExp.escape(label)}[^<>]*(<[^>]*>|\\s)+${RegExp.escape(String(DETAILS[field]))}`,
      );
      for (const { where, text } of read) expect.soft(labelled.test(text), `${label} in ${where}`).toBe(true);
    },
  );

  test.each(BOOKING_DETAILS)('a request with another %s is not a retry, and an identical one is', async (field) => {
    const ask = (details: BookingDetails) =>
      service.post('/bookings', {
        key: brand.key,
        body: bodyOf(details),
        headers: { 'idempotency-key': `differs-${field}` },
      });
    const details = { ...DETAILS, date: inDays(40 + BOOKING_DETAILS.indexOf(field)) };
    const first = await ask(details);
    expect(first.statusCode).toBe(201);
    const other = await ask({ ...details, [field]: OTHER_DETAILS[field] });
    expect(other.json()).toMatchObject({
      error: 'BookingNotAllowed',
      details: expect.stringMatching(/Idempotency-Key/),
    });
    expect((await ask(details)).json()).toEqual(first.json());
  });
});

/** Calls a tool of the MCP server for an account and returns its result. */
function toolsOf({ core }: RunningService, account: Account) {
  const { commands, queries, clock, config } = core;
  const handlers = new Map<string, (input: object) => Promise<CallToolResult>>();
  const server = {
    registerTool: (name: string, _: unknown, handler: (input: object) => Promise<CallToolResult>) =>
      handlers.set(name, handler),
  } as unknown as McpServer;
  const caller: Caller = { account, permissions: ALL_PERMISSIONS, credential: { kind: 'client', id: 'test' } };
  for (const tool of createTools({ commands, queries, clock, pricing: config }))
    tool.register(server, {
      caller,
      correlationId: 'test',
      trace: { traceId: '0' },
      answerBy: performance.now() + 10_000,
      isDisconnected: () => false,
    });
  return async (name: string, input: object) => {
    const result = await handlers.get(name)?.(input);
    expect(result?.isError, JSON.stringify(result?.content)).toBeUndefined();
    return JSON.parse(JSON.stringify(result?.structuredContent));
  };
}
