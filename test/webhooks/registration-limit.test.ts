import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openWebhookQuota, type WebhookQuota } from '../../src/commands/webhook-quota.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import type { WebhookOwner } from '../../src/domain/events.ts';
import { webhookId } from '../../src/domain/ids.ts';
import type { Webhook } from '../../src/domain/webhook.ts';
import { accepted } from '../accepted.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import type { Order } from './register-process.ts';
import { BRAND, COMMUNITY, openVenue, type Venue } from './venue.ts';

const OWNER: WebhookOwner = { account: BRAND, credential: 'client:app' };

describe('across processes', () => {
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

  const register = (i: number, owner = OWNER) =>
    venue.commands.webhooks.register(
      { owner, url: `https://receiver.example/${i}`, events: 15 },
      { actor: OPERATOR, correlationId: 'test' },
    );
  const registered = async () => (await Array.fromAsync(venue.events.readAll({ types: ['WebhookRegistered'] }))).length;

  test('three processes that register at the same moment exceed no limit of a credential or an account', async () => {
    for (let i = 0; i < 3; i++)
      children.push(fork(new URL('register-process.ts', import.meta.url), [venue.folder, '24']));
    await Promise.all(children.map((child) => once(child, 'message')));
    /** The answers of the processes, each of which registers six webhooks for its credential. */
    async function registerSix(...credentials: readonly Order['credential'][]): Promise<string[]> {
      const answers = children.map((child) => once(child, 'message'));
      for (const [i, child] of children.entries()) child.send({ count: 6, credential: credentials[i] } as Order);
      return (await Promise.all(answers)).flatMap(([outcome]) => outcome as string[]).sort();
    }
    const expected = (made: number, refusal: string) =>
      Array.from({ length: 18 }, (_, i) => (i < 18 - made ? expect.stringContaining(refusal) : 'registered'));

    const ofApp: string[] = [];
    for (let i = 0; i < 18; i++) ofApp.push(await venue.registerApp(BRAND, `https://receiver.example/before/${i}`));
    expect(await registerSix('client:app', 'client:app', 'client:app')).toEqual(expected(2, 'At most 20 webhooks'));

    await venue.register(BRAND, 'https://receiver.example/key');
    accepted(await register(0, { account: BRAND, credential: 'user:1' }));
    await venue.register(COMMUNITY, 'https://receiver.example/other-account');
    expect(await registerSix('client:a', 'client:b', 'client:c')).toEqual(expected(2, 'at most 24 webhooks'));

    for (const id of ofApp) await venue.remove(id);
    expect(await registerSix('client:a', 'client:b', 'client:c')).toEqual(
      expected(6, 'at most 30 webhooks per minute'),
    );
    expect(await registered()).toBe(31);
    venue.advance(60_000);
    accepted(await register(1));
  });

  test('removing a registration frees its quota, and a refused one uses none', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await venue.registerApp(BRAND, `https://receiver.example/${i}`));
    expect(await register(20)).toMatchObject({
      refused: 'ValidationError',
      details: expect.stringContaining('At most 20'),
    });
    await Promise.all(ids.slice(0, 3).map((id) => venue.remove(id)));
    const wrong = { owner: OWNER, url: 'https://receiver.example/', events: 32 };
    for (let i = 0; i < 5; i++)
      expect(await venue.commands.webhooks.register(wrong, { actor: OPERATOR, correlationId: 'test' })).toMatchObject({
        refused: 'ValidationError',
        details: expect.stringContaining('events'),
      });
    const again = await Promise.all([21, 22, 23, 24, 25].map((i) => register(i)));
    expect(again.filter((outcome) => 'refused' in outcome)).toHaveLength(2);
  });
});

describe.each(documentEngines)('the quota on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let now: number;
  let passed = 0;
  const log = new Map<string, Webhook>();
  beforeEach(async () => {
    now = Date.parse('2026-04-20T10:00:00Z');
    log.clear();
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  /** The quota as another process sees it. */
  const open = async (existing: readonly string[] = [], perAccount = 100): Promise<WebhookQuota> =>
    openWebhookQuota({
      documents: { ...(await database.open()), now: async () => now },
      load: async (id) => log.get(id),
      existing: async () => existing.map((id) => ({ webhookId: webhookId(id), credential: OWNER.credential })),
      // The clock of the machine is far off.
      clock: () => 0,
      monotonic: () => passed,
      perAccount,
    });
  const exists = (id: string, status: Webhook['status'] = 'enabled') =>
    log.set(id, { webhookId: webhookId(id), owner: OWNER, url: 'https://a.example/', status, replacedUntil: [] });
  /** Whether another registration is allowed. */
  const mayTake = async (quota: WebhookQuota | undefined, id: string, owner = OWNER) =>
    (await quota?.take(owner, webhookId(`wh_${id}`))) === undefined;
  const takeMany = async (quota: WebhookQuota, prefix: string, count: number, owner = OWNER) => {
    const outcomes: boolean[] = [];
    for (let i = 0; i < count; i++) outcomes.push(await mayTake(quota, `${prefix}${i}`, owner));
    return outcomes.filter((isTaken) => isTaken).length;
  };

  test('counts registrations that the records lack, and excludes those just removed', async () => {
    const before = Array.from({ length: 19 }, (_, i) => `wh_old${i}`);
    for (const id of before) exists(id);
    const quota = await open(before);
    expect(await takeMany(quota, 'a', 2)).toBe(1);
    exists('wh_a0');
    for (const id of before.slice(0, 5)) exists(id, 'removed');
    expect(await takeMany(quota, 'b', 7)).toBe(5);
  });

  test('a registration that was never appended counts for ten minutes after it was found missing', async () => {
    const quota = await open();
    expect(await takeMany(quota, 'a', 21)).toBe(20);
    for (let i = 1; i < 20; i++) exists(`wh_a${i}`);
    passed += 9 * 60_000;
    expect(await mayTake(quota, 'b')).toBe(false);
    passed += 60_000;
    expect(await mayTake(quota, 'b')).toBe(true);
  });

  test('credentials have their own quotas within that of their account, and concurrent registrations exceed neither', async () => {
    const processes = [await open([], 25), await open([], 25)];
    const takeInBoth = async (prefix: string, count: number, owner: WebhookOwner) => {
      const taking = Array.from({ length: count }, (_, i) => mayTake(processes[i % 2], `${prefix}${i}`, owner));
      return (await Promise.all(taking)).filter((isTaken) => isTaken).length;
    };
    expect(await takeInBoth('a', 30, OWNER)).toBe(20);
    expect(await takeInBoth('b', 10, { ...OWNER, credential: 'user:1' })).toBe(5);
    expect(await takeInBoth('c', 2, { ...OWNER, account: COMMUNITY })).toBe(2);
  });

  test('a removed registration counts for another minute, and a refusal says when to retry', async () => {
    const processes = [await open(), await open()];
    const churn = async (count: number) => {
      for (let i = 0; i < count; i++) {
        expect(await mayTake(processes[i % 2], 'a')).toBe(true);
        await processes[i % 2]?.release(OWNER, webhookId('wh_a'));
      }
    };
    await churn(1);
    now += 20_000;
    await churn(29);
    now += 1_500;
    const refusal = { refused: 'ValidationError', retryAfter: 39 };
    for (const quota of processes) expect(await quota.take(OWNER, webhookId('wh_b'))).toMatchObject(refusal);
    expect(await mayTake(processes[0], 'b', { ...OWNER, account: COMMUNITY })).toBe(true);
    now += 38_500;
    await churn(1);
    expect(await mayTake(processes[1], 'b')).toBe(false);
    // After a clock was set back by much, the account does not wait until the clock has caught up.
    now -= 3_600_000;
    await churn(30);
    expect(await mayTake(processes[0], 'b')).toBe(false);
  });
});
