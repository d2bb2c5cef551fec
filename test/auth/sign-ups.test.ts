import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { LINK_ENDED } from '../../src/auth/links.ts';
import { openSignUpRecords, type SignUpRecords } from '../../src/auth/sign-up-records.ts';
import { createSignUps, HAS_SIGN_IN, type NewBrand, type SignUps } from '../../src/auth/sign-ups.ts';
import type { Users } from '../../src/auth/users.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { accountKey } from '../../src/domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../../src/domain/decision.ts';
import { type BookingId, bookingId, brandId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { documentEngines } from '../document-store/engines.ts';
import { BY_OPERATOR, openUsers } from './change-log.ts';
import { linkDeps, tokenOf } from './mails.ts';

const password = 'correct horse battery';
const email = 'new@example.com';
const DAY = 24 * 3_600_000;
const REQUEST = { correlationId: 'request-1' };
const wanted = { spaceId: spaceId(4), date: '2026-12-12' as PlainDate, startHour: 18, guests: 40 };
const typed = { brandName: 'Acme', email, password, wanted };
const FROM = '203.0.113.7';

describe.each(documentEngines)('sign-ups on %s', (_name, createDatabase) => {
  let now = Date.parse('2026-11-27T12:00:00Z');
  let documents: OperatedDocumentStore;
  let users: Users;
  let records: SignUpRecords;
  let log: Awaited<ReturnType<typeof openUsers>>['log'];
  let deps: ReturnType<typeof linkDeps>;
  let signUps: SignUps;
  /** Another process. */
  let others: SignUps;
  let brands: Map<number, string>;
  let requests: Map<string, number>;
  let refusal: Refusal | undefined;
  /** The step at which a process dies, once, before or after what it does. */
  let dies: string | undefined;
  /** What happens while a process is held up before it makes the user. */
  let beforeUser: (() => Promise<void>) | undefined;
  let ids = 0;
  let wait = 0;
  let passwords = 0;

  async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
    const die = (at: string) => {
      if (dies !== at) return;
      dies = undefined;
      throw new Error(`died ${at}`);
    };
    die(`before ${name}`);
    const done = await work();
    die(`after ${name}`);
    return done;
  }

  beforeEach(async () => {
    const database = await createDatabase();
    onTestFinished(() => database.remove());
    documents = await database.open();
    deps = linkDeps(() => now);
    brands = new Map();
    requests = new Map();
    refusal = undefined;
    dies = undefined;
    beforeUser = undefined;
    wait = 0;
    passwords = 0;
    const secretKey = randomBytes(32);
    records = await openSignUpRecords({ documents, secretKey, clock: () => now });
    ({ users, log } = await openUsers(documents, () => now, { signUps: records }));
    const open = () => {
      return createSignUps({
        ...deps,
        records: {
          ...records,
          begin: (...of) => step('the ids', () => records.begin(...of)),
          end: (...of) => step('the end', () => records.end(...of)),
        },
        users: {
          ...users,
          addConfirmed: (user) =>
            step('the user', async () => {
              await beforeUser?.();
              return users.addConfirmed(user);
            }),
          addAccount: (...of) => step('the membership', () => users.addAccount(...of)),
        },
        countSignUp: async () => wait,
        countPassword: async () => {
          passwords += 1;
          return passwords > 10 ? 1 : 0;
        },
        nextBrandId: async () => {
          ids += 1;
          return brandId(ids);
        },
        addBrand: (brand) =>
          step('the brand', async () => {
            if (!brands.has(brand.brandId)) brands.set(brand.brandId, brand.name);
            return undefined;
          }),
        request: (request) =>
          step('the request', async (): Promise<{ readonly bookingId: BookingId } | Refusal> => {
            if (refusal !== undefined) return refusal;
            const id = requests.get(request.idempotencyKey) ?? 100 + requests.size;
            requests.set(request.idempotencyKey, id);
            return { bookingId: bookingId(id) };
          }),
      });
    };
    [signUps, others] = [open(), open()];
  });

  const begun = async (of: Partial<typeof typed> = {}) => accepted(await signUps.begin({ ...typed, ...of }, FROM));
  async function linkOf(id: string): Promise<string> {
    const mailed = await signUps.mailed(id);
    if (mailed?.link === undefined) throw new Error('It has no link');
    return tokenOf(mailed.link);
  }
  const here = (id: string, form = 'form-1') => ({ begunHere: id, password: '', form, from: FROM });
  const confirm = (token: string, id: string, form?: string, by = signUps) =>
    by.confirm(token, here(id, form), REQUEST);
  const stored = async () =>
    JSON.stringify(
      await Array.fromAsync(
        (await documents.open({ name: 'signUps', kind: 'record', indexes: [] })).find(everyDocument()),
      ),
    );
  const told = () => log.told.map(({ change: { type, data } }) => `${type} ${accountKey(data.account)}`);

  /** One user, one brand, one membership, one request. */
  async function isWhole(outcome: NewBrand | Refusal): Promise<void> {
    const { user, account, outcome: made } = accepted(outcome);
    expect(made).toMatchObject({ bookingId: 100 });
    expect(await users.list()).toEqual([
      { ...user, email, memberships: [{ account, role: 'Manager' }], emailConfirmedAt: expect.any(String) },
    ]);
    expect([...brands]).toEqual([[account.id, 'Acme']]);
    expect(told()).toEqual([`MemberAdded ${accountKey(account)}`]);
    expect(requests.size).toBe(1);
    expect(await users.verifyPassword(email, password)).toEqual(user);
    expect(await users.membersOf(account)).toEqual([{ userId: user.id, role: 'Manager' }]);
  }

  test('nothing is made before the link is confirmed, which works once', async () => {
    const id = await begun({ email: ' New@Example.COM ' });
    expect(deps.sent).toMatchObject([{ kind: 'SignUp', userId: id, about: {} }]);
    const token = await linkOf(id);
    expect(await signUps.mailed(id)).toMatchObject({ email });
    expect(await signUps.check(token)).toMatchObject({ id, content: { brandName: 'Acme', email, wanted } });
    expect([await users.list(), brands.size, requests.size]).toEqual([[], 0, 0]);
    // Neither the password nor anything else that was typed can be read in the store.
    for (const text of [password, email, 'Acme', '$argon2id', '2026-12-12']) expect(await stored()).not.toContain(text);

    await isWhole(await confirm(token, id));
    expect(await signUps.check(token)).toBeUndefined();
    expect(await confirm(token, id, 'form-2')).toBe(LINK_ENDED);
    expect(await confirm(token, id, '')).toBe(LINK_ENDED);
    expect(await signUps.mailed(id)).toBeUndefined();
    expect((await records.get(id))?.createdAt).toBeDefined();
    expect(JSON.stringify(await records.get(id))).not.toMatch(/example|Acme|argon/);
    // A double click, or a browser that got no answer.
    await isWhole(await confirm(token, id));
    now += 11 * 60_000;
    expect(await confirm(token, id)).toBe(LINK_ENDED);
  });

  test.each(['the ids', 'the user', 'the brand', 'the membership', 'the request', 'the end'])(
    'a process that dies before or after %s leaves nothing half: repeating it finishes, and so does another process',
    async (name) => {
      for (const moment of ['before', 'after'])
        for (const finish of ['the same form', 'another tab', 'another process', 'both']) {
          const id = await begun();
          const token = await linkOf(id);
          dies = `${moment} ${name}`;
          await expect(confirm(token, id)).rejects.toThrow(`died ${moment} ${name}`);
          if (finish === 'another process' || finish === 'both') {
            await others.finishChanges();
            if (`${moment} ${name}` === 'before the ids') expect(await users.list()).toEqual([]);
            else expect(await users.list()).toHaveLength(1);
          }
          const form = finish === 'another tab' ? 'form-2' : 'form-1';
          // The end may have been recorded, with the form that began it.
          const isOver = (await signUps.check(token)) === undefined;
          await isWhole(await confirm(token, id, isOver ? 'form-1' : form, others));
          const [user] = await users.list();
          await users.remove(user?.id ?? '', BY_OPERATOR);
          log.told.length = 0;
          brands.clear();
          requests.clear();
        }
    },
  );

  test('two processes, tabs and clicks at the same moment make everything once', async () => {
    const id = await begun();
    const token = await linkOf(id);
    const at = await Promise.allSettled([
      confirm(token, id, 'form-1'),
      confirm(token, id, 'form-1', others),
      confirm(token, id, 'form-2', others),
      others.finishChanges(),
    ]);
    expect(at.map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'));
    await isWhole(
      await confirm(token, id, 'form-1').then((first) => (isRefusal(first) ? confirm(token, id, 'form-2') : first)),
    );
  });

  test.each(['the brand', 'the membership', 'the request', 'the end'])(
    'a user who is removed while %s is still missing stays removed',
    async (name) => {
      for (const how of ['removed', 'removed and retried at once']) {
        const id = await begun();
        const token = await linkOf(id);
        dies = `before ${name}`;
        await expect(confirm(token, id)).rejects.toThrow(`died before ${name}`);
        const [user] = await users.list();
        expect(await users.remove(user?.id ?? '', BY_OPERATOR), how).toBe(true);
        if (how === 'removed') await others.finishChanges();
        expect(await confirm(token, id, 'form-1', others), how).toBe(LINK_ENDED);
        await others.finishChanges();
        expect(await users.list(), how).toEqual([]);
        expect(await stored(), how).not.toContain('sealed');
      }
    },
  );

  test('a process that was held up before it made the user does not bring back one who was removed meanwhile', async () => {
    const id = await begun();
    const token = await linkOf(id);
    beforeUser = async () => {
      beforeUser = undefined;
      const { user } = accepted(await confirm(token, id, 'form-1', others));
      expect(await users.remove(user.id, BY_OPERATOR)).toBe(true);
    };
    expect(await confirm(token, id)).toBe(LINK_ENDED);
    await others.finishChanges();
    expect(await users.list()).toEqual([]);
  });

  test('of two sign-ups with one address, and of an address taken meanwhile, the first wins, and the other makes nothing', async () => {
    const [first, second] = [await begun(), await begun({ brandName: 'Other' })];
    const tokens = [await linkOf(first), await linkOf(second)] as const;
    const both = await Promise.all([confirm(tokens[0], first), confirm(tokens[1], second, 'form-1', others)]);
    expect(both.filter((one) => one === HAS_SIGN_IN)).toHaveLength(1);
    expect([brands.size, (await users.list()).length, requests.size]).toEqual([1, 1, 1]);

    const late = await begun({ email: 'late@example.com' });
    const token = await linkOf(late);
    const accounts = [{ kind: 'Brand', id: brandId(900) }] as const;
    accepted(await users.add({ email: 'LATE@example.com', password, accounts }, BY_OPERATOR));
    // A mail that is sent from now on has no link.
    expect(await signUps.mailed(late)).toEqual({ email: 'late@example.com', link: undefined });
    expect(await confirm(token, late)).toBe(HAS_SIGN_IN);
    expect([brands.size, (await users.list()).length]).toEqual([1, 2]);
    expect(await signUps.check(token)).toBeUndefined();
  });

  test('an existing address is answered alike, in any case, and gets another mail', async () => {
    const accounts = [{ kind: 'Brand', id: brandId(1) }] as const;
    accepted(await users.add({ email, password, accounts }, BY_OPERATOR));
    for (const address of [email, 'NEW@EXAMPLE.COM', ' new@example.com', 'free@example.com'])
      expect(await signUps.begin({ ...typed, email: address }, FROM)).toMatch(/^sgn_[\w-]{16}$/);
    expect(deps.sent.map(({ kind }) => kind)).toEqual(Array(4).fill('SignUp'));
    const mails = await Promise.all(deps.sent.map(({ userId }) => signUps.mailed(userId)));
    expect(mails.map((mail) => mail?.link !== undefined)).toEqual([false, false, false, true]);
  });

  test('a request that cannot be sent leaves a brand that can send others, and one that is not whole waits for its time', async () => {
    refusal = refuse('SlotUnavailable', '18:00 is taken.');
    const id = await begun();
    const { outcome } = accepted(await confirm(await linkOf(id), id));
    expect(outcome).toMatchObject({ refusal: { details: '18:00 is taken.' }, wanted });
    for (const text of ['taken', '2026-12-12']) expect(await stored()).not.toContain(text);
    expect(outcome.bookingId).toBeUndefined();
    const { date: _, ...undated } = wanted;
    const other = accepted(await signUps.begin({ ...typed, email: 'b@example.com', wanted: undated }, FROM));
    const { outcome: open } = accepted(await confirm(await linkOf(other), other));
    expect(open).toMatchObject({ wanted: { spaceId: 4, startHour: 18 } });
    expect([open.refusal, open.bookingId, requests.size]).toEqual([undefined, undefined, 0]);
  });

  test('in another browser the link needs the password, which can be tried ten times', async () => {
    const id = await begun();
    const token = await linkOf(id);
    const elsewhere = (typedPassword: string) =>
      signUps.confirm(token, { begunHere: 'sgn_other', password: typedPassword, form: 'f', from: FROM }, REQUEST);
    expect(await elsewhere('')).toMatchObject({ details: expect.stringContaining('not the password') });
    for (let time = 2; time <= 9; time += 1) expect(isRefusal(await elsewhere(`wrong ${time}`))).toBe(true);
    expect(await users.list()).toEqual([]);
    await isWhole(await elsewhere(password));
    const next = await begun({ email: 'b@example.com' });
    passwords = 10;
    expect(
      await signUps.confirm(await linkOf(next), { begunHere: undefined, password, form: 'f', from: FROM }, REQUEST),
    ).toMatchObject({ details: expect.stringContaining('Too many') });
  });

  test('a link ends after a day, and garbage and links of other kinds do nothing', async () => {
    const id = await begun();
    const token = await linkOf(id);
    const state = [new Date(now).toISOString()];
    const foreign = deps.links.make({ purpose: 'invitation', id, until: now + DAY, state });
    const longer = token.replace(/\.\w+\./, `.${Math.floor((now + 10 * DAY) / 1_000).toString(36)}.`);
    for (const link of [
      '',
      'x',
      `${token}x`,
      longer,
      foreign,
      token.replace(id, 'sgn_AAAAAAAAAAAAAAAA'),
      'x'.repeat(9_000),
    ]) {
      expect(await signUps.check(link), link).toBeUndefined();
      expect(await confirm(link, id), link).toBe(LINK_ENDED);
    }
    now += DAY - 1_000;
    expect(await signUps.check(token)).toBeDefined();
    now += 1_000;
    expect(await signUps.check(token)).toBeUndefined();
    expect(await confirm(token, id)).toBe(LINK_ENDED);
    expect(await users.list()).toEqual([]);
  });

  test.each([
    ['no name', { brandName: ' ' }, /brandName/],
    ['a name of 10,000 characters', { brandName: 'x'.repeat(10_000) }, /brandName/],
    ['no address', { email: 'nobody' }, /email/],
    ['an address with a line break', { email: 'a@example.com\r\nBcc: b@example.com' }, /email/],
    ['a short password', { password: 'short' }, /password/i],
    ['a password of 10,000 characters', { password: 'x'.repeat(10_000) }, /password/i],
    ['a message of 10,000 characters', { wanted: { ...wanted, message: 'x'.repeat(10_000) } }, /message/],
    ['no guests', { wanted: { ...wanted, guests: 0 } }, /guests/],
  ])('%s is refused, and neither counted nor kept', async (_what, wrong, details) => {
    wait = 1_000;
    expect(await signUps.begin({ ...typed, ...wrong }, FROM)).toMatchObject({
      refused: 'ValidationError',
      details: expect.stringMatching(details),
    });
    expect([deps.sent, await stored()]).toEqual([[], '[]']);
  });

  test('too many sign-ups are refused before a password is hashed', async () => {
    wait = 90_500;
    expect(await signUps.begin(typed, FROM)).toMatchObject({ refused: 'ValidationError', retryAfter: 91 });
    expect([deps.sent, await stored()]).toEqual([[], '[]']);
  });
});
