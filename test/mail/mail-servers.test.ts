import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { lacks } from '../lacks.ts';
import { EXIM, startExim } from './exim.ts';
import { openMailVenue, READERS } from './mail-venue.ts';
import { POSTFIX, startPostfix } from './postfix.ts';
import { type Smtp, startSmtp } from './smtp.ts';

/** Restrictions under which Postfix refuses the service, and the settings of its operator that end them. */
const RESTRICTIONS = {
  'the client': { smtpd_client_restrictions: 'reject' },
  'the sender': {
    smtpd_sender_restrictions: 'check_sender_access inline:{venue.example=REJECT}, permit',
  },
  relaying: { mynetworks: '192.0.2.1/32', smtpd_relay_restrictions: 'permit_mynetworks, reject_unauth_destination' },
} as const;

const CASES = Object.entries(RESTRICTIONS).flatMap(([refused, settings]) =>
  ['yes', 'no'].map((delay) => ({ refused, delay, settings: { ...settings, smtpd_delay_reject: delay } })),
);

/** Rules under which Exim refuses the service. */
const EXIM_RULES = {
  'the client': { connect: 'deny' },
  'the sender': { mail: 'deny senders = *@venue.example\n  accept' },
  relaying: { rcpt: 'deny message = relay not permitted' },
} as const;

let behind: Smtp;
beforeAll(async () => {
  behind = await startSmtp();
});
afterAll(() => behind.kill());

/** Mail waits while the server refuses the service, and arrives once the operator has ended that. */
async function expectNoLoss(server: { readonly url: string; change(settings: object): Promise<void> }): Promise<void> {
  behind.arrived.length = 0;
  const venue = await openMailVenue({ url: server.url });
  onTestFinished(() => venue.close());
  const mail = await venue.send({ tuning: { pauseAfter: () => 200 } });
  // One for each of several users.
  const users = [...READERS, 'usr_cy', 'usr_dee', 'usr_eve'];
  for (const [i, userId] of users.entries()) await mail.enqueue({ ...venue.newMail(i + 1), userId });
  const tried = async () => (await mail.list('Pending', 10)).filter(({ attempts }) => attempts.length > 1);
  await eventually(async () => {
    venue.advance(1_000);
    expect(await tried()).not.toEqual([]);
  });
  // Without an enhanced status code, a refusal is known to be about the service once several mails have had it.
  expect((await mail.list('Pending', 10)).filter(({ tries }) => tries > 1)).toEqual([]);
  expect(await mail.awayBecause()).toBe('RefusesService');
  expect(await mail.list('Failed', 10)).toEqual([]);
  venue.advance(10 * 60_000);
  expect(await mail.warning()).toMatch(/^the mail server has taken no mail since .+: it refuses this service;/);

  await server.change({});
  await eventually(async () => {
    venue.advance(1_000);
    expect(await mail.list('Sent', 10)).toHaveLength(users.length);
  });
  await behind.until(users.length);
  expect(behind.arrived.map(({ to }) => to[0]).toSorted()).toEqual(users.map((id) => `${id}@example.com`).toSorted());
  expect(await mail.warning()).toBeUndefined();
}

describe.skipIf(lacks(EXIM))('Exim', () => {
  test.each(Object.entries(EXIM_RULES))('a refusal of %s loses no mail', async (_, rules) => {
    const exim = await startExim(rules, behind.port);
    onTestFinished(() => exim.stop());
    await expectNoLoss(exim);
  });
});

describe.skipIf(lacks(POSTFIX))('Postfix', () => {
  test.each(CASES)('a refusal of $refused (smtpd_delay_reject = $delay) loses no mail', async ({ settings }) => {
    const postfix = await startPostfix(settings, behind.port);
    onTestFinished(() => postfix.stop());
    await expectNoLoss(postfix);
  });

  test('a server that relays nothing delivers to its own domain, and holds the other mail for later', async () => {
    behind.arrived.length = 0;
    const postfix = await startPostfix({ ...RESTRICTIONS.relaying, relay_domains: 'home.example' }, behind.port);
    onTestFinished(() => postfix.stop());
    const venue = await openMailVenue({ url: postfix.url });
    onTestFinished(() => venue.close());
    const mail = await venue.send({
      tuning: { pauseAfter: () => 50 },
      compose: async ({ userId, about }) => ({
        to: `${userId}@${Number(about.bookingId) % 2 === 0 ? 'home' : 'abroad'}.example`,
        subject: 'Test',
        text: 'Test',
        html: '<p>Test</p>',
      }),
    });
    for (let i = 1; i <= 10; i += 1) await mail.enqueue(venue.newMail(i));
    await behind.until(5);
    await eventually(async () =>
      expect((await mail.list('Pending', 10)).filter(({ attempts }) => attempts.length > 0)).toHaveLength(5),
    );
    expect(await mail.list('Failed', 10)).toEqual([]);
    await eventually(async () => expect(await mail.awayBecause()).toBe('RefusesSome'));

    await postfix.change({});
    await eventually(async () => {
      venue.advance(60_000);
      expect(await mail.list('Sent', 20)).toHaveLength(10);
    });
  });
});
