import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openWebhookQuota, type WebhookQuota } from '../../src/commands/webhook-quota.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import type { WebhookOwner } from '../../src/domain/events.ts';
import { webhookId } from '../../src/domain/ids.ts';
import type { Webhook } from '../../src/domain/webhook.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, openVenue, type Venue } from './venue.ts';

const OWNER: WebhookOwner = { account: BRAND, credential: 'client:app' };

describe('over processes', () => {
  let venue: Venue;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    venue = await openVenue();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    await venue.close();
  });

  const register = (i: number) =>
    venue.commands.webhooks.register(
      { owner: OWNER, url: `https://receiver.example/${i}`, events: 15 },
      { actor: OPERATOR, correlationId: 'test' },
    );
  const registered = async () => (await Array.fromAsync(venue.events.readAll({ types: ['WebhookRegistered'] }))).length;

  test('a credential that registers in three processes at the same moment has 20 registrations in the end', async () => {
    for (let i = 0; i < 18; i++) await venue.registerApp(BRAND, `https://receiver.example/before/${i}`);
    for (let i = 0; i < 3; i++) children.push(fork(new URL('register-process.ts', import.meta.url), [venue.folder]));
    await Promise.all(children.map((child) => once(child, 'message')));
    const answers = children.map((child) => once(child, 'message'));
    for (const child of children) child.send(6);
    const outcomes = (await Promise.all(answers)).flatMap(([outcome]) => outcome as string[]);
    expect(outcomes.filter((outcome) => outcome === 'registered')).toHaveLength(2);
    expect(outcomes.filter((outcome) => outcome === 'ValidationError')).toHaveLength(16);
    expect(await registered()).toBe(20);
  });

  test('removing a registration frees its quota, and a refused one uses none', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await venue.registerApp(BRAND, `https://receiver.example/${i}`));
    expect(await register(20)).toMatchObject({
      refused: 'ValidationError',
      details: expect.stringContaining('At most 20'),
    });
    await Promise.all(ids.slice(0, 3).map((id) => venue.remove(id)));
    const wrong = { owner: OWNER, url: 'https://receiver.example/', events: 16 };
    for (let i = 0; i < 5; i++)
      expect(await venue.commands.webhooks.register(wrong, { actor: OPERATOR, correlationId: 'test' })).toMatchObject({
        refused: 'ValidationError',
        details: expect.stringContaining('events'),
      });
    const again = await Promise.all([21, 22, 23, 24, 25].map(register));
    expect(again.filter((outcome) => 'refused' in outcome)).toHaveLength(2);
  });
});

describe.each(documentEngines)('the quota on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let now: number;
  const log = new Map<string, Webhook>();
  beforeEach(async () => {
    now = Date.parse('2026-04-20T10:00:00Z');
    log.clear();
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  /** The quota as another process sees it. */
  const open = async (known: readonly string[] = []): Promise<WebhookQuota> =>
    openWebhookQuota({
      documents: await database.open(),
      load: async (id) => log.get(id),
      known: async () => known,
      clock: () => now,
    });
  const exists = (id: string, status: Webhook['status'] = 'enabled') =>
    log.set(id, { webhookId: webhookId(id), owner: OWNER, url: 'https://a.example/', status });
  const takeMany = async (quota: WebhookQuota, prefix: string, count: number) => {
    const others: number[] = [];
    for (let i = 0; i < count; i++) others.push(await quota.take(OWNER, webhookId(`wh_${prefix}${i}`)));
    return others;
  };

  test('registrations that the records lack count, and those that were removed meanwhile do not', async () => {
    const before = Array.from({ length: 19 }, (_, i) => `wh_old${i}`);
    for (const id of before) exists(id);
    const quota = await open(before);
    expect(await quota.take(OWNER, webhookId('wh_a'))).toBe(19);
    expect(await quota.take(OWNER, webhookId('wh_b'))).toBe(20);
    for (const id of before.slice(0, 5)) exists(id, 'removed');
    expect(await quota.take(OWNER, webhookId('wh_b'))).toBe(15);
  });

  test('a registration that was never appended counts for an hour', async () => {
    const quota = await open();
    expect(await takeMany(quota, 'a', 20)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    for (let i = 1; i < 20; i++) exists(`wh_a${i}`);
    now += 59 * 60_000;
    expect(await quota.take(OWNER, webhookId('wh_b'))).toBe(20);
    now += 2 * 60_000;
    expect(await quota.take(OWNER, webhookId('wh_b'))).toBe(19);
  });

  test('owners have quotas of their own, and concurrent registrations never exceed one', async () => {
    const processes = [await open(), await open()];
    const other: WebhookOwner = { ...OWNER, credential: 'client:other' };
    const others = await Promise.all(
      Array.from({ length: 30 }, (_, i) => processes[i % 2]?.take(OWNER, webhookId(`wh_${i}`)) ?? 0),
    );
    expect(others.filter((count) => count < 20)).toHaveLength(20);
    expect(await processes[0]?.take(other, webhookId('wh_x'))).toBe(0);
  });
});
