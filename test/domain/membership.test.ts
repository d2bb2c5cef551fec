import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { MembershipEvent } from '../../src/domain/events.ts';
import { brandId } from '../../src/domain/ids.ts';
import {
  evolveRecorded,
  NO_CHANGES,
  type RecordedChanges,
  recordChange,
  streamOfChange,
} from '../../src/domain/membership.ts';
import { decider } from './given.ts';

const account: Account = { kind: 'Brand', id: brandId(3) };
const given = decider<RecordedChanges, MembershipEvent>(NO_CHANGES, evolveRecorded);

const added = (changeId: string): MembershipEvent => ({
  type: 'MemberAdded',
  data: { changeId, account, userId: 'usr_1', role: 'Manager' },
});
const removed = (changeId: string): MembershipEvent => ({
  type: 'MemberRemoved',
  data: { changeId, account, userId: 'usr_1' },
});

test('a change to a record is logged once, however often it is followed up', () => {
  given()
    .when((recorded) => recordChange(recorded, added('1')))
    .thenEvents(added('1'));
  given(added('1'))
    .when((recorded) => recordChange(recorded, added('1')))
    .thenNothing();
});

test('a change that was undone since is not logged again, but the same change with a new id is', () => {
  given(added('1'), removed('2'))
    .when((recorded) => recordChange(recorded, added('1')))
    .thenNothing();
  given(added('1'), removed('2'))
    .when((recorded) => recordChange(recorded, added('3')))
    .thenEvents(added('3'));
});

test('changes to a user go to the stream of the user, changes to a client to that of the client', () => {
  const app = { account, userId: 'usr_1', clientId: 'https://app.example/client', grantId: 'Brand:3.x' };
  expect(streamOfChange(added('1'))).toBe('member-usr_1');
  expect(streamOfChange({ type: 'AppDisconnected', data: { ...app, changeId: '2' } })).toBe('member-usr_1');
  expect(streamOfChange({ type: 'ClientRemoved', data: { account, clientId: 'client_1', changeId: '3' } })).toBe(
    'oauthClient-client_1',
  );
});
