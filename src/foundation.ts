import type { Logger } from 'pino';
import { projections } from '../projections/index.ts';
import { createUsers, type Users } from './auth/users.ts';
import { createRevocation, type Revocation } from './authorization-server/revocation.ts';
import { type ClockWatch, openClockWatch } from './clock-watch/clock-watch.ts';
import { type Commands, createCommands } from './commands/commands.ts';
import type { Config } from './config.ts';
import { type Credentials, openCredentials } from './credentials/credentials.ts';
import type { OperatedDocumentStore } from './document-store/document-store.ts';
import { type Heartbeats, startHeartbeats } from './document-store/heartbeats.ts';
import { defined } from './domain/defined.ts';
import { closeStores, openIdentity, openStores, type Stores, sharesMachine } from './engines.ts';
import type { OperatedEventStore } from './event-store/event-store.ts';
import { checkWebhookUrl } from './outbound/public-address.ts';
import { destroyKeysForgottenSince } from './personal-data/forgotten.ts';
import { createPersonalData, type PersonalData } from './personal-data/personal-data.ts';
import { openProjector, type Projector } from './projector/projector.ts';
import { idOf } from './read-models/catalogue.ts';
import type { NodeStatus } from './read-models/node-status.ts';
import { type Clock, systemClock } from './runtime/clock.ts';
import type { Link } from './runtime/link.ts';
import { withFormerKeys } from './store-identity/former-keys.ts';
import type { StoreIdentity } from './store-identity/store-identity.ts';
import type { LogClient } from './threads/log-client.ts';
import type { LogThread } from './threads/start-log-thread.ts';
import { newSigningSecret } from './webhooks/send/signature.ts';

/** The shared base of every thread: stores, read models, and the checks of store identity and clock. */
export type Foundation = {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly identity: StoreIdentity;
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly clockWatch: ClockWatch;
  readonly projector: Projector;
  readonly personalData: PersonalData;
  /** How long a command waits for the read models to show its result, in milliseconds, if not the default. */
  readonly shownWithinMs: number | undefined;
  /** Between the main thread and the worker. */
  readonly link: Link | undefined;
  /** Present in the thread that started it. */
  readonly logThread: LogThread | undefined;
  close(): Promise<void>;
};

export type FoundationOptions = {
  readonly clock?: Clock;
  /** Default `service`. */
  readonly kind?: NodeStatus['kind'];
  /** See {@link openStores}. */
  readonly inThread?: boolean;
  /** See {@link Foundation}. */
  readonly link?: Link;
  /** Only for a worker: the heartbeat ids of the workers that ran before it. */
  readonly formerWorkers?: readonly string[];
  /** For a worker: the connection to the log thread. */
  readonly log?: LogClient;
};

/**
 * Opens the configured engines.
 * @throws {UnusableStore} if a file is damaged, or log, records and read models do not belong together
 * @throws {ConfigError} if the secret key is not that of the store
 */
export async function openFoundation(
  config: Config,
  logger: Logger,
  options: FoundationOptions = {},
): Promise<Foundation> {
  const { clock = systemClock(config.clockShift), inThread, link, log } = options;
  let foundation: Foundation | undefined;
  const isClockTrusted = async () => foundation !== undefined && (await foundation.clockWatch.check()) === undefined;
  const isAlone = () => foundation?.heartbeats.isAlone() ?? false;
  const stores = await openStores(config, logger, {
    clock,
    isClockTrusted,
    isAlone,
    ...defined({ inThread, link, log }),
  });
  try {
    foundation = await buildFoundation(config, logger, clock, options, stores);
    return foundation;
  } catch (error) {
    await closeStores(stores);
    throw error;
  }
}

async function buildFoundation(
  given: Config,
  logger: Logger,
  clock: Clock,
  { kind = 'service', link, formerWorkers }: FoundationOptions,
  stores: Stores,
): Promise<Foundation> {
  const { events, documents, logThread } = stores;
  const isWorker = formerWorkers !== undefined;
  const identity = await openIdentity(given, stores, logger, clock);
  await identity.check();
  // The main thread has done this before it starts a worker.
  if (!isWorker) await destroyRestoredKeys(stores, logger);
  const secretKey = await withFormerKeys(documents, given.secretKey);
  const config: Config = { ...given, secretKey };
  const status: NodeStatus = { kind, projects: false, wants: projections.map(idOf) };
  // The worker holds the leases, so it beats for both threads.
  const heartbeats = await startHeartbeats<NodeStatus>({ documents, status, mayRest: !isWorker });
  for (const session of formerWorkers ?? []) await heartbeats.markDead(session);
  const projector = await openProjector({
    ...{ events, documents, projections, heartbeats, logger, kind, retireAfterMs: config.retireAfterMs },
    ...(kind === 'tool' && { catchUpWithinMs: TOOL_CATCHES_UP_WITHIN_MS }),
    link,
  });
  const clockWatch = await openClockWatch({
    ...{ events, documents },
    // Only the main thread logs clock problems.
    logger: isWorker ? logger.child({}, { level: 'silent' }) : logger,
    clockShift: config.clockShift,
    sameMachine: await sharesMachine(config),
  });
  return {
    config,
    logger,
    clock,
    events,
    documents,
    identity,
    heartbeats,
    clockWatch,
    projector,
    shownWithinMs: kind === 'tool' ? TOOL_SHOWS_WITHIN_MS : undefined,
    link,
    logThread,
    personalData: createPersonalData({ documents, secretKey, clock }),
    async close() {
      clockWatch.stop();
      await identity.stop();
      await heartbeats.stop();
      await closeStores(stores);
    },
  };
}

/** Destroys keys of forgotten subjects that a restore of older records has put back. */
async function destroyRestoredKeys(stores: Stores, logger: Logger): Promise<void> {
  const subjects = await destroyKeysForgottenSince(stores);
  if (subjects.length === 0) return;
  await stores.documents.purge();
  logger.warn({ subjects }, 'The records were older than the log and held keys of forgotten subjects; destroyed them');
}

/** How long an operator's command waits for a read model to catch up with the log before it reads. */
const TOOL_CATCHES_UP_WITHIN_MS = 30_000;
/** How long it waits until the read models show its own change. Another command may first have to release their leases. */
const TOOL_SHOWS_WITHIN_MS = 10_000;

/** The parts that change the log: commands with their credentials, users and grants. */
export type CommandParts = {
  readonly credentials: Credentials;
  readonly commands: Commands;
  readonly users: Users;
  readonly revocation: Revocation;
  /**
   * Commands for demo data, with another clock, a longer wait for read models and no limit of requests; see {@link createCommands}.
   */
  readonly commandsAt: (clock: Clock, shownWithinMs?: number) => Promise<Commands>;
};

export async function openCommands(foundation: Foundation): Promise<CommandParts> {
  const { config, clock, events, documents, projector, personalData, logger } = foundation;
  const credentials = await openCredentials({ events, documents, readModels: projector.readModels });
  const commandsAt = (at: Clock, shownWithinMs?: number, pendingLimit?: number) =>
    createCommands({
      ...defined({ shownWithinMs }),
      events,
      documents,
      readModels: projector.readModels,
      personalData,
      credentials,
      clock: at,
      settings: { ...config, pendingLimit },
      makeSigningSecret: newSigningSecret,
      urlProblem: (url) => checkWebhookUrl(url, { allowPrivate: config.webhooksAllowPrivate }),
    });
  const commands = await commandsAt(clock, foundation.shownWithinMs, config.pendingLimit);
  const log = commands.membership;
  const revocation = await createRevocation({ documents, log, clock, logger });
  const users = await createUsers({ documents, revocation, log, clock, logger });
  return { credentials, commands, users, revocation, commandsAt };
}
