import { fastifyCookie } from '@fastify/cookie';
import formbody from '@fastify/formbody';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FindFeed } from '../auth/calendar-feeds.ts';
import type { PasswordReset } from '../auth/password-reset.ts';
import type { SignUps } from '../auth/sign-ups.ts';
import type { IsSuspended } from '../auth/suspension.ts';
import type { Users } from '../auth/users.ts';
import { openAttemptCounts } from '../authorization-server/attempt-counts.ts';
import type { AuthorizationServer } from '../authorization-server/authorization-server.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { registerAssets } from '../html/assets.ts';
import { registerCompression } from '../http/compression.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { showError } from './error-pages.ts';
import { createConsoleLimits, type LimitSettings } from './limits.ts';
import { addressRoutes } from './links/addresses.ts';
import { contactRoutes } from './links/contacts.ts';
import { invitationRoutes } from './links/invitations.ts';
import { createLinkRoutes } from './links/link-page.ts';
import { passwordRoutes } from './links/passwords.ts';
import { signUpRoutes } from './links/sign-up.ts';
import { ignoreMultipart, unsubscribeRoutes } from './links/unsubscribing.ts';
import { createEventStreams } from './live/event-stream.ts';
import { createLiveFeed, type LiveFeed } from './live/live.ts';
import { pagesOf } from './page-files.ts';
import { createPageHandler } from './page-handler.ts';
import { createPageRenderer } from './page-renderer.ts';
import { PAGES } from './pages.ts';
import type { PageDeps } from './parts/routes.ts';
import { Form } from './parts/typed-form.ts';
import { doorPage } from './public/door.ts';
import { openPageViews } from './public/page-views.ts';
import { publicPages } from './public/public-pages.ts';
import { type Cookies, createCookies } from './sessions/cookies.ts';
import { createFirstSignIn } from './sessions/first-sign-in.ts';
import { rejectForm, type SessionDeps, sendTooManyForms } from './sessions/rejected-form.ts';
import { createSessionCheck, type SessionCheck, senderOf } from './sessions/session-check.ts';
import { createSessions, type Sessions } from './sessions/sessions.ts';
import {
  ENDED_SESSION_COOKIE,
  ENDED_SESSION_SECONDS,
  ownPath,
  SESSION_COOKIE,
  SIGNED_OUT_PATH,
  signInRoutes,
} from './sessions/sign-in.ts';
import { openSubmittedForms } from './sessions/submitted-forms.ts';
import { registerUploads } from './uploads.ts';

export type ConsoleDeps = Omit<PageDeps, 'sessions' | 'pageViews'> & {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly endSession: AuthorizationServer['endSession'];
  readonly onSignOut: AuthorizationServer['onSignOut'];
  readonly resetAttempts: AuthorizationServer['resetAttempts'];
  readonly passwordReset: PasswordReset;
  readonly users: Pick<Users, 'byEmail' | 'markRead'>;
  readonly isSuspended: IsSuspended;
  readonly findFeed: FindFeed;
  readonly signUps: SignUps;
  readonly settings: LimitSettings & {
    readonly secretKey: SecretKey;
    readonly signUp: 'brands' | undefined;
  };
};

/** The web console under /console, and the assets used by every page of the service. */
export async function registerConsole(app: FastifyInstance, deps: ConsoleDeps): Promise<Sessions> {
  const { documents, users, clock, queries, events, readModels, webhooks, endSession } = deps;
  const { publicUrl, secretKey } = deps.settings;
  const sessions = await createSessions({ documents, users, clock, secretKey });
  const submitOnce = await openSubmittedForms({ documents, clock });
  const cookies = createCookies({ publicUrl, secretKey });
  const counts = await openAttemptCounts({ documents, secretKey, clock });
  const refusals = await refusalsOf(app);
  const session: SessionDeps = { sessions, cookies, publicUrl, ...refusals };
  deps.onSignOut(async (header) => {
    const id = cookies.inHeader(header, SESSION_COOKIE);
    if (id !== undefined) await sessions.end(id);
  });
  const pageViews = await openPageViews({ documents, clock, logger: app.log });
  const limits = createConsoleLimits({ counts, settings: deps.settings });
  const feed = createLiveFeed({ events, readModels, webhooks, logger: app.log });
  const signedIn = createSessionCheck(session);
  const renderer = createPageRenderer({ queries });
  const handler = createPageHandler({
    ...session,
    signedIn,
    isSuspended: deps.isSuspended,
    submitOnce,
    limits,
    feed,
    renderer,
    users,
    clock,
    settings: deps.settings,
  });

  registerAssets(app);
  app.get('/', async (_request, reply) => reply.redirect('/console', 303));

  await app.register(async (scope) => {
    // Not the responses of the authorization server, whose form tokens do not change from response to response (BREACH).
    await registerCompression(scope);
    await scope.register(fastifyCookie);
    if (!scope.hasContentTypeParser('application/x-www-form-urlencoded')) await scope.register(formbody);
    scope.decorateRequest('visitor', undefined);
    limitRefusals(scope, session);
    scope.setErrorHandler(showError);
    signInRoutes(scope, { ...session, users, counts });
    const links = createLinkRoutes(scope, publicUrl);
    scope.addHook('onClose', () => deps.passwordReset.settled());
    passwordRoutes(links, deps.passwordReset, deps.resetAttempts);
    const firstSignIn = createFirstSignIn({ ...session, endSession });
    invitationRoutes(links, { ...deps, accountName: renderer.nameOf, firstSignIn });
    if (deps.settings.signUp !== undefined)
      signUpRoutes(links, {
        ...deps,
        begunIn: signUpCookie(cookies),
        firstSignIn,
      });
    addressRoutes(links, deps.addressConfirmation);
    await scope.register(async (programs) => {
      ignoreMultipart(programs);
      const routes = createLinkRoutes(programs, publicUrl);
      unsubscribeRoutes(routes, { unsubscribing: deps.mailContent.unsubscribing, accountName: renderer.nameOf });
    });
    publicPages(scope, { ...deps, views: pageViews });
    doorPage(scope, deps);
    scope.addHook('onClose', () => pageViews.stop());
    contactRoutes(links, deps.contactConfirmation, renderer.nameOf);
    await scope.register(async (files) => {
      registerUploads(files);
      const commands = {
        ...deps.commands,
        questions: limits.limitQuestions(deps.commands.questions, queries.accounts),
      };
      const pageDeps = { ...deps, commands, sessions, pageViews, webhooks: limits.limitTests(webhooks) };
      // No other form takes files.
      for (const page of pagesOf(PAGES, pageDeps))
        (page.what === 'upload' ? files : scope).route({
          method: page.what === 'page' ? 'GET' : 'POST',
          url: page.path,
          ...defined({ bodyLimit: page.maxBytes }),
          onRequest: (request, reply) => handler.admit(request, reply, page),
          handler: (request, reply) => handler.handle(request, reply, page),
        });
    });
    registerLiveFeed(scope, feed, { ...session, isSuspended: deps.isSuspended });
    registerSessionForms(scope, session, { signedIn, endSession });
  });
  return sessions;
}

const SIGN_UP_COOKIE = 'sign_up';
const SIGN_UP_SECONDS = 24 * 3_600;

const signUpCookie = ({ getSealed, setSealed }: Cookies) => ({
  get: (request: FastifyRequest) => getSealed<string>(request, SIGN_UP_COOKIE),
  set: (reply: FastifyReply, id: string) => void setSealed(reply, SIGN_UP_COOKIE, id, SIGN_UP_SECONDS),
});

/** Refused forms per network and minute. Each costs the parsing of its body, and a page. */
const REFUSALS = { max: 60, timeWindow: '1 minute' };

async function refusalsOf(app: FastifyInstance) {
  await app.register(rateLimit, { global: false });
  const count = app.createRateLimit(REFUSALS);
  const seconds = async (...[request, options]: Parameters<typeof count>): Promise<number | undefined> => {
    const counted = await count(request, options);
    return !counted.isAllowed && counted.isExceeded ? counted.ttlInSeconds : undefined;
  };
  return {
    countRefusal: (request: FastifyRequest) => seconds(request),
    waitAfterRefusals: (request: FastifyRequest) => seconds(request, { increment: false }),
  };
}

/** Refuses forms of a network that has sent too many bad ones, before their bodies are read; not those of people who are signed in. */
function limitRefusals(scope: FastifyInstance, { sessions, cookies, countRefusal, waitAfterRefusals }: SessionDeps) {
  scope.addHook('onRequest', async (request, reply) => {
    const seconds = request.method === 'POST' ? await waitAfterRefusals(request) : undefined;
    if (seconds === undefined) return undefined;
    const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
    // With its connection, so that not even the rest of a body is received.
    return current === undefined ? sendTooManyForms(reply.header('connection', 'close'), seconds) : undefined;
  });
  // Those whose body cannot be read, or has texts that no field takes, reach no page.
  scope.addHook('onError', async (request, _reply, { statusCode = 500 }) => {
    if (request.method === 'POST' && statusCode < 500) await countRefusal(request);
  });
}

/** Server-sent events for open pages. */
function registerLiveFeed(
  scope: FastifyInstance,
  feed: LiveFeed,
  { sessions, cookies, isSuspended }: SessionDeps & Pick<ConsoleDeps, 'isSuspended'>,
) {
  const isActive: Sessions['isActive'] = async (current) =>
    !(await isSuspended(current.session.account)) && sessions.isActive(current);
  const streams = createEventStreams({ feed, sessions: { isActive } });
  scope.addHook('preClose', async () => {
    streams.endAll();
    await feed.stop();
  });
  scope.get('/console/live', async (request, reply) => {
    const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
    // 204 tells EventSource not to reconnect.
    if (current === undefined || (await isSuspended(current.session.account))) return reply.code(204).send();
    request.sender = senderOf(current);
    const query = new Form(request.query);
    const since = request.headers['last-event-id'] ?? query.text('after');
    // The answer has no body, so it cannot wait for changes.
    if (request.method === 'HEAD') return reply.type('text/event-stream; charset=utf-8').send('');
    // Begins to follow the log, if no page was open.
    await feed.mark();
    return streams.connect(request, reply, current, { topics: query.all('topic'), since: String(since) });
  });
}

/** Switching the account and signing out. */
function registerSessionForms(
  scope: FastifyInstance,
  session: SessionDeps,
  { signedIn, endSession }: Pick<ConsoleDeps, 'endSession'> & { readonly signedIn: SessionCheck },
) {
  const { sessions, cookies } = session;
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await signedIn.admit(request, reply);
  };

  scope.post('/console/account', { onRequest }, async (request, reply) => {
    const current = await signedIn.confirm(request, reply);
    if (current === undefined) return reply;
    const form = new Form(request.body);
    const account = current.user.memberships.find((own) => accountKey(own.account) === form.text('account'))?.account;
    if (account === undefined || !(await sessions.switchAccount(current, account)))
      return rejectForm(session, request, reply, { reason: 'foreign' });
    return reply.redirect(ownPath(form.text('to')), 303);
  });

  scope.post('/console/sign-out', { onRequest }, async (request, reply) => {
    const current = await signedIn.confirm(request, reply);
    if (current === undefined) return reply;
    await endSession(request, reply);
    const id = cookies.get(request, SESSION_COOKIE) ?? '';
    await sessions.end(id);
    cookies.clear(reply, SESSION_COOKIE);
    // Forms that are open in other tabs still show what was typed.
    cookies.set(reply, ENDED_SESSION_COOKIE, id, ENDED_SESSION_SECONDS);
    return reply.redirect(SIGNED_OUT_PATH, 303);
  });
}
