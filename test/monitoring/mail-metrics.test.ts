import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { brandId } from '../../src/domain/ids.ts';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { accepted } from '../accepted.ts';
import { json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { CONTEXT } from '../running-service.fixture.ts';

test('an operator sees that mail waits, that its server is away, that no process sends, and parked events', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'venue-mail-metrics-'));
  onTestFinished(() => rm(DATA_DIR, { recursive: true }));
  const start = async (ROLES: string) => {
    const [port, metricsPort, mailPort] = [await freePort(), await freePort(), await freePort()].map(String);
    const config = readConfig({
      DATA_DIR,
      ROLES,
      DEMO: 'false',
      PORT: port,
      METRICS_PORT: metricsPort,
      SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
      MAIL_FROM: 'bookings@venue.example',
    });
    const service = await startService(config, pino({ level: 'silent' }));
    let isStopped = false;
    const stop = async () => {
      if (!isStopped) await service.stop();
      isStopped = true;
    };
    onTestFinished(stop);
    const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return { core: service.core, stop, metrics };
  };
  const mailing = await start('api,projector,mail');
  const { commands, users, events, documents, clock } = mailing.core;
  // As before the first mail, so that the first one is an increase.
  expect(await mailing.metrics()).toContain('venue_mails_total{outcome="refused"} 0\n');
  const { brandId: id } = accepted(await commands.catalogue.addBrand({ name: 'Acme' }, CONTEXT));
  const account = { kind: 'Brand', id: brandId(id) } as const;
  const email = 'ada@example.com';
  const user = accepted(await users.add({ email, password: 'a long password', accounts: [account] }, CONTEXT));
  const [event] = await Array.fromAsync(events.readAll());
  const failed = await openFailedEvents({ documents, clock, role: 'mail', delaysMs: [] });
  await failed.failed(event as StoredEvent, new Error('Boom'));
  await mailing.core.mail.enqueue({
    kind: 'PasswordReset',
    cause: 'test',
    userId: user.id,
    about: {},
    at: toTimestamp(clock()),
  });
  await eventually(async () => {
    const text = await mailing.metrics();
    expect(text).toMatch(/^venue_mail_server_away_seconds [1-9]/m);
    expect(text).toContain('\nvenue_mail_senders 1\n');
    expect(text).toMatch(/^venue_mail_pending [1-9]/m);
    expect(text).toContain('\nvenue_mail_parked_events 1\n');
    expect(text).toContain('\nvenue_mail_retrying_events 0\n');
  });
  useDataDir(DATA_DIR);
  expect(await json('status')).toMatchObject({ parkedEvents: 1 });

  const other = await start('api,projector');
  await mailing.stop();
  await eventually(async () => expect(await other.metrics()).toContain('\nvenue_mail_senders 0\n'));
});
