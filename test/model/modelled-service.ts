import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Config, readConfig } from '../../src/config.ts';
import { createSessions } from '../../src/console/sessions/sessions.ts';
import { createMail } from '../../src/mail/mail.ts';
import { createReaders } from '../../src/mail/recipients.ts';
import { createReminders } from '../../src/mail/reminders.ts';
import { createScheduler } from '../../src/scheduler/scheduler.ts';
import { createWebhooks } from '../../src/webhooks/webhooks.ts';
import { freePort } from '../free-port.ts';
import { type Smtp, startSmtp } from '../mail/smtp.ts';
import { startInProcess } from '../running-service.fixture.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const LOGGER = pino({ level: process.env.LOG_LEVEL ?? 'silent' });
/** Nothing waits for the clock on the wall. */
const TUNING = { pollIntervalMs: 10, markEveryMs: 10 };
const MAIL_TUNING = { ...TUNING, reminderIntervalMs: 10, pauseAfter: () => 0 };
export const MAIL_HOST = 'venue.example';

type Running = Awaited<ReturnType<typeof open>>;
export type ModelledService = Awaited<ReturnType<typeof openModelledService>>;

/** Where deliveries and mails arrive. */
export type Outside = { readonly receiver: Receiver; readonly smtp: Smtp };

/** What every history of a run shares: an address, and a receiver and a mail server outside. */
export async function openOutside() {
  const [receiver, smtp] = await Promise.all([startReceiver(), startSmtp()]);
  return {
    receiver,
    smtp,
    async close() {
      await Promise.all([receiver.close(), smtp.kill()]);
    },
  };
}

/** The service on the embedded engines, with the clock of a model, that can be closed and opened again on its store. */
export async function openModelledService(clock: () => number, { smtp }: Pick<Outside, 'smtp'>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-model-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config: Config = readConfig({
    DATA_DIR: dataDir,
    DEMO: 'false',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    CONSOLE_WRITES_PER_MINUTE: '1000',
    PORT: String(port),
    PUBLIC_URL: url,
    SMTP_URL: smtp.url,
    MAIL_FROM: `Bookings <bookings@${MAIL_HOST}>`,
  });
  let running = await open(config, clock);
  return {
    url,
    get core() {
      return running.core;
    },
    get app() {
      return running.app;
    },
    get sessions() {
      return running.sessions;
    },
    async restart() {
      await running.close();
      running = await open(config, clock);
    },
    /** What is due now happens. */
    runScheduler: () => running.scheduler.runOnce(true),
    openWebhooks: () => openWebhooks(running),
    openMail: () => openMail(running),
    /** Closes the service. @returns the names of its files that hold a text */
    async stop(text: string): Promise<readonly string[]> {
      await running.close();
      const names = await readdir(dataDir);
      const files = await Promise.all(names.map((name) => readFile(join(dataDir, name)).catch(() => Buffer.of())));
      await rm(dataDir, { recursive: true, force: true });
      return names.filter((_, index) => files[index]?.includes(text));
    },
  };
}

async function open(config: Config, clock: () => number) {
  const service = await startInProcess(config, LOGGER, { clock });
  const { commands, projector, documents, users, mail, mailContent } = service.core;
  await mail.prepare(mailContent);
  const scheduler = createScheduler({
    bookings: commands.bookings,
    readModels: projector.readModels,
    clock,
    clockProblem: async () => undefined,
    logger: LOGGER,
  });
  const sessions = await createSessions({ documents, users, clock, secretKey: service.core.config.secretKey });
  await service.app.listen({ host: '127.0.0.1', port: config.port });
  return { ...service, scheduler, sessions };
}

/** Webhooks as in another process, which can start and stop. */
const openWebhooks = ({ core }: Running) =>
  createWebhooks({
    ...core,
    commands: core.commands.webhooks,
    readModels: core.projector.readModels,
    isConnected: core.authorizationServer.connectedApps.isConnected,
    tuning: TUNING,
  });

/** Mail as in another process, which can start and stop. */
async function openMail({ core }: Running) {
  const { mailContent, queries, users } = core;
  const mail = await createMail({ ...core, readModels: core.projector.readModels, tuning: MAIL_TUNING });
  const readersOf = createReaders({ membersOf: users.membersOf, preferences: mailContent.preferences });
  const reminders = createReminders({ bookings: queries.reminders, readersOf });
  return { ...mail, start: () => mail.start({ ...mailContent, reminders }) };
}
