import type { Logger } from 'pino';
import { projections } from '../projections/index.ts';
import { createUsers, type Users } from './auth/users.ts';
import { createRevocation, type Revocation } from './authorization-server/revocation.ts';
import { type ClockWatch, openClockWatch } from './clock-watch/clock-watch.ts';
import { type Commands, createCommands } from './commands/commands.ts';
import { type Config, ConfigError } from './config.ts';
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
import { type StoreIdentity, WrongSecretKey } from './store-identity/store-identity.ts';
import type { LogClient } from './threads/log-client.ts';
import type { LogThread } from './threads/start-log-thread.ts';
import { newSigningSecret } from './webhooks/send/signature.ts';

/** What every part of the service stands on, in every thread: the stores, the read models, and whether they may be used. */
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
  /** How long a command waits for the read models to show what it did, in milliseconds, if not as long as usual. */
  readonly shownWithinMs: number | undefined;
  /** Between the main thread and the worker. */
  readonly link: Link | undefined;
  /** Present if this thread has started it. */
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
  /** Given to a thread that runs roles: the threads before it that have ended, by the ids of their heartbeats. */
  readonly ended?: readonly string[];
  /** Given to it as well. */
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
  const believes = async () => foundation !== undefined && (await foundation.clockWatch.look()) === undefined;
  const stores = await openStores(config, logger, { clock, believes, ...defined({ inThread, link, log }) });
  try {
    foundation = await buildFoundation(config, logger, clock, options, stores);
    return foundation;
  } catch (error) {
    await closeStores(stores);
    throw inOneLine(error);
  }
}

/** Says of a wrong secret key by which setting it came. */
export const inOneLine = (error: unknown): unknown =>
  error instanceof WrongSecretKey ? new ConfigError('SECRET_KEY', error.message) : error;

async function buildFoundation(
  given: Config,
  logger: Logger,
  clock: Clock,
  { kind = 'service', link, ended }: FoundationOptions,
  stores: Stores,
): Promise<Foundation> {
  const { events, documents, logThread } = stores;
  const identity = await openIdentity(given, stores, logger, clock);
  await identity.check();
  await destroyReturnedKeys(stores, logger);
  const secretKey = await withFormerKeys(documents, given.secretKey);
  const config: Config = { ...given, secretKey };
  const status: NodeStatus = { kind, projects: false, wants: projections.map(idOf) };
  const heartbeats = await startHeartbeats<NodeStatus>({ documents, status });
  for (const session of ended ?? []) await heartbeats.markDead(session);
  const projector = await openProjector({
    ...{ events, documents, projections, heartbeats, logger, kind, retireAfterMs: config.retireAfterMs },
    ...(kind === 'tool' && { catchUpWithinMs: TOOL_CATCHES_UP_WITHIN_MS }),
    link,
  });
  const clockWatch = await openClockWatch({
    ...{ events, documents },
    // What is wrong with the clock, the thread that answers requests says.
    logger: ended === undefined ? logger : logger.child({}, { level: 'silent' }),
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

/** Forgets again who the log says was forgotten, if older records brought their keys back. */
async function destroyReturnedKeys(stores: Stores, logger: Logger): Promise<void> {
  const subjects = await destroyKeysForgottenSince(stores);
  if (subjects.length === 0) return;
  await stores.documents.purge();
  logger.warn({ subjects }, 'the records were older than the log and held keys of forgotten subjects; destroyed them');
}

/** How long a command of an operator waits for a read model to show what is in the log. */
const TOOL_CATCHES_UP_WITHIN_MS = 30_000;
/** And what it has just done. Other commands may have to end first, whose processes keep the read models up to date. */
const TOOL_SHOWS_WITHIN_MS = 10_000;

/** What changes the log: the commands with the credentials that they know, and the users and grants whose changes it tells. */
export type Acting = {
  readonly credentials: Credentials;
  readonly commands: Commands;
  readonly users: Users;
  readonly revocation: Revocation;
  /** Commands that run at another time, wait longer for the read models and know no limit of requests, for demo data; see {@link createCommands}. */
  readonly commandsAt: (clock: Clock, shownWithinMs?: number) => Promise<Commands>;
};

export async function openCommands(foundation: Foundation): Promise<Acting> {
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
