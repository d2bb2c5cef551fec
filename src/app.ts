import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import { projections } from '../projections/index.ts';
import { api } from './api/api.ts';
import { handleClientError, handleError, sendNotFound } from './api/errors.ts';
import { healthRoutes } from './api/health.ts';
import { type ApiKeyUsage, createApiKeyUsage } from './auth/api-key-usage.ts';
import { authenticateEither, createApiKeyAuthentication } from './auth/authenticate.ts';
import { challengeOf } from './auth/resources.ts';
import { createUsers, type Users } from './auth/users.ts';
import { type AuthorizationServer, createAuthorizationServer } from './authorization-server/authorization-server.ts';
import { createRevocation } from './authorization-server/revocation.ts';
import { type ClockWatch, openClockWatch } from './clock-watch/clock-watch.ts';
import { type Commands, createCommands } from './commands/commands.ts';
import { type Config, ConfigError } from './config.ts';
import { registerConsole } from './console/console.ts';
import { type Credentials, openCredentials } from './credentials/credentials.ts';
import type { Demo } from './demo/demo-file.ts';
import { ensureDemoData } from './demo/ensure-demo-data.ts';
import type { DocumentStore } from './document-store/document-store.ts';
import { type Heartbeats, startHeartbeats } from './document-store/heartbeats.ts';
import {
  closeStores,
  isEmbedded,
  openIdentity,
  openSqliteDocuments,
  openStores,
  type Stores,
  sharesMachine,
} from './engines.ts';
import type { EventStore } from './event-store/event-store.ts';
import { mcpRoutes } from './mcp/mcp-server.ts';
import { checkWebhookUrl } from './outbound/public-address.ts';
import { createMaintenance, type Maintenance } from './projector/maintenance.ts';
import { openProjector, type Projector } from './projector/projector.ts';
import { createQueries, type Queries } from './queries/queries.ts';
import type { Said } from './read-models/read-models.ts';
import { idOf } from './read-models/state.ts';
import { type Clock, systemClock } from './runtime/clock.ts';
import { diskWarning } from './runtime/disk.ts';
import { createScheduler } from './scheduler/scheduler.ts';
import { type StoreIdentity, WrongSecretKey } from './store-identity/store-identity.ts';
import { newSigningSecret } from './webhooks/signature.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';

/** The assembled service before anything runs. The command line uses it beside a running service. */
export type Core = {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly identity: StoreIdentity;
  readonly heartbeats: Heartbeats<Said>;
  readonly clockWatch: ClockWatch;
  readonly projector: Projector;
  readonly credentials: Credentials;
  readonly commands: Commands;
  readonly queries: Queries;
  readonly webhooks: Webhooks;
  readonly users: Users;
  readonly apiKeyUsage: ApiKeyUsage;
  readonly authorizationServer: AuthorizationServer;
  readonly maintenance: Maintenance;
  /** Commands that run at another time, for demo data. */
  readonly commandsAt: (clock: Clock) => Promise<Commands>;
  close(): Promise<void>;
};

/**
 * Opens the configured engines and assembles the service on them.
 * @throws {UnusableStore} if a file is damaged, or log, records and read models do not belong together
 * @throws {ConfigError} if the secret key is not that of the store
 */
export async function openCore(
  config: Config,
  logger: Logger,
  clock: Clock = systemClock(config.clockShift),
  kind: Said['kind'] = 'service',
): Promise<Core> {
  let core: Core | undefined;
  const believes = async () => core !== undefined && (await core.clockWatch.look()) === undefined;
  const stores = await openStores(config, logger, { clock, believes });
  try {
    core = await assemble(config, logger, clock, kind, stores);
    return core;
  } catch (error) {
    await closeStores(stores);
    throw error instanceof WrongSecretKey ? new ConfigError('SECRET_KEY', error.message) : error;
  }
}

async function assemble(
  config: Config,
  logger: Logger,
  clock: Clock,
  kind: Said['kind'],
  stores: Stores,
): Promise<Core> {
  const { events, documents } = stores;
  const identity = await openIdentity(config, stores, logger, clock);
  await identity.check();
  // It reads these from now on, none of which is known yet: nothing that is being swapped out may go.
  const said: Said = { kind, projects: false, wants: projections.map(idOf), reads: [] };
  const heartbeats = await startHeartbeats<Said>({ documents, said });
  const projector = await openProjector({
    ...{ events, documents, projections, heartbeats, logger, kind, retireAfterMs: config.retireAfterMs },
    ...(kind === 'tool' && { catchUpWithinMs: TOOL_CATCHES_UP_WITHIN_MS }),
  });
  const { readModels } = projector;
  const credentials = await openCredentials({ events, documents, graceMs: config.credentialsGraceMs });

  const commandsAt = (at: Clock) =>
    createCommands({
      events,
      documents,
      readModels,
      credentials,
      clock: at,
      settings: config,
      makeSigningSecret: newSigningSecret,
      urlProblem: (url) => checkWebhookUrl(url, { allowPrivate: config.webhooksAllowPrivate }),
    });

  const commands = await commandsAt(clock);
  const queries = createQueries({ events, readModels, clock });
  const revocation = await createRevocation(documents);
  const users = await createUsers({ documents, revocation, clock });
  const authorizationServer = await createAuthorizationServer({
    publicUrl: config.publicUrl,
    secretKey: config.secretKey,
    documents,
    revocation,
    users,
    clock,
    accountName: queries.accounts.name,
    clientDocuments: { allowPrivate: config.webhooksAllowPrivate },
  });
  await identity.confirm();
  const clockWatch = await openClockWatch({
    ...{ events, documents, logger },
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
    credentials,
    commands,
    queries,
    webhooks: await createWebhooks({
      events,
      documents,
      heartbeats,
      readModels,
      credentials,
      config,
      clock,
      logger,
      commands: commands.webhooks,
      isConnected: authorizationServer.connectedApps.isConnected,
    }),
    users,
    apiKeyUsage: await createApiKeyUsage({ documents, clock, logger }),
    authorizationServer,
    maintenance: createMaintenance({
      ...{ events, documents, projections },
      openScratch: openSqliteDocuments,
    }),
    commandsAt,
    async close() {
      clockWatch.stop();
      await identity.stop();
      await heartbeats.stop();
      await events.close();
      await documents.close();
    },
  };
}

/** How long a command of an operator waits for a read model to show what is in the log. */
const TOOL_CATCHES_UP_WITHIN_MS = 30_000;
/** How long a start waits for read models that are being built. */
const READABLE_WITHIN_MS = 5_000;
/** How long a request may take to arrive completely. */
const REQUEST_ARRIVES_WITHIN_MS = 30_000;
/** How often connections that have become idle are closed once the service is stopping. */
const CLOSE_IDLE_EVERY_MS = 50;
/** How long requests in flight may take once the service is stopping. */
const REQUESTS_END_WITHIN_MS = 5_000;

/** The HTTP server: API, authorization server, MCP and console. Once `stopping`, it is not ready but still takes requests. */
export async function createApp(core: Core, stopping = (): boolean => false): Promise<FastifyInstance> {
  const { config, logger, commands, queries, projector, authorizationServer } = core;
  const requestPrefix = crypto.randomUUID().slice(0, 8);
  let requests = 0;
  const loggerInstance: FastifyBaseLogger = logger;
  const app = Fastify({
    // One logger for all requests: a child logger per request, with the listeners Fastify adds for it, costs as much as a
    // route.
    childLoggerFactory: () => loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => `${requestPrefix}-${(requests++).toString(36)}`,
    forceCloseConnections: 'idle',
    // Requests that arrive while the service stops are still answered; Fastify's own 503 does not have our error shape.
    return503OnClosing: false,
    bodyLimit: 64 * 1024,
    requestTimeout: REQUEST_ARRIVES_WITHIN_MS,
    // Longer than any id: a path too long to match anything must still be authenticated before it gets its 404.
    routerOptions: { maxParamLength: 1_000 },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    clientErrorHandler: handleClientError,
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
  });
  app.log = loggerInstance;
  app.setErrorHandler(handleError);
  app.setNotFoundHandler(sendNotFound);
  app.addHook('onRequest', (_request, reply, done) => {
    // Clients that keep their connection move to another process with the next request.
    if (stopping()) reply.header('connection', 'close');
    done();
  });

  const authenticate = authenticateEither(
    core.apiKeyUsage.trackUsage(createApiKeyAuthentication(core.credentials)),
    authorizationServer.accessTokens.authenticate,
  );
  await app.register(
    healthRoutes({
      ping: { eventStore: () => core.events.ping(), documentStore: () => core.documents.ping() },
      readModels: projector.status,
      ...(isEmbedded(config) && { disk: () => diskWarning(config.dataDir) }),
      clock: core.clockWatch.problem,
      failedEvents: core.webhooks.countFailedEvents,
      stopping,
    }),
  );
  await app.register(
    api({
      commands,
      queries,
      authenticate,
      challenge: challengeOf(authorizationServer.resources.api),
      publicUrl: config.publicUrl,
      // Time zones have versions, too.
      release: JSON.stringify([manifest.version, process.versions.tz, projections.map(idOf)]),
    }),
  );
  await app.register(authorizationServer.routes);
  const { accessTokens, resources } = authorizationServer;
  const tools = { commands, queries, clock: core.clock, pricing: config };
  await app.register(mcpRoutes({ tools, accessTokens, resources, version: manifest.version }));
  await registerConsole(app, {
    ...core,
    readModels: projector.readModels,
    connectedApps: authorizationServer.connectedApps,
    clients: authorizationServer.clients,
    endSession: authorizationServer.endSession,
    settings: config,
  });
  return app;
}

export type Service = {
  readonly core: Core;
  readonly app: FastifyInstance;
  /** The demo data, if there is any. */
  readonly demo: Demo | undefined;
  /**
   * Takes no new work and waits for what is in flight. For `drainMs` it still takes requests, while `/readyz` already tells
   * balancers to send no more.
   */
  stop(drainMs?: number): Promise<void>;
};

/** Starts the configured roles. Resolves once requests are being answered. */
export async function startService(config: Config, logger: Logger): Promise<Service> {
  const core = await openCore(config, logger);
  let stopping = false;
  const app = await createApp(core, () => stopping);
  const { projector, commands, webhooks, clock } = core;
  const scheduler = createScheduler({
    bookings: commands.bookings,
    readModels: projector.readModels,
    clock,
    clockProblem: core.clockWatch.look,
    logger,
  });

  core.identity.start();
  await core.clockWatch.start();
  if (config.roles.has('projector')) projector.start();
  // What cannot be read by then is answered with an error, and /readyz says why.
  await projector.readable(READABLE_WITHIN_MS);
  await webhooks.prepare();
  const demo = config.demo ? await ensureDemoData({ ...core, ...config, at: core.commandsAt }) : undefined;
  if (config.roles.has('scheduler')) scheduler.start();
  if (config.roles.has('webhooks')) await webhooks.start();
  if (config.roles.has('api')) await app.listen({ host: config.host, port: config.port });

  async function closeApp(drainMs: number): Promise<void> {
    if (app.server.listening) await sleep(drainMs);
    // A client that never finishes its request, or never reads the response, must not keep the rest from stopping cleanly.
    const closeLingering = setTimeout(() => app.server.closeAllConnections(), REQUESTS_END_WITHIN_MS);
    // Fastify closes idle connections once; one whose answer was still under way then is kept open by its client.
    const closeIdle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
    await app.close().finally(() => {
      clearTimeout(closeLingering);
      clearInterval(closeIdle);
    });
  }

  return {
    core,
    app,
    demo,
    async stop(drainMs = 0) {
      stopping = true;
      await Promise.all([closeApp(drainMs), scheduler.stop(), webhooks.stop()]);
      await projector.stop();
      await core.close();
    },
  };
}
