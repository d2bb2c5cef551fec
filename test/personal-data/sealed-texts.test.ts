import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { PERSONAL_DETAILS } from '../../src/domain/booking-details.ts';
import { accepted } from '../accepted.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';

const DAY_MS = 24 * 3_600_000;

/** Words that occur nowhere else. */
const DETAILS = Object.fromEntries(PERSONAL_DETAILS.map((field) => [field, `Zwetschgenkuchen in the ${field}`]));
const WORDS = {
  reason: 'Nieselregen in the great hall',
  title: 'Quittengelb and quiet',
  content: 'Wirsing in the kitchen, and a view of the harbour',
};

describe.each(enginePairs)('what people write, on %s', (_, engines) => {
  let pair: EnginePair;
  let service: RunningService;
  let receiver: Receiver;
  let community: Awaited<ReturnType<RunningService['community']>>;
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  let space: number;
  let reviewed: number;
  let cancelled: number;

  beforeAll(async () => {
    pair = await engines();
    service = await runService(pair.settings);
    await service.core.webhooks.start();
    // It repeats what it was sent.
    receiver = await startReceiver(({ body }, response) => response.end(body));
    community = await service.community();
    brand = await service.brand();
    space = await service.space(community);
    await service.post('/webhooks', { key: brand.key, body: { url: receiver.url, events: 15 } });
    reviewed = await book('2026-12-03');
    cancelled = await book('2026-12-04');
    const { bookings, reviews } = service.core.commands;
    accepted(await bookings.approve({ bookingId: reviewed, communityId: community.id }, CONTEXT));
    const by = { kind: 'Community', id: community.id } as const;
    const actor = { kind: 'user', id: 'user-7', account: community.account } as const;
    accepted(await bookings.cancel({ bookingId: cancelled, by, reason: WORDS.reason }, { ...CONTEXT, actor }));
    service.time.now = NOON + 5 * DAY_MS;
    accepted(await bookings.complete(reviewed, CONTEXT));
    const { title, content } = WORDS;
    accepted(await reviews.post({ bookingId: reviewed, brandId: brand.id, rating: 5, title, content }, CONTEXT));
    await receiver.until(5);
  });
  afterAll(async () => {
    await service.core.webhooks.stop();
    await service.stop();
    await pair.stop();
    await receiver.close();
  });

  const book = async (startTime: string, headers: Record<string, string> = {}) => {
    const body = { spaceId: space, startTime, startHour: 10, ...DETAILS };
    const answer = await service.post('/bookings', { key: brand.key, body, headers });
    expect(answer.statusCode).toBe(201);
    return answer.json().id;
  };
  const containsWords = (text: string) =>
    Object.values({ ...DETAILS, ...WORDS }).filter((words) => text.includes(words));

  test('is sealed in every event, under the key of its subject', async () => {
    const found = new Map<string, unknown>();
    for await (const { type, data } of service.core.events.readAll()) {
      expect(containsWords(JSON.stringify(data))).toEqual([]);
      const texts = [...PERSONAL_DETAILS, 'reason', 'title', 'content']
        .map((field) => data[field])
        .filter((text) => text !== undefined);
      if (texts.length > 0) found.set(type, texts);
    }
    const by = (subject: string) => ({ subject, sealed: expect.stringMatching(/^v1\.[\w-]+$/) });
    expect(Object.fromEntries(found)).toEqual({
      BookingRequested: PERSONAL_DETAILS.map(() => by(`brand:${brand.id}`)),
      BookingCancelled: [by('user:user-7')],
      ReviewPosted: [by(`brand:${brand.id}`), by(`brand:${brand.id}`)],
    });
  });

  test('is in no document of a read model, a delivery or a receiver’s answer', async () => {
    const { documents } = service.core;
    await eventually(async () => {
      const delivered = await documents.open<{ state: string }>({
        name: 'webhookDeliveries',
        kind: 'record',
        indexes: [],
      });
      const states = await Array.fromAsync(delivered.find(everyDocument()), ({ document }) => document.state);
      expect(states).toEqual(['Delivered', 'Delivered', 'Delivered', 'Delivered', 'Delivered']);
    });
    let seen = 0;
    for (const { name, kind } of await documents.collections()) {
      const collection = await documents.open<object>({ name, kind, indexes: [] });
      for await (const { document } of collection.find(everyDocument())) {
        seen += 1;
        expect(containsWords(JSON.stringify(document)), name).toEqual([]);
      }
    }
    expect(seen).toBeGreaterThan(20);
  });

  test('is in no file of the store', () => {
    const { dataDir } = service.config;
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    for (const { parentPath, name } of files)
      expect(containsWords(readFileSync(join(parentPath, name), 'latin1')), name).toEqual([]);
  });

  test('is read by its parties: in the history, the reviews, on the command line and in deliveries', async () => {
    const { queries, webhooks } = service.core;
    const history = async (id: number) => (await service.get(`/bookings/${id}/history`, { key: brand.key })).json();
    for (const [field, to] of Object.entries(DETAILS))
      expect((await history(cancelled))[0].changes[field]).toEqual({ to });
    expect((await history(cancelled))[1].changes.reason).toEqual({ to: WORDS.reason });
    expect(await queries.bookings.get(community.account, cancelled)).toMatchObject({
      ...DETAILS,
      reason: WORDS.reason,
    });
    const listed = await Array.fromAsync(queries.bookings.readableList(brand.account));
    expect(listed).toMatchObject([DETAILS, DETAILS]);
    const { title, content } = WORDS;
    const reviews = await service.get(`/communities/${community.id}/reviews`, { key: community.key });
    expect(reviews.json()).toMatchObject([{ title, content }]);

    const received = receiver.received.map(({ body }) => JSON.parse(body));
    const data = (event: string) => received.find((each) => each.event === event).data;
    expect(data('BookingRequested')).toMatchObject(DETAILS);
    expect(data('BookingCancelled')).toMatchObject({ reason: WORDS.reason });
    expect(data('ReviewPosted')).toMatchObject({ title, content });

    const [{ webhookId = '' } = {}] = await queries.operator.webhooks(brand.account);
    const shown = await webhooks.listDeliveries({ webhookId });
    const bodies = receiver.received.map(({ body }) => body).sort();
    expect(shown.map(({ body }) => body).sort()).toEqual(bodies);
    expect(shown.map(({ attempts }) => attempts[0]?.answer).sort()).toEqual(bodies);
    expect(JSON.stringify(shown)).not.toContain('sealed');
  });

  test('is sent in the same bytes by every attempt', async () => {
    const [{ webhookId = '' } = {}] = await service.core.queries.operator.webhooks(brand.account);
    const [first] = await service.core.webhooks.listDeliveries({ webhookId });
    const before = receiver.received.length;
    receiver.answer = answering(200);
    accepted(await service.core.webhooks.resend(first?.deliveryId ?? ''));
    const sent = await receiver.until(before + 1);
    expect(sent.at(-1)?.body).toBe(first?.body);
  });

  test('is recognised when a request is repeated, without storing anything from which it could be guessed', async () => {
    service.time.now = NOON;
    const headers = { 'idempotency-key': 'retry-1' };
    const first = await book('2026-12-20', headers);
    expect(await book('2026-12-20', headers)).toBe(first);
    const body = { spaceId: space, startTime: '2026-12-20', startHour: 10, message: 'Another message' };
    const other = await service.post('/bookings', { key: brand.key, body, headers });
    expect(other.statusCode).toBe(422);

    // The record is gone after 30 days; the event remembers for good.
    const records = await service.core.documents.open<{ fingerprint: string }>({
      name: 'idempotencyKeys',
      kind: 'record',
      indexes: [],
    });
    const [record] = await Array.fromAsync(records.find(everyDocument()));
    const guess = JSON.stringify([space, '2026-12-20', 10, DETAILS.message]);
    expect(record?.document.fingerprint).not.toBe(createHash('sha256').update(guess).digest('base64url'));
    await records.delete(record?.key ?? '');
    expect(await book('2026-12-20', headers)).toBe(first);
    await records.delete(record?.key ?? '');
    const refused = await service.post('/bookings', { key: brand.key, body, headers });
    expect(refused.json()).toMatchObject({ error: 'BookingNotAllowed' });
    await records.delete(record?.key ?? '');
  });

  test('is refused for its length before it is sealed', async () => {
    const body = { spaceId: space, startTime: '2026-12-21', startHour: 10, message: 'x'.repeat(501) };
    const answer = await service.post('/bookings', { key: brand.key, body });
    expect(answer.json()).toEqual({
      error: 'ValidationError',
      details: expect.stringContaining('at most 500 characters'),
    });
    const longest = await service.post('/bookings', { key: brand.key, body: { ...body, message: '🎉'.repeat(500) } });
    expect(longest.statusCode).toBe(201);
  });

  test('leaves the read models equal to a replay of the log', async () => {
    const found = await service.core.maintenance.verify(() => {});
    expect(found).toMatchObject({ differences: [], notVerified: [] });
  });
});
