import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { startSmtp } from '../mail/smtp.ts';
import { call } from './client.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const MESSAGE = 'Zwetschgenkuchen';
const PASSWORD = 's3cret-word';

const mailTo = (port: number | undefined) => ({
  SMTP_URL: `smtp://postmaster:${PASSWORD}@127.0.0.1:${port}`,
  MAIL_FROM: 'Bookings <bookings@venue.example>',
  LOG_LEVEL: 'debug',
});

async function smtpServer() {
  const smtp = await startSmtp();
  onTestFinished(() => smtp.kill());
  return smtp;
}

/** Requests bookings of the first brand at the first space, one a day. */
async function request(service: ServiceProcess, days: readonly number[]): Promise<number[]> {
  const { brands, communities } = service.demo();
  const spaceId = communities[0]?.spaces[0]?.id;
  const ids: number[] = [];
  for (const day of days) {
    const wanted = { spaceId, startTime: inDays(day), startHour: 12, message: MESSAGE };
    const { status, body } = await call(service, brands[0]?.apiKey ?? '', '/bookings', wanted);
    expect(status).toBe(201);
    ids.push(body.id);
  }
  return ids;
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

test('a request is mailed to the members of the community, through a server that is killed and comes back', async () => {
  const smtp = await smtpServer();
  const service = await startServiceProcess(temporaryDataDir(), mailTo(smtp.port));
  const [community] = service.demo().communities;
  const requests = () => smtp.arrived.filter(({ mail }) => mail.text?.includes(MESSAGE));
  const until = (count: number) => eventually(() => expect(requests().length).toBeGreaterThanOrEqual(count));
  await request(service, range(30, 3));
  await until(3);
  await smtp.kill();
  await request(service, range(40, 5));
  await smtp.start();
  await until(8);
  for (const { to, mail } of requests()) {
    expect(to).toEqual([community?.user.email]);
    expect(mail.text).toContain(community?.spaces[0]?.name);
    expect(mail.from?.text).toBe('"Bookings" <bookings@venue.example>');
  }
  expect(new Set(requests().map(({ mail }) => mail.messageId)).size).toBe(8);
  expect(requests()).toHaveLength(8);
  const { stdout, stderr } = service.output;
  expect(stdout + stderr).not.toContain(PASSWORD);
  expect(stdout + stderr).not.toContain(community?.user.email);
});

test('processes and a mail server that are killed under load lose no mail, and repeat none under another Message-ID', async () => {
  const smtp = await smtpServer();
  const dataDir = temporaryDataDir();
  let service = await startServiceProcess(dataDir, mailTo(smtp.port));
  const booked = new Set<number>();
  for (const round of [0, 1, 2]) {
    const ending = smtp.arrived.length;
    const sending = (async () => {
      // Not more than twenty in all, or the others would wait for a digest.
      for (const day of range(30 + 20 * round, 6)) for (const id of await request(service, [day])) booked.add(id);
    })();
    // A booking whose answer did not come may have been made. It counts only if its answer came.
    const isSent = sending.catch(() => {});
    await eventually(() => expect(smtp.arrived.length).toBeGreaterThan(ending + 3));
    await Promise.all([service.end('SIGKILL'), smtp.kill()]);
    await isSent;
    await smtp.start();
    service = await startServiceProcess(dataDir, mailTo(smtp.port));
  }
  const bookingOf = (text = '') => Number(/\/console\/bookings\/(\d+)/.exec(text)?.[1]);
  const requests = () => smtp.arrived.filter(({ mail }) => mail.text?.includes(MESSAGE));
  await eventually(() => {
    const mailed = new Set(requests().map(({ mail }) => bookingOf(mail.text)));
    expect([...booked].filter((id) => !mailed.has(id))).toEqual([]);
  });
  expect(booked.size).toBeGreaterThan(9);
  const ids = Map.groupBy(requests(), ({ mail }) => bookingOf(mail.text));
  for (const copies of ids.values()) expect(new Set(copies.map(({ mail }) => mail.messageId)).size).toBe(1);
  // Up to four are in flight at each kill.
  expect(requests().length - ids.size).toBeLessThanOrEqual(3 * 4);
});

test('while the mail server never answers, requests are answered, webhooks delivered, and a stop takes its usual time', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const dataDir = temporaryDataDir();
  const env = { ...mailTo(typeof address === 'object' ? address?.port : 0), WEBHOOKS_ALLOW_PRIVATE: 'true' };
  const service = await startServiceProcess(dataDir, env);
  const { startReceiver } = await import('../webhooks/receiver.ts');
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const key = service.demo().communities[0]?.apiKey ?? '';
  expect((await call(service, key, '/webhooks', { url: receiver.url, events: 15 })).status).toBe(201);
  await request(service, range(30, 5));
  await receiver.until(5);
  expect(await service.end('SIGTERM')).toBe(0);
});

test('after a user was removed and a brand forgotten, no address and no text of a mail is in any file', async () => {
  const smtp = await smtpServer();
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir, mailTo(smtp.port));
  const { communities, brands } = service.demo();
  const email = communities[0]?.user.email ?? '';
  smtp.onRecipient = async (to) => ({ status: 550, text: `<${to}>: there is no such mailbox` });
  await request(service, range(30, 2));
  const run = (...args: readonly string[]) => venue(dataDir, ...args);
  const listed = async (): Promise<{ id: string; to: string | null; state: string; answer: string }[]> =>
    JSON.parse((await run('mail', 'list', '--failed', '--json')).stdout);
  await eventually(async () => {
    const failed = await listed();
    expect(failed).toHaveLength(2);
    expect(failed[0]).toMatchObject({
      to: email,
      state: 'Failed',
      answer: expect.stringMatching(/^550 .*no such mailbox$/),
    });
    expect(failed[0]?.answer).not.toContain(email);
  });
  const found = (word: string) =>
    readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && file.name !== 'demo.json')
      .filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(word))
      .map(({ name }) => name);
  expect(found(email)).not.toEqual([]);

  await run('user', 'remove', '--email', email);
  await run('forget', '--brand', String(brands[0]?.id));
  expect(await listed()).toEqual([]);
  await service.end('SIGTERM');
  expect(found(email)).toEqual([]);
  expect(found(MESSAGE)).toEqual([]);
  expect(service.output.stdout + service.output.stderr).not.toContain(email);
});

test('a first start keeps its mail, shows it at /mail, and forgets it', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  expect(service.output.stdout).toMatch(/ Mail {5}http:\/\/localhost:\d+\/mail /);
  await request(service, [30]);
  const page = await eventually(async () => {
    const text = await (await fetch(`${service.url}/mail`)).text();
    expect(text).toMatch(/href="\/mail\/[0-9a-f]{40}"/);
    return text;
  });
  const [, id] = /href="\/mail\/([0-9a-f]{40})"/.exec(page) ?? [];
  expect(await (await fetch(`${service.url}/mail/${id}`)).text()).toContain(MESSAGE);
  await venue(dataDir, 'forget', '--brand', String(service.demo().brands[0]?.id));
  expect((await fetch(`${service.url}/mail/${id}`)).status).toBe(404);
});

test('a process that has no mail server leaves the role to others, and says what is missing', async () => {
  const smtp = await smtpServer();
  const dataDir = temporaryDataDir();
  const env = mailTo(smtp.port);
  const service = await startServiceProcess(dataDir, { ...env, ROLES: 'api,projector' });
  const readyz = async () => (await fetch(`${service.url}/readyz`)).json();
  expect(await readyz()).toMatchObject({
    status: 'ready',
    mail: 'no process sends mail: start one with the role mail',
  });
  await startServiceProcess(dataDir, { DEMO: 'false' });
  expect(await readyz()).toHaveProperty('mail');
  await startServiceProcess(dataDir, { ...env, ROLES: 'api,mail', DEMO: 'false' });
  await eventually(async () => expect(await readyz()).not.toHaveProperty('mail'));
  await request(service, [30]);
  await smtp.until(1);
});
