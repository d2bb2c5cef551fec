import type { Logger } from 'pino';
import { createSealRole } from '../audit/seal-role.ts';
import { type Changing, createChangeFollowUp } from '../auth/change-follow-up.ts';
import { openConnectedApps } from '../authorization-server/connected-apps.ts';
import type { Commands } from '../commands/commands.ts';
import type { Config, Role } from '../config.ts';
import { type Foundation, type FoundationOptions, openCommands, openFoundation } from '../foundation.ts';
import { createScheduler } from '../scheduler/scheduler.ts';
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts';

/** The roles that answer no requests. */
export type BackgroundRole = Exclude<Role, 'api'>;

/** The roles of one thread. The projector starts at once. */
export type RunningRoles = {
  /** Resolves once the projector has started, if it is one of the roles. */
  readonly projecting: Promise<void>;
  /** Starts the other roles. Resolves at once if they run in another thread. */
  begin(): Promise<void>;
  /** Stops the other roles; the projector continues. */
  finish(): Promise<void>;
  /** Stops all roles. */
  stop(): Promise<void>;
};

/** A background task that runs until it is stopped. */
type Running = { stop(): Promise<void> };

/** The dependencies of the roles besides the projector. */
type Others = { readonly webhooks: Webhooks; readonly commands: Commands; readonly changing: Changing };

/** Runs roles in this thread. */
export function startRoles(
  deps: Pick<
    Foundation,
    'projector' | 'clock' | 'clockWatch' | 'logger' | 'events' | 'documents' | 'heartbeats' | 'identity' | 'config'
  > & {
    readonly roles: ReadonlySet<BackgroundRole>;
    readonly openOthers: () => Promise<Others>;
  },
): RunningRoles {
  const { roles, projector, openOthers, clock, clockWatch, logger } = deps;
  if (roles.has('projector')) projector.start();
  const others: Running[] = [];

  async function startOthers(): Promise<void> {
    if (!roles.has('webhooks') && !roles.has('scheduler')) return;
    const { webhooks, commands, changing } = await openOthers();
    if (roles.has('webhooks')) {
      await webhooks.start();
      others.push(webhooks);
    }
    if (!roles.has('scheduler')) return;
    const { readModels } = projector;
    const { bookings } = commands;
    const scheduler = createScheduler({ bookings, readModels, clock, clockProblem: clockWatch.check, logger });
    scheduler.start();
    const followUp = createChangeFollowUp({ changing, logger });
    followUp.start();
    const { identity, config } = deps;
    const seals = createSealRole({ ...deps, ...config, settings: config, logId: identity.logId });
    seals.start();
    others.push(scheduler, followUp, seals);
  }

  let beginning: Promise<void> | undefined;
  let finishing: Promise<void> | undefined;
  async function finishOthers(): Promise<void> {
    await beginning;
    await Promise.all(others.map((role) => role.stop()));
  }
  const finish = () => {
    finishing ??= finishOthers();
    return finishing;
  };
  return {
    projecting: Promise.resolve(),
    begin() {
      beginning ??= startOthers();
      return beginning;
    },
    finish,
    async stop() {
      await finish();
      await projector.stop();
    },
  };
}

/** Webhooks for a process without the role `api`. */
async function openWebhooks(foundation: Foundation): Promise<Others> {
  const { config, clock, documents, logger, projector } = foundation;
  const { credentials, commands, users, revocation } = await openCommands(foundation);
  const log = commands.membership;
  const { connectedApps, clients } = await openConnectedApps({ ...config, documents, revocation, log, clock, logger });
  const webhooks = await createWebhooks({
    ...foundation,
    readModels: projector.readModels,
    credentials,
    commands: commands.webhooks,
    isConnected: connectedApps.isConnected,
  });
  return { webhooks, commands, changing: [users, clients, revocation] };
}

/**
 * Runs roles on their own stores, without the HTTP server.
 * @returns also the id of its heartbeat
 */
export async function openRoles(
  config: Config,
  logger: Logger,
  roles: ReadonlySet<BackgroundRole>,
  options?: FoundationOptions,
): Promise<RunningRoles & { readonly session: string }> {
  const foundation = await openFoundation(config, logger, options);
  const running = startRoles({
    ...foundation,
    roles,
    async openOthers() {
      const others = await openWebhooks(foundation);
      await foundation.clockWatch.start();
      return others;
    },
  });
  return {
    ...running,
    session: foundation.heartbeats.session,
    async stop() {
      await running.stop();
      await foundation.close();
    },
  };
}
