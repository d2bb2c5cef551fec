import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { accountOfKey } from '../../src/domain/account.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import type { HouseDescription } from '../../src/domain/description.ts';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { subjectOf, subjectOfUser } from '../../src/domain/personal-text.ts';
import type { Role } from '../../src/domain/roles.ts';
import type { Message } from '../../src/mail/new-mail.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { DAY_BEFORE, type Sample, serviceWithEveryKind } from './every-kind.ts';

const NAMES = {
  community: 'Harbour Lofts',
  brand: 'Northwind Coffee',
  space: 'Great Hall',
  message: 'Zwetschgenkuchen',
  reason: 'Nieselregen',
  title: 'Quittengelb',
  content: 'Wirsing',
};
const TEXTS = [NAMES.message, NAMES.reason, NAMES.title, NAMES.content];

type Made = Awaited<ReturnType<typeof serviceWithEveryKind>>;

let made: Made;
beforeAll(async () => {
  made = await serviceWithEveryKind(NAMES);
});
afterAll(() => made.service.stop());
const compose = (sample: Sample) => made.service.core.mailContent.compose(sample.mail);

const find = (kind: Sample['kind'], to?: Sample['to']): Sample => {
  const found = made.samples.find((sample) => sample.kind === kind && (to === undefined || sample.to === to));
  if (found === undefined) throw new Error(`No sample of ${kind}`);
  return found;
};

async function written(sample: Sample): Promise<Message> {
  made.service.time.now = sample.kind === 'EventTomorrow' ? DAY_BEFORE : made.now;
  const message = await compose(sample);
  if ('skipped' in message) throw new Error(message.skipped);
  return message;
}

describe('what mails say', () => {
  it.each([
    ['BookingRequested', 'Community', 'Request: “Northwind Coffee”, Great Hall, Sun 10 Jan 2027, 10:00–14:00'],
    ['AnswerDue', 'Community', 'Answer soon: “Northwind Coffee”, Great Hall, Sun 10 Jan 2027, 10:00–14:00'],
    ['BookingApproved', 'Brand', 'Approved: Great Hall, Sun 20 Dec 2026, 10:00–14:00'],
    ['BookingDeclined', 'Brand', 'Declined: Great Hall, Mon 11 Jan 2027, 10:00–14:00'],
    ['BookingCancelled', 'Community', 'Withdrawn: “Northwind Coffee”, Great Hall, Tue 12 Jan 2027, 10:00–14:00'],
    ['BookingCancelled', 'Brand', 'Cancelled: Great Hall, Wed 13 Jan 2027, 10:00–14:00'],
    ['BookingExpired', 'Community', 'Expired: “Northwind Coffee”, Great Hall, Fri 4 Dec 2026, 10:00–14:00'],
    ['BookingExpired', 'Brand', 'Expired: Great Hall, Fri 4 Dec 2026, 10:00–14:00'],
    ['Message', 'Community', 'Message: “Northwind Coffee”, Great Hall, Sun 20 Dec 2026, 10:00–14:00'],
    [
      'ReviewPublished',
      'Community',
      'Review, 4 of 5 stars: “Northwind Coffee”, Great Hall, Thu 3 Dec 2026, 10:00–14:00',
    ],
    ['BookingMoveAsked', 'Community', 'Move?: “Northwind Coffee”, Great Hall, Thu 14 Jan 2027, 10:00–14:00'],
    ['BookingMoveEnded', 'Brand', 'Not moved: Great Hall, Sun 20 Dec 2026, 10:00–14:00'],
    ['BookingMoved', 'Community', 'Moved: “Northwind Coffee”, Great Hall, Sun 17 Jan 2027, 12:00–16:00'],
    ['BookingMoved', 'Brand', 'Moved: Great Hall, Sun 17 Jan 2027, 12:00–16:00'],
    ['EventTomorrow', 'Community', 'Tomorrow: “Northwind Coffee”, Great Hall, Sun 20 Dec 2026, 10:00–14:00'],
    ['EventTomorrow', 'Brand', 'Tomorrow: Great Hall, Sun 20 Dec 2026, 10:00–14:00'],
    ['WebhookDisabled', 'Brand', `Webhook disabled: https://hooks.example.com/${'x'.repeat(33)}…`],
    ['ApiKeyIssued', 'Brand', 'New API key: Quittengelb'],
    ['RoleChanged', 'Brand', 'Your role in Northwind Coffee: Manager'],
    ['PasswordChanged', 'Brand', 'Your password was changed'],
  ] as const)('%s to the %s', async (kind, to, subject) => {
    const message = await written(find(kind, to));
    expect(message.subject).toBe(subject);
    expect(message.to).toBe(to === 'Brand' ? 'bea@example.com' : 'ada@example.com');
  });

  it('names the facts of a request, and links to its page', async () => {
    const { text } = await written(find('BookingRequested'));
    expect(text).toContain(`“Northwind Coffee” requests Great Hall.

Answer by 9 Dec 2026, 13:00 Berlin time, or the request expires.

Space: Great Hall
Brand: “Northwind Coffee”
When: Sunday 10 January 2027, 10:00–14:00, Berlin time
Message: Zwetschgenkuchen
You earn: $200.00
The brand pays: $230.00
Answer by: 9 Dec 2026, 13:00 Berlin time

Answer the request:
http://localhost:3000/console/bookings/`);
    expect(text).toMatch(/As a member of Harbour Lofts you get.*\n.*\/console\/mail\/settings\?of=Community:\d+/);
  });

  it('gives the brand its price, the reason and the refund of a cancelled booking', async () => {
    const { text } = await written(find('BookingCancelled', 'Brand'));
    expect(text).toContain('“Harbour Lofts” cancelled your booking of Great Hall.\n\n$230.00 was refunded.');
    expect(text).toContain('Total: $230.00\nReason: Nieselregen\nRefunded: $230.00');
    expect(text).not.toContain('You earn');
  });

  it('says what a move costs', async () => {
    const { text } = await written(find('BookingMoveAsked'));
    expect(text).toContain('It then costs $460.00 instead of $230.00.');
  });

  it('says why a move is asked for, and why it was declined', async () => {
    for (const kind of ['BookingMoveAsked', 'BookingMoveEnded'] as const)
      expect((await written(find(kind))).text).toContain('Reason: Nieselregen\n');
    const { mail, ...sample } = find('BookingMoveEnded');
    const ofAnother = { ...mail, about: { ...mail.about, moveId: 'another' } };
    expect((await written({ ...sample, mail: ofAnother })).text).not.toContain('Reason');
  });

  it('says nothing of a move that another one has replaced', async () => {
    const { mail } = find('BookingMoveAsked');
    const replaced = { ...mail, about: { ...mail.about, moveId: 'another' } };
    expect(await made.service.core.mailContent.compose(replaced)).toEqual({ skipped: expect.any(String) });
  });

  it('has no amounts for members without amounts, and the rest as for others', async () => {
    const { users } = made.service.core;
    const amount = /\$\s?\d/;
    const add = async (to: Sample['to']) => {
      const account = made[to === 'Community' ? 'community' : 'brand'];
      const user = { email: `${to}@example.com`.toLowerCase(), password: 'a long password', accounts: [account] };
      return accepted(await users.add({ ...user, role: 'CoordinatorWithoutAmounts' }, CONTEXT)).id;
    };
    const ids = { Community: await add('Community'), Brand: await add('Brand') };
    let withAmounts = 0;
    for (const sample of made.samples.filter(({ kind }) => !['RoleChanged', 'PasswordChanged'].includes(kind))) {
      const before = await written(sample);
      const message = await compose({ ...sample, mail: { ...sample.mail, userId: ids[sample.to] } });
      if ('skipped' in message) continue;
      if (amount.test(before.text)) withAmounts += 1;
      expect([sample.kind, message.subject]).toEqual([sample.kind, before.subject]);
      expect([sample.kind, amount.exec(`${message.text} ${message.html}`)?.[0]]).toEqual([sample.kind, undefined]);
    }
    expect(withAmounts).toBeGreaterThan(8);
    for (const id of Object.values(ids)) await users.remove(id, CONTEXT);
  });

  it('gives the user who requested a receipt with the time of the answer', async () => {
    const sample = find('BookingRequested');
    const { userId, account = 'Brand:0' } = find('BookingApproved').mail;
    const receipt = await written({ ...sample, mail: { ...sample.mail, userId, account } });
    expect(receipt.to).toBe('bea@example.com');
    expect(receipt.subject).toBe('Requested: Great Hall, Sun 10 Jan 2027, 10:00–14:00');
    expect(receipt.text).toContain(
      'You requested Great Hall of “Harbour Lofts”.\n\nThe answer comes by 9 Dec 2026, 13:00',
    );
  });

  it('says until when an approved booking can be cancelled, and where the house is reached', async () => {
    const { contacts } = made.service.core.mailContent;
    expect((await written(find('BookingApproved'))).text).not.toContain('Contact:');
    await contacts.set(made.community, 'front@harbour.example');
    const { text } = await written(find('BookingApproved'));
    await contacts.set(made.community, '');
    expect(text).toContain('You can cancel until 20 Dec 2026, 10:00 Berlin time.');
    expect(text).toContain('Contact: front@harbour.example\n');
  });

  it('tells a brand the way to an approved booking, in its text and its calendar file, and no link of the house', async () => {
    const { catalogue } = made.service.core.commands;
    const { id: communityId } = made.community;
    const tell = async (house: HouseDescription, access: string) => {
      accepted(await catalogue.describeCommunity({ communityId, wanted: house }, CONTEXT));
      accepted(await catalogue.describeSpace({ spaceId: spaceId(1), wanted: { access } }, CONTEXT));
    };
    const address = { street: 'Kaistraße 7', postalCode: '20457', city: 'Hamburg', country: 'DE' };
    const coordinates = { latitude: 53.5436, longitude: 9.9888 };
    await tell({ address, coordinates, directions: 'See https://evil.example/map' }, 'Second floor');
    const { text, calendar = '' } = await written(find('BookingApproved'));
    expect(text).toContain('Address: Kaistraße 7, 20457 Hamburg, Germany\n');
    expect(text).toContain('How to get there: See https[:]//evil[.]example/map\n');
    expect(text).toContain('Floor and access: Second floor\n');
    expect(calendar.replaceAll('\r\n ', '')).toContain(
      'LOCATION:Great Hall\\, Harbour Lofts\\, Kaistraße 7\\, 20457 Hamburg\\, Germany\r\nGEO:53.543600;9.988800\r\n',
    );
    for (const sample of [find('BookingRequested'), find('BookingDeclined'), find('EventTomorrow')])
      expect((await written(sample)).text).not.toContain('Kaistraße');
  });

  it('quotes a message as the text of others, with a link to the booking to answer it', async () => {
    const { threads } = made.service.core.commands;
    const { mail } = find('Message');
    const text = 'Sign in at https://evil.example\n\nand call us.';
    const { bookingId } = mail.about;
    const sent = await threads.send({ account: made.brand, bookingId: Number(bookingId), text }, CONTEXT);
    const message = accepted(sent).state.messages - 1;
    const { text: read } = await written({ ...find('Message'), mail: { ...mail, about: { ...mail.about, message } } });
    expect(read).toContain('Message: Sign in at https[:]//evil[.]example and call us.\n');
    expect(read).toContain(`/console/bookings/${bookingId}`);
  });

  it('quotes a message about a space, with a link to the question', async () => {
    const { subject, text } = await written(find('Message', 'Brand'));
    expect(subject).toContain('Answer: ');
    expect(text).toMatch(/Message: .+\n/);
    expect(text).toMatch(/\/console\/questions\/\d+-\d+\n/);
  });

  it('begins with what a list of mails shows beside the subject, which is not the subject', async () => {
    for (const sample of made.samples) {
      const { subject, html } = await written(sample);
      const [, first = ''] = /<body[^>]*>\s*<div[^>]*display:none[^>]*>([^<]*?)[\u00a0\u200c]*<\/div>/.exec(html) ?? [];
      expect(first.length, sample.kind).toBeGreaterThan(20);
      expect(first).not.toContain(subject);
    }
  });

  it('names who issued a key, and never the key', async () => {
    const { text } = await written(find('ApiKeyIssued'));
    expect(text).toContain('Issued by: bea@example.com');
  });
});

describe('a digest', () => {
  const digest = async (...samples: readonly Sample[]) => {
    made.service.time.now = made.now;
    const [last, ...others] = samples.map(({ mail }) => mail).toReversed();
    if (last === undefined) throw new Error('No mail');
    return made.service.core.mailContent.compose(last, others.toReversed());
  };
  const later = (sample: Sample, ms: number): Sample => ({
    ...sample,
    mail: { ...sample.mail, at: toTimestamp(made.now + ms) },
  });

  it('has the last news of each booking, latest first, with links', async () => {
    const expired = later(find('BookingExpired', 'Community'), 1);
    const message = await digest(find('BookingRequested'), later(find('AnswerDue'), 2), expired);
    if ('skipped' in message) throw new Error(message.skipped);
    expect(message.subject).toBe('2 bookings with news');
    expect(message.to).toBe('ada@example.com');
    const answer = message.text.indexOf('Answer soon:\n    Great Hall\n    “Northwind Coffee”\n    Sun 10 Jan 2027');
    expect(answer).toBeGreaterThan(0);
    expect(message.text.indexOf('Expired:\n    Great Hall\n    “Northwind Coffee”\n    Fri 4 Dec')).toBeGreaterThan(
      answer,
    );
    expect(message.text).not.toContain('Request:');
    expect(message.html).toMatch(/<td[^>]*><a [^>]*href="[^"]*\/console\/bookings\/\d+"><bdi>Great Hall<\/bdi><\/a>/);
    expect(message.text).toMatch(/http:\/\/localhost:3000\/console\/bookings\/\d+\n/);
    expect(message.unsubscribeUrl).toMatch(/\/console\/unsubscribe\?of=Community%3A\d+&kind=all&link=usr_/);
  });

  it('has the news before it if the reader has turned off the last news of a booking', async () => {
    const { mail } = find('AnswerDue');
    const { preferences } = made.service.core.mailContent;
    const account = mail.account ?? 'Community:1';
    await preferences.choose(mail.userId, account, undefined, { AnswerDue: false });
    const expired = later(find('BookingExpired', 'Community'), 1);
    const message = await digest(find('BookingRequested'), later(find('AnswerDue'), 2), expired);
    await preferences.choose(mail.userId, account, undefined, {});
    expect(message).toMatchObject({ subject: '2 bookings with news', text: expect.stringContaining('Request:') });
  });

  it('names the community to a brand, which may book at several', async () => {
    const message = await digest(find('BookingApproved'), later(find('BookingDeclined'), 1));
    expect(message).toHaveProperty(
      'text',
      expect.stringContaining('    Great Hall\n    “Harbour Lofts”\n    Sun 20 Dec 2026'),
    );
  });

  it('counts requests that came and ended, and is not sent about nothing else', async () => {
    const ended = find('BookingCancelled', 'Community');
    const came = { ...ended, mail: { ...ended.mail, kind: 'BookingRequested' as const } };
    const message = await digest(came, later(ended, 1), later(find('ReviewPublished'), 2));
    if ('skipped' in message) throw new Error(message.skipped);
    expect(message.text).toContain('1 request came and ended meanwhile.');
    expect(message.text).not.toContain('Tue 12 Jan 2027');
    expect(await digest(came, later(ended, 1))).toMatchObject({ skipped: expect.any(String) });
  });

  it('is about one event if the days of one series are approved, with what each costs and a calendar file of all', async () => {
    made.service.time.now = made.now;
    const { mail } = find('BookingApproved');
    const { commands, queries } = made.service.core;
    const account = accountOfKey(mail.account ?? 'Brand:1') ?? expect.fail('It has no account');
    const known = await queries.bookings.get(account, Number(mail.about.bookingId));
    const { brandId: brand, spaceId: space, communityId: owner } = known ?? expect.fail('It has no booking');
    const series = randomUUID();
    const approve = async (date: PlainDate): Promise<Sample> => {
      const details = { spaceId: space, date, startHour: 14, series };
      const { bookingId } = accepted(await commands.bookings.request({ brandId: brand, details }, CONTEXT));
      accepted(await commands.bookings.approve({ bookingId, communityId: owner }, CONTEXT));
      return { ...find('BookingApproved'), mail: { ...mail, about: { bookingId, spaceId: space, series } } };
    };
    const [first, second] = [await approve('2027-01-20' as PlainDate), await approve('2027-01-27' as PlainDate)];
    const message = await digest(later(first, 1), later(second, 2));
    if ('skipped' in message) throw new Error(message.skipped);
    expect(message.subject).toBe('Approved: 2 days of one event');
    expect(message.text.match(/was charged\./g)).toHaveLength(2);
    expect(message.calendar?.match(/BEGIN:VEVENT/g)).toHaveLength(2);
    expect(message.calendar).toMatch(/DTSTART:20270127T.*DTSTART:20270120T/s);
  });

  it('is about one event if all of it are requests of one series', async () => {
    made.service.time.now = made.now;
    const { mail } = find('BookingRequested', 'Community');
    const { commands, queries } = made.service.core;
    const account = accountOfKey(mail.account ?? 'Community:1') ?? expect.fail('It has no account');
    const asked = await queries.bookings.get(account, Number(mail.about.bookingId));
    const { brandId: brand, spaceId: space } = asked ?? expect.fail('It has no booking');
    const series = randomUUID();
    const request = async (date: PlainDate): Promise<Sample> => {
      const details = { spaceId: space, date, startHour: 10, series };
      const { bookingId } = accepted(await commands.bookings.request({ brandId: brand, details }, CONTEXT));
      return {
        ...find('BookingRequested', 'Community'),
        mail: { ...mail, about: { bookingId, spaceId: space, series } },
      };
    };
    const [first, second] = [await request('2027-01-19' as PlainDate), await request('2027-01-26' as PlainDate)];
    const { contacts } = made.service.core.mailContent;
    expect(await contacts.set(made.brand, 'planner@northwind.example')).toBeUndefined();
    const message = await digest(later(first, 1), later(second, 2));
    expect(await contacts.set(made.brand, '')).toBeUndefined();
    if ('skipped' in message) throw new Error(message.skipped);
    expect(message).toMatchObject({ subject: 'Request: 2 days of one event', replyTo: 'planner@northwind.example' });
    expect(message.text).toMatch(/Tue 19 Jan 2027.*Tue 26 Jan 2027/s);
    expect(await digest(later(first, 1))).toMatchObject({ subject: expect.stringContaining('Tue 19 Jan 2027') });
  });

  it('is a mail of its own if only one booking is left of it', async () => {
    const over = find('BookingExpired', 'Community');
    const stale = {
      ...over,
      mail: { ...over.mail, kind: 'AnswerDue' as const, about: find('BookingApproved').mail.about },
    };
    expect(await digest(stale, over)).toMatchObject({ subject: expect.stringMatching(/^Expired: /) });
  });
});

describe('the calendar file', () => {
  it('has the UID of the feeds, so that the booking is there once', async () => {
    const { calendar } = await written(find('BookingApproved'));
    const { logId } = made.service.core;
    const uid = `booking-${find('BookingApproved').mail.about.bookingId}@${logId}.venue-booking`;
    expect(calendar?.replaceAll('\r\n ', '')).toContain(`UID:${uid}\r\n`);
    expect(calendar).toContain('METHOD:PUBLISH\r\n');
    // Required with a METHOD (RFC 5546, 3.2.1).
    expect(calendar).toContain('ORGANIZER;CN="Venue Booking":mailto:bookings@localhost\r\n');
    expect(calendar).toContain('STATUS:CONFIRMED\r\n');
    expect(calendar).toContain('DTSTART:20261220T090000Z\r\n');
  });

  it('cancels the event of a cancelled booking, with a higher sequence', async () => {
    const { calendar } = await written(find('BookingCancelled', 'Brand'));
    expect(calendar).toMatch(/STATUS:CANCELLED\r\nSEQUENCE:[1-9]/);
  });

  it('does not come with a request that was never approved', async () => {
    for (const sample of [find('BookingRequested'), find('BookingDeclined'), find('BookingCancelled', 'Community')])
      expect((await written(sample)).calendar).toBeUndefined();
  });
});

describe('Reply-To', () => {
  it('is the contact address of the other party, if it has set one', async () => {
    const { contacts } = made.service.core.mailContent;
    expect((await written(find('BookingRequested'))).replyTo).toBeUndefined();
    expect(await contacts.set(made.brand, ' Planner@Northwind.example ')).toBeUndefined();
    expect(await contacts.set(made.community, 'front@harbour.example')).toBeUndefined();
    expect((await written(find('BookingRequested'))).replyTo).toBe('planner@northwind.example');
    expect((await written(find('BookingApproved'))).replyTo).toBe('front@harbour.example');
    expect((await written(find('WebhookDisabled'))).replyTo).toBeUndefined();
    expect(await contacts.set(made.brand, '')).toBeUndefined();
    expect((await written(find('BookingRequested'))).replyTo).toBeUndefined();
  });

  it.each(['planner', 'a@b@c', 'a b@c.example', 'x@y\r\nBcc: z@z.example', `${'x'.repeat(300)}@example.com`])(
    'refuses %j',
    async (address) => {
      const outcome = await made.service.core.mailContent.contacts.set(made.brand, address);
      expect(outcome).toMatchObject({ refused: 'ValidationError', details: expect.stringContaining('contact') });
    },
  );

  it('is set and removed on the command line', async () => {
    const { service, brand } = made;
    useDataDir(service.config.dataDir);
    const of = ['brand', 'contact', String(brand.id)];
    expect(await json(...of, '--email', 'planner@northwind.example')).toEqual({
      id: brand.id,
      contact: 'planner@northwind.example',
    });
    expect(await json(...of)).toMatchObject({ contact: 'planner@northwind.example' });
    const { code, stderr } = await inProcess(...of, '--email', 'x');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/^ValidationError: /) });
    expect(await json(...of, '--none')).toEqual({ id: brand.id });
  });

  it('is in no file in clear text', async () => {
    const { service, community } = made;
    await service.core.mailContent.contacts.set(community, 'front@harbour.example');
    const records = await service.core.documents.open({ name: 'accountContacts', kind: 'record', indexes: [] });
    const stored = await Array.fromAsync(records.find(everyDocument()));
    expect(stored).toHaveLength(1);
    expect(JSON.stringify(stored)).not.toContain('harbour.example');
    // The copy for the account itself has it.
    const copy = await service.core.copyOf(subjectOf(community), () => {});
    expect(JSON.stringify(copy.records)).toContain('front@harbour.example');
  });
});

describe('a mail is not sent', () => {
  const skip = async (sample: Sample) => {
    const outcome = await compose(sample);
    return 'skipped' in outcome ? outcome.skipped : outcome.subject;
  };
  const aboutBooking = (sample: Sample, other: Sample): Sample => ({
    ...sample,
    mail: { ...sample.mail, about: other.mail.about },
  });
  beforeEach(() => {
    made.service.time.now = made.now;
  });

  it('about a request that was decided meanwhile', async () => {
    for (const kind of ['BookingRequested', 'AnswerDue'] as const)
      for (const over of [find('BookingApproved'), find('BookingDeclined'), find('BookingExpired')])
        expect(await skip(aboutBooking(find(kind), over))).toMatch(/^The request was answered/);
  });

  it('about an event that was cancelled, or is not tomorrow', async () => {
    expect(await skip(aboutBooking(find('EventTomorrow'), find('BookingCancelled', 'Brand')))).toMatch(/not tomorrow/);
    expect(await skip(find('EventTomorrow'))).toMatch(/not tomorrow/);
    made.service.time.now = DAY_BEFORE + 24 * 3_600_000;
    expect(await skip(find('EventTomorrow'))).toMatch(/not tomorrow/);
  });

  it('that the user turned off meanwhile, for all spaces or for this one', async () => {
    const { preferences } = made.service.core.mailContent;
    const { userId, account = 'Brand:0', about } = find('BookingRequested').mail;
    const spaceId = Number(about.spaceId);
    await preferences.choose(userId, account, undefined, { BookingRequested: false });
    expect(await skip(find('BookingRequested'))).toBe('The user turned this mail off.');
    await preferences.choose(userId, account, spaceId, { BookingRequested: true });
    expect(await skip(find('BookingRequested'))).toMatch(/^Request: /);
    await preferences.choose(userId, account, undefined, {});
    await preferences.choose(userId, account, spaceId, { BookingRequested: false });
    expect(await skip(find('BookingRequested'))).toBe('The user turned this mail off.');
    await preferences.choose(userId, account, spaceId, {});
    expect(await skip(find('BookingRequested'))).toMatch(/^Request: /);
  });

  it('about a webhook that was enabled or removed again', async () => {
    const { service, samples } = made;
    const webhookId = String(samples.find(({ kind }) => kind === 'WebhookDisabled')?.mail.about.webhookId);
    accepted(await service.core.commands.webhooks.enable({ webhookId }, CONTEXT));
    expect(await skip(find('WebhookDisabled'))).toMatch(/enabled again/);
    accepted(await service.core.commands.webhooks.remove({ webhookId }, CONTEXT));
    expect(await skip(find('WebhookDisabled'))).toMatch(/removed/);
  });
});

describe('forgetting and leaving', () => {
  let own: Made;
  beforeAll(async () => {
    own = await serviceWithEveryKind(NAMES);
  });
  afterAll(() => own.service.stop());

  test('texts that are forgotten read erased in every mail', async () => {
    const { service, brand, community, samples } = own;
    const { mailContent, commands } = service.core;
    await mailContent.contacts.set(brand, 'planner@northwind.example');
    for (const account of [brand, community]) accepted(await commands.personalData.forget(subjectOf(account), CONTEXT));
    let erased = 0;
    for (const sample of samples) {
      service.time.now = sample.kind === 'EventTomorrow' ? DAY_BEFORE : own.now;
      const message = await mailContent.compose(sample.mail);
      if ('skipped' in message) throw new Error(message.skipped);
      for (const text of sample.kind === 'ApiKeyIssued' ? [] : TEXTS)
        expect(JSON.stringify(message)).not.toContain(text);
      expect(message.replyTo).toBeUndefined();
      if (message.text.includes(': erased') && message.html.includes('>erased<')) erased += 1;
    }
    // All about bookings, and an answer about a space.
    expect(erased).toBe(17);
    expect(await mailContent.contacts.set(brand, 'new@northwind.example')).toMatchObject({
      refused: 'BookingNotAllowed',
    });
  });

  test('a user who is forgotten or removed gets no mail, and their preferences end', async () => {
    const { service, samples } = own;
    const { mailContent, users, commands } = service.core;
    const records = await service.core.documents.open({ name: 'mailPreferences', kind: 'record', indexes: [] });
    const skipped = async (to: Sample['to']) => {
      const outcomes = samples.filter((sample) => sample.to === to).map(({ mail }) => mailContent.compose(mail));
      return new Set((await Promise.all(outcomes)).map((each) => ('skipped' in each ? each.skipped : 'sent')));
    };
    const idOf = (to: Sample['to']) => samples.find((sample) => sample.to === to)?.mail.userId ?? '';
    for (const to of ['Community', 'Brand'] as const) {
      const account = to === 'Brand' ? own.brand : own.community;
      await mailContent.preferences.choose(idOf(to), `${account.kind}:${account.id}`, undefined, { AnswerDue: false });
    }
    expect(await Array.fromAsync(records.find(everyDocument()))).toHaveLength(2);
    const copy = await service.core.copyOf(subjectOfUser(idOf('Community')), () => {});
    expect(copy.records.map(({ collection }) => collection)).toContain('mailPreferences');

    accepted(await commands.personalData.forget(subjectOfUser(idOf('Community')), CONTEXT));
    expect(await skipped('Community')).toEqual(new Set(['The user was forgotten.']));
    for (const { mail } of own.linkSamples.filter(({ to }) => to === 'Community'))
      expect(await mailContent.compose(mail)).toEqual({ skipped: 'The user was forgotten.' });
    await users.remove(idOf('Brand'), CONTEXT);
    expect(await skipped('Brand')).toEqual(new Set(['The user was removed.']));
    expect(await Array.fromAsync(records.find(everyDocument()))).toEqual([]);
  });

  test('a member whose role was lowered gets no mail that the role does not allow', async () => {
    const { service, brand, samples } = own;
    const { mailContent, users } = service.core;
    const email = 'lowered@example.com';
    // The only other Manager was removed.
    const password = 'a long password';
    accepted(await users.add({ email: 'stays@example.com', password, accounts: [brand] }, CONTEXT));
    const user = accepted(await users.add({ email, password, accounts: [brand] }, CONTEXT));
    accepted(await users.setRole(user.id, brand, 'Viewer', CONTEXT));
    const toUser = (kind: Sample['kind']) => {
      const sample = samples.find((each) => each.kind === kind) ?? expect.fail(kind);
      return mailContent.compose({ ...sample.mail, userId: user.id });
    };
    expect(await toUser('ApiKeyIssued')).toEqual({ skipped: 'The role of the user no longer allows it.' });
    expect(await toUser('RoleChanged')).toEqual({ skipped: 'The role changed again meanwhile.' });
    // A Viewer gets only what was turned on.
    expect(await toUser('BookingApproved')).toEqual({ skipped: 'The user turned this mail off.' });
    await mailContent.preferences.choose(user.id, `Brand:${brand.id}`, undefined, { BookingApproved: true });
    expect(await toUser('BookingApproved')).toMatchObject({ to: email });
    const question = samples.findLast(({ kind }) => kind === 'Message') ?? expect.fail('No question');
    const asks = async (role: Role) => {
      accepted(await users.setRole(user.id, brand, role, CONTEXT));
      return mailContent.compose({ ...question.mail, userId: user.id });
    };
    await mailContent.preferences.choose(user.id, `Brand:${brand.id}`, undefined, { Message: true });
    for (const role of ['Viewer', 'ViewerWithoutAmounts'] as const)
      expect(await asks(role)).toHaveProperty('text', expect.stringContaining('See the message'));
    expect(await asks('CoordinatorWithoutAmounts')).toHaveProperty(
      'text',
      expect.stringContaining('Answer the message'),
    );
  });

  test('a user who leaves the account gets no mail of it, and keeps that of another', async () => {
    const { service, community, brand, samples } = own;
    const { mailContent, users } = service.core;
    const email = 'both@example.com';
    const accounts = [community, brand];
    const both = accepted(await users.add({ email, password: 'a long password', accounts }, CONTEXT));
    for (const { kind, id } of accounts)
      await mailContent.preferences.choose(both.id, `${kind}:${id}`, undefined, { EventTomorrow: false });
    accepted(await users.removeAccount(both.id, community, CONTEXT));
    const toBoth = (kind: Sample['kind']) => {
      const sample = samples.find((each) => each.kind === kind);
      if (sample === undefined) throw new Error(kind);
      return mailContent.compose({ ...sample.mail, userId: both.id });
    };
    expect(await toBoth('BookingRequested')).toEqual({ skipped: 'The user left the account.' });
    expect(await toBoth('BookingApproved')).toMatchObject({ to: email });
    const preferences = (account: typeof brand) =>
      mailContent.preferences.get(both.id, `${account.kind}:${account.id}`);
    expect((await preferences(community)).all).toEqual({});
    expect((await preferences(brand)).all).toEqual({ EventTomorrow: false });
  });
});

describe('the plan of the day', () => {
  it('has every approved event of tomorrow that the member wants to hear of, in one mail', async () => {
    const { service, community, brand } = made;
    const { commands } = service.core;
    service.time.now = made.now;
    const spaces = [];
    for (const name of ['Attic', 'Cellar']) spaces.push(await service.space({ id: community.id }, { name }));
    const startHours = [14, 10];
    const bookingIds = [];
    for (const [index, space] of spaces.entries()) {
      const details = { spaceId: spaceId(space), date: '2026-12-20' as PlainDate, startHour: startHours[index] ?? 0 };
      const { bookingId } = accepted(await commands.bookings.request({ brandId: brandId(brand.id), details }, CONTEXT));
      accepted(await commands.bookings.approve({ bookingId, communityId: communityId(community.id) }, CONTEXT));
      bookingIds.push(bookingId);
    }
    const plan = await written(find('EventTomorrow', 'Community'));
    expect(plan.subject).toBe('Tomorrow: 3 events, Sun 20 Dec 2026');
    const places = [
      '10:00–14:00:\n    Great Hall\n    “Northwind Coffee”',
      '10:00–14:00:\n    Cellar',
      '14:00–18:00:\n    Attic',
    ];
    const at = places.map((text) => plan.text.indexOf(text));
    expect(at.every((index) => index > 0)).toBe(true);
    expect(at).toEqual(at.toSorted((a, b) => a - b));
    for (const id of bookingIds) expect(plan.text).toContain(`/console/bookings/${id}\n`);
    expect(plan.text).toContain('/console/calendar/2026-12-20');
    const [bookingId] = bookingIds;
    expect(plan.html).toMatch(
      new RegExp(`<td[^>]*><a [^>]*href="[^"]*/console/bookings/${bookingId}"><bdi>Attic</bdi></a>`),
    );
    const ofBrand = await written(find('EventTomorrow', 'Brand'));
    expect(ofBrand.subject).toBe('Tomorrow: 3 events, Sun 20 Dec 2026');
    expect(ofBrand.text).toContain('14:00–18:00:\n    Attic\n    “Harbour Lofts”, Berlin time\n    http');

    // The space that makes the mail is turned off, and the others are not.
    const { preferences } = service.core.mailContent;
    const { userId, account = 'Brand:0', about } = find('EventTomorrow', 'Community').mail;
    await preferences.choose(userId, account, Number(about.spaceId), { EventTomorrow: false });
    expect((await written(find('EventTomorrow', 'Community'))).subject).toBe('Tomorrow: 2 events, Sun 20 Dec 2026');
    await preferences.choose(userId, account, undefined, { EventTomorrow: false });
    expect(await compose(find('EventTomorrow', 'Community'))).toHaveProperty('skipped');
    await preferences.choose(userId, account, undefined, {});
    await preferences.choose(userId, account, Number(about.spaceId), {});
  });
});
