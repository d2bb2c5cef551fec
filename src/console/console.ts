import { fastifyCookie } from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AuthorizationServer } from '../authorization-server/authorization-server.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { registerAssets } from '../html/assets.ts';
import { registerCompression } from '../html/compression.ts';
import { html } from '../html/html.ts';
import { type Flash, page, problemPage, sendPage } from '../html/layout.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { createCookies } from './cookies.ts';
import { createEventStreams } from './event-stream.ts';
import { homeOf, rail } from './frame.ts';
import { createLiveFeed } from './live.ts';
import type { PageDeps } from './page-deps.ts';
import { registerPages } from './pages.ts';
import { openSentForms } from './sent-forms.ts';
import { type Current, createSessions, type Sessions } from './sessions.ts';
import { SESSION_COOKIE, SIGNED_OUT_PATH, signInRoutes } from './sign-in.ts';
import { type Answer, Form, type Handler, missing, type Routes, type Visit } from './visit.ts';

export type ConsoleDeps = PageDeps & {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly endSession: AuthorizationServer['endSession'];
  readonly settings: { readonly secretKey: Buffer };
};

const FLASH_COOKIE = 'console_flash';
const FLASH_SECONDS = 60;

/** The web console under /console, and the assets that every page of the service uses. */
export async function registerConsole(app: FastifyInstance, deps: ConsoleDeps): Promise<Sessions> {
  const { users, queries, clock } = deps;
  const { publicUrl } = deps.settings;
  const sessions = await createSessions({ ...deps, secretKey: deps.settings.secretKey });
  const once = await openSentForms(deps);
  const cookies = createCookies(deps.settings);
  const feed = createLiveFeed({ ...deps, logger: app.log });
  const streams = createEventStreams({ feed, sessions });
  app.addHook('onReady', () => feed.start());
  app.addHook('preClose', async () => {
    streams.endAll();
    await feed.stop();
  });

  await registerAssets(app);
  app.get('/', async (_request, reply) => reply.redirect('/console', 303));

  await app.register(async (scope) => {
    // Pages of the authorization server are not packed: the tokens on them are the same each time.
    await registerCompression(scope);
    await scope.register(fastifyCookie);
    if (!scope.hasContentTypeParser('application/x-www-form-urlencoded')) await scope.register(formbody);
    scope.setErrorHandler(showError);
    signInRoutes(scope, { publicUrl, cookies, sessions, users });

    const routes: Routes = {
      get: (path, handler, only) => void scope.get(path, (request, reply) => answer(request, reply, handler, only)),
      post: (path, handler, only) => void scope.post(path, (request, reply) => answer(request, reply, handler, only)),
    };
    routes.get('/console', async ({ account }) => ({ go: homeOf(account) }));
    registerPages(routes, deps);
    routes.get('/console/*', async () => missing('page'));

    scope.get('/console/live', async (request, reply) => {
      const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
      // 204 tells the browser not to come back.
      if (current === undefined) return reply.code(204).send();
      const since = request.headers['last-event-id'] ?? new Form(request.query).text('after');
      streams.connect(request, reply, current, String(since));
      return reply;
    });

    scope.post('/console/account', async (request, reply) => {
      const current = await signedIn(request, reply);
      if (current === undefined) return reply;
      const wanted = new Form(request.body).text('account');
      const account = current.user.accounts.find((own) => accountKey(own) === wanted);
      if (account === undefined || !(await sessions.switchAccount(current, account))) return forbidden(reply);
      return reply.redirect(homeOf(account), 303);
    });

    scope.post('/console/sign-out', async (request, reply) => {
      const current = await signedIn(request, reply);
      if (current === undefined) return reply;
      await deps.endSession(request, reply);
      await sessions.end(cookies.get(request, SESSION_COOKIE) ?? '');
      cookies.clear(reply, SESSION_COOKIE);
      return reply.redirect(SIGNED_OUT_PATH, 303);
    });
  });
  return sessions;

  /** Whose session it is. Without one the reply is on its way to the sign-in; a forged form gets its 403. */
  async function signedIn(request: FastifyRequest, reply: FastifyReply): Promise<Current | undefined> {
    const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
    const isForm = request.method === 'POST';
    if (current === undefined) {
      const to = isForm ? '/console' : request.url;
      reply.redirect(`${publicUrl}/console/sign-in?to=${encodeURIComponent(to)}`, 303);
      return undefined;
    }
    if (isForm && !isOwnForm(request, current)) {
      forbidden(reply);
      return undefined;
    }
    return current;
  }

  /** Browsers say where a form comes from; the token in it says that it was made for this session and account. */
  function isOwnForm(request: FastifyRequest, current: Current): boolean {
    const { origin } = request.headers;
    const fromHere = origin === undefined || origin === publicUrl;
    return fromHere && sessions.isCsrfToken(current, new Form(request.body).text('csrf'));
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    handler: Handler,
    only: Account['kind'] | undefined,
  ) {
    const current = await signedIn(request, reply);
    if (current === undefined) return reply;
    const visit = await visitOf(request, current);
    const shown = only === undefined || only === visit.account.kind ? await handler(visit) : missing('page');
    return send(request, reply, visit, shown);
  }

  async function visitOf(request: FastifyRequest, current: Current): Promise<Visit> {
    const { user, session, hash } = current;
    const { account } = session;
    const form = new Form(request.body);
    return {
      user,
      account,
      accountName: await nameOf(account),
      context: { actor: { kind: 'user', id: user.id, account }, correlationId: request.id },
      params: stringsOf(request.params),
      query: new Form(request.query),
      form,
      csrf: sessions.csrfToken(current),
      now: clock(),
      async once(action) {
        const token = form.text('once');
        const given = token === '' ? await action() : await once(hash, token, action);
        return given ?? SENT_BEFORE;
      },
    };
  }

  async function send(request: FastifyRequest, reply: FastifyReply, visit: Visit, shown: Answer) {
    if ('go' in shown) {
      if (shown.flash !== undefined) cookies.setSealed(reply, FLASH_COOKIE, shown.flash, FLASH_SECONDS);
      return reply.redirect(shown.go, 303);
    }
    const { account, csrf, user } = visit;
    const others = user.accounts.filter((other) => accountKey(other) !== accountKey(account));
    const frame = rail({
      account,
      accountName: visit.accountName,
      email: user.email,
      others: await Promise.all(others.map(async (other) => ({ account: other, name: await nameOf(other) }))),
      waiting: account.kind === 'Community' ? await queries.bookings.count(account, 'Pending') : 0,
      section: 'section' in shown ? shown.section : undefined,
      csrf,
    });
    const said = flashOf(cookies.getSealed(request, FLASH_COOKIE));
    if (said.length > 0) cookies.clear(reply, FLASH_COOKIE);
    // What a form answers is not looked at again: its address may show something else.
    const live = request.method === 'POST' ? undefined : feed.mark();
    if ('missing' in shown) {
      const { title, main } = notThere(shown.missing, account);
      return sendPage(
        reply,
        404,
        page({ title, main, rail: frame, flash: said, ...(live === undefined ? {} : { live }) }),
      );
    }
    const { main, status = 200, flash = [] } = shown;
    const title = status === 422 ? `Not done: ${shown.title}` : shown.title;
    return sendPage(
      reply,
      status,
      page({ title, main, rail: frame, flash: [...said, ...flash], ...(live === undefined ? {} : { live }) }),
    );
  }

  async function nameOf(account: Account): Promise<string> {
    return (await queries.accounts.name(account)) ?? `${account.kind} ${account.id}`;
  }
}

const notThere = (what: string, account: Account) => ({
  title: 'Not found',
  main: html`<div class="empty"><h1>There is no such ${what}</h1>
<p>It may never have existed, or it belongs to another account.</p>
<a class="button" href="${homeOf(account)}">Go on</a></div>`,
});

/** A form that was sent again long after it did its work. */
const SENT_BEFORE: Answer = {
  title: 'Sent before',
  status: 409,
  main: html`<div class="empty"><h1>This form was sent before</h1>
<p>What it asked for was done then, and was not done again. A secret is shown only once: if you missed it, make a new one.</p>
<a class="button" href="/console">Go on</a></div>`,
};

const forbidden = (reply: FastifyReply) =>
  sendPage(
    reply,
    403,
    problemPage(
      'Nothing was changed',
      'This form was not made for the account you are signed in with now: it is old, or came from elsewhere. Open the page again and repeat what you wanted to do.',
      { href: '/console', label: 'Go on' },
    ),
  );

/** A page for what nobody expected; a bug shows nothing of its insides. */
function showError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const { statusCode = 500 } = error;
  if (statusCode >= 400 && statusCode < 500)
    return sendPage(
      reply,
      statusCode,
      problemPage('This request makes no sense', 'The browser sent something that the console does not understand.', {
        href: '/console',
        label: 'Go on',
      }),
    );
  request.log.error({ err: error, reqId: request.id }, 'unexpected error');
  const text = `An unexpected error happened (request ${request.id}). Try again; if it comes back, tell the operator this number.`;
  return sendPage(reply, 500, problemPage('Something went wrong', text, { href: '/console', label: 'Go on' }));
}

function flashOf(value: unknown): readonly Flash[] {
  if (typeof value !== 'object' || value === null) return [];
  const { kind, text } = value as { kind?: unknown; text?: unknown };
  const known = kind === 'done' || kind === 'problem' || kind === 'notice';
  return known && typeof text === 'string' ? [{ kind, text }] : [];
}

const stringsOf = (params: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(params ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
