import { globSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { subjectOf } from '../../src/domain/personal-text.ts';
import { INBOX_SIZE, openInbox } from '../../src/mail/inbox.ts';
import { messageIdOf } from '../../src/mail/mail-record.ts';
import type { OutgoingMail } from '../../src/mail/sender.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let inbox: Awaited<ReturnType<typeof openInbox>>;

beforeAll(async () => {
  service = await runService({ MAIL_INBOX: 'true' });
  inbox = await openInbox({ ...service.core, ...service.config });
});
afterAll(() => service.stop());

const HOSTILE = '<script>alert(1)</script>';

async function keep(subject: string, given: Partial<OutgoingMail> = {}): Promise<string> {
  const messageId = messageIdOf(`test:${subject}`, 'localhost');
  const html = `<!doctype html><html><head></head><body><a href="http://localhost:3000/console">Open</a>${HOSTILE}</body></html>`;
  const message = { to: 'ada@example.com', subject, text: `Text of ${subject}`, html };
  const { signal } = new AbortController();
  const date = new Date(service.time.now);
  await inbox.sender.send({ ...message, messageId, date, userId: 'usr_1', ...given }, signal);
  return messageId.slice(1, messageId.indexOf('@'));
}

const PROXY_HEADERS = [
  ...['forwarded', 'via', 'x-real-ip', 'x-forwarded', 'x-original-forwarded-for', 'x-original-host', 'x-client-ip'],
  ...['for', 'host', 'proto', 'port', 'server', 'prefix', 'by', 'scheme', 'ssl', 'path'].map(
    (of) => `x-forwarded-${of}`,
  ),
  ...['x-cluster-client-ip', 'x-remote-ip', 'x-remote-addr', 'x-envoy-external-address', 'x-proxy-id', 'x-arr-ssl'],
  ...['x-amzn-trace-id', 'x-azure-ref', 'x-request-start', 'true-client-ip', 'cf-connecting-ip', 'fastly-client-ip'],
  ...['cdn-loop', 'fly-client-ip', 'x-host', 'x-scheme', 'x-url-scheme'],
];

const filesOf = ({ config: { dataDir } }: RunningService): string[] =>
  globSync('**', { cwd: dataDir })
    .map((name) => join(dataDir, name))
    .filter((file) => statSync(file).isFile());

const open = (url: string, headers: Record<string, string> = {}) =>
  service.app.inject({ url, headers: { host: 'localhost:3000', accept: 'text/html', ...headers } });

test('a mail is listed, and shown as HTML that runs and loads nothing, and as text', async () => {
  const id = await keep(`Hello ${HOSTILE}`, { calendar: 'BEGIN:VCALENDAR' });
  const list = await open('/mail');
  expect(list.statusCode).toBe(200);
  expect(list.body).toContain('Hello &lt;script&gt;');
  expect(list.body).toContain(`/mail/${id}`);

  const page = await open(`/mail/${id}`);
  expect(page.body).not.toContain(HOSTILE);
  expect(page.body).toContain(`src="/mail/${id}/html" sandbox="allow-popups allow-popups-to-escape-sandbox"`);
  expect(page.headers['content-security-policy']).toMatch(
    /script-src 'self'.*frame-ancestors 'none'; frame-src 'self'$/,
  );

  const content = await open(`/mail/${id}/html`);
  expect(content.body).toContain('<base target="_blank">');
  expect(content.headers).toMatchObject({
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'unsafe-inline'; .*; sandbox allow-popups /,
    ),
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
  });
  expect(content.headers['content-security-policy']).not.toMatch(/script|allow-scripts|allow-same-origin/);

  const file = await open(`/mail/${id}/event.ics`);
  expect(file).toMatchObject({ body: 'BEGIN:VCALENDAR', statusCode: 200 });
});

test('a request that names another host, or came through a proxy, gets 404', async () => {
  const id = await keep('Private');
  for (const url of ['/mail', `/mail/${id}`, `/mail/${id}/html`]) {
    for (const host of ['127.0.0.1:3000', '[::1]:3000', 'localhost'])
      expect(await open(url, { host }), host).toMatchObject({ statusCode: 200 });
    for (const host of ['venue.example.com', 'localhost.evil.example', '127.0.0.1.nip.io', '192.0.2.1:3000'])
      expect(await open(url, { host }), host).toMatchObject({ statusCode: 404 });
    for (const name of PROXY_HEADERS)
      expect(await open(url, { [name]: '192.0.2.1' }), name).toMatchObject({ statusCode: 404 });
  }
  expect((await open('/mail/nothing')).statusCode).toBe(404);
});

test('a request in HTTP/1.0, as a proxy without settings sends it, gets 404', async () => {
  await keep('Private');
  const { port } = new URL(await service.app.listen({ host: '127.0.0.1', port: 0 }));
  for (const [version, status] of [
    ['1.1', 200],
    ['1.0', 404],
  ] as const) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET /mail HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  }
});

test('what it keeps is sealed: no file holds an address, a text or a link', async () => {
  await inbox.delete(() => true);
  const link = 'http://localhost:3000/console/password/new?link=SECRETLINK';
  const id = await keep('Sealed subject', {
    to: 'zoe@example.com',
    replyTo: 'house@example.com',
    text: `Zwetschgen. ${link}`,
    html: `<p>Zwetschgen</p><a href="${link}">Link</a>`,
    calendar: 'SUMMARY:Zwetschgen',
  });
  expect(await inbox.get(id)).toMatchObject({ to: 'zoe@example.com', text: `Zwetschgen. ${link}` });
  const leaks = filesOf(service).filter((file) =>
    /Zwetschgen|SECRETLINK|Sealed subject|(zoe|house)@example/.test(readFileSync(file, 'latin1')),
  );
  expect(leaks).toEqual([]);
});

test('a service without an inbox has no such page', async () => {
  const other = await runService();
  try {
    expect((await other.app.inject({ url: '/mail', headers: { host: 'localhost' } })).statusCode).toBe(404);
  } finally {
    await other.stop();
  }
});

test('it keeps as many of mails that are sent at once', async () => {
  await Promise.all(Array.from({ length: 2 * INBOX_SIZE }, (_, number) => keep(`At once ${number}`)));
  expect(await inbox.list()).toHaveLength(INBOX_SIZE);
});

test('it keeps the last mails, for a day', async () => {
  await inbox.delete(() => true);
  for (let number = 1; number <= INBOX_SIZE + 3; number += 1) {
    service.time.now = NOON + number;
    await keep(`Mail ${number}`);
  }
  const kept = await inbox.list();
  expect(kept).toHaveLength(INBOX_SIZE);
  expect(kept[0]?.subject).toBe(`Mail ${INBOX_SIZE + 3}`);
  expect(kept.at(-1)?.subject).toBe('Mail 4');
  expect(kept[0]?.expiresAt).toBe(toTimestamp(NOON + INBOX_SIZE + 3 + 24 * 3_600_000));
  service.time.now = NOON + 25 * 3_600_000;
  expect(await inbox.list()).toEqual([]);
  service.time.now = NOON;
});

test('forgetting anyone empties it', async () => {
  const brand = await service.brand();
  await keep('Before forgetting');
  await service.core.commands.personalData.forget(subjectOf(brand.account), CONTEXT);
  expect(await inbox.list()).toEqual([]);
});

test('removing a user deletes the mails to the user, and those that name the address, also from the files', async () => {
  const { users } = service.core;
  const { account } = await service.brand();
  const password = 'ten or more';
  const { id } = accepted(await users.add({ email: 'eve@example.com', password, accounts: [account] }, CONTEXT));
  await keep('To Eve', { to: 'eve@example.com', userId: id });
  await keep('To a former address', { to: 'former@example.com', userId: id });
  // Before she had accepted it.
  await keep('An invitation', { to: 'eve@example.com', userId: 'inv_1' });
  await keep('A key', { text: 'Issued by: eve@example.com' });
  await keep('To Ada', {});
  await users.remove(id, CONTEXT);
  expect((await inbox.list()).map(({ subject }) => subject)).toEqual(['To Ada']);
  const found = filesOf(service).filter((file) => /(eve|former)@example/.test(readFileSync(file, 'latin1')));
  expect(found).toEqual([]);
});
