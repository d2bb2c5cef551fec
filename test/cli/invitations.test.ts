import { expect, test } from 'vitest';
import { temporaryDataDir } from '../service/service-process.ts';
import { addAccounts, inProcess, json, useDataDir } from './in-process.ts';

test('the operator lists open invitations and withdraws one, whose link then no longer works', async () => {
  useDataDir(temporaryDataDir());
  const { mill, aurora } = await addAccounts();
  expect(await json('user', 'invitations')).toEqual([]);
  const invite = (name: string, account: readonly string[]) =>
    json('user', 'invite', ...account, '--email', `${name}@example.com`, '--role', 'viewer');
  const [{ url: _, ...ada }, { url: __, ...bob }] = [await invite('ada', mill), await invite('bob', aurora)];
  const list = (...of: readonly string[]) => json('user', 'invitations', ...of);
  expect(await list()).toMatchObject([ada, bob]);
  expect(await list(...mill)).toMatchObject([ada]);
  expect((await inProcess('user', 'invitations', ...aurora)).stdout).toContain('bob@example.com');

  for (const [args, code, text] of [
    [['invitations', '--community', '99'], 1, 'There is no community 99.'],
    [['invitations', ...mill, ...aurora], 2, 'not both'],
    [['withdraw'], 2, 'missing required argument'],
    [['withdraw', 'inv_AAAAAAAAAAAAAAAA'], 1, 'There is no open invitation inv_AAAAAAAAAAAAAAAA.'],
    [['withdraw', 'bob@example.com'], 1, 'There is no open invitation bob@example.com.'],
  ] as const)
    expect(await inProcess('user', ...args)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(text) });

  expect(await json('user', 'withdraw', ada.id)).toEqual({ id: ada.id, withdrawn: true });
  expect(await inProcess('user', 'withdraw', ada.id)).toMatchObject({ code: 1 });
  expect(await list()).toMatchObject([bob]);
  const history: { event: string; actor: object }[] = await json('audit', ...mill);
  expect(history.at(-1)).toMatchObject({ event: 'InvitationWithdrawn', actor: { kind: 'operator' } });

  // Forgetting an account withdraws the invitations to it, which hold addresses.
  expect(await inProcess('forget', ...aurora)).toMatchObject({ code: 0 });
  expect(await list()).toEqual([]);
});
