import type { Logger } from 'pino';
import { openConnectedApps } from './authorization-server/connected-apps.ts';
import type { Commands } from './commands/commands.ts';
import type { Config, Role } from './config.ts';
import { type Foundation, type FoundationOptions, openCommands, openFoundation } from './foundation.ts';
import { createScheduler } from './scheduler/scheduler.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';

/** The roles that answer no requests. */
export type BackgroundRole = Exclude<Role, 'api'>;

/** Something that runs until it is stopped, whatever happens. */
export type Running = { stop(): Promise<void> };

/** Keeps the read models up to date. */
export function startProjecting({ projector }: Pick<Foundation, 'projector'>): Running {
  projector.start();
  return projector;
}

/** Does what is due by the clock. */
export function startScheduling(deps: Foundation & { readonly commands: Commands }): Running {
  const scheduler = createScheduler({
    bookings: deps.commands.bookings,
    readModels: deps.projector.readModels,
    clock: deps.clock,
    clockProblem: deps.clockWatch.look,
    logger: deps.logger,
  });
  scheduler.start();
  return scheduler;
}

/** Turns events into deliveries, and delivers. */
export async function startDelivering({ webhooks }: { readonly webhooks: Webhooks }): Promise<Running> {
  await webhooks.start();
  return webhooks;
}

/** Webhooks as a process has them that answers no requests. */
async function openWebhooks(
  foundation: Foundation,
): Promise<{ readonly webhooks: Webhooks; readonly commands: Commands }> {
  const { config, clock, documents, projector } = foundation;
  const { credentials, commands } = await openCommands(foundation);
  const { isConnected } = await openConnectedApps({ ...config, documents, clock });
  const webhooks = await createWebhooks({
    ...foundation,
    readModels: projector.readModels,
    credentials,
    commands: commands.webhooks,
    isConnected,
  });
  return { webhooks, commands };
}

/**
 * Runs roles on stores of their own, without what answers requests.
 * @returns also the id under which its heartbeat is known
 */
export async function runRoles(
  config: Config,
  logger: Logger,
  roles: ReadonlySet<BackgroundRole>,
  options?: FoundationOptions,
): Promise<Running & { readonly session: string }> {
  const foundation = await openFoundation(config, logger, options);
  const running: Running[] = [];
  if (roles.has('projector')) running.push(startProjecting(foundation));
  if (roles.has('webhooks') || roles.has('scheduler')) {
    const { webhooks, commands } = await openWebhooks(foundation);
    await foundation.clockWatch.start();
    if (roles.has('webhooks')) running.push(await startDelivering({ webhooks }));
    if (roles.has('scheduler')) running.push(startScheduling({ ...foundation, commands }));
  }
  return {
    session: foundation.heartbeats.session,
    async stop() {
      for (const role of running.toReversed()) await role.stop();
      if (!roles.has('projector')) await foundation.projector.stop();
      await foundation.close();
    },
  };
}
