import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as oidc from 'openid-client';
import { expect, onTestFinished, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { readMarks } from '../../src/outbox/marks.ts';
import { deliveryCollection } from '../../src/webhooks/delivery.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { MONGODB } from '../document-store/engines.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { call } from './client.ts';
import { runNode } from './node-process.ts';
import { embeddedPlace, type Place, serversPlace } from './places.ts';
import { type ServiceProcess, temporaryDataDir } from './service-process.ts';

const PASSWORD = 'correct horse battery';
/** A receiver that never answers. */
const silent = () => {};

const routes = [
  ['the embedded engines', 'EventStoreDB and MongoDB', [embeddedPlace, serversPlace, embeddedPlace]],
  ['EventStoreDB and MongoDB', 'the embedded engines', [serversPlace, embeddedPlace, serversPlace]],
] as const;

async function receiverOfTest(answer = answering(200)): Promise<Receiver> {
  const receiver = await startReceiver(answer);
  onTestFinished(() => receiver.close());
  return receiver;
}

const idsAt = ({ received }: Receiver) => received.map(({ headers }) => String(headers['webhook-id']));

/** Exports a whole store. @returns the file and its contents */
async function exported(from: Place): Promise<{ readonly file: string; readonly text: string }> {
  const file = join(temporaryDataDir(), 'store.ndjson');
  const { events, records } = await from.json('export', file, '--with-records');
  expect([events, records].every((count) => count > 10)).toBe(true);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  return { file, text: readFileSync(file, 'utf8') };
}

test.skipIf(lacks(MONGODB)).for(routes)(
  'a store moves from %s to %s and back with the same file and tree head, and no event is delivered twice',
  { timeout: 240_000 },
  async ([, , [first, second, third]]) => {
    const port = String(await freePort());
    const settings = {
      SECRET_KEY: randomBytes(32).toString('base64'),
      PORT: port,
      PUBLIC_URL: `http://localhost:${port}`,
      WEBHOOKS_ALLOW_PRIVATE: 'true',
    };
    const one = await first({ DEMO: 'true', ...settings });
    const service = await one.start();
    const { brands, communities } = service.demo();
    const [brand] = brands;
    const key = brand?.apiKey ?? '';
    const book = async (on: ServiceProcess, day: number): Promise<number> => {
      const wanted = {
        spaceId: communities[0]?.spaces[0]?.id,
        startTime: inDays(day),
        startHour: 12,
        message: 'Büfé 🎉',
      };
      const { status, body } = await call(on, key, '/bookings', wanted);
      expect(status).toBe(201);
      return body.id;
    };

    // Access rights: a user with a connected app, and a client without one.
    const email = 'ada@example.com';
    const account = ['--brand', String(brand?.id)];
    const added = await runNode('src/cli.js', ['user', 'add', '--email', email, ...account], one.env, {
      input: `${PASSWORD}\n`,
    });
    expect(added.code, added.stderr).toBe(0);
    const app = await TestApp.register(settings.PUBLIC_URL);
    const tokens = await app.tokens({ email, password: PASSWORD, account: `Brand:${brand?.id}` });
    const client = await one.json('client', 'add', ...account, '--name', 'Sync');

    // One receiver answers, one never does, and one has received nothing before the move.
    const [prompt, cutOff] = [await receiverOfTest(), await receiverOfTest(silent)];
    for (const { url } of [prompt, cutOff])
      expect((await call(service, key, '/webhooks', { url, events: 15 })).status).toBe(201);
    const booked: number[] = [];
    for (let day = 30; day < 36; day += 1) booked.push(await book(service, day));
    await prompt.until(booked.length);
    await cutOff.until(1);
    const [toPrompt] = (await one.json('webhook', 'list')).filter(({ url }: { url: string }) => url === prompt.url);
    const stateOf = async (on: Place, state: string): Promise<string[]> =>
      (await on.json('webhook', 'deliveries', toPrompt.id, '--state', state)).map(({ id }: { id: string }) => id);
    await expect.poll(async () => (await stateOf(one, 'Delivered')).length).toBe(booked.length);
    await one.onStores(async (events, documents) => {
      const last = (await Array.fromAsync(events.readAll({ types: ['BookingRequested'] }))).at(-1);
      const stands = async () => (await readMarks(documents, 'webhooks')).BookingRequested ?? '';
      await expect.poll(async () => (await stands()) >= (last?.position ?? 'z')).toBe(true);
    });
    await service.end('SIGKILL');
    const told = idsAt(prompt);
    expect(new Set(told).size).toBe(booked.length);
    const begun = idsAt(cutOff);
    // As after a month: delivered deliveries are no longer kept, so that only the mark knows about them.
    await one.onStores(async (_, documents) => {
      const deliveries = await documents.open(deliveryCollection);
      for (const { key } of await Array.fromAsync(deliveries.find(everyDocument())))
        if (key.endsWith(`:${toPrompt.id}`)) await deliveries.delete(key);
    });
    // Two more events, for which no process creates deliveries.
    const deaf = await one.start({ ROLES: 'api,projector', DEMO: 'false' });
    for (let day = 36; day < 38; day += 1) booked.push(await book(deaf, day));
    await deaf.end('SIGKILL');
    // The files that an auditor keeps.
    const sealed = await one.json('seal');
    const kept = join(temporaryDataDir(), 'checkpoint.txt');
    writeFileSync(kept, sealed.checkpoint);
    const { key: sealKey } = await one.json('seal-key');
    const confirmed = { events: sealed.size, confirmed: 2, confirmedUpTo: sealed.size, findings: [], problems: [] };
    const confirm = (on: Place) => on.json('verify', '--seals', '--against', kept, '--key', sealKey);
    const { root, consistency } = await confirm(one);

    const original = await exported(one);
    const two = await second(settings);
    await two.json('import', original.file);
    expect(await two.json('verify')).toMatchObject({ differences: [], notVerified: [] });
    expect(await confirm(two)).toMatchObject({ root, consistency, ...confirmed });
    expect(await two.json('seal')).toEqual(sealed);
    const copy = await exported(two);
    expect(copy.text).toBe(original.text);
    const three = await third(settings);
    await three.json('import', copy.file);
    expect(await three.json('verify')).toMatchObject({ differences: [], notVerified: [] });
    expect(await confirm(three)).toMatchObject({ root, consistency, ...confirmed });
    // The same log and the same key: the same checkpoint, to the byte.
    expect(await three.json('seal')).toEqual(sealed);

    // Interrupted deliveries continue with the same ids.
    cutOff.answer = answering(200);
    const again = await three.start();
    await expect.poll(() => new Set(idsAt(cutOff)).size, { timeout: 60_000 }).toBe(booked.length);
    expect(idsAt(cutOff).slice(0, begun.length)).toEqual(begun);
    expect(new Set(idsAt(cutOff)).size).toBe(booked.length);
    expect(idsAt(cutOff).slice(begun.length)).toEqual(expect.arrayContaining(begun));
    // New events are delivered once, after all earlier ones.
    const next = await book(again, 40);
    expect(booked.every((id) => id < next)).toBe(true);
    await expect.poll(() => new Set(idsAt(prompt)).size).toBe(booked.length + 1);
    expect(idsAt(prompt).slice(0, told.length)).toEqual(told);
    expect(new Set(idsAt(prompt)).size).toBe(idsAt(prompt).length);
    const bookingsAt = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).data.bookingId);
    expect(bookingsAt(prompt).toSorted((a, b) => a - b)).toEqual([...booked, next]);

    // The tree continues where it was, under the same key.
    expect((await three.json('seal')).size).toBeGreaterThan(sealed.size);
    const grown = await confirm(three);
    expect(grown).toMatchObject({ findings: [], problems: [], consistency: { from: sealed.checkpoint } });
    expect(grown.confirmedUpTo).toBeGreaterThan(sealed.size);

    // Keys, users, grants and clients are unchanged.
    const bookings = (token: string) =>
      fetch(`${again.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${token}` } }).then(
        ({ status }) => status,
      );
    expect(await bookings(key)).toBe(200);
    expect(await bookings(tokens.access_token)).toBe(200);
    const refreshed = await app.refresh(tokens.refresh_token);
    expect(await bookings(refreshed.access_token)).toBe(200);
    const signedIn = await (await TestApp.register(settings.PUBLIC_URL)).tokens({
      email,
      password: PASSWORD,
      account: `Brand:${brand?.id}`,
    });
    expect(await bookings(signedIn.access_token)).toBe(200);
    const insecure = { execute: [oidc.allowInsecureRequests] };
    const machine = await oidc.discovery(
      ...([new URL(settings.PUBLIC_URL), client.clientId, client.clientSecret, undefined, insecure] as const),
    );
    expect(await bookings((await oidc.clientCredentialsGrant(machine, { resource: 'api' })).access_token)).toBe(200);
  },
);
