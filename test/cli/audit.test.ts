import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { accountKey } from '../../src/domain/account.ts';
import { accountChange } from '../../src/domain/account-change.ts';
import { cents, communityId } from '../../src/domain/ids.ts';
import { knownEvent } from '../../src/domain/known-event.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let space: number;
let bookingId: number;
let userId: string;
const HOST = 'host@example.com';

type Change = {
  readonly at: string;
  readonly event: string;
  readonly topic: string;
  readonly of: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly changes: object;
};

describe.each(enginePairs)('on %s', (_name, createPair) => {
  let pair: EnginePair;
  /** Until the test ends, commands that run inside this process use the stores of the service. */
  const useStores = () => useDataDir(service.config.dataDir, pair.settings);

  /** Makes every kind of change for a community, one an hour, and the same for other accounts. */
  beforeAll(async () => {
    pair = await createPair();
    service = await runService(pair.settings);
    const { core, time } = service;
    const { catalogue, bookings, webhooks, apiKeys } = core.commands;
    const hour = () => {
      time.now += 3_600_000;
    };
    community = await service.community('Europe/Berlin', 'Harbour, “Lofts”');
    brand = await service.brand('=Northwind');
    const other = await service.community('Europe/Berlin', 'Elsewhere');
    await service.space(other);
    space = await service.space(community);
    hour();
    const host = accepted(
      await core.users.add(
        { email: HOST, password: 'correct horse battery', accounts: [community.account, other.account] },
        BY_OPERATOR,
      ),
    );
    userId = host.id;
    const byHost = { actor: { kind: 'user', id: host.id, account: community.account }, correlationId: 'test' } as const;
    accepted(await catalogue.changeSpace({ spaceId: space, terms: { eventFee: cents(25_000), name: 'Hall' } }, byHost));
    hour();
    const body = { spaceId: space, startTime: '2026-12-20', startHour: 10, message: 'Forty guests' };
    bookingId = (await service.post('/bookings', { key: brand.key, body })).json().id;
    accepted(await bookings.approve({ bookingId, communityId: communityId(community.id) }, byHost));
    const party = { kind: 'Community', id: communityId(community.id) } as const;
    accepted(await bookings.cancel({ bookingId, by: party, reason: 'Water damage' }, byHost));
    hour();
    const issued = accepted(
      await apiKeys.issue({ account: community.account, permissions: 3, label: 'Front desk' }, byHost),
    );
    await apiKeys.revoke({ apiKeyId: issued.apiKeyId }, byHost);
    const owner = { credential: `user:${host.id}`, account: community.account } as const;
    const { webhookId } = accepted(
      await webhooks.register({ owner, url: 'https://example.com/hook', events: 3 }, byHost),
    );
    accepted(await webhooks.remove({ webhookId }, byHost));
    const client = accepted(
      await core.authorizationServer.clients.addClient({ account: community.account, name: 'Import' }, byHost),
    );
    await core.authorizationServer.clients.removeClient(client.clientId, byHost);
    accepted(await core.users.changePassword(host.id, 'another long password', BY_OPERATOR));
    accepted(await catalogue.closeSpace(space, CONTEXT));
  });
  afterAll(async () => {
    await service.stop();
    await pair.stop();
  });

  const audit = async (...args: readonly string[]): Promise<Change[]> => {
    useStores();
    return json('audit', '--community', String(community.id), ...args);
  };
  const events = (changes: readonly Change[]) => changes.map(({ event }) => event);

  const ALL = [
    ...['CommunityAdded', 'ApiKeyIssued', 'SpaceAdded', 'MemberAdded', 'SpaceChanged', 'BookingRequested'],
    ...['BookingApproved', 'BookingCancelled', 'ApiKeyIssued', 'ApiKeyRevoked', 'WebhookRegistered', 'WebhookRemoved'],
    ...['ClientAdded', 'ClientRemoved', 'PasswordChanged', 'SpaceClosed'],
  ];

  describe('all changes of an account', () => {
    test('are in log order, with actors and without other accounts', async () => {
      const changes = await audit();
      expect(events(changes)).toEqual(ALL);
      const of = (event: string) => changes.find((change) => change.event === event);
      const byHost = { kind: 'user', id: userId, name: HOST, account: community.account };
      expect(of('SpaceChanged')).toMatchObject({
        topic: 'spaces',
        of: { kind: 'space', id: String(space), name: 'Great Hall' },
        actor: byHost,
        changes: { eventFee: { from: 200, to: 250 }, name: { from: 'Great Hall', to: 'Hall' } },
        stream: `space-${space}`,
        revision: 1,
      });
      // The operator sees the names of both parties.
      expect(of('BookingRequested')).toMatchObject({
        of: { kind: 'booking', id: String(bookingId) },
        actor: { kind: 'apiKey', name: 'Test', account: brand.account },
        changes: { status: { to: 'Pending' }, message: { to: 'Forty guests' } },
      });
      expect(of('BookingCancelled')).toMatchObject({ changes: { reason: { to: 'Water damage' } } });
      expect(of('SpaceClosed')).toMatchObject({ changes: { status: { from: 'open', to: 'closed' } } });
      expect(of('MemberAdded')).toMatchObject({ of: { kind: 'user', id: userId, name: HOST }, topic: 'members' });
      expect(of('ApiKeyRevoked')).toMatchObject({ of: { name: 'Front desk' } });
      expect(of('WebhookRemoved')).toMatchObject({ of: { name: 'https://example.com/hook' } });
      expect(of('ClientRemoved')).toMatchObject({ of: { name: 'Import' }, topic: 'apps' });
      expect(JSON.stringify(changes)).not.toMatch(/sealed|whsec_|"hash"/);
    });

    test('include a booking in the history of its brand too', async () => {
      useStores();
      expect(events(await json('audit', '--brand', String(brand.id)))).toEqual([
        ...['BrandAdded', 'ApiKeyIssued', 'BookingRequested', 'BookingApproved', 'BookingCancelled'],
      ]);
    });

    test('can be limited to a time range that includes its start and excludes its end', async () => {
      const at = (hours: number) => new Date(NOON + hours * 3_600_000).toISOString();
      expect(events(await audit('--to', at(1)))).toEqual(ALL.slice(0, 3));
      expect(events(await audit('--from', at(1), '--to', at(2)))).toEqual(['MemberAdded', 'SpaceChanged']);
      // The old values of the space are known although they were set before the range.
      expect(await audit('--from', at(1), '--kind', 'SpaceChanged')).toMatchObject([
        { changes: { eventFee: { from: 200, to: 250 } } },
      ]);
      expect(await audit('--from', '2030-01-01')).toEqual([]);
    });

    test('can be filtered by the name, id or kind of the actor', async () => {
      const byHost = await audit('--actor', HOST);
      expect(byHost.length).toBe(9);
      expect(await audit('--actor', userId)).toEqual(byHost);
      expect(await audit('--actor', 'user')).toEqual(byHost);
      expect(events(await audit('--actor', 'apiKey'))).toEqual(['BookingRequested']);
      expect(await audit('--actor', 'nobody@example.com')).toEqual([]);
    });

    test('can be filtered by topic and event type', async () => {
      expect(events(await audit('--kind', 'spaces'))).toEqual(['SpaceAdded', 'SpaceChanged', 'SpaceClosed']);
      expect(events(await audit('--kind', 'members,ApiKeyRevoked'))).toEqual([
        ...['MemberAdded', 'ApiKeyRevoked', 'PasswordChanged'],
      ]);
      expect(events(await audit('--kind', 'webhooks', '--actor', 'operator'))).toEqual([]);
    });

    test('can be found by request id, with and without an account', async () => {
      useStores();
      const answer = await service.post('/webhooks', {
        key: brand.key,
        body: { url: 'https://example.com/other', events: 1 },
      });
      const id = String(answer.headers['x-request-id']);
      const found = await json('audit', '--request', id);
      expect(found).toMatchObject([{ event: 'WebhookRegistered', of: { kind: 'webhook', id: answer.json().id } }]);
      expect(await json('audit', '--request', id, '--brand', String(brand.id))).toEqual(found);
      expect(await audit('--request', id)).toEqual([]);
      expect(await json('audit', '--request', 'of-nothing')).toEqual([]);
      await service.delete(`/webhooks/${answer.json().id}`, { key: brand.key });
    });

    test('name the operator from VENUE_OPERATOR, or cli', async () => {
      useStores();
      vi.stubEnv('VENUE_OPERATOR', 'night-shift.7');
      const of = ['--brand', String(brand.id)];
      await json('api-key', 'issue', ...of, '--label', 'Named');
      vi.stubEnv('VENUE_OPERATOR', '');
      const mine = await json('audit', ...of, '--actor', 'night-shift.7');
      expect(mine).toMatchObject([{ event: 'ApiKeyIssued', actor: { kind: 'operator', id: 'night-shift.7' } }]);
      expect(await json('audit', ...of, '--actor', 'operator')).toEqual(expect.arrayContaining(mine));
    });

    test('print as text and as CSV without formulas', async () => {
      useStores();
      const args = ['audit', '--community', String(community.id)];
      const { stdout } = await inProcess(...args);
      expect(stdout.trim().split('\n')).toHaveLength(ALL.length + 1);
      expect(stdout).toMatch(
        /SpaceChanged +space +\d+ +Great Hall +kind user, .*name from Great Hall to Hall, eventFee from 200 to 250/,
      );
      const { stdout: csv } = await inProcess(...args, '--csv');
      const [header, ...rows] = csv.trim().split('\r\n');
      expect(header).toBe(
        'id,at,event,topic,ofKind,ofId,ofName,actorKind,actorId,actorName,account,changes,stream,revision',
      );
      expect(rows).toHaveLength(ALL.length);
      expect(rows.find((row) => row.includes('BrandAdded'))).toBeUndefined();
      const ofBrand = (await inProcess('audit', '--brand', String(brand.id), '--csv')).stdout;
      expect(ofBrand).toContain(',BrandAdded,');
      expect(ofBrand).not.toMatch(/(^|,)"?=/m);
      const none = ['--from', '2030-01-01'];
      expect((await inProcess(...args, ...none)).stdout).toBe('None.\n');
      expect((await inProcess(...args, ...none, '--csv')).stdout).toBe(`\ufeff${header}\r\n`);
    });

    test.each([
      [['audit'], 2, /either --community ID or --brand ID is required/],
      [['audit', '--request', 'x', '--brand', '1', '--community', '1'], 2, /not both/],
      [['audit', '--brand', '999'], 1, /^ResourceNotFound: There is no brand 999/],
      [['audit', '--brand', '1', '--kind', 'spaces,prices'], 2, /must be topics or kinds of events/],
      [['audit', '--brand', '1', '--from', 'May'], 2, /must be ISO 8601/],
      [['audit', '--brand', '1', '--from', '2026-12-01', '--to', '2026-12-01'], 2, /--from must be before --to/],
      [['audit', '--brand', '1', '--json', '--csv'], 2, /not both/],
    ])('%j prints a one-line error', async (args, code, line) => {
      useStores();
      const ended = await inProcess(...args);
      expect(ended).toMatchObject({ code, stdout: '' });
      expect(ended.stderr).toMatch(line);
    });
  });

  describe('the account’s own history', () => {
    const page = (query: object = {}) =>
      service.core.queries.accountHistory.page(community.account, { limit: 100, ...query });

    test('equals the audit without bookings and reviews, newest first', async () => {
      const audited = (await audit()).filter(({ topic }) => topic !== 'bookings');
      const { changes, next } = await page();
      expect(next).toBeUndefined();
      expect(changes.map(({ event }) => event.type)).toEqual(events(audited).reverse());
      expect(changes.map(({ event }) => event.metadata.at)).toEqual(audited.map(({ at }) => at).reverse());
      expect(changes.map(({ of, name }) => ({ ...of, ...(name && { name }) }))).toEqual(
        audited.map(({ of }) => of).reverse(),
      );
    });

    test('pages list every change once, also filtered by topic or thing', async () => {
      for (const query of [{}, { topic: 'spaces' as const }, { of: `space:${space}` }]) {
        const all = (await page(query)).changes.map(({ event }) => event.id);
        const paged: string[] = [];
        let before: string | undefined;
        do {
          const found = await page({ ...query, limit: 2, ...(before && { before }) });
          paged.push(...found.changes.map(({ event }) => event.id));
          before = found.next;
        } while (before !== undefined);
        expect(paged).toEqual(all);
        expect(all.length).toBeGreaterThan(2);
      }
    });

    test('lists no changes of another account', async () => {
      const mine = await service.core.queries.accountHistory.page(brand.account, { of: `space:${space}`, limit: 10 });
      expect(mine.changes).toEqual([]);
    });
  });

  test('no event contains a person’s name, and each event of an account names the account', async () => {
    const known = new Set<string>();
    for await (const stored of service.core.events.readAll()) {
      const event = knownEvent(stored);
      known.add(event.type);
      expect(JSON.stringify(stored)).not.toContain(HOST);
      const concerned = accountChange(event)?.accounts.map(accountKey) ?? [];
      expect(concerned.length > 0).toBe(!['IdsReserved', 'LogCreated'].includes(event.type));
    }
    expect(known.size).toBeGreaterThan(14);
  });

  // This test comes last, because no test may read the log after it.
  test('reports events of a newer release, prints the rest, and fails', async () => {
    useStores();
    const id = String(community.id);
    const before = await inProcess('audit', '--community', id, '--csv');
    const newer = {
      type: 'CommunityRenamed',
      data: { communityId: community.id, name: 'Quay' },
      metadata: { schema: 9 },
    };
    const stream = `community-${id}`;
    const { length } = await Array.fromAsync(service.core.events.readStream(stream));
    await service.core.events.append(stream, [newer], { expectedRevision: length - 1 });
    const after = await inProcess('audit', '--community', id, '--csv');
    expect([before.code, after.code, after.stdout]).toEqual([0, 1, before.stdout]);
    expect(after.stderr).toMatch(/^NewerRelease: 1 events were written by a newer release of the service\. /);
  });
});
