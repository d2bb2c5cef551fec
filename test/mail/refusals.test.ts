import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toTimestamp } from '../../src/domain/calendar.ts';
import type { MailAttempt } from '../../src/mail/mail-record.ts';
import type { Judged, SendResult } from '../../src/mail/outcome.ts';
import { isRefusing, judge, NO_REFUSALS, type Refusals } from '../../src/mail/refusals.ts';

const START = Date.parse('2029-03-01T12:00:00Z');
const ACCEPTED: SendResult = { outcome: 'accepted', response: '250 2.0.0 Ok', code: 250 };
const refused = (response: string): SendResult => ({
  outcome: 'refused',
  isFinal: true,
  response,
  code: Number(response.slice(0, 3)),
});

const CLIENT = '554 5.7.1 (address): Client host rejected: Access denied';
const RELAYING = '554 5.7.1 (address): Relay access denied';
const SENDER = '550 5.1.8 (address): Sender address rejected: Domain not found';
const AFTER_DATA = '550 5.7.60 SMTP; Client does not have permissions to send as this sender';
const NO_CODE = '550 relay not permitted';
const UNKNOWN = '550 5.1.1 (address): Recipient address rejected: User unknown';

/** Mails to users at a server that answers as told, one after another. */
function mails() {
  let refusals: Refusals = NO_REFUSALS;
  let now = START;
  const attemptsOf = new Map<string, readonly MailAttempt[]>();
  return {
    isRefusing: () => isRefusing(refusals, now),
    later(ms: number) {
      now += ms;
    },
    /** @param to the user is the part before the `@`, and the mail is named after the address */
    send(to: string, result: SendResult): { readonly judged: Judged; readonly reopened: readonly string[] } {
      now += 1_000;
      const attempts = attemptsOf.get(to) ?? [];
      const mail = { mailId: to, userId: to.split('@')[0] ?? '', attempts, to };
      const decided = judge(refusals, mail, result, now);
      refusals = decided.refusals;
      const { code = 0, response } = result;
      attemptsOf.set(to, [...attempts, { at: toTimestamp(now), code, response }]);
      return decided;
    },
  };
}

test.each([CLIENT, RELAYING, SENDER, AFTER_DATA])('a mail waits while the server answers %s', (response) => {
  const venue = mails();
  for (let i = 0; i < 5; i += 1) {
    expect(venue.send('ada@one.example', refused(response)).judged).toMatchObject({ outcome: 'held' });
    expect(venue.send(`user${i}@two.example`, refused(response)).judged).toMatchObject({ outcome: 'held' });
  }
  expect(venue.isRefusing()).toBe(true);
  for (const to of ['ada@one.example', 'user0@two.example'])
    expect(venue.send(to, ACCEPTED).judged).toMatchObject({ outcome: 'accepted' });
  expect(venue.isRefusing()).toBe(false);
});

test('mail waits while the server refuses the service at its greeting or the sender, unless it takes other mail meanwhile', () => {
  const venue = mails();
  const away: SendResult = { outcome: 'unreachable', cause: 'RefusesService', code: 554, response: '554 No' };
  for (let i = 0; i < 3; i += 1) expect(venue.send('ada@one.example', away).judged.outcome).toBe('held');
  venue.send('bob@one.example', ACCEPTED);
  // Perhaps this mail makes it break off.
  expect(venue.send('ada@one.example', away).judged).toEqual(away);
  const broken: SendResult = { outcome: 'unreachable', cause: 'NotReached', response: 'Reset' };
  expect(venue.send('cy@one.example', broken).judged).toEqual(broken);
});

test('a recipient that the server refuses by policy fails once another one at its domain was accepted', () => {
  const venue = mails();
  expect(venue.send('list@one.example', refused(AFTER_DATA)).judged.outcome).toBe('held');
  venue.send('ada@one.example', ACCEPTED);
  expect(venue.isRefusing()).toBe(false);
  expect(venue.send('list@one.example', refused(AFTER_DATA)).judged).toEqual(refused(AFTER_DATA));
  expect(venue.isRefusing()).toBe(false);
});

test('where only its own domain is accepted, mail to others is tried on the schedule and never fails at once', () => {
  const venue = mails();
  for (let i = 0; i < 4; i += 1) {
    const { judged } = venue.send('ada@abroad.example', refused(RELAYING));
    expect(judged).toMatchObject(i === 0 ? { outcome: 'held' } : { outcome: 'refused', isFinal: false });
    venue.send('bob@home.example', ACCEPTED);
    expect(venue.isRefusing()).toBe(true);
  }
  venue.later(24 * 3_600_000);
  expect(venue.isRefusing()).toBe(false);
});

describe('without an enhanced status', () => {
  test.each([NO_CODE, UNKNOWN])('three recipients with the same answer are about the service: %s', (response) => {
    const venue = mails();
    expect(venue.send('ada@one.example', refused(response)).judged).toEqual(refused(response));
    expect(venue.send('bob@two.example', refused(response)).judged).toEqual(refused(response));
    expect(venue.send('bob@three.example', refused(response)).judged).toEqual(refused(response));
    const third = venue.send('cy@three.example', refused(response));
    expect(third.judged.outcome).toBe('held');
    // The first ones had failed.
    expect(third.reopened).toEqual(['ada@one.example', 'bob@two.example', 'bob@three.example']);
    expect(venue.send('ada@one.example', refused(response)).judged.outcome).toBe('held');
  });

  test('different answers, and refused recipients among accepted ones, are about the recipients', () => {
    const venue = mails();
    for (const [i, user] of ['ada', 'bob', 'cy', 'dee', 'eve'].entries()) {
      const answers = ['550 No such user', '552 Mailbox full', '553 Bad name', '550 Moved away', '554 Closed'];
      expect(venue.send(`${user}@one.example`, refused(answers[i] ?? '')).judged).toMatchObject({ isFinal: true });
      expect(venue.send(`${user}@two.example`, refused(UNKNOWN)).judged).toMatchObject({ isFinal: true });
      venue.send('someone@two.example', ACCEPTED);
    }
    expect(venue.isRefusing()).toBe(false);
  });

  test('the number of a session does not make answers differ', () => {
    const venue = mails();
    for (const [i, user] of ['ada', 'bob', 'cy'].entries())
      expect(venue.send(`${user}@one.example`, refused(`550 Blocked, see ticket a${i}b7`)).judged.outcome).toBe(
        i < 2 ? 'refused' : 'held',
      );
  });
});

test('while the server refuses the service with 5.7.x, no mail fails, even if it accepts mail at other domains', () => {
  const domains = fc.constantFrom('one.example', 'two.example', 'three.example', 'home.example');
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('ada', 'bob', 'cy'), domains), { maxLength: 60 }), (sent) => {
      const venue = mails();
      for (const [user, domain] of sent) {
        const result = domain === 'home.example' ? ACCEPTED : refused(RELAYING);
        const { judged } = venue.send(`${user}@${domain}`, result);
        expect(judged.outcome === 'refused' && judged.isFinal).toBe(false);
      }
    }),
  );
});

test('a refusal that is not for good, or without a code, is about that mail alone', () => {
  const venue = mails();
  const later: SendResult = { outcome: 'refused', isFinal: false, code: 450, response: '450 4.7.1 Try again later' };
  const made: SendResult = { outcome: 'refused', isFinal: true, response: '550 5.7.1 not an answer of the server' };
  for (const user of ['ada', 'bob', 'cy', 'dee'])
    for (const result of [later, made]) expect(venue.send(`${user}@one.example`, result).judged).toEqual(result);
  expect(venue.isRefusing()).toBe(false);
});

test('the last answers at other domains are remembered when one accepts', () => {
  const venue = mails();
  venue.send('bob@One.example', ACCEPTED);
  venue.send('bob@two.example', ACCEPTED);
  venue.send('bob@two.example', ACCEPTED);
  expect(venue.send('ada@one.example', refused(AFTER_DATA)).judged.outcome).toBe('held');
  venue.send('eve@ONE.example', ACCEPTED);
  venue.send('eve@two.example', ACCEPTED);
  expect(venue.send('ada@one.example', refused(AFTER_DATA)).judged).toEqual(refused(AFTER_DATA));
});

test('refusals are forgotten after a day', () => {
  const venue = mails();
  venue.send('ada@one.example', refused(NO_CODE));
  venue.send('bob@two.example', refused(NO_CODE));
  venue.later(24 * 3_600_000 - 1_000);
  expect(venue.send('cy@three.example', refused(NO_CODE)).judged).toEqual(refused(NO_CODE));
  const { judged, reopened } = venue.send('dee@four.example', refused(NO_CODE));
  expect([judged.outcome, reopened]).toEqual(['refused', []]);
});

test('a thousand refusals and domains are remembered, the last ones', () => {
  let refusals = NO_REFUSALS;
  const step = (n: number, result: SendResult) => {
    const mail = { mailId: `m${n}`, userId: `u${n}`, attempts: [], to: `u${n}@d${n}.example` };
    refusals = judge(refusals, mail, result, START).refusals;
  };
  for (let n = 0; n < 1_001; n += 1) step(n, refused(`550 5.1.1 ${'a'.repeat(n + 1)}`));
  expect(refusals.refused.map(({ mailId }) => mailId)).toEqual(Array.from({ length: 1_000 }, (_, n) => `m${n + 1}`));
  for (let n = 0; n < 1_001; n += 1) step(n, ACCEPTED);
  expect([...refusals.acceptedAt.keys()]).toEqual(Array.from({ length: 1_000 }, (_, n) => `d${n + 1}.example`));
});
