import cors from '@fastify/cors';
import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate } from '../auth/authenticate.ts';
import type { IsSuspended } from '../auth/suspension.ts';
import type { Commands } from '../commands/commands.ts';
import { PREFIX, type Settings } from '../description/settings.ts';
import { seesAmounts } from '../domain/roles.ts';
import { withoutAmounts } from '../domain/shown-amounts.ts';
import { registerCompression } from '../http/compression.ts';
import type { Queries } from '../queries/queries.ts';
import type { Clock } from '../runtime/clock.ts';
import { checkAmounts, createAccessHooks, createAuthentication } from './access.ts';
import { createTurnHooks } from './account-turns.ts';
import { bookingRoutes } from './bookings.ts';
import { CROSS_ORIGIN, EXPOSED, PREFLIGHT_KEPT_S } from './cross-origin.ts';
import { customerRoutes } from './customers.ts';
import { describeRoutes } from './docs.ts';
import { handleError, refuseEmptySegments, sendNotFound } from './errors.ts';
import { acceptJson, ignoreTypeOfEmptyBody } from './json-body.ts';
import { refuseUnknownParameters } from './query-parameters.ts';
import { reviewRoutes } from './reviews.ts';
import { spaceRoutes } from './spaces.ts';
import { validatorCompiler } from './validation.ts';
import { webhookRoutes } from './webhooks.ts';

export type ApiDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly authenticate: Authenticate;
  readonly isSuspended: IsSuspended;
  /** The `WWW-Authenticate` challenge of a 401. */
  readonly challenge: string;
  /** Facts about this installation in the description. */
  readonly settings: Settings;
  /** Identifies this release's serialisation, so that its entity tags differ from those of other releases. */
  readonly release: string;
};

/** The REST API under /api/v1, with its OpenAPI description at /openapi.json and a page of it at /docs. */
export const api =
  (deps: ApiDeps): FastifyPluginAsync =>
  async (app) => {
    // The first request needs it. Loading it before the service listens would lengthen the start.
    app.addHook('onListen', async () => {
      await import('ajv');
    });
    app.setValidatorCompiler(validatorCompiler);
    // Instead of code made of schemas, which has to be compiled first, and joins many small strings, which hold up the garbage collector.
    app.setSerializerCompiler(() => JSON.stringify);
    acceptJson(app);
    describeRoutes(app, deps.settings);
    await app.register(
      async (routes) => {
        routes.addHook('onRequest', (request, reply, done) => {
          begin(request, reply);
          ignoreTypeOfEmptyBody(request);
          done();
        });
        // In a scope of its own, so that only preflights run through the plugin.
        await routes.register(async (preflights) => {
          await preflights.register(cors, {
            origin: '*',
            methods: ['GET', 'HEAD', 'POST', 'DELETE'],
            exposedHeaders: EXPOSED,
            maxAge: PREFLIGHT_KEPT_S,
            // Plain OPTIONS requests are answered too: the plugin's refusal would not have our error shape.
            strictPreflight: false,
          });
        });
        // In this scope, so that its headers are set for an unknown path too.
        routes.setNotFoundHandler(sendNotFound);
        routes.decorateRequest('caller');
        routes.decorateRequest('checkedAt', 0);
        // Lists, which are streamed, do the same themselves (`json-array.ts`).
        routes.addHook('preSerialization', (request, _reply, body, done) =>
          done(null, seesAmounts(request.caller?.role) ? body : withoutAmounts(body)),
        );
        const accessHooksOf = createAccessHooks(deps);
        const turnHookOf = createTurnHooks();
        routes.addHook('onRoute', (route) => {
          if (route.config?.access === undefined) return;
          const { check, checkAgain } = accessHooksOf(route.config.access);
          route.onRequest = check;
          route.preValidation = [refuseEmptySegments, refuseUnknownParameters(route.schema)];
          route.preHandler = [checkAmounts, ...[route.preHandler ?? []].flat()];
          const turn = turnHookOf(route);
          if (turn === undefined) return;
          if ('preParsing' in turn) route.preParsing = turn.preParsing;
          // Before the hook that notes that a change has begun: one that waits for its turn has not.
          const beforeHandler = 'preHandler' in turn ? [turn.preHandler, checkAgain] : [checkAgain];
          route.preHandler = [...beforeHandler, ...route.preHandler];
        });
        // After the hook above, which replaces the `onRequest` of each route.
        await registerCompression(routes);
        await routes.register(spaceRoutes(deps));
        await routes.register(bookingRoutes(deps));
        await routes.register(customerRoutes(deps));
        await routes.register(reviewRoutes(deps));
        await routes.register(webhookRoutes(deps));
      },
      { prefix: PREFIX },
    );
  };

/** Responses are for one caller: unless a route says otherwise, they must not be cached. */
function begin(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('cache-control', 'no-store');
  if (request.headers.origin !== undefined) reply.headers(CROSS_ORIGIN);
}

/**
 * Answers requests whose URL is malformed, which reach no route and no hook. Under the prefix of the API they are authenticated first,
 * like all others (docs/decisions/rest-api.md).
 */
export function unroutable(deps: Pick<ApiDeps, 'authenticate' | 'challenge'>) {
  const authenticated = createAuthentication(deps);
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    if (!request.url.startsWith(`${PREFIX}/`)) return void handleError(error, request, reply);
    begin(request, reply);
    const answer = (thrown: Error) => void handleError(thrown, request, reply);
    authenticated(request, reply).then((caller) => {
      if (caller !== undefined) answer(error);
    }, answer);
  };
}
