import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { SendResult } from '../../src/mail/outcome.ts';
import { MAIL_CAUSES } from '../../src/mail/smtp-cause.ts';
import { createSmtpSender } from '../../src/mail/smtp-sender.ts';
import { eventually } from '../eventually.ts';
import { type Environment, runNode } from '../service/node-process.ts';
import { FROM, openMailVenue } from './mail-venue.ts';
import { startSmtp } from './smtp.ts';

const file = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
const key = file('server.key');
/** Self-signed, for mail.test, localhost and 127.0.0.1; the second one ended in 2020. Made for these tests only. */
const [certificate, expired] = [file('server.crt'), file('expired.crt')];

/** This process trusts them, as one with `NODE_EXTRA_CA_CERTS` does. */
const trusted = getCACertificates('default');
const trust = (...certificates: readonly string[]) => setDefaultCACertificates([...trusted, ...certificates]);
beforeAll(() => trust(certificate, expired));
afterAll(() => setDefaultCACertificates(trusted));

type SignIn = {
  readonly method: string;
  readonly user: string;
  readonly password: string;
  readonly isEncrypted: boolean;
};

/** A mail server with a certificate that offers STARTTLS, and notes who signs in and how. */
async function server(options: SMTPServerOptions = {}) {
  const signIns: SignIn[] = [];
  const smtp = await startSmtp({
    key,
    cert: certificate,
    disabledCommands: [],
    onAuth({ method, username, password }, { secure }, done) {
      signIns.push({ method, user: username ?? '', password: password ?? '', isEncrypted: secure });
      done(null, { user: username ?? '' });
    },
    ...options,
  });
  onTestFinished(() => smtp.kill());
  return { ...smtp, smtp, signIns, url: (before = '', after = '') => `smtp://${before}127.0.0.1:${smtp.port}${after}` };
}

async function sendTo(url: string): Promise<SendResult> {
  const sender = createSmtpSender({ url, from: FROM, connections: 1, timeouts: { greeting: 2_000 } });
  const text = 'A secret link';
  const mail = {
    to: 'ada@example.com',
    subject: 's',
    text,
    html: text,
    messageId: '<a@b>',
    date: new Date(),
    userId: '',
  };
  try {
    return await sender.send(mail, new AbortController().signal);
  } finally {
    await sender.close();
  }
}

test.each(['smtp', 'smtps'])('%s:// encrypts the mail and the password', async (protocol) => {
  const { url, signIns, arrived } = await server({ secure: protocol === 'smtps' });
  expect(await sendTo(url('bookings:secret@').replace('smtp', protocol))).toMatchObject({ outcome: 'accepted' });
  expect(arrived).toHaveLength(1);
  expect(signIns).toEqual([{ method: 'PLAIN', user: 'bookings', password: 'secret', isEncrypted: true }]);
});

test.each(['PLAIN', 'LOGIN'])('%s gets a user and a password with any characters', async (method) => {
  const { url, signIns } = await server({ authMethods: [method] });
  const [user, password] = ['böokings+1@example.com', `p@ss:w/o?r#d &=%41"'\\ß🎉`];
  const given = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  expect(await sendTo(url(given))).toMatchObject({ outcome: 'accepted' });
  expect(signIns).toEqual([{ method, user, password, isEncrypted: true }]);
});

test('no password goes in clear to another machine, unless the operator says so', async () => {
  // As if a machine in between had removed the offer of STARTTLS.
  const { url, signIns, arrived } = await server({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  // Reaches this machine, and is no loopback address.
  const another = (text: string) => text.replace('127.0.0.1', '0.0.0.0');
  const refused = await sendTo(another(url('bookings:secret@')));
  expect(refused).toMatchObject({ outcome: 'unreachable', cause: 'NoStartTls' });
  expect(await sendTo(url('', '?requireTLS=true'))).toMatchObject({ outcome: 'unreachable' });
  expect({ signIns, arrived }).toEqual({ signIns: [], arrived: [] });

  expect(await sendTo(another(url('bookings:secret@', '?requireTLS=false')))).toMatchObject({ outcome: 'accepted' });
  expect(await sendTo(url('bookings:secret@'))).toMatchObject({ outcome: 'accepted' });
  expect(signIns).toHaveLength(2);
});

test.each([
  ['', 'is not trusted', 'NotTrusted', { trusted: [] }],
  ['', 'has expired', 'Expired', { cert: expired }],
  ['?tls.servername=mail.example.com', 'is for another name', 'OtherName', {}],
])(
  'a certificate%s that %s: nothing is sent',
  async (after, _, cause, {
    trusted: instead,
    cert = certificate,
  }: {
    readonly trusted?: readonly string[];
    readonly cert?: string;
  }) => {
    if (instead !== undefined) trust(...instead);
    onTestFinished(() => trust(certificate, expired));
    for (const protocol of ['smtp', 'smtps']) {
      const { url, signIns, arrived } = await server({ cert, secure: protocol === 'smtps' });
      const result = await sendTo(url('bookings:secret@', after).replace('smtp', protocol));
      expect(result).toMatchObject({ outcome: 'unreachable', cause });
      expect({ signIns, arrived }).toEqual({ signIns: [], arrived: [] });
    }
  },
);

test('a server without the expected protocol, name or sign-in is told apart', async () => {
  const plain = await server({ hideSTARTTLS: true });
  const causeAt = async (url: string) => {
    const result = await sendTo(url);
    return result.outcome === 'unreachable' ? result.cause : result.outcome;
  };
  expect(await causeAt(plain.url().replace('smtp', 'smtps'))).toBe('NoTlsOnPort');
  expect(await causeAt((await server({ secure: true })).url())).toBe('NoAnswer');
  expect(await causeAt('smtp://mail.invalid')).toBe('UnknownHost');
  await plain.smtp.kill();
  expect(await causeAt(plain.url())).toBe('NotReached');
  const strict = await server({ onAuth: (_auth, _session, done) => done(new Error('Wrong password')) });
  expect(await causeAt(strict.url('bookings:secret@'))).toBe('SignInRefused');
  strict.smtp.onConnect = async () => ({ status: 554, text: 'Your address is blocked' });
  expect(await causeAt(strict.url())).toBe('RefusesService');
});

test('a mail waits while the certificate is not trusted, the operator is told why, and it is sent once that is mended', async () => {
  const { smtp, url } = await server();
  const lines: object[] = [];
  const logger = { info() {}, warn: (line: object) => void lines.push(line), error() {} };
  trust();
  onTestFinished(() => trust(certificate, expired));
  const venue = await openMailVenue({ url: url('bookings:secret@') });
  onTestFinished(() => venue.close());
  const mail = await venue.send({ logger });
  await mail.enqueue(venue.newMail(1));
  const tried = (times: number) =>
    eventually(async () => expect((await mail.list('Pending', 1))[0]?.tries).toBeGreaterThanOrEqual(times));
  await tried(1);
  venue.advance(10 * 60_000);
  await tried(2);
  expect(await mail.warning()).toMatch(
    /^the mail server has taken no mail since \S+: its certificate is not trusted; /,
  );
  expect(lines).toEqual([expect.objectContaining({ cause: 'its certificate is not trusted' })]);
  expect(JSON.stringify(await mail.list('Pending', 1))).toMatch(/certificate/);
  expect(smtp.arrived).toHaveLength(0);
  trust(certificate);
  venue.advance(10 * 60_000);
  await eventually(async () => expect(await mail.list('Sent', 1)).toHaveLength(1));
  expect(smtp.arrived).toHaveLength(1);
  expect(await mail.warning()).toBeUndefined();
});

test('the guide says of every cause what to do', () => {
  const guide = readFileSync(new URL('../../docs/operations/mail.md', import.meta.url), 'utf8');
  const rows = guide.split('\n').flatMap((line) => /^\| (it.+?) \| .+ \|$/.exec(line)?.[1] ?? []);
  expect(rows.toSorted()).toEqual(Object.values(MAIL_CAUSES).toSorted());
});

test('NODE_EXTRA_CA_CERTS trusts a certificate, and `venue mail test` says what is wrong without it', async () => {
  const { url, signIns } = await server();
  const folder = mkdtempSync(join(tmpdir(), 'venue-mail-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const settings = { DATA_DIR: folder, SMTP_URL: url('bookings:secret@'), MAIL_FROM: 'bookings@venue.example' };
  const run = (env: Environment = {}) =>
    runNode('src/cli.js', ['mail', 'test', 'ada@example.com'], { ...settings, ...env });
  const refused = await run();
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('The mail server takes no mail: its certificate is not trusted (self-signed');
  expect(refused.stderr).not.toContain('secret');
  const sent = await run({ NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('tls/server.crt', import.meta.url)) });
  expect(sent).toMatchObject({ code: 0 });
  expect(signIns).toHaveLength(1);
});
