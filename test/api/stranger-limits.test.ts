import { afterAll, beforeAll, expect, test } from 'vitest';
import { daysLater } from '../../src/domain/calendar.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId, type PlainDate } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

/** A brand that signed up, before any community has let it in. */

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let space: number;

beforeAll(async () => {
  service = await runService({ SIGN_UP: 'brands', MAIL_INBOX: 'true' });
  community = await service.community();
  space = await service.space(community);
});
afterAll(() => service.stop());

let days = 10;
const request = (key: string, startTime = daysLater('2026-12-01' as PlainDate, days++)) =>
  service.post('/bookings', { key, body: { spaceId: space, startTime, startHour: 10 } });

/** A brand as signing up makes it. */
async function signedUp(name: string) {
  const { catalogue } = service.core.commands;
  const id = await catalogue.nextBrandId();
  expect(await catalogue.addBrandOf({ brandId: id, name }, CONTEXT)).toBeUndefined();
  const account = { kind: 'Brand', id: brandId(id) } as const;
  return { id, account, key: await service.key(account) };
}

/** How many of these requests, all at once, are taken. */
async function taken(key: string, count: number): Promise<readonly number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => request(key)));
  const refused = answers.filter(({ statusCode }) => statusCode === 422);
  for (const answer of refused) expect(answer.json().error).toBe('BookingNotAllowed');
  return answers.filter(({ statusCode }) => statusCode === 201).map((answer) => answer.json().id);
}

test.each(['approves one of its requests', 'lets it in'])(
  'a brand that signed up holds five hours until a community %s',
  async (how) => {
    const { key, id } = await signedUp('Stranger');
    const ids = await taken(key, 8);
    expect(ids).toHaveLength(5);
    expect((await request(key)).json().details).toBe(
      'At most 5 requests of a new brand may wait for an answer at once, until a community has let it in or approved one. Wait for an answer, or cancel a request.',
    );
    const { bookings, admissions } = service.core.commands;
    const owner = communityId(community.id);
    if (how === 'lets it in') accepted(await admissions.admit({ communityId: owner, brandId: id }, CONTEXT));
    else accepted(await bookings.approve({ bookingId: ids[0] ?? 0, communityId: owner }, CONTEXT));
    expect(await taken(key, 8)).toHaveLength(8);
  },
);

test('a brand that the operator has made has the limit of all brands', async () => {
  expect(await taken((await service.brand('Known')).key, 25)).toHaveLength(20);
});

test('a brand that signed up invites three people a day, until a community lets it in', async () => {
  const { id, account } = await signedUp('Inviter');
  const { invitations } = service.core;
  let people = 0;
  const invite = () =>
    invitations.invite(
      { account, role: 'Viewer', email: `person-${id}-${people++}@example.com` },
      undefined,
      BY_OPERATOR,
    );
  for (let time = 1; time <= 3; time += 1) accepted(await invite());
  expect(await invite()).toMatchObject({ details: expect.stringContaining('too many invitations today') });
  const request = () => service.core.contactConfirmation.request(account, `c${people++}@example.com`, 'usr_1');
  for (let time = 1; time <= 3; time += 1) expect(await request()).toBeUndefined();
  expect(isRefusal(await request())).toBe(true);
  const { admissions } = service.core.commands;
  accepted(await admissions.admit({ communityId: communityId(community.id), brandId: id }, CONTEXT));
  for (let time = 1; time <= 10; time += 1) accepted(await invite());
});
