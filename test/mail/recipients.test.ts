import { describe, expect, it, test } from 'vitest';
import { type Account, type Actor, accountKey } from '../../src/domain/account.ts';
import type { CancelledBy } from '../../src/domain/booking-events.ts';
import { defined } from '../../src/domain/defined.ts';
import type { DomainEvent, Recorded } from '../../src/domain/events.ts';
import { apiKeyId, brandId, cents, communityId, moveId, reviewId, timestamp, webhookId } from '../../src/domain/ids.ts';
import { picked } from '../../src/domain/picked.ts';
import type { Role } from '../../src/domain/roles.ts';
import { factsOf } from '../../src/domain/space-day.ts';
import type { NewMail } from '../../src/mail/new-mail.ts';
import type { Preferences } from '../../src/mail/preferences.ts';
import { createRecipients } from '../../src/mail/recipients.ts';
import { approved, requested } from '../domain/bookings.fixture.ts';

const HALL = 7;
const COMMUNITY: Account = { kind: 'Community', id: communityId(1) };
const BRAND: Account = { kind: 'Brand', id: brandId(3) };
/** A member of each role in either account, named after both. */
const MEMBERS: { readonly [account: string]: readonly { readonly userId: string; readonly role: Role }[] } = {
  'Community:1': [
    { userId: 'c-manager', role: 'Manager' },
    { userId: 'c-coordinator', role: 'Coordinator' },
    { userId: 'c-viewer', role: 'ViewerWithoutAmounts' },
  ],
  'Brand:3': [
    { userId: 'b-manager', role: 'Manager' },
    { userId: 'b-coordinator', role: 'CoordinatorWithoutAmounts' },
    { userId: 'b-viewer', role: 'Viewer' },
  ],
};
const OF_COMMUNITY = MEMBERS['Community:1'] ?? [];
const NOT_VIEWERS = ['c-manager', 'c-coordinator'];
const OF_BRAND = ['b-manager', 'b-coordinator'];

type Given = {
  readonly actor?: Actor;
  readonly members?: typeof MEMBERS;
  readonly chosen?: { readonly [userId: string]: Partial<Preferences> };
  /** By account, for users who belong to several. */
  readonly chosenFor?: { readonly [account: string]: { readonly [userId: string]: Partial<Preferences> } };
  readonly wasApproved?: boolean;
  readonly series?: string;
};

const OPERATOR: Actor = { kind: 'operator', id: 'cli' };
const byUser = (id: string): Actor => ({ kind: 'user', id });

async function mailsOf(
  event: DomainEvent,
  { actor = OPERATOR, members = MEMBERS, chosen = {}, chosenFor = {}, wasApproved = false, series }: Given = {},
) {
  const recipientsOf = createRecipients({
    membersOf: async (account) => members[accountKey(account)] ?? [],
    preferences: {
      ofMembers: async (ids, account) =>
        new Map(ids.map((id) => [id, { all: {}, spaces: {}, ...chosen[id], ...chosenFor[account]?.[id] }])),
    },
    booking: async () => defined({ wasApproved: wasApproved ? ('yes' as const) : undefined, series }),
    passwordChangedAt: async (userId) => (userId === 'usr_gone' ? undefined : '2026-12-01T11:00:00.000Z'),
  });
  const metadata = { at: timestamp('2026-12-01T11:00:00.000Z'), actor, correlationId: 'test', schema: 1 };
  const recorded = { ...event, id: 'evt-1', stream: 's', revision: 0, position: '1', metadata } as Recorded;
  return recipientsOf(recorded);
}

/** `kind user` for each mail. */
const named = (mails: readonly NewMail[]) => mails.map(({ kind, userId }) => `${kind} ${userId}`);
const each = (kind: string, users: readonly string[]) => users.map((user) => `${kind} ${user}`);

const request = requested();
const approval = approved(request);
const cancelled = (cancelledBy: CancelledBy): DomainEvent => ({
  type: 'BookingCancelled',
  data: { ...factsOf(request.data), cancelledBy, refund: cents(0) },
});
const review: DomainEvent = {
  type: 'ReviewPosted',
  data: {
    bookingId: request.data.bookingId,
    reviewId: reviewId(5),
    communityId: COMMUNITY.id,
    brandId: BRAND.id,
    spaceId: request.data.spaceId,
    spaceName: 'Great Hall',
    brandName: 'Acme',
    rating: 4,
    title: 'Good',
    content: 'Very',
    isVerifiedBooking: true,
  },
};
const messageOf = (from: 'Brand' | 'Community'): DomainEvent => ({
  type: 'MessageSent',
  data: {
    ...{ bookingId: request.data.bookingId, spaceId: request.data.spaceId, from, text: 'Is there a lift?' },
    ...{ communityId: COMMUNITY.id, brandId: BRAND.id },
  },
});
const owner = { credential: 'apiKey:key_1', account: BRAND } as const;
const disabled: DomainEvent = {
  type: 'WebhookDisabled',
  data: { webhookId: webhookId('wh_1'), owner, reason: 'status 410' },
};
const issued: DomainEvent = {
  type: 'ApiKeyIssued',
  data: {
    apiKeyId: apiKeyId('key_1'),
    account: BRAND,
    permissions: 1,
    label: 'Till',
    hash: '0',
    preview: 'vk_',
  },
};

describe('who hears of an event by default', () => {
  test.each([
    ['a request', request, {}, each('BookingRequested', NOT_VIEWERS)],
    ['an approval', approval, {}, each('BookingApproved', OF_BRAND)],
    ['a declined request', cancelled('Community'), {}, each('BookingDeclined', OF_BRAND)],
    ['a withdrawn request', cancelled('Brand'), {}, each('BookingCancelled', [...NOT_VIEWERS, ...OF_BRAND])],
    ['an expired request', cancelled('System'), {}, each('BookingExpired', [...NOT_VIEWERS, ...OF_BRAND])],
    ...(['Brand', 'Community', 'System'] as const).map(
      (by) =>
        [
          `a booking cancelled by ${by}`,
          cancelled(by),
          { wasApproved: true },
          each('BookingCancelled', [...NOT_VIEWERS, ...OF_BRAND]),
        ] as const,
    ),
    ['a review', review, {}, each('ReviewPublished', NOT_VIEWERS)],
    ['a message of the brand', messageOf('Brand'), {}, each('Message', NOT_VIEWERS)],
    ['a message of the community', messageOf('Community'), {}, each('Message', OF_BRAND)],
    ['a disabled webhook', disabled, {}, ['WebhookDisabled b-manager']],
    ['a new key', issued, {}, ['ApiKeyIssued b-manager']],
  ] satisfies readonly (readonly [string, DomainEvent, Given, readonly string[]])[])(
    '%s',
    async (_, event, given, expected) => {
      expect(named(await mailsOf(event, given))).toEqual(expected);
    },
  );
});

test('mails about the request, the approval and the end of a day name its series, so that they go out together', async () => {
  const series = '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40';
  for (const event of [requested({ series }), approval, cancelled('Community'), cancelled('System')]) {
    const mails = await mailsOf(event, { series });
    expect(mails.length).toBeGreaterThan(0);
    expect(new Set(mails.map(({ about }) => about.series))).toEqual(new Set([series]));
  }
  for (const event of [request, approval, cancelled('Community')])
    expect((await mailsOf(event)).every(({ about }) => !('series' in about))).toBe(true);
});

describe('a user who did it', () => {
  it('gets no mail about it, though the colleagues do', async () => {
    const given = { actor: byUser('c-manager'), wasApproved: true };
    expect(named(await mailsOf(cancelled('Community'), given))).toEqual(
      each('BookingCancelled', ['c-coordinator', ...OF_BRAND]),
    );
  });

  it('gets none for the other party either, except a receipt of a request', async () => {
    const both = { userId: 'both', role: 'Manager' } as const;
    const members = { 'Community:1': [both, ...OF_COMMUNITY], 'Brand:3': [both] };
    expect(named(await mailsOf(request, { members, actor: byUser('both') }))).toEqual(
      // A receipt, as a member of the brand.
      [...each('BookingRequested', NOT_VIEWERS), 'BookingRequested both'],
    );
  });

  it('gets the approval as the receipt of a request that is approved at once', async () => {
    const data = { ...request.data, series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40', approval: 'trusted' as const };
    const mails = await mailsOf({ ...request, data }, { actor: byUser('b-manager') });
    expect(mails.map(({ kind, userId, about }) => [kind, userId, about.series])).toEqual([
      ...NOT_VIEWERS.map((userId) => ['BookingRequested', userId, data.series]),
      ['BookingApproved', 'b-manager', data.series],
    ]);
  });

  it('gets mail about the security of the account', async () => {
    expect(named(await mailsOf(issued, { actor: byUser('b-manager') }))).toEqual(['ApiKeyIssued b-manager']);
  });
});

describe('a user of both parties', () => {
  const both = [{ userId: 'both', role: 'Manager' }] as const;
  const members = { 'Community:1': both, 'Brand:3': both };
  const off = { all: { BookingCancelled: false } };

  it('gets one mail about an event, as a member of the community', async () => {
    for (const wasApproved of [true, false])
      for (const by of ['Brand', 'Community', 'System'] as const) {
        const mails = await mailsOf(cancelled(by), { members, wasApproved });
        expect(mails).toHaveLength(1);
        // A declined request is mailed to the brand alone.
        expect(mails[0]?.account).toBe(mails[0]?.kind === 'BookingDeclined' ? 'Brand:3' : 'Community:1');
      }
  });

  it('gets it as a member of the brand if it is turned off for the community', async () => {
    const given = { members, wasApproved: true };
    const chosenFor = (account: string) => ({ ...given, chosenFor: { [account]: { both: off } } });
    expect((await mailsOf(cancelled('Brand'), chosenFor('Community:1'))).map(({ account }) => account)).toEqual([
      'Brand:3',
    ]);
    expect((await mailsOf(cancelled('Brand'), chosenFor('Brand:3'))).map(({ account }) => account)).toEqual([
      'Community:1',
    ]);
    expect(await mailsOf(cancelled('Brand'), { ...given, chosen: { both: off } })).toEqual([]);
  });
});

describe('what users chose', () => {
  it.each([
    ['nothing', {}, NOT_VIEWERS],
    ['it off', { 'c-manager': { all: { BookingRequested: false } } }, ['c-coordinator']],
    ['another kind off', { 'c-manager': { all: { ReviewPublished: false } } }, NOT_VIEWERS],
    ['it on, as a Viewer', { 'c-viewer': { all: { BookingRequested: true } } }, [...NOT_VIEWERS, 'c-viewer']],
    ['it off for this space', { 'c-manager': { spaces: { [HALL]: { BookingRequested: false } } } }, ['c-coordinator']],
    ['it off for another space', { 'c-manager': { spaces: { 8: { BookingRequested: false } } } }, NOT_VIEWERS],
    [
      'it off, but on for this space',
      { 'c-manager': { all: { BookingRequested: false }, spaces: { [HALL]: { BookingRequested: true } } } },
      NOT_VIEWERS,
    ],
  ] satisfies readonly (readonly [string, Given['chosen'], readonly string[]])[])('%s', async (_, chosen, users) => {
    expect(named(await mailsOf(request, { chosen }))).toEqual(each('BookingRequested', users));
  });

  it('has no effect on mail about security', async () => {
    const chosen = { 'b-manager': { all: { BookingApproved: false } } };
    expect(named(await mailsOf(disabled, { chosen }))).toEqual(['WebhookDisabled b-manager']);
  });

  it('of a brand never depends on the space, which is not its own', async () => {
    const chosen = { 'b-manager': { spaces: { [HALL]: { BookingApproved: false } } } };
    expect(named(await mailsOf(approval, { chosen }))).toEqual(each('BookingApproved', OF_BRAND));
  });
});

it('makes one mail of a changed password, though each account of the user has an event', async () => {
  const changed = (account: Account): DomainEvent => ({
    type: 'PasswordChanged',
    data: { changeId: `change of ${account.kind}`, account, userId: 'usr_1' },
  });
  const [one, two] = [await mailsOf(changed(COMMUNITY)), await mailsOf(changed(BRAND))];
  expect(one).toHaveLength(1);
  expect(one).toEqual(two);
});

it('tells a user which role it is now', async () => {
  const data = { changeId: '1', account: BRAND, userId: 'b-viewer', role: 'Manager' } as const;
  const mails = await mailsOf({ type: 'MemberRoleChanged', data }, { actor: byUser('b-viewer') });
  expect(named(mails)).toEqual(['RoleChanged b-viewer']);
  expect(mails[0]?.about).toEqual({ role: 'Manager', by: 'user:b-viewer' });
});

it('makes no mail for a user who is gone', async () => {
  const data = { changeId: '1', account: BRAND, userId: 'usr_gone' };
  expect(await mailsOf({ type: 'PasswordChanged', data })).toEqual([]);
});

it('tells the other party of a message about a space, which belongs to no booking', async () => {
  const { spaceId, communityId, brandId } = request.data;
  const from = (from: 'Brand' | 'Community'): DomainEvent => ({
    type: 'QuestionSent',
    data: { spaceId, communityId, brandId, from, text: 'Is there a lift?' },
  });
  const asked = await mailsOf(from('Brand'));
  expect(named(asked)).toEqual(each('Message', NOT_VIEWERS));
  expect(asked[0]?.about).toEqual({ spaceId, brandId, message: expect.any(Number) });
  expect(named(await mailsOf(from('Community')))).toEqual(each('Message', OF_BRAND));
});

it('holds ids and nothing that anyone wrote', async () => {
  const mails = [...(await mailsOf(request)), ...(await mailsOf(review)), ...(await mailsOf(issued))];
  expect(JSON.stringify(mails)).not.toMatch(/Acme|Great Hall|Good|Till|@/);
  expect(mails[0]).toEqual({
    kind: 'BookingRequested',
    cause: 'evt-1',
    userId: 'c-manager',
    account: 'Community:1',
    about: { bookingId: 1, spaceId: HALL },
    at: '2026-12-01T11:00:00.000Z',
  });
});

describe('a move', () => {
  const { data } = requested();
  const place = picked(data, ['spaceId', 'spaceName', 'date', 'startHour']);
  const about = { ...factsOf(data), moveId: moveId('m1') };
  const kindsOf = async (event: DomainEvent) => (await mailsOf(event)).map(({ kind, userId }) => `${kind} ${userId}`);
  const to = (kind: string, readers: readonly string[]) => readers.map((userId) => `${kind} ${userId}`);

  test('that a party asks for is to be answered by the other one', async () => {
    const asked = (askedBy: 'Brand' | 'Community') =>
      kindsOf({ type: 'BookingMoveAsked', data: { ...about, askedBy, to: place } });
    expect(await asked('Brand')).toEqual(to('BookingMoveAsked', NOT_VIEWERS));
    expect(await asked('Community')).toEqual(to('BookingMoveAsked', OF_BRAND));
  });

  test('that a party ends is told to the other one; to both, if its hours were taken', async () => {
    const ended = (endedBy: CancelledBy) => kindsOf({ type: 'BookingMoveEnded', data: { ...about, endedBy } });
    expect(await ended('Brand')).toEqual(to('BookingMoveEnded', NOT_VIEWERS));
    expect(await ended('System')).toEqual(to('BookingMoveEnded', [...NOT_VIEWERS, ...OF_BRAND]));
  });

  test('that is carried out is told to both, but the brand hears of its approval if that comes with it', async () => {
    const moved = (status: 'Pending' | 'Approved') =>
      kindsOf({ type: 'BookingMoved', data: { ...data, moveId: about.moveId, movedBy: 'Brand', status, from: place } });
    expect(await moved('Approved')).toEqual(to('BookingMoved', [...NOT_VIEWERS, ...OF_BRAND]));
    expect(await moved('Pending')).toEqual(to('BookingMoved', NOT_VIEWERS));
  });
});
