import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import { projections } from '../projections/index.ts';
import { api, unroutable } from './api/api.ts';
import { calendarFeedRoute } from './api/calendar-feed.ts';
import {
  answerUncommonRequests,
  handleClientError,
  handleError,
  headerProblem,
  sendHeaderProblem,
  sendNotFound,
} from './api/errors.ts';
import { type CheckReadiness, createReadinessCheck, healthRoutes } from './api/health.ts';
import {
  answerInOrder,
  checkBeforeBodies,
  readForwardedFor,
  refuseEncodedBodies,
  refuseUnusableTexts,
} from './api/incoming-requests.ts';
import { photoRoute } from './api/photos.ts';
import { sealKeyRoute } from './api/seal-key.ts';
import { createSealRole } from './audit/seal-role.ts';
import { authenticateEither, createApiKeyAuthentication } from './auth/authenticate.ts';
import { createFeedSearch } from './auth/calendar-feeds.ts';
import { rememberSenders } from './auth/caller.ts';
import { createChangeFollowUp } from './auth/change-follow-up.ts';
import { challengeOf } from './auth/resources.ts';
import { PATHS } from './authorization-server/paths.ts';
import type { Config } from './config.ts';
import { registerConsole } from './console/console.ts';
import { type Core, type CoreOptions, openCore } from './core.ts';
import { createLogFollower } from './credentials/follow-log.ts';
import { demoSignIns } from './demo/demo-file.ts';
import { ensureDemoData } from './demo/ensure-demo-data.ts';
import { defined } from './domain/defined.ts';
import { isEmbedded } from './engines.ts';
import { requestArrived } from './event-loop/loop-turn.ts';
import { askLog } from './event-store/outage.ts';
import { asksForPage, sendMalformedPage, sendNotFoundPage } from './html/not-found.ts';
import { answerInTime } from './http/request-deadline.ts';
import { areStreamsWaiting } from './http/send-chunks.ts';
import { readTraces } from './http/trace.ts';
import { closeUnread } from './http/unread-answers.ts';
import { onAddress } from './http/unusable-address.ts';
import { createRole, type RunningRole } from './leases/role.ts';
import { inboxPages } from './mail/inbox-pages.ts';
import { mcpRoutes } from './mcp/mcp-server.ts';
import { startMonitoringServer } from './monitoring/monitoring-server.ts';
import { createReadings } from './monitoring/readings.ts';
import { createRequestWatch } from './monitoring/request-watch.ts';
import { generationName } from './read-models/generations.ts';
import { RELEASE } from './release.ts';
import { diskWarning, freeBytes } from './runtime/disk.ts';
import { LogUnavailable } from './runtime/unavailable.ts';
import { createClosureFollowUp } from './scheduler/closures.ts';
import { createMoveFollowUp } from './scheduler/moves.ts';
import { createPhotoSweep } from './scheduler/photos.ts';
import { createScheduler } from './scheduler/scheduler.ts';

/** How long a start waits for read models that are being built. */
const READABLE_WITHIN_MS = 5_000;
/** How long the log may take to answer when `/readyz` is asked. */
const LOG_ANSWERS_WITHIN_MS = 1_500;
/** How long a request may take to arrive completely. */
const REQUEST_ARRIVES_WITHIN_MS = 30_000;
/** How often that is checked. Node's default would double the time. */
const CHECK_ARRIVAL_EVERY_MS = 1_000;
/** How long browsers use https only, once they have used it: a year. Other hosts below the same name are not concerned. */
const SECURE_FOR_S = 365 * 24 * 60 * 60;
/**
 * A connection on which nothing happens during a request is closed. Longer than a request may take to arrive: a client that sends nothing more is
 * told so first. Those that do not read their answers are closed earlier.
 */
const NOTHING_HAPPENS_FOR_MS = 35_000;
/** How often connections that have become idle are closed once the service is stopping. */
const CLOSE_IDLE_EVERY_MS = 50;
/** How long requests in flight may take once the service is stopping. */
const REQUESTS_END_WITHIN_MS = 5_000;

/** The HTTP server: API, authorization server, MCP and console. Once `stopping`, it is not ready but still takes requests. */
export async function createApp(core: Core, stopping = (): boolean => false): Promise<FastifyInstance> {
  const { config, logger, commands, queries, projector, authorizationServer } = core;
  const requestPrefix = crypto.randomUUID().slice(0, 8);
  let requests = 0;
  const setCommonHeaders = commonHeaders(config);
  const watch = createRequestWatch({
    logger,
    metrics: core.metrics,
    logReads: config.logReads,
    signInForm: `${PATHS.interaction}/:uid/sign-in`,
    postedReads: new Set([PATHS.introspection, PATHS.userinfo]),
  });
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
    connectionTimeout: NOTHING_HAPPENS_FOR_MS,
    // Longer than any id: a path too long to match anything must still be authenticated before it gets its 404.
    routerOptions: { maxParamLength: 1_000 },
    trustProxy: config.trustProxy.length > 0 ? [...config.trustProxy] : false,
    // Only the API has schemas, and compiles them itself. Without these stubs, Fastify would load ajv.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler: handleClientError(watch.refused),
    // Node's own refusal would not have our error shape.
    http: {
      requireHostHeader: false,
      headersTimeout: REQUEST_ARRIVES_WITHIN_MS,
      connectionsCheckingInterval: CHECK_ARRIVAL_EVERY_MS,
    },
    frameworkErrors: (error, request, reply) => {
      watch.begin(request, reply);
      setCommonHeaders(request, reply);
      return asksForPage(request) ? void sendMalformedPage(reply) : refuseUnroutable(error, request, reply);
    },
  });
  app.log = loggerInstance;
  readTraces(app);
  rememberSenders(app);
  answerUncommonRequests(app.server, watch.refused);
  answerInOrder(app);
  closeUnread(app.server, { areOthersWaiting: areStreamsWaiting });
  const { outage } = core.events;
  answerInTime(app, {
    cause: () => (outage.since() === undefined ? undefined : new LogUnavailable('The event log does not answer')),
  });
  readForwardedFor(app, logger);
  checkBeforeBodies(app);
  refuseEncodedBodies(app);
  refuseUnusableTexts(app);
  app.setErrorHandler((error: FastifyError, request, reply) =>
    // This also covers a form posted to an unknown path, whose body is not read.
    request.is404 && asksForPage(request) ? sendNotFoundPage(reply) : handleError(error, request, reply),
  );
  app.setNotFoundHandler((request, reply) =>
    asksForPage(request) ? sendNotFoundPage(reply) : sendNotFound(request, reply),
  );
  app.addHook('onRequest', (request, reply, done) => {
    requestArrived();
    watch.begin(request, reply);
    setCommonHeaders(request, reply);
    const problem = headerProblem(request);
    if (problem !== undefined) return void sendHeaderProblem(reply, problem);
    // Clients that keep their connection move to another process with the next request.
    if (stopping()) reply.header('connection', 'close');
    done();
  });

  const { isSuspended } = core.credentials;
  const authenticate = authenticateEither(
    core.apiKeyUsage.trackUsage(createApiKeyAuthentication(core.credentials)),
    authorizationServer.accessTokens.authenticate,
  );
  await app.register(healthRoutes({ release: RELEASE, check: readinessOf(core, stopping) }));
  const challenge = challengeOf(authorizationServer.resources.api);
  const refuseUnroutable = unroutable({ authenticate, challenge });
  await app.register(
    api({
      commands,
      queries,
      clock: core.clock,
      authenticate,
      isSuspended,
      challenge,
      settings: config,
      // Time-zone data has versions, too.
      release: JSON.stringify([manifest.version, process.versions.tz, generationName(projections)]),
    }),
  );
  const { publicUrl } = config;
  const findFeed = createFeedSearch(core);
  await app.register(calendarFeedRoute({ findFeed, isSuspended, queries, publicUrl, logId: core.logId }));
  const { inbox } = core.mail;
  if (inbox !== undefined) inboxPages(app, inbox);
  await app.register(photoRoute(core));
  await app.register(sealKeyRoute({ publishedKey: core.audit.publishedKey }));
  await app.register(authorizationServer.routes);
  const { accessTokens, resources } = authorizationServer;
  const tools = { commands, queries, clock: core.clock, pricing: config };
  await app.register(mcpRoutes({ tools, accessTokens, isSuspended, resources, version: manifest.version }));
  await registerConsole(app, {
    ...core,
    findFeed,
    isSuspended,
    readModels: projector.readModels,
    connectedApps: authorizationServer.connectedApps,
    clients: authorizationServer.clients,
    endSession: authorizationServer.endSession,
    onSignOut: authorizationServer.onSignOut,
    endSessionsOf: authorizationServer.endSessionsOf,
    signInAttempts: authorizationServer.signInAttempts,
    resetAttempts: authorizationServer.resetAttempts,
    settings: config,
  });
  return app;
}

const readinessOf = (core: Core, stopping: () => boolean): CheckReadiness =>
  createReadinessCheck({
    ping: {
      eventStore: () => askLog(core.events, LOG_ANSWERS_WITHIN_MS),
      documentStore: () => core.documents.ping(),
    },
    readModels: core.projector.readModels.status,
    ...(isEmbedded(core.config) && { disk: () => diskWarning(core.config.dataDir) }),
    clock: core.clockWatch.problem,
    failedEvents: core.webhooks.countFailedEvents,
    mail: core.mail.warning,
    stopping,
  });

/** Sets the headers of every answer. A route that answers without Fastify copies them. */
function commonHeaders({
  publicUrl,
}: Pick<Config, 'publicUrl'>): (request: FastifyRequest, reply: FastifyReply) => void {
  const isSecure = publicUrl.startsWith('https:');
  return (request, reply) => {
    // Every event that a request causes has this id as its `correlationId`.
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (isSecure) reply.header('strict-transport-security', `max-age=${SECURE_FOR_S}`);
  };
}

const noCompiler = () => () => {
  throw new Error('A route outside the API has a schema');
};

export type Service = Awaited<ReturnType<typeof startService>>;

/**
 * Starts the configured roles. Resolves once requests are being answered.
 * @param options.clock what events are dated with; the machine's clock by default
 * @param options.withWriter starts the thread that makes the durable commits; otherwise this thread makes them
 */
export async function startService(
  config: Config,
  logger: Logger,
  options: Pick<CoreOptions, 'clock' | 'withWriter'> = {},
) {
  const monitoring = await openMonitoring(config, logger);
  const core = await openCore(config, logger, { ...options, ...defined({ metrics: monitoring?.metrics }) });
  const { projector, webhooks, mail, mailContent } = core;
  const { roles } = config;
  const follower = createLogFollower(core);
  if (roles.has('projector')) {
    projector.start();
    follower.start();
  }
  let isStopping = false;
  const stopping = () => isStopping;
  const app = roles.has('api') ? await createApp(core, stopping) : undefined;

  const fenced = Promise.withResolvers<string>();
  core.identity.start(fenced.resolve);
  await core.clockWatch.start();
  // After that, reads of unfinished read models fail, and /readyz shows the reason.
  await projector.readModels.readable(READABLE_WITHIN_MS);
  await webhooks.prepare();
  const { readable } = projector.readModels;
  const demo = config.demo ? await ensureDemoData({ ...core, ...config, readable }) : undefined;
  if (demo !== undefined && process.env.NODE_ENV !== 'production')
    core.authorizationServer.offerSignIns(demoSignIns(demo, config.dataDir));
  // What happens from now on is mailed, but not what the demo data says has happened.
  await mail.prepare(mailContent);
  if (roles.has('webhooks')) await webhooks.start();
  if (roles.has('mail')) mail.start(mailContent);
  const scheduler = createRole({ ...core, name: 'scheduler', run: async () => startScheduled(core) });
  // Only after the demo data is loaded: it has requests that would already have expired.
  if (roles.has('scheduler')) scheduler.start();
  // A first start creates a signing key in the background. Wait for it.
  await core.authorizationServer.signingKeys.current();
  const { host, port } = config;
  await onAddress({ host, port }, async () => app?.listen({ host, port }));
  // Only now: a load balancer that asks the metrics port sends requests as soon as it says that the process is ready.
  monitoring?.observe(core, stopping);

  return {
    core,
    /** Absent without the role `api`. */
    app,
    /** The demo data, if enabled. */
    demo,
    /** Resolves with a sentence if the store was moved elsewhere while this process was suspended. The process must then end at once. */
    fenced: fenced.promise,
    /**
     * Takes no new jobs and waits for those in flight. For `drainMs`, it still accepts requests while `/readyz` already fails, so
     * that load balancers stop sending them.
     */
    async stop(drainMs = 0): Promise<void> {
      isStopping = true;
      await Promise.all([closeApp(app, drainMs), webhooks.stop(), mail.stop(), scheduler.stop()]);
      // The projector stops last, so that the changes of open requests and other roles become visible.
      await Promise.all([projector.stop(), follower.stop()]);
      await core.close();
      await monitoring?.close();
    },
  };
}

/** Answers at `METRICS_PORT`, if it is set, from before the stores are open until after they are closed. */
async function openMonitoring(config: Config, logger: Logger) {
  const { metricsHost: host, metricsPort: port } = config;
  if (port === undefined) return undefined;
  const { createPrometheus } = await import('./monitoring/prometheus.ts');
  const metrics = createPrometheus({ version: manifest.version, generation: generationName(projections) });
  const server = await startMonitoringServer({
    address: { host, port },
    release: RELEASE,
    prometheus: metrics,
    logger,
  });
  return {
    metrics,
    observe(core: Core, stopping: () => boolean): void {
      const check = readinessOf(core, stopping);
      const readings = createReadings({
        ...core,
        check,
        ...(isEmbedded(config) && { freeBytes: () => freeBytes(config.dataDir) }),
      });
      server.observe({ check, readings });
    },
    close: server.close,
  };
}

/** Starts what runs by the clock, in one process at a time. */
function startScheduled(core: Core): RunningRole {
  const { clock, clockWatch, logger, config, identity, changing } = core;
  const { bookings } = core.commands;
  const { readModels } = core.projector;
  const scheduled = [
    createScheduler({ bookings, readModels, clock, clockProblem: clockWatch.check, logger }),
    createClosureFollowUp({ closures: core.commands.closures, readModels, logger }),
    createMoveFollowUp({ moves: core.commands.moves, readModels, logger }),
    createPhotoSweep({ photos: core.commands.photos, clockProblem: clockWatch.check, logger }),
    createChangeFollowUp({ changing, logger }),
    createSealRole({ ...core, ...config, settings: config, logId: identity.logId }),
  ];
  for (const each of scheduled) each.start();
  return { stop: async () => void (await Promise.all(scheduled.map((each) => each.stop()))) };
}

async function closeApp(app: FastifyInstance | undefined, drainMs: number): Promise<void> {
  if (app === undefined) return;
  if (app.server.listening) await sleep(drainMs);
  // A client that never finishes its request, or never reads the response, must not keep the rest from stopping cleanly.
  const closeLingering = setTimeout(() => app.server.closeAllConnections(), REQUESTS_END_WITHIN_MS);
  // Fastify closes idle connections only once. A connection that was still sending a response then would stay open.
  const closeIdle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  await app.close().finally(() => {
    clearTimeout(closeLingering);
    clearInterval(closeIdle);
  });
}
