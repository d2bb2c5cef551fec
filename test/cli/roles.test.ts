import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDataDir } from '../service/service-process.ts';
import { addAccounts, inProcess, json, useDataDir } from './in-process.ts';

test('the operator gives roles, takes them, and is told which account has no Manager left', async () => {
  useDataDir(temporaryDataDir());
  const stdin = vi.spyOn(process, 'stdin', 'get');
  stdin.mockImplementation(() => Readable.from(['correct horse battery']) as typeof process.stdin);
  onTestFinished(() => stdin.mockRestore());
  const { community, brand, mill, aurora } = await addAccounts();
  const of = (name: string) => ['--email', `${name}@example.com`];

  await json('user', 'add', ...of('ada'), ...mill);
  expect(await json('user', 'add', ...of('bob'), ...mill, '--role', 'viewer')).toMatchObject({
    accounts: [{ kind: 'Community', id: community, role: 'Viewer' }],
  });
  expect(await json('user', 'join', ...of('bob'), ...aurora, '--role', 'Coordinator')).toMatchObject({
    accounts: [{ role: 'Viewer' }, { kind: 'Brand', id: brand, role: 'Coordinator' }],
  });

  const last = await inProcess('user', 'role', ...of('ada'), ...mill, '--role', 'viewer');
  expect(last).toMatchObject({ code: 1, stdout: '' });
  expect(last.stderr).toContain('This is the last Manager of the account.');
  for (const role of ['viewer-without-amounts', 'CoordinatorWithoutAmounts', 'manager'])
    await json('user', 'role', ...of('bob'), ...mill, '--role', role);
  await json('user', 'role', ...of('ada'), ...mill, '--role', 'viewer');
  const stranger = await inProcess('user', 'role', ...of('ada'), ...aurora, '--role', 'viewer');
  expect(stranger).toMatchObject({ code: 1, stderr: expect.stringContaining('does not belong to this account') });
  for (const wrong of [['--role', 'owner'], []])
    expect(await inProcess('user', 'role', ...of('ada'), ...mill, ...wrong)).toMatchObject({ code: 2, stdout: '' });

  const left = await inProcess('user', 'leave', ...of('bob'), ...mill);
  expect(left).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`No Manager is left: Community ${community}.`),
  });
  const removed = await inProcess('user', 'remove', ...of('ada'));
  expect(removed).toMatchObject({ code: 0, stderr: '' });

  const history: { event: string; changes: { role?: { to: string } } }[] = await json('audit', ...mill);
  const roles = history
    .filter(({ event }) => event.startsWith('Member'))
    .map(({ event, changes }) => [event, changes.role?.to]);
  expect(roles).toEqual([
    ['MemberAdded', 'Manager'],
    ['MemberAdded', 'Viewer'],
    ['MemberRoleChanged', 'ViewerWithoutAmounts'],
    ['MemberRoleChanged', 'CoordinatorWithoutAmounts'],
    ['MemberRoleChanged', 'Manager'],
    ['MemberRoleChanged', 'Viewer'],
    ['MemberRemoved', undefined],
    ['MemberRemoved', undefined],
  ]);
});
