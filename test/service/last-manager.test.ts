import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { freePort } from '../free-port.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

const ROUNDS = 50;

test('of two browsers that demote the last two Managers at once, through two processes, one is refused, fifty times', {
  timeout: 180_000,
}, async () => {
  const dataDir = temporaryDataDir();
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  const settings = { DEMO: 'false', PUBLIC_URL: publicUrl, CONSOLE_WRITES_PER_MINUTE: '1000' };
  const first = await startServiceProcess(dataDir, { ...settings, PORT: new URL(publicUrl).port });
  const second = await startServiceProcess(dataDir, settings);
  const core = await openCore(readConfig({ DATA_DIR: dataDir, DEMO: 'false' }), pino({ level: 'silent' }), {
    kind: 'tool',
  });
  onTestFinished(() => core.close());
  const { brandId: id } = accepted(await core.commands.catalogue.addBrand({ name: 'Aurora' }, BY_OPERATOR));
  const account: Account = { kind: 'Brand', id: brandId(id) };

  const people = await Promise.all(
    [first, second].map(async ({ url }, index) => {
      const user = { email: `m${index}@example.com`, password: 'correct horse battery' };
      const { id: userId } = accepted(await core.users.add({ ...user, accounts: [account] }, BY_OPERATOR));
      const browser = new Browser(publicUrl);
      const { csrf } = await browser.signIn(user);
      const headers = { cookie: `console=${browser.cookie('console')}`, origin: publicUrl };
      /** Sends a form through the process of this browser. @returns where it leads: to the member's own page if it was refused */
      const demote = async (whom: string): Promise<string> => {
        const body = new URLSearchParams({ csrf, was: 'Manager', role: 'Viewer' });
        const path = `${url}/console/people/${whom}/role`;
        const answer = await fetch(path, { method: 'POST', headers, body, redirect: 'manual' });
        return `${answer.status} ${answer.headers.get('location')}`;
      };
      return { userId, demote };
    }),
  );
  const [a, b] = people;
  if (a === undefined || b === undefined) throw new Error('There are two people');

  for (let round = 0; round < ROUNDS; round += 1) {
    // Each demotes the other, or itself.
    const [ofA, ofB] = round % 2 === 0 ? [b, a] : [a, b];
    const answers = await Promise.all([a.demote(ofA.userId), b.demote(ofB.userId)]);
    const members = await core.users.membersOf(account);
    const roles = members.map(({ role }) => role).sort();
    expect({ round, answers, roles }).toMatchObject({ roles: ['Manager', 'Viewer'] });
    for (const { userId } of people) {
      const user = await core.users.get(userId);
      const { role } = members.find((one) => one.userId === userId) ?? {};
      expect(user?.memberships.map((one) => `${accountKey(one.account)} ${one.role}`)).toEqual([
        `${accountKey(account)} ${role}`,
      ]);
      accepted(await core.users.setRole(userId, account, 'Manager', BY_OPERATOR));
    }
  }
});
