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
type Running = { stop(): Promise<void> };

/** Roles that may share a thread. */
export type RunningRoles = Running & {
  /** Tells them to end all that they do but projecting, which goes on until they are stopped. */
  finish?(): void;
};

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
 * @param deps.opened told the id under which its heartbeat is known, once the read models are kept up to date, if that is a role
 */
export async function runRoles(deps: {
  readonly config: Config;
  readonly logger: Logger;
  readonly roles: ReadonlySet<BackgroundRole>;
  readonly options: FoundationOptions;
  readonly opened: (session: string) => void;
}): Promise<Required<RunningRoles>> {
  const { config, logger, roles, options, opened } = deps;
  const foundation = await openFoundation(config, logger, options);
  const { projector } = foundation;
  if (roles.has('projector')) startProjecting(foundation);
  opened(foundation.heartbeats.session);
  const others: Running[] = [];
  if (roles.has('webhooks') || roles.has('scheduler')) {
    const { webhooks, commands } = await openWebhooks(foundation);
    await foundation.clockWatch.start();
    if (roles.has('webhooks')) others.push(await startDelivering({ webhooks }));
    if (roles.has('scheduler')) others.push(startScheduling({ ...foundation, commands }));
  }
  let finished: Promise<unknown> | undefined;
  const finish = () => {
    finished ??= Promise.all(others.map((role) => role.stop()));
    return finished;
  };
  return {
    finish: () => void finish().catch(() => {}),
    async stop() {
      await finish();
      await projector.stop();
      await foundation.close();
    },
  };
}
