import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type InvitationRecords, openInvitationRecords } from '../../src/auth/invitation-records.ts';
import { createInvitations, type Invitations } from '../../src/auth/invitations.ts';
import { LINK_ENDED } from '../../src/auth/links.ts';
import { openUserLookups } from '../../src/auth/user-lookups.ts';
import { createUsers, type User, type Users } from '../../src/auth/users.ts';
import { createRevocation } from '../../src/authorization-server/revocation.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { documentEngines } from '../document-store/engines.ts';
import { BY_OPERATOR, createChangeLog, endingsOf, NO_LOGGER } from './change-log.ts';
import { linkDeps, tokenOf } from './mails.ts';

const brand: Account = { kind: 'Brand', id: brandId(1) };
const community: Account = { kind: 'Community', id: communityId(1) };
const password = 'correct horse battery';
const WEEK = 7 * 24 * 3_600_000;
const REQUEST = { correlationId: 'request-1' };
const email = 'new@example.com';

describe.each(documentEngines)('invitations on %s', (_name, createDatabase) => {
  let now = Date.parse('2026-11-27T12:00:00Z');
  let documents: OperatedDocumentStore;
  let log: ReturnType<typeof createChangeLog>;
  let users: Users;
  let records: InvitationRecords;
  let invitations: Invitations;
  let deps: ReturnType<typeof linkDeps>;
  let wait = 0;
  /** Whether a change of a member has its consequences. */
  let isSettling = true;
  const invited = { account: brand, role: 'Coordinator', email } as const;

  beforeEach(async () => {
    const database = await createDatabase();
    onTestFinished(() => database.remove());
    documents = await database.open();
    log = createChangeLog();
    const clock = () => now;
    deps = linkDeps(clock);
    wait = 0;
    isSettling = true;
    const revocation = await createRevocation({ documents, log, clock, logger: NO_LOGGER });
    const lookups = await openUserLookups(documents);
    records = await openInvitationRecords({ documents, log, clock, logger: NO_LOGGER, users: lookups });
    const endings = endingsOf(revocation, {
      invitations: {
        withdrawAll: records.withdrawAll,
        async withdrawLapsed(account, context) {
          if (isSettling) await records.withdrawLapsed(account, context);
        },
      },
    });
    users = await createUsers({ documents, log, clock, logger: NO_LOGGER, endings });
    invitations = createInvitations({
      ...deps,
      records,
      users,
      isSuspended: async () => false,
      countInvitation: async () => wait,
    });
  });

  const told = () => log.told.map(({ change: { type, data } }) => `${type} ${accountKey(data.account)}`);
  const invite = async (by?: User) => accepted(await invitations.invite(invited, by, BY_OPERATOR));
  const accept = async (token: string, user: User) => {
    const link = await invitations.check(token);
    return link === undefined ? LINK_ENDED : invitations.accept(link, user, BY_OPERATOR);
  };
  const acceptAsNew = async (token: string, chosen: string) => {
    const link = await invitations.check(token);
    return link === undefined ? LINK_ENDED : invitations.acceptAsNew(link, chosen, REQUEST);
  };
  /** Every record, as text. */
  const stored = async () => {
    const of = async (name: string) =>
      Array.fromAsync((await documents.open<object>({ name, kind: 'record', indexes: [] })).find(everyDocument()));
    return JSON.stringify(await Promise.all(['invitations', 'invitationQuotas', 'users'].map(of)));
  };

  test('a person without a sign-in sets a password with the link, once', async () => {
    const invitation = await invite();
    expect(deps.sent).toMatchObject([{ kind: 'Invitation', userId: invitation.id, account: 'Brand:1' }]);
    expect(JSON.stringify([deps.sent, log.told])).not.toContain('example');
    const token = tokenOf(invitations.mailed(invitation));
    expect(await acceptAsNew(token, 'short')).toMatchObject({ refused: 'ValidationError' });
    const uses = await Promise.all([1, 2].map(() => acceptAsNew(token, password)));
    expect(uses.filter(isRefusal)).toHaveLength(1);
    const user = await users.verifyPassword(email, password);
    expect(user).toMatchObject({ emailConfirmedAt: new Date(now).toISOString() });
    expect(told()).toEqual(['MemberInvited Brand:1', 'MemberAdded Brand:1']);
    expect(log.told[1]).toMatchObject({
      change: { data: { role: 'Coordinator' } },
      context: { actor: { kind: 'user', id: user?.id, account: brand } },
    });
    expect(await invitations.check(token)).toBeUndefined();
    expect(await invitations.listOpen(brand)).toEqual([]);
    expect(await stored()).not.toContain(invitation.id);
  });

  test('a user accepts after signing in, only with the confirmed address that was invited', async () => {
    const ada = accepted(await users.add({ email, password, accounts: [community] }, BY_OPERATOR));
    const bob = accepted(
      await users.add({ ...ada, email: 'bob@example.com', password, accounts: [community] }, BY_OPERATOR),
    );
    const token = tokenOf(invitations.mailed(await invite()));
    // The link must not set the password of a user who has one.
    expect(await acceptAsNew(token, 'a password of the thief')).toMatchObject({
      refused: 'ResourceNotFound',
    });
    expect(await users.verifyPassword(email, password)).toBeDefined();
    expect(await accept(token, bob)).toMatchObject({ details: /for another address/ });
    expect(await accept(token, ada)).toMatchObject({ details: 'Confirm your address first.' });
    const confirmed = accepted(await users.confirmEmail(ada, BY_OPERATOR));
    const member = accepted(await accept(token, confirmed));
    expect(JSON.stringify(member)).toContain('"Brand"');
    expect(await accept(token, confirmed)).toMatchObject({ refused: 'ResourceNotFound' });
  });

  test('a link of the operator needs no confirmed address, and confirms none', async () => {
    const ada = accepted(await users.add({ email, password, accounts: [community] }, BY_OPERATOR));
    const token = tokenOf(invitations.printed(await invite()));
    expect(accepted(await accept(token, ada))).not.toHaveProperty('emailConfirmedAt');
    const stranger = accepted(await invitations.invite({ ...invited, email: 's@example.com' }, undefined, BY_OPERATOR));
    const printed = tokenOf(invitations.printed(stranger));
    expect(accepted(await acceptAsNew(printed, password))).not.toHaveProperty('emailConfirmedAt');
  });

  test('a withdrawn or late invitation cannot be accepted, and its address is erased', async () => {
    const invitation = await invite();
    const token = tokenOf(invitations.mailed(invitation));
    expect(await invitations.withdraw(community, invitation.id, BY_OPERATOR)).toMatchObject({
      refused: 'ResourceNotFound',
    });
    expect(await invitations.withdraw(brand, invitation.id, BY_OPERATOR)).toBeUndefined();
    expect(await acceptAsNew(token, password)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await stored()).not.toContain(email);
    expect(told()).toEqual(['MemberInvited Brand:1', 'InvitationWithdrawn Brand:1']);
    const late = tokenOf(invitations.mailed(await invite()));
    now += WEEK;
    expect(await acceptAsNew(late, password)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await invitations.listOpen(brand)).toEqual([]);
    expect(await users.byEmail(email)).toBeUndefined();
  });

  test('an invitation can be withdrawn a minute after a process has died that was accepting it', async () => {
    const invitation = await invite();
    const dies = () => Promise.reject(new Error('The process died'));
    await expect(records.accept(invitation, dies)).rejects.toThrow('The process died');
    expect(await invitations.withdraw(brand, invitation.id, BY_OPERATOR)).toMatchObject({
      refused: 'ResourceNotFound',
    });
    now += 61_000;
    expect(await invitations.withdraw(brand, invitation.id, BY_OPERATOR)).toBeUndefined();
    expect(await stored()).not.toContain(email);
  });

  test('a thousand invitations at once leave at most 20 open', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        invitations.invite({ ...invited, email: `p${index}@example.com` }, undefined, BY_OPERATOR),
      ),
    );
    expect(outcomes.filter((outcome) => !isRefusal(outcome))).toHaveLength(20);
    expect(await invitations.listOpen(brand)).toHaveLength(20);
    const [first] = await invitations.listOpen(brand);
    expect(await invitations.invite(invited, undefined, BY_OPERATOR)).toMatchObject({ details: /at most 20 open/ });
    await invitations.withdraw(brand, first?.id ?? '', BY_OPERATOR);
    accepted(await invitations.invite(invited, undefined, BY_OPERATOR));
  });

  test('refuses the own address, a member, another role, no address, and too many in a day', async () => {
    const ada = accepted(await users.add({ email, password, accounts: [brand] }, BY_OPERATOR));
    const refusalOf = async (wanted: Partial<typeof invited> | { email: string; role?: 'Viewer' }, by = ada) =>
      invitations.invite({ ...invited, ...wanted }, by, BY_OPERATOR);
    expect(await refusalOf({ email: ' NEW@example.com' })).toMatchObject({ details: 'This is your own address.' });
    expect(await refusalOf({ email }, { ...ada, email: 'b@example.com' })).toMatchObject({ details: /member already/ });
    for (const wrong of ['', 'unknown', `${'x'.repeat(300)}@example.com`, 'a@example.com\r\nBcc: b@example.com'])
      expect(await refusalOf({ email: wrong })).toMatchObject({ details: 'This is not an e-mail address.' });
    accepted(await refusalOf({ email: 'c@example.com' }));
    expect(await refusalOf({ email: 'c@example.com', role: 'Viewer' })).toMatchObject({ details: /another role/ });
    wait = 1;
    expect(await refusalOf({ email: 'd@example.com' })).toMatchObject({ details: /too many invitations today/ });
  });

  test('inviting again sends the same link, once a day', async () => {
    const first = await invite();
    expect(await invite()).toEqual(first);
    expect(deps.sent).toHaveLength(1);
    now += 24 * 3_600_000;
    expect(invitations.mailed(await invite())).toEqual(invitations.mailed(first));
    expect(deps.sent).toHaveLength(2);
  });

  /** A Manager of the brand, which has another one. */
  async function manager(): Promise<User> {
    const [mallory] = await Promise.all(
      ['mallory@example.com', 'ada@example.com'].map((address) =>
        users.add({ email: address, password, accounts: [brand] }, BY_OPERATOR),
      ),
    );
    return accepted(mallory ?? expect.unreachable());
  }

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['is demoted', (id) => users.setRole(id, brand, 'Coordinator', BY_OPERATOR)],
    ['is removed', (id) => users.removeMember(id, brand, BY_OPERATOR)],
    ['is removed everywhere', (id) => users.remove(id, BY_OPERATOR)],
  ])('a Manager who %s leaves no invitation behind', async (_what, leave) => {
    const mallory = await manager();
    const others = [
      await invitations.invite({ ...invited, email: 'of-ada@example.com' }, accepted(await ada()), BY_OPERATOR),
      await invitations.invite({ ...invited, email: 'of-operator@example.com' }, undefined, BY_OPERATOR),
    ].map(accepted);
    // An invitation belongs to the Manager who made it last, unless the operator made it.
    accepted(await invitations.invite({ ...invited, email: 'of-operator@example.com' }, mallory, BY_OPERATOR));
    const shared = { ...invited, email: 'of-both@example.com' };
    accepted(await invitations.invite(shared, mallory, BY_OPERATOR));
    others.push(accepted(await invitations.invite(shared, accepted(await ada()), BY_OPERATOR)));
    const invitation = await invite(mallory);
    const token = tokenOf(invitations.mailed(invitation));
    await leave(mallory.id);
    expect(await invitations.check(token)).toBeUndefined();
    expect(await acceptAsNew(token, password)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await users.byEmail(email)).toBeUndefined();
    const open = await invitations.listOpen(brand);
    expect(open.map(({ id }) => id).sort()).toEqual(others.map(({ id }) => id).sort());
    expect(await stored()).not.toContain(email);
    expect(told().filter((one) => one.startsWith('InvitationWithdrawn'))).toHaveLength(1);
    async function ada() {
      return (await users.byEmail('ada@example.com')) ?? expect.unreachable();
    }
  });

  test('an invitation cannot be accepted as soon as its Manager is demoted, even before it is withdrawn', async () => {
    const mallory = await manager();
    const guest = accepted(await users.add({ email, password, accounts: [community], isConfirmed: true }, BY_OPERATOR));
    const token = tokenOf(invitations.mailed(await invite(mallory)));
    isSettling = false;
    accepted(await users.setRole(mallory.id, brand, 'Viewer', BY_OPERATOR));
    expect(await accept(token, guest)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await users.get(guest.id)).toEqual(guest);
    expect(await invitations.listOpen(brand)).toEqual([]);
  });

  test('an invitation is not accepted if its Manager is demoted while the person chooses a password', async () => {
    const mallory = await manager();
    const token = tokenOf(invitations.mailed(await invite(mallory)));
    // Hashing the password takes longer than the demotion.
    const accepting = acceptAsNew(token, password);
    accepted(await users.setRole(mallory.id, brand, 'Viewer', BY_OPERATOR));
    expect(await accepting).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await users.byEmail(email)).toBeUndefined();
    expect(await stored()).not.toContain(email);
    expect(told().filter((one) => one.startsWith('InvitationWithdrawn'))).toHaveLength(1);
  });

  test('an invitation that is stored after its Manager was demoted is not open and takes no place', async () => {
    const mallory = await manager();
    accepted(await users.setRole(mallory.id, brand, 'Viewer', BY_OPERATOR));
    for (let index = 0; index < 20; index++)
      await invitations.invite({ ...invited, email: `p${index}@example.com` }, mallory, BY_OPERATOR);
    expect(await invitations.listOpen(brand)).toEqual([]);
    for (let index = 0; index < 20; index++)
      accepted(await invitations.invite({ ...invited, email: `q${index}@example.com` }, undefined, BY_OPERATOR));
    expect(await invitations.listOpen(brand)).toHaveLength(20);
  });

  test('an invitation takes no place once it has expired, also when its record is gone', async () => {
    for (let index = 0; index < 20; index++)
      accepted(await invitations.invite({ ...invited, email: `p${index}@example.com` }, undefined, BY_OPERATOR));
    expect(await invitations.invite(invited, undefined, BY_OPERATOR)).toMatchObject({ refused: 'ValidationError' });
    const stored = await documents.open<object>({ name: 'invitations', kind: 'record', indexes: [] });
    for (const { id } of (await invitations.listOpen(brand)).slice(0, 10)) await stored.delete(id);
    now += WEEK;
    for (let index = 0; index < 20; index++)
      accepted(await invitations.invite({ ...invited, email: `q${index}@example.com` }, undefined, BY_OPERATOR));
  });

  test('a late consequence of a demotion ends nothing of a user who is a Manager again', async () => {
    const mallory = await manager();
    isSettling = false;
    accepted(await users.setRole(mallory.id, brand, 'Viewer', BY_OPERATOR));
    accepted(await users.setRole(mallory.id, brand, 'Manager', BY_OPERATOR));
    const { id } = await invite(mallory);
    await records.withdrawLapsed(brand, BY_OPERATOR);
    expect(await invitations.listOpen(brand)).toMatchObject([{ id }]);
  });

  test('an invitation to a user of another account is answered as one to a stranger', async () => {
    accepted(await users.add({ email: 'known@example.com', password, accounts: [community] }, BY_OPERATOR));
    const to = async (address: string) => {
      const {
        id,
        email: to,
        ...rest
      } = accepted(await invitations.invite({ ...invited, email: address }, undefined, BY_OPERATOR));
      return { ...rest, length: id.length, to: to === address };
    };
    expect(await to('known@example.com')).toEqual(await to('unknown@example.com'));
  });

  test('removing a user erases the invitations to their address', async () => {
    const ada = accepted(await users.add({ email, password, accounts: [community] }, BY_OPERATOR));
    await invite();
    await users.remove(ada.id, BY_OPERATOR);
    expect(await stored()).not.toContain(email);
    expect(told()).toContain('InvitationWithdrawn Brand:1');
  });

  test('events that the log could not take are appended later, and then the address-less record goes', async () => {
    log.fails(true);
    const invitation = await invite();
    await invitations.withdraw(brand, invitation.id, BY_OPERATOR);
    expect(await stored()).toContain(invitation.id);
    expect(await stored()).not.toContain(email);
    log.fails(false);
    await records.finishChanges();
    expect(told()).toEqual(['MemberInvited Brand:1', 'InvitationWithdrawn Brand:1']);
    expect(await stored()).not.toContain(`"${invitation.id}","version"`);
    expect(await invitations.listOpen(brand)).toEqual([]);
  });
});
