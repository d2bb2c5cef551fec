import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { freePort } from '../free-port.ts';
import { lacks } from '../lacks.ts';
import { type Smtp, startSmtp } from '../mail/smtp.ts';
import { earlierRelease, HISTORY } from '../release/releases.ts';
import { startInProcess } from '../running-service.fixture.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { loadRelease, type Release, THIS_RELEASE } from './release.ts';

const LOGGER = pino({ level: process.env.LOG_LEVEL ?? 'silent' });
/** Nothing waits for the clock on the wall. */
const TUNING = { pollIntervalMs: 10, markEveryMs: 10 };
const MAIL_TUNING = { ...TUNING, reminderIntervalMs: 10, pauseAfter: () => 0 };
export const MAIL_HOST = 'venue.example';

type Running = Awaited<ReturnType<typeof open>>;
export type ModelledService = Awaited<ReturnType<typeof openModelledService>>;

export type Outside = {
  /** Where deliveries arrive. */
  readonly receiver: Receiver;
  /** Where mails arrive. */
  readonly smtp: Smtp;
  /** The release before. */
  readonly earlier: Release | undefined;
};

/** Found out while the file declares its tests, so that the run says what it has not tried. */
const hasEarlier = !lacks(HISTORY);

/** What every history of a run shares. Without the release before, all histories run on this one. */
export async function openOutside() {
  const folder = await mkdtemp(join(tmpdir(), 'venue-release-'));
  const earlier = hasEarlier ? await loadRelease(earlierRelease(folder)) : undefined;
  const [receiver, smtp] = await Promise.all([startReceiver(), startSmtp()]);
  return {
    receiver,
    smtp,
    earlier,
    async close() {
      await Promise.all([receiver.close(), smtp.kill(), rm(folder, { recursive: true, force: true })]);
    },
  };
}

/** The service on the embedded engines, with the clock of a model, that can be closed and opened again on its store. */
export async function openModelledService(
  clock: () => number,
  { smtp }: Pick<Outside, 'smtp'>,
  release: Release = THIS_RELEASE,
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-model-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    DATA_DIR: dataDir,
    DEMO: 'false',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    CONSOLE_WRITES_PER_MINUTE: '1000',
    PORT: String(port),
    PUBLIC_URL: url,
    SMTP_URL: smtp.url,
    MAIL_FROM: `Bookings <bookings@${MAIL_HOST}>`,
  };
  let running = await open(release, settings, clock);
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
    get release() {
      return running.release;
    },
    /** @param next the release that runs from then on */
    async restart(next: Release = running.release) {
      await running.close();
      running = await open(next, settings, clock);
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

async function open(release: Release, settings: Readonly<Record<string, string>>, clock: () => number) {
  const config = release.readConfig(settings);
  const service = await startInProcess(config, LOGGER, { clock }, release);
  const { commands, projector, documents, users, mail, mailContent } = service.core;
  await mail.prepare(mailContent);
  const scheduler = release.createScheduler({
    bookings: commands.bookings,
    readModels: projector.readModels,
    clock,
    clockProblem: async () => undefined,
    logger: LOGGER,
  });
  const sessions = await release.createSessions({ documents, users, clock, secretKey: service.core.config.secretKey });
  await service.app.listen({ host: '127.0.0.1', port: config.port });
  return { ...service, release, scheduler, sessions };
}

/** Webhooks as in another process, which can start and stop. */
const openWebhooks = ({ core, release }: Running) =>
  release.createWebhooks({
    ...core,
    commands: core.commands.webhooks,
    readModels: core.projector.readModels,
    isConnected: core.authorizationServer.connectedApps.isConnected,
    tuning: TUNING,
  });

/** Mail as in another process, which can start and stop. */
async function openMail({ core, release }: Running) {
  const { mailContent, queries, users } = core;
  const mail = await release.createMail({ ...core, readModels: core.projector.readModels, tuning: MAIL_TUNING });
  const readersOf = release.createReaders({ membersOf: users.membersOf, preferences: mailContent.preferences });
  const reminders = release.createReminders({ bookings: queries.reminders, readersOf });
  return { ...mail, start: () => mail.start({ ...mailContent, reminders }) };
}
