import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { projections } from '../projections/index.ts';
import type { Config } from './config.ts';
import { defined } from './domain/defined.ts';
import { COMMAND_STARTS_WITHIN_MS, closeStores, openIdentity, openStores, type Stores } from './engines.ts';
import { startHeartbeats } from './leases/heartbeats.ts';
import { destroyKeysForgottenSince } from './personal-data/forgotten.ts';
import { openProjector } from './projector/projector.ts';
import { generationName } from './read-models/generations.ts';
import type { NodeStatus } from './read-models/node-status.ts';
import { RELEASE } from './release.ts';
import { type Clock, systemClock } from './runtime/clock.ts';
import { createClockWatch } from './scheduler/clock-watch.ts';
import { withFormerKeys } from './store-identity/former-keys.ts';

/** How long an operator's command waits for a read model to catch up with the log before it reads. */
const TOOL_CATCHES_UP_WITHIN_MS = 30_000;

export type BaseOptions = {
  readonly clock?: Clock;
  /** A `tool`, such as the command line, may run beside a service. Default `service`. */
  readonly kind?: NodeStatus['kind'];
  /** Starts a thread that makes the durable commits of the embedded engines. Default: this thread makes them. */
  readonly withWriter?: boolean;
};

/** The stores of a process and their read models. */
export type Base = Awaited<ReturnType<typeof buildBase>>;

/**
 * Opens the configured engines, checks that they belong together, and opens the read models.
 * @throws {UnusableStore} if a file is damaged, or log, records and read models do not belong together
 * @throws {ConfigError} if the secret key is not that of the store
 */
export async function openBase(config: Config, logger: Logger, options: BaseOptions = {}): Promise<Base> {
  const { clock = systemClock(config.clockShift), withWriter, kind = 'service' } = options;
  const stores = await openStores(config, logger, {
    clock,
    ...defined({ withWriter }),
    ...(kind === 'tool' && { startWithinMs: COMMAND_STARTS_WITHIN_MS }),
  });
  try {
    return await buildBase(config, logger, clock, kind, stores);
  } catch (error) {
    await closeStores(stores);
    throw error;
  }
}

async function buildBase(given: Config, logger: Logger, clock: Clock, kind: NodeStatus['kind'], stores: Stores) {
  const { events, documents, writer } = stores;
  const identity = await openIdentity(given, stores, logger, clock);
  await identity.check();
  await destroyRestoredKeys(stores, logger);
  const config: Config = { ...given, secretKey: await withFormerKeys(documents, given.secretKey) };
  const status: NodeStatus = {
    kind,
    projects: false,
    wants: generationName(projections),
    release: RELEASE,
    roles: kind === 'tool' ? [] : [...config.roles],
    hostname: hostname(),
    pid: process.pid,
  };
  const heartbeats = await startHeartbeats<NodeStatus>({ documents, status });
  const projector = await openProjector({
    events,
    documents,
    projections,
    heartbeats,
    logger,
    kind,
    retireAfterMs: config.retireAfterMs,
    ...(kind === 'tool' && { catchUpWithinMs: TOOL_CATCHES_UP_WITHIN_MS }),
  });
  const clockWatch = createClockWatch({ events, documents, heartbeats, clock, logger });
  return {
    /** With the former secret keys of the store. */
    config,
    logger,
    clock,
    events,
    documents,
    writer,
    identity,
    heartbeats,
    clockWatch,
    projector,
    async close(): Promise<void> {
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
