import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type Core, openCore } from '../../src/core.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import { timestamp } from '../../src/domain/ids.ts';
import { subjectOf } from '../../src/domain/personal-text.ts';
import { destroyForgottenKeys } from '../../src/personal-data/forgotten.ts';
import { adoptStore } from '../../src/transfer/finish.ts';
import { accepted } from '../accepted.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
const WORDS = ['Zwetschgenkuchen', 'Nieselregen', 'Quittengelb', 'Wirsing'] as const;
const [MESSAGE, REASON, TITLE, CONTENT] = WORDS;

const keysOf = (core: Core) =>
  core.documents.open<{ state: string; sealedKey?: string }>({ name: 'subjectKeys', kind: 'record', indexes: [] });

describe.each(enginePairs)('forgetting a brand on %s', (_, engines) => {
  let pair: EnginePair;
  let service: RunningService;
  /** The service of a second process on the same store. */
  let other: { readonly core: Core; readonly app: Awaited<ReturnType<typeof createApp>> };
  let receiver: Receiver;
  let community: Awaited<ReturnType<RunningService['community']>>;
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  let rival: Awaited<ReturnType<RunningService['brand']>>;
  let space: number;
  let reviewed: number;
  let pending: number;
  let ofRival: number;
  let webhookId: string;
  /** A receiver whose registration was disabled while all of this happened. */
  let late: Receiver;
  let lateId: string;
  /** The record of the key, as in an earlier copy of the store. */
  let keyBefore: { readonly state: string; readonly sealedKey: string };
  let eventsBefore: unknown[];
  let tags: Record<string, string>;
  let forgottenAt: string;

  const get = async (url: string, key: string, from = other.app, held?: string) => {
    const headers = { authorization: `Bearer ${key}`, ...(held !== undefined && { 'if-none-match': held }) };
    const { statusCode, headers: answered, body } = await from.inject({ url: `/api/v1${url}`, headers });
    return { status: statusCode, etag: String(answered.etag), body };
  };
  const book = async (by: typeof brand, startTime: string, message?: string, headers = {}) =>
    service.post('/bookings', { key: by.key, body: { spaceId: space, startTime, startHour: 10, message }, headers });
  const events = () => Array.fromAsync(service.core.events.readAll());
  /** What was received last of an event of a booking. */
  const bodyFor = (bookingId: number, event: string) =>
    receiver.received
      .map(({ body }) => JSON.parse(body))
      .findLast((each) => each.event === event && each.data.bookingId === bookingId)?.data;

  beforeAll(async () => {
    pair = await engines();
    service = await runService(pair.settings);
    await service.core.webhooks.start();
    const core = await openCore(service.config, pino({ level: 'silent' }), { clock: () => service.time.now });
    const app = await createApp(core);
    await app.ready();
    await core.projector.readModels.readable(10_000);
    other = { core, app };
    receiver = await startReceiver(({ body }, response) => response.end(body));
    community = await service.community();
    brand = await service.brand();
    rival = await service.brand('Rival');
    space = await service.space(community);
    const hook = { url: receiver.url, events: 15 };
    webhookId = (await service.post('/webhooks', { key: community.key, body: hook })).json().id;
    late = await startReceiver();
    lateId = (await service.post('/webhooks', { key: community.key, body: { url: late.url, events: 15 } })).json().id;
    accepted(await service.core.commands.webhooks.disable({ webhookId: lateId, reason: 'Later.' }, CONTEXT));
    reviewed = (await book(brand, '2026-12-03', MESSAGE)).json().id;
    const { bookings, reviews } = service.core.commands;
    accepted(await bookings.approve({ bookingId: reviewed, communityId: community.id }, CONTEXT));
    service.time.now = NOON + 5 * DAY_MS;
    accepted(await bookings.complete(reviewed, CONTEXT));
    const review = { bookingId: reviewed, brandId: brand.id, rating: 5, title: TITLE, content: CONTENT };
    accepted(await reviews.post(review, CONTEXT));
    service.time.now = NOON;
    await receiver.until(3);
    // From now on deliveries stay pending.
    receiver.answer = answering(500);
    pending = (await book(brand, '2026-12-20', MESSAGE)).json().id;
    const by = { kind: 'Brand', id: brand.id } as const;
    accepted(await bookings.cancel({ bookingId: pending, by, reason: REASON }, CONTEXT));
    ofRival = (await book(rival, '2026-12-21', MESSAGE)).json().id;
    await receiver.until(6);

    tags = Object.fromEntries(
      await Promise.all(
        [`/communities/${community.id}/reviews`, `/bookings/${pending}/history`, `/bookings/${pending}`].map(
          async (url) => {
            const { etag, body } = await get(url, community.key);
            expect(WORDS.some((word) => body.includes(word))).toBe(true);
            return [url, etag] as const;
          },
        ),
      ),
    );
    // So that both processes have cached the lists.
    for (const app of [service.app, other.app])
      expect((await get('/bookings', community.key, app)).body.split(MESSAGE)).toHaveLength(4);
    // So that the other process has the key as well.
    expect(await other.core.personalData.sealText(subjectOf(brand.account), 'test', 'test', 'x')).toHaveProperty(
      'sealed',
    );
    const { state = '', sealedKey = '' } =
      (await (await keysOf(service.core)).get(`brand:${brand.id}`))?.document ?? {};
    keyBefore = { state, sealedKey };
    expect(sealedKey).toMatch(/^v1\./);
    eventsBefore = await events();
    forgottenAt = accepted(await service.core.commands.personalData.forget(subjectOf(brand.account), CONTEXT));
  });
  afterAll(async () => {
    await other.app.close();
    await other.core.close();
    await service.core.webhooks.stop();
    await service.stop();
    await pair.stop();
    await receiver.close();
    await late.close();
  });

  test('all its texts, and no others, read as erased at once, in other processes too', async () => {
    const history = JSON.parse((await get(`/bookings/${pending}/history`, brand.key)).body);
    expect(history[0].changes.message).toEqual({ to: 'erased' });
    expect(history[1].changes.reason).toEqual({ to: 'erased' });
    const reviews = JSON.parse((await get(`/communities/${community.id}/reviews`, community.key)).body);
    expect(reviews).toMatchObject([{ title: 'erased', content: 'erased', rating: 5 }]);
    for (const app of [service.app, other.app]) {
      const list: { id: number; message: string }[] = JSON.parse((await get('/bookings', community.key, app)).body);
      const messages = Object.fromEntries(list.map(({ id, message }) => [id, message]));
      expect(messages).toEqual({ [reviewed]: 'erased', [pending]: 'erased', [ofRival]: MESSAGE });
      expect(JSON.parse((await get(`/bookings/${pending}`, brand.key, app)).body).message).toBe('erased');
    }
    const { queries } = other.core;
    expect(await queries.bookings.get(community.account, pending)).toMatchObject({
      message: 'erased',
      reason: 'erased',
      brandName: 'Acme',
      totalPrice: 23_000,
    });
    expect(await queries.bookings.get(community.account, ofRival)).toMatchObject({ message: MESSAGE });
  });

  test('the entity tags of its texts change', async () => {
    for (const [url, tag] of Object.entries(tags)) {
      const { status, etag } = await get(url, community.key, other.app, tag);
      expect({ url, status, isSame: etag === tag }).toEqual({ url, status: 200, isSame: false });
      expect((await get(url, community.key, other.app, etag)).status).toBe(304);
    }
  });

  test('pending deliveries are sent with erased texts, and stored deliveries show no text', async () => {
    receiver.answer = ({ body }, response) => response.end(body);
    const shown = await other.core.webhooks.listDeliveries({ webhookId });
    expect(shown).toHaveLength(6);
    const ofBrand = shown.filter(({ body }) => JSON.parse(body).data.bookingId !== ofRival);
    expect(WORDS.filter((word) => JSON.stringify(ofBrand).includes(word))).toEqual([]);
    for (const { deliveryId, body, attempts } of shown) {
      if (attempts.length === 0) continue;
      const [headers] = await other.core.webhooks.requestHeaders(deliveryId, attempts);
      const isErased = body.includes('"erased"');
      expect(headers).toMatchObject(
        isErased ? { lacking: expect.stringContaining('has been erased') } : { sent: expect.any(Array) },
      );
      const signature = headers && 'sent' in headers && Object.fromEntries(headers.sent)['x-service-signature'];
      expect(signature === undefined).toBe(isErased);
    }
    service.time.now = NOON + HOUR_MS;
    for (const { deliveryId } of shown) accepted(await service.core.webhooks.resend(deliveryId));
    await receiver.until(12);
    await eventually(() => {
      expect(bodyFor(reviewed, 'ReviewPosted')).toMatchObject({ title: 'erased', content: 'erased' });
      expect(bodyFor(pending, 'BookingRequested')).toMatchObject({ message: 'erased' });
      expect(bodyFor(pending, 'BookingCancelled')).toMatchObject({ status: 'Cancelled', reason: 'erased' });
      expect(bodyFor(ofRival, 'BookingRequested')).toMatchObject({ message: MESSAGE });
    });
    // A delivery that was resent may have been due, too.
    const again = new Set(receiver.received.slice(6).map(({ body }) => body));
    expect([...again].filter((body) => WORDS.some((word) => body.includes(word)))).toHaveLength(1);
    service.time.now = NOON;
  });

  test('a receiver that gets its deliveries only now gets them as erased', async () => {
    accepted(await service.core.commands.webhooks.enable({ webhookId: lateId }, CONTEXT));
    accepted(await service.core.webhooks.recover(lateId, timestamp(new Date(0).toISOString())));
    const sent = await late.until(6);
    const data = sent.map(({ body }) => JSON.parse(body)).filter(({ data }) => data.bookingId !== ofRival);
    expect(data.map(({ event, data }) => [event, data.message ?? data.reason ?? data.title]).sort()).toEqual([
      ['BookingApproved', undefined],
      ['BookingCancelled', 'erased'],
      ['BookingRequested', 'erased'],
      ['BookingRequested', 'erased'],
      ['ReviewPosted', 'erased'],
    ]);
  });

  test('no event has changed, one records who was forgotten and when, and the read models still verify', async () => {
    const now = await events();
    expect(now.slice(0, eventsBefore.length)).toEqual(eventsBefore);
    expect(now.slice(eventsBefore.length)).toMatchObject([
      {
        stream: `subject-brand:${brand.id}`,
        type: 'SubjectForgotten',
        data: { subject: `brand:${brand.id}` },
        metadata: { at: forgottenAt, schema: 1 },
      },
      ...now.slice(eventsBefore.length + 1).map(() => ({})),
    ]);
    expect(await service.core.maintenance.verify(() => {})).toMatchObject({
      differences: [],
      notVerified: [],
    });
  });

  test('no file or document holds the key or the words', async () => {
    const left = (await (await keysOf(service.core)).get(`brand:${brand.id}`))?.document;
    expect(left).toEqual({ state: 'forgotten', forgottenAt });
    for (const { name, kind } of await service.core.documents.collections()) {
      const collection = await service.core.documents.open<object>({ name, kind, indexes: [] });
      for await (const { document } of collection.find(everyDocument()))
        for (const word of WORDS) expect(JSON.stringify(document).includes(word), `${word} in ${name}`).toBe(false);
    }
    const { dataDir } = service.config;
    for (const { parentPath, name } of readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    )) {
      const content = readFileSync(join(parentPath, name), 'latin1');
      for (const word of [...WORDS, keyBefore.sealedKey])
        expect(content.includes(word), `${word} in ${name}`).toBe(false);
    }
  });

  test('is refused a second time', async () => {
    const again = await other.core.commands.personalData.forget(subjectOf(brand.account), CONTEXT);
    expect(again).toEqual({
      refused: 'ValidationError',
      details: `The personal data of brand ${brand.id} was erased on ${forgottenAt} already.`,
    });
  });

  test('the brand may still book, but its texts are refused', async () => {
    for (const headers of [{}, { 'idempotency-key': 'forgotten' }]) {
      const refused = await book(brand, '2026-12-27', 'Another message', headers);
      expect(refused.statusCode).toBe(422);
      expect(refused.json()).toEqual({
        error: 'BookingNotAllowed',
        details: expect.stringContaining('erased for good, so no text of it can be stored. Leave the text out.'),
      });
    }
    expect((await book(brand, '2026-12-27')).statusCode).toBe(201);
    expect(await events()).not.toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ date: '2026-12-27', message: expect.anything() }) }),
    );
  });

  test('an interrupted erasure can be repeated: the key is gone, and the log holds one event', async () => {
    const subject = subjectOf(rival.account);
    await service.core.personalData.destroyKey(subject, timestamp(forgottenAt));
    accepted(await service.core.commands.personalData.forget(subject, CONTEXT));
    const said = await Array.fromAsync(service.core.events.readStream(`subject-${subject}`));
    expect(said).toHaveLength(1);
  });

  test('records from a copy do not bring the key back', async () => {
    const keys = await keysOf(service.core);
    await keys.update(`brand:${brand.id}`, () => keyBefore);
    expect((await service.core.queries.bookings.get(brand.account, pending))?.message).toBe(MESSAGE);
    expect(await destroyForgottenKeys(service.core)).toEqual([`brand:${brand.id}`]);
    expect((await service.core.queries.bookings.get(brand.account, pending))?.message).toBe('erased');
    expect(await destroyForgottenKeys(service.core)).toEqual([]);
  });

  test('older records beside a newer log do not bring the key back: the next start destroys it before anything reads', async () => {
    const keys = await keysOf(service.core);
    const progress = await service.core.documents.open({ name: 'subjectKeysProgress', kind: 'record', indexes: [] });
    const restart = async () => {
      const core = await openCore(service.config, pino({ level: 'silent' }), { clock: () => service.time.now });
      await core.projector.readModels.readable(10_000);
      const message = (await core.queries.bookings.get(brand.account, pending))?.message;
      await core.close();
      return message;
    };
    await keys.update(`brand:${brand.id}`, () => keyBefore);
    await progress.delete('log');
    expect(await restart()).toBe('erased');
    expect((await keys.get(`brand:${brand.id}`))?.document).toEqual({ state: 'forgotten', forgottenAt });
    // Bounded: the events before the position that the records hold are not read again.
    await keys.update(`brand:${brand.id}`, () => keyBefore);
    await restart();
    expect((await keys.get(`brand:${brand.id}`))?.document).toEqual(keyBefore);
  });

  test('a restore does not bring the key back, with the tools of the engines or of this service', async () => {
    const keys = await keysOf(service.core);
    await keys.update(`brand:${brand.id}`, () => keyBefore);
    const { secretKey } = service.config;
    const locations = { log: 'the log', records: 'the records' };
    await adoptStore({ ...service.core, secretKey, skippedIds: 1, locations, checkpointFiles: {}, actor: OPERATOR });
    expect((await keys.get(`brand:${brand.id}`))?.document).toEqual({ state: 'forgotten', forgottenAt });
  });
});
