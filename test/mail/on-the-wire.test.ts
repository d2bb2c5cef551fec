import { expect, onTestFinished, test } from 'vitest';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { startDemo } from '../console/console.fixture.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { startSmtp } from './smtp.ts';

const BRAND = 'مقهى الشمال 🎉\r\nBcc: eve@example.com\r\n\r\nHello';
const SPACE = `${'x'.repeat(80)}\r\nX-Evil: 1`;

test('mails with difficult names arrive whole, with their calendar file and the address of the other party', async () => {
  const smtp = await startSmtp();
  onTestFinished(() => smtp.kill());
  const running = await startDemo({ SMTP_URL: smtp.url, MAIL_FROM: 'Bookings <bookings@vénue.example>' });
  onTestFinished(() => running.stop());
  const { commands, users, mailContent } = running.service.core;
  const [harbour] = running.demo.communities;
  const community = { kind: 'Community', id: communityId(harbour.id) } as const;
  const brand = {
    kind: 'Brand',
    id: brandId(accepted(await commands.catalogue.addBrand({ name: BRAND }, CONTEXT)).brandId),
  } as const;
  const email = 'bea@example.com';
  accepted(await users.add({ email, password: 'a long password', accounts: [brand] }, CONTEXT));
  const terms = { windowStart: 9, windowEnd: 22, durationHours: 4, eventFee: 100, answerHours: 72 };
  const space = accepted(
    await commands.catalogue.addSpace({ ...terms, name: SPACE, communityId: harbour.id } as never, CONTEXT),
  );
  await mailContent.contacts.set(brand, 'planner@northwind.example');
  await mailContent.contacts.set(community, 'front@harbour.example');

  const details = { spaceId: spaceId(space), date: inDays(30) as PlainDate, startHour: 10 };
  const { bookingId } = accepted(await commands.bookings.request({ brandId: brand.id, details }, CONTEXT));
  const arrived = (subject: string) =>
    eventually(() => smtp.arrived.find(({ mail }) => mail.subject?.startsWith(subject)) ?? expect.fail(subject));
  const request = await arrived('Request: ');
  expect(request.to).toEqual([harbour.user.email]);
  const url = `${running.url}/console/unsubscribe?of=Community%3A${harbour.id}&kind=BookingRequested&link=`;
  expect(request.mail.headers.get('list')).toEqual({ unsubscribe: { url: expect.stringContaining(url) } });
  expect(request.mail.messageId).toMatch(/@xn--vnue-bpa\.example>$/);
  expect(request.mail.subject).toMatch(/^Request: \S*مقهى الشمال 🎉 Bcc: eve\[at\]example\[\.\]com Hello\S*, x+…, /);
  expect(request.mail.replyTo?.text).toBe('planner@northwind.example');
  expect(request.mail.headers.has('bcc')).toBe(false);
  expect(request.mail.headers.has('x-evil')).toBe(false);

  accepted(await commands.bookings.approve({ bookingId, communityId: community.id }, CONTEXT));
  const { to, mail } = await arrived('Approved: ');
  expect(to).toEqual([email]);
  expect(mail.replyTo?.text).toBe('front@harbour.example');
  expect(mail.html).toContain('<meta name="color-scheme" content="light dark">');
  expect(mail.attachments.map(({ contentType, filename }) => ({ contentType, filename }))).toEqual([
    { contentType: 'text/calendar', filename: 'event.ics' },
  ]);
  const text = mail.attachments[0]?.content.toString() ?? '';
  const lines = text.split('\r\n');
  expect(text.replaceAll('\r\n ', '')).toContain(
    `UID:booking-${bookingId}@${running.service.core.logId}.venue-booking`,
  );
  expect(lines).toContain('ORGANIZER;CN="Bookings":mailto:bookings@vénue.example');
  expect(lines.filter((line) => /^(?:Bcc|X-Evil)/.test(line))).toEqual([]);
  expect(lines.filter((line) => Buffer.byteLength(line) > 75)).toEqual([]);

  // What is due because of the time comes the same way.
  const due = mailContent.reminders(Date.parse(`${inDays(29)}T20:00:00Z`));
  const reminded = await Array.fromAsync(due);
  expect(reminded.filter(({ about }) => about.bookingId === bookingId).map(({ kind }) => kind)).toEqual([
    ...['EventTomorrow', 'EventTomorrow'],
  ]);
  expect(reminded.every(({ at }) => at <= toTimestamp(Date.parse(`${inDays(29)}T20:00:00Z`)))).toBe(true);
}, 60_000);
