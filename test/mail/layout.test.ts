import { expect, it } from 'vitest';
import { namedText } from '../../src/html/html.ts';
import { renderMail } from '../../src/mail/compose/layout.ts';

const NAME = 'Rot <b>\r\nBcc: eve@example.com\u2028& "Söhne"';
const mail = renderMail({
  subject: `Request from ${namedText(NAME)}`,
  intro: [`${namedText(NAME)} asks for an hour.`],
  facts: [
    ['Space', 'Loft'],
    ['Message', 'First line\nAnswer by: tomorrow'],
  ],
  action: { text: 'Answer the request', url: 'http://localhost:3000/console/bookings/17?a=1&b=2' },
  footer: 'You get this mail because you are a member.',
  footerLink: { text: 'Choose your mail', url: 'http://localhost:3000/console/mail/settings' },
});

it('keeps the subject on one line, even with line breaks in a name', () => {
  expect(mail.subject).toBe('Request from Rot <b> Bcc: eve@example.com & "Söhne"');
});

it('cuts a long subject', () => {
  const { subject } = renderMail({ subject: '😀'.repeat(500), intro: [] });
  expect(Array.from(subject)).toHaveLength(200);
});

it('writes the text without a line that a value could forge', () => {
  expect(mail.text).toBe(`Rot <b> Bcc: eve@example.com & "Söhne" asks for an hour.

Space: Loft
Message:
    First line
    Answer by: tomorrow

Answer the request:
http://localhost:3000/console/bookings/17?a=1&b=2

--${' '}
You get this mail because you are a member.
Choose your mail: http://localhost:3000/console/mail/settings
`);
});

it('links the first line of a fact that leads somewhere, and names its address in the text', () => {
  const url = 'http://localhost:3000/console/bookings/17';
  const { text, html } = renderMail({ subject: 'Tomorrow', intro: [], facts: [['10:00', 'Loft\nAcme & Co', url]] });
  expect(text).toBe(`10:00:\n    Loft\n    Acme & Co\n    ${url}\n`);
  expect(html).toMatch(/<a [^>]*href="http:\/\/localhost:3000\/console\/bookings\/17">Loft<\/a>\nAcme &amp; Co<\/td>/);
});

it('escapes every value in the HTML', () => {
  expect(mail.html).not.toContain('<b>');
  expect(mail.html).toContain('Rot &lt;b&gt;');
  expect(mail.html).toContain('href="http://localhost:3000/console/bookings/17?a=1&amp;b=2"');
});

it('has no remote content and follows the colours of the reader', () => {
  expect(mail.html).not.toMatch(/\bsrc=|@import|url\(|<(?:img|script|link|iframe|object|form)\b/i);
  expect(mail.html).toContain('<meta name="color-scheme" content="light dark">');
  expect(mail.html).toContain('@media (prefers-color-scheme: dark)');
});
