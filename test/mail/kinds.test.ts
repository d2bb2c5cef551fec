import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LeastRole } from '../../src/domain/roles.ts';
import { isLimited, isUrgent, KINDS, labelOf, type MailKind } from '../../src/mail/kinds.ts';

test('the guide lists the kinds of mail as the settings page names them', () => {
  const guide = readFileSync(new URL('../../docs/guides/mail.md', import.meta.url), 'utf8');
  const ROLES = { Viewer: 'all', Coordinator: 'Managers, Coordinators', Manager: 'Managers' };
  const rolesOf = (least: LeastRole | undefined) => (least === undefined ? 'the person' : ROLES[least]);
  const rows = Object.values<{
    readonly label: string;
    readonly when: { readonly Community?: string; readonly Brand?: string };
    readonly least?: LeastRole;
  }>(KINDS).map(({ label, when: { Community = '', Brand = '' }, least }) => {
    const cells = [label, Community, Brand === Community ? 'the same' : Brand, rolesOf(least)];
    return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
  });
  expect(guide).toContain(`|---|---|---|---|\n${rows.join('\n')}\n\n`);
});

test('a kind of a later release is shown by its name', () => {
  expect([labelOf('BookingVanished'), labelOf('toString')]).toEqual(['BookingVanished', 'toString']);
});

const among = (is: (kind: MailKind) => boolean) => (Object.keys(KINDS) as MailKind[]).filter(is);

test('mail about a sign-in or an account goes out first, and is not limited', () => {
  const ofAccounts = ['ApiKeyIssued', 'RoleChanged', 'PasswordChanged', 'SignUp', 'Invitation', 'PasswordReset'];
  const urgent = among(isUrgent);
  expect(urgent).toEqual([...ofAccounts, 'AddressConfirmation', 'ContactConfirmation']);
  expect(urgent.filter(isLimited)).toEqual([]);
});

test('mail about bookings is limited, but not reminders of tomorrow', () => {
  const limited = among(isLimited);
  expect(limited).toEqual(expect.arrayContaining(['BookingRequested', 'BookingApproved', 'BookingCancelled']));
  for (const kind of ['EventTomorrow', 'WebhookDisabled', 'PasswordChanged']) expect(limited).not.toContain(kind);
});
