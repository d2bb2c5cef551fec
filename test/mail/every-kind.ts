import type { Account } from '../../src/domain/account.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import type { MailKind } from '../../src/mail/kinds.ts';
import type { NewMail } from '../../src/mail/new-mail.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

export type Names = {
  readonly community: string;
  readonly brand: string;
  readonly space: string;
  readonly message: string;
  readonly reason: string;
  readonly title: string;
  readonly content: string;
};

/** When most of it happens. */
const NOW = NOON + 5 * 24 * 3_600_000;
const date = (text: string) => text as PlainDate;

/** A mail of a kind to a member of one of the parties, and the moment at which it can be written. */
export type Sample = { readonly kind: MailKind; readonly to: Account['kind']; readonly mail: NewMail };

/** A service with one booking for each kind of mail, and the mails themselves. */
export async function serviceWithEveryKind(names: Names): Promise<{
  readonly service: RunningService;
  readonly community: Account;
  readonly brand: Account;
  readonly samples: readonly Sample[];
  /** The mails that carry a link. */
  readonly linkSamples: readonly Sample[];
  /** When they were made, in milliseconds since the epoch. */
  readonly now: number;
}> {
  const service = await runService();
  const { core, time } = service;
  const { commands, users } = core;
  const community: Account = {
    kind: 'Community',
    id: communityId((await service.community('Europe/Berlin', names.community)).id),
  };
  const brand: Account = { kind: 'Brand', id: brandId((await service.brand(names.brand)).id) };
  const space = await service.space({ id: community.id }, { name: names.space });
  const userOf = async (account: Account, email: string) =>
    accepted(await users.add({ email, password: 'a long password', accounts: [account] }, CONTEXT)).id;
  const reader = {
    Community: await userOf(community, 'ada@example.com'),
    Brand: await userOf(brand, 'bea@example.com'),
  };

  const request = async (day: string) => {
    const details = { spaceId: spaceId(space), date: date(day), startHour: 10, message: names.message };
    return accepted(await commands.bookings.request({ brandId: brand.id, details }, CONTEXT)).bookingId;
  };
  const approved = async (day: string) => {
    const bookingId = await request(day);
    accepted(await commands.bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
    return bookingId;
  };
  const cancel = (bookingId: number, by: Account, expected: 'Pending' | 'Approved') =>
    commands.bookings.cancel({ bookingId, by, expected, reason: names.reason }, CONTEXT).then(accepted);

  const over = await approved('2026-12-03');
  const late = await request('2026-12-04');
  time.now = NOW;
  accepted(await commands.bookings.expire(late, CONTEXT));
  accepted(await commands.bookings.complete(over, CONTEXT));
  const review = { bookingId: over, brandId: brand.id, rating: 4, title: names.title, content: names.content };
  accepted(await commands.reviews.post(review, CONTEXT));
  const requested = await request('2027-01-10');
  const coming = await approved('2026-12-20');
  accepted(await commands.threads.send({ account: brand, bookingId: coming, text: names.message }, CONTEXT));
  const question = { spaceId: space, brandId: brand.id, text: names.message };
  for (const account of [brand, community]) accepted(await commands.questions.send({ ...question, account }, CONTEXT));
  const declined = await request('2027-01-11');
  await cancel(declined, community, 'Pending');
  const withdrawn = await request('2027-01-12');
  await cancel(withdrawn, brand, 'Pending');
  const cancelled = await approved('2027-01-13');
  await cancel(cancelled, community, 'Approved');
  const moving = await request('2027-01-14');
  const to = { spaceId: spaceId(space), date: date('2027-01-15'), startHour: 12 };
  const dearer = await service.space({ id: community.id }, { name: 'Studio', eventFee: cents(40_000) });
  const asked = { to: { ...to, spaceId: spaceId(dearer) }, price: 'new', reason: names.reason } as const;
  accepted(await commands.moves.move({ bookingId: moving, by: brand, ...asked }, CONTEXT));
  const moved = await approved('2027-01-16');
  const later = { bookingId: moved, to: { ...to, date: date('2027-01-17') } };
  for (const by of [brand, community]) accepted(await commands.moves.move({ ...later, by }, CONTEXT));
  const { reason } = names;
  const refused = { bookingId: coming, to: { ...to, date: date('2026-12-21') }, by: brand };
  accepted(await commands.moves.move(refused, CONTEXT));
  accepted(await commands.moves.decline({ bookingId: coming, by: community, reason }, CONTEXT));
  const url = `https://hooks.example.com/${'x'.repeat(120)}`;
  const owner = { credential: `user:${reader.Brand}`, account: brand } as const;
  const { webhookId } = accepted(await commands.webhooks.register({ owner, url, events: 1 }, CONTEXT));
  accepted(await commands.webhooks.disable({ webhookId, reason: '50 attempts in a row failed' }, CONTEXT));
  const actor = { kind: 'user', id: reader.Brand, account: brand } as const;
  const issued = accepted(
    await commands.apiKeys.issue({ account: brand, permissions: 31, label: names.title }, { ...CONTEXT, actor }),
  );

  const sample = (kind: Sample['kind'], to: Account, about: NewMail['about']): Sample => ({
    kind,
    to: to.kind,
    mail: {
      kind,
      cause: 'test',
      userId: reader[to.kind],
      account: `${to.kind}:${to.id}`,
      at: toTimestamp(NOW),
      about,
    },
  });
  const of = (bookingId: number) => ({ bookingId, spaceId: space });
  const password = sample('PasswordChanged', brand, {});
  const { account: _, ...withoutAccount } = password.mail;
  const wanted = { account: brand, role: 'Coordinator', email: 'cleo@example.com' } as const;
  const invited = accepted(await core.invitations.invite(wanted, undefined, CONTEXT));
  accepted(await users.requestEmail(reader.Community, `${'n'.repeat(60)}@example.com`, CONTEXT));
  return {
    service,
    community,
    brand,
    now: NOW,
    linkSamples: [
      { kind: 'Invitation', to: 'Brand', mail: { ...sample('Invitation', brand, {}).mail, userId: invited.id } },
      sample('PasswordReset', brand, {}),
      sample('AddressConfirmation', community, {}),
      sample('AddressConfirmation', community, { notice: 'change' }),
    ],
    samples: [
      sample('BookingRequested', community, of(requested)),
      sample('AnswerDue', community, of(requested)),
      sample('BookingApproved', brand, of(coming)),
      sample('BookingDeclined', brand, of(declined)),
      sample('BookingCancelled', community, of(withdrawn)),
      sample('BookingCancelled', brand, of(cancelled)),
      sample('BookingExpired', community, of(late)),
      sample('BookingExpired', brand, of(late)),
      sample('BookingMoveAsked', community, of(moving)),
      sample('BookingMoveEnded', brand, of(coming)),
      sample('BookingMoved', community, of(moved)),
      sample('BookingMoved', brand, of(moved)),
      sample('ReviewPublished', community, of(over)),
      sample('Message', community, { ...of(coming), message: 0 }),
      sample('Message', brand, { spaceId: space, brandId: brand.id, message: 1 }),
      sample('EventTomorrow', community, of(coming)),
      sample('EventTomorrow', brand, of(coming)),
      sample('WebhookDisabled', brand, { webhookId }),
      sample('ApiKeyIssued', brand, { apiKeyId: issued.apiKeyId, by: `user:${reader.Brand}` }),
      sample('RoleChanged', brand, { role: 'Manager', by: 'operator:cli' }),
      { ...password, mail: withoutAccount },
    ],
  };
}

/** When the event of {@link serviceWithEveryKind} that is to come is tomorrow. */
export const DAY_BEFORE = Date.parse('2026-12-19T09:00:00Z');
