import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { SendResult } from '../../src/mail/outcome.ts';
import type { OutgoingMail } from '../../src/mail/sender.ts';
import { createSmtpSender } from '../../src/mail/smtp-sender.ts';
import { freePort } from '../free-port.ts';
import { FROM } from './mail-venue.ts';
import { startSmtp } from './smtp.ts';

const MAIL: OutgoingMail = {
  to: 'ada.lovelace@example.com',
  subject: 'Booking 17 was approved',
  text: 'It was approved.',
  html: '<p>It was approved.</p>',
  messageId: '<abc@venue.example>',
  date: new Date('2029-03-01T12:00:00Z'),
  userId: 'usr_ada',
};

const { signal } = new AbortController();

async function server(options = {}) {
  const smtp = await startSmtp(options);
  onTestFinished(() => smtp.kill());
  return smtp;
}

function senderTo(url: string, timeouts = {}) {
  const sender = createSmtpSender({ url, from: FROM, connections: 2, timeouts });
  onTestFinished(() => sender.close());
  return (mail: Partial<OutgoingMail> = {}): Promise<SendResult> =>
    sender.send({ ...MAIL, ...mail }, new AbortController().signal);
}

test('a mail arrives as it was made, with an attachment and without anything that answers it', async () => {
  const smtp = await server();
  const calendar = 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n';
  expect(await senderTo(smtp.url)({ replyTo: 'house@example.com', calendar })).toMatchObject({
    outcome: 'accepted',
    code: 250,
  });
  const [{ to, mail } = { to: [], mail: undefined }] = smtp.arrived;
  expect(to).toEqual([MAIL.to]);
  expect(mail).toMatchObject({
    subject: MAIL.subject,
    html: MAIL.html,
    messageId: MAIL.messageId,
    date: MAIL.date,
    from: { value: [FROM] },
    replyTo: { value: [{ address: 'house@example.com' }] },
    attachments: [{ filename: 'event.ics', contentType: 'text/calendar' }],
  });
  expect(mail?.text?.trim()).toBe(MAIL.text);
  expect(mail?.attachments[0]?.content.toString()).toBe(calendar);
  expect(mail?.headers.get('auto-submitted')).toBe('auto-generated');
  expect(mail?.headers.get('x-auto-response-suppress')).toBe('OOF, AutoReply');
  expect(mail?.headers.has('list')).toBe(false);
});

test('mail that can be turned off names where, with one click if the address has TLS (RFC 8058)', async () => {
  const smtp = await server();
  const path = 'venue.example/console/unsubscribe?of=Community%3A3&kind=all&link=usr_1.abc.def';
  for (const protocol of ['https', 'http']) await senderTo(smtp.url)({ unsubscribeUrl: `${protocol}://${path}` });
  const [secure, plain] = smtp.arrived.map(({ mail }) => mail.headers);
  expect(secure?.get('list')).toMatchObject({ unsubscribe: { url: `https://${path}` } });
  expect(smtp.arrived[0]?.raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  expect(plain?.get('list')).toEqual({ unsubscribe: { url: `http://${path}` } });
  expect(smtp.arrived[1]?.raw).not.toContain('List-Unsubscribe-Post');
});

test('no line is longer than SMTP allows, with texts and names of any length', async () => {
  const smtp = await server();
  const sender = createSmtpSender({ url: smtp.url, from: { ...FROM, name: 'ü'.repeat(500) }, connections: 1 });
  onTestFinished(() => sender.close());
  for (const long of ['x'.repeat(5_000), 'ü🎉'.repeat(2_000)])
    await sender.send(
      { ...MAIL, text: long, html: `<p>${long}</p>`, subject: long.slice(0, 200), calendar: long },
      signal,
    );
  const lines = smtp.arrived.flatMap(({ raw }) => raw.split('\r\n'));
  expect(smtp.arrived).toHaveLength(2);
  expect(lines.filter((line) => Buffer.byteLength(line) > 998)).toEqual([]);
});

test('a domain in any script goes out in ASCII; an address that the server cannot take is refused for good', async () => {
  const smtp = await server({ hideSMTPUTF8: true });
  const send = senderTo(smtp.url);
  expect(await send({ to: 'user@münchen.example', replyTo: 'x@münchen.example' })).toMatchObject({
    outcome: 'accepted',
  });
  expect(smtp.arrived[0]?.raw).toMatch(/^To: user@xn--mnchen-3ya\.example\r$/m);
  expect(smtp.arrived[0]?.raw).toMatch(/^[\p{ASCII}]+$/u);
  smtp.onRecipient = async () => ({ status: 553, text: 'Only with SMTPUTF8' });
  expect(await send({ to: 'bjørn@example.com' })).toMatchObject({ isFinal: true, response: '553 Only with SMTPUTF8' });
});

test('a reply address in other letters than ASCII is left out, unless the recipient needs SMTPUTF8 anyway', async () => {
  const without = await server({ hideSMTPUTF8: true });
  expect(await senderTo(without.url)({ replyTo: 'büro@hafen.example' })).toMatchObject({ outcome: 'accepted' });
  expect(without.arrived[0]?.raw).toMatch(/^[\p{ASCII}]+$/u);
  expect(without.arrived[0]?.mail.replyTo).toBeUndefined();
  const smtp = await server();
  await senderTo(smtp.url)({ replyTo: 'büro@hafen.example' });
  await senderTo(smtp.url)({ replyTo: 'büro@hafen.example', to: 'bjørn@example.com' });
  expect(smtp.arrived.map(({ mail }) => mail.replyTo?.value[0]?.address)).toEqual([undefined, 'büro@hafen.example']);
});

test('line breaks in a name, a subject or an address never make a header or a recipient', async () => {
  const smtp = await server();
  const evil = 'Ada\r\nBcc: eve@example.com\r\n\r\nBuy now';
  const sender = createSmtpSender({ url: smtp.url, from: { ...FROM, name: evil }, connections: 1 });
  onTestFinished(() => sender.close());
  expect(await sender.send({ ...MAIL, subject: `Request of ${evil}` }, signal)).toMatchObject({ outcome: 'accepted' });
  const [{ to, raw, mail } = { to: [], raw: '', mail: undefined }] = smtp.arrived;
  expect(to).toEqual([MAIL.to]);
  expect(raw.split('\r\n\r\n')[0]).not.toMatch(/^Bcc/im);
  expect(mail?.bcc).toBeUndefined();
  expect(mail?.subject).toBe('Request of Ada Bcc: eve@example.com Buy now');
  const injected = 'ada@example.com>\r\nRCPT TO:<eve@example.com';
  const refused = await sender.send({ ...MAIL, to: injected, replyTo: injected }, signal);
  expect(refused).toMatchObject({ outcome: 'refused', isFinal: true });
  expect(smtp.arrived).toHaveLength(1);
});

test.each([
  [550, 'refused', true],
  [552, 'refused', true],
  [450, 'refused', false],
  [503, 'refused', false],
  [421, 'unreachable', undefined],
  // The service is to sign in first: a mistake of the operator, not of the recipient.
  [530, 'unreachable', undefined],
])('a recipient that the server answers with %i is %s, for good: %s', async (status, outcome, isFinal) => {
  const smtp = await server();
  smtp.onRecipient = async (address) => ({ status, text: `No such user ${address}, ada.lovelace` });
  const result = await senderTo(smtp.url)();
  expect(result).toMatchObject({ outcome, code: status, ...(isFinal !== undefined && { isFinal }) });
  expect(result.response).not.toContain('ada.lovelace');
});

test('a mail that is refused once its data has ended is refused for good or for now', async () => {
  const smtp = await server();
  const send = senderTo(smtp.url);
  smtp.onData = async () => ({ status: 554, text: 'Looks like spam' });
  expect(await send()).toMatchObject({ outcome: 'refused', isFinal: true, code: 554 });
  smtp.onData = async () => ({ status: 451, text: 'Try again' });
  expect(await send()).toMatchObject({ outcome: 'refused', isFinal: false, code: 451 });
});

test('a server that is away, closes in the middle of the data or does not let the service in is unreachable', async () => {
  const smtp = await server();
  const send = senderTo(smtp.url);
  smtp.onData = () => {
    smtp.breakConnections();
    return undefined;
  };
  expect(await send()).toMatchObject({ outcome: 'unreachable' });
  smtp.onConnect = async () => ({ status: 554, text: 'Your address is blocked' });
  expect(await send()).toMatchObject({ outcome: 'unreachable', code: 554 });
  await smtp.kill();
  expect(await send()).toMatchObject({ outcome: 'unreachable' });
  const closed = await freePort();
  expect(await senderTo(`smtp://127.0.0.1:${closed}`)()).toMatchObject({ outcome: 'unreachable' });
});

test('a wrong password concerns the operator, and is in no message', async () => {
  const smtp = await server({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: (_auth: unknown, _session: unknown, done: (error: Error) => void) =>
      done(Object.assign(new Error('Wrong password'), { responseCode: 535 })),
  });
  const result = await senderTo(smtp.url.replace('//', '//postmaster:s3cret-word@'))();
  expect(result).toMatchObject({ outcome: 'unreachable', code: 535 });
  expect(JSON.stringify(result)).not.toMatch(/s3cret-word|postmaster/);
});

test('a server that accepts the connection and never greets holds it no longer than the limit', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const send = senderTo(`smtp://127.0.0.1:${port}`, { greeting: 100 });
  expect(await send()).toMatchObject({ outcome: 'unreachable' });
});
