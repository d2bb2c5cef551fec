import { fastifyCookie } from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AuthorizationServer } from '../authorization-server/authorization-server.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { registerAssets } from '../html/assets.ts';
import { registerCompression } from '../html/compression.ts';
import { html } from '../html/html.ts';
import { type Flash, page, problemPage, sendPage } from '../html/layout.ts';
import { named } from '../html/names.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  isUnavailable,
  OutcomeUnknown,
  publicMessageOf,
  RETRY_AFTER_SECONDS,
  type UnavailableError,
} from '../runtime/unavailable.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { createEventStreams } from './live/event-stream.ts';
import { createLiveFeed } from './live/live.ts';
import { registerPages } from './pages.ts';
import { csrfField } from './parts/fields.ts';
import { homeOf, rail } from './parts/frame.ts';
import type { PageDeps } from './parts/page-deps.ts';
import { printedHead } from './parts/printed.ts';
import { readerZone, ZONE_COOKIE } from './parts/reader-zone.ts';
import { type Answer, Form, type Handler, missing, type Routes, type Visit } from './parts/visit.ts';
import { createCookies } from './sessions/cookies.ts';
import { keepForm, takeKeptForm } from './sessions/kept-form.ts';
import { lostForm, lostFormFlash, lostFormPage } from './sessions/lost-form.ts';
import { type CurrentSession, createSessions, type Sessions } from './sessions/sessions.ts';
import { ownPath, SESSION_COOKIE, SIGNED_OUT_PATH, signInRoutes } from './sessions/sign-in.ts';
import { openSubmittedForms } from './sessions/submitted-forms.ts';

export type ConsoleDeps = PageDeps & {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly endSession: AuthorizationServer['endSession'];
  readonly onSignOut: AuthorizationServer['onSignOut'];
  readonly settings: { readonly secretKey: SecretKey };
};

const FLASH_COOKIE = 'console_flash';
const FLASH_SECONDS = 60;
/** How long a message waits for the reader to sign in. */
const SIGN_IN_SECONDS = 600;

/** The web console under /console, and the assets used by every page of the service. */
export async function registerConsole(app: FastifyInstance, deps: ConsoleDeps): Promise<Sessions> {
  const { users, queries, clock } = deps;
  const { publicUrl } = deps.settings;
  const sessions = await createSessions({ ...deps, secretKey: deps.settings.secretKey });
  const submitOnce = await openSubmittedForms(deps);
  const cookies = createCookies(deps.settings);
  deps.onSignOut(async (header) => {
    const id = cookies.inHeader(header, SESSION_COOKIE);
    if (id !== undefined) await sessions.end(id);
  });
  const feed = createLiveFeed({ ...deps, logger: app.log });
  const streams = createEventStreams({ feed, sessions });
  app.addHook('preClose', async () => {
    streams.endAll();
    await feed.stop();
  });

  registerAssets(app);
  app.get('/', async (_request, reply) => reply.redirect('/console', 303));

  await app.register(async (scope) => {
    // Not for the authorization server, whose form tokens are the same on every response (BREACH).
    await registerCompression(scope);
    await scope.register(fastifyCookie);
    if (!scope.hasContentTypeParser('application/x-www-form-urlencoded')) await scope.register(formbody);
    scope.setErrorHandler(showError);
    signInRoutes(scope, { publicUrl, cookies, sessions, users });

    const routes: Routes = {
      get: (path, handler, only) => void scope.get(path, (request, reply) => handle(request, reply, handler, only)),
      post: (path, handler, only) => void scope.post(path, (request, reply) => handle(request, reply, handler, only)),
    };
    routes.get('/console', async ({ account }) => ({ go: await startOf(account) }));
    registerPages(routes, deps);
    routes.get('/console/*', async () => missing('page'));

    scope.get('/console/live', async (request, reply) => {
      const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
      // 204 tells EventSource not to reconnect.
      if (current === undefined) return reply.code(204).send();
      const since = request.headers['last-event-id'] ?? new Form(request.query).text('after');
      streams.connect(request, reply, current, { since: String(since), now: await feed.mark() });
      return reply;
    });

    scope.post('/console/account', async (request, reply) => {
      const current = await signedIn(request, reply);
      if (current === undefined) return reply;
      const wanted = new Form(request.body).text('account');
      const account = current.user.accounts.find((own) => accountKey(own) === wanted);
      if (account === undefined || !(await sessions.switchAccount(current, account))) return forbidden(request, reply);
      const to = new Form(request.body).text('to');
      return reply.redirect(to === '' ? '/console' : ownPath(to), 303);
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

  /** The session of a request. Undefined once it has replied: with a redirect to sign-in, or with 403 to a forged form. */
  async function signedIn(request: FastifyRequest, reply: FastifyReply): Promise<CurrentSession | undefined> {
    const current = await sessions.current(cookies.get(request, SESSION_COOKIE));
    const isForm = request.method === 'POST';
    if (current === undefined) {
      const signIn = (to: string) => `${publicUrl}/console/sign-in?to=${encodeURIComponent(to)}`;
      if (!isForm) {
        reply.redirect(signIn(request.url), 303);
        return undefined;
      }
      const lost = lostForm(request, publicUrl);
      if (lost.filledIn) keepForm(cookies, request, reply, ownerOf(request));
      else if (lost.typed.length > 0) cookies.setSealed(reply, FLASH_COOKIE, lostFormFlash(lost), SIGN_IN_SECONDS);
      const next = { href: signIn(lost.back), label: 'Sign in and go back' };
      sendPage(reply, 401, lostFormPage(lost, 'Your session has ended. Sign in, look, and send it again.', next));
      return undefined;
    }
    if (isForm && !isOwnForm(request, current)) {
      forbidden(request, reply);
      return undefined;
    }
    return current;
  }

  /** Whether a form came from this site and was made for this session and account (docs/decisions/console.md). */
  function isOwnForm(request: FastifyRequest, current: CurrentSession): boolean {
    const { origin } = request.headers;
    const sameOrigin = origin === undefined || origin === publicUrl;
    return sameOrigin && sessions.isCsrfToken(current, new Form(request.body).text('csrf'));
  }

  /** Whom a form was made for. */
  function ownerOf(request: FastifyRequest): string {
    return sessions.ownerOf(new Form(request.body).text('csrf'));
  }

  function forbidden(request: FastifyRequest, reply: FastifyReply) {
    const lost = lostForm(request, publicUrl);
    const why =
      'This form is out of date, belongs to another account, or did not come from this site. Open the page again and retry.';
    if (lost.filledIn) keepForm(cookies, request, reply, ownerOf(request));
    const next = { href: lost.back, label: lost.back === '/console' ? TO_CONSOLE.label : 'Open the page again' };
    return sendPage(reply, 403, lostFormPage(lost, why, next));
  }

  async function handle(
    request: FastifyRequest,
    reply: FastifyReply,
    handler: Handler,
    only: Account['kind'] | undefined,
  ) {
    const current = await signedIn(request, reply);
    if (current === undefined) return reply;
    const kept =
      request.method === 'POST'
        ? undefined
        : takeKeptForm(cookies, request, reply, sessions.ownerOf(sessions.csrfToken(current)));
    const visit = { ...(await visitOf(request, current)), ...defined({ kept }) };
    // Taken before anything is read, so that the page learns of every change that it may not show. The page that a form returns is
    // not kept live: a GET of its URL may show something else.
    const live = request.method === 'POST' ? undefined : await feed.mark();
    const answer = await answerTo(visit).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      request.log.warn({ err: error, reqId: request.id }, 'unavailable');
      reply.header('retry-after', RETRY_AFTER_SECONDS);
      return unavailable(error, request.id);
    });
    return send(request, reply, visit, answer, live);

    async function answerTo(visit: Visit): Promise<Answer> {
      const own = await answerFor(visit);
      if (!('missing' in own) || request.method === 'POST') return own;
      const elsewhere = await accountsWithPage(visit);
      return elsewhere.length === 0 ? own : switchPage(visit, elsewhere, request.url);
    }

    async function answerFor(visit: Visit): Promise<Answer> {
      return only !== undefined && only !== visit.account.kind ? missing('page') : handler(visit);
    }

    /** Those of the user's other accounts for which this page exists. Asks no other: nobody learns what a stranger's page is. */
    async function accountsWithPage(visit: Visit): Promise<NamedAccount[]> {
      const found: NamedAccount[] = [];
      for (const account of othersOf(visit)) {
        const name = await nameOf(account);
        if ('main' in (await answerFor({ ...visit, account, accountName: name }))) found.push({ account, name });
      }
      return found;
    }
  }

  /** Where the console begins: a community without spaces with adding one. */
  async function startOf(account: Account): Promise<string> {
    const isNew = account.kind === 'Community' && (await queries.spaces.list(account)).length === 0;
    return isNew ? '/console/spaces/new' : homeOf(account).href;
  }

  async function visitOf(request: FastifyRequest, current: CurrentSession): Promise<Visit> {
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
      zone: readerZone(request.cookies[ZONE_COOKIE]),
      async once(action, repeated = async () => ALREADY_SUBMITTED) {
        const token = form.text('once');
        const answer = token === '' ? await action() : await submitOnce(hash, token, action);
        return answer ?? repeated();
      },
    };
  }

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    answer: Answer,
    live: string | undefined,
  ) {
    if ('go' in answer) {
      if (answer.flash !== undefined) cookies.setSealed(reply, FLASH_COOKIE, answer.flash, FLASH_SECONDS);
      return reply.redirect(answer.go, 303);
    }
    const { account, csrf, user } = visit;
    const others = othersOf(visit);
    const frame = rail({
      account,
      accountName: visit.accountName,
      email: user.email,
      others: await Promise.all(others.map(async (other) => ({ account: other, name: await nameOf(other) }))),
      pending: account.kind === 'Community' ? await pendingOf(account) : 0,
      section: 'section' in answer ? answer.section : undefined,
      csrf,
    });
    const flashFromCookie = flashOf(cookies.getSealed(request, FLASH_COOKIE));
    if (flashFromCookie.length > 0) cookies.clear(reply, FLASH_COOKIE);
    if ('missing' in answer) {
      const { title, main } = notFound(answer.missing, account);
      return sendPage(reply, 404, page({ title, main, rail: frame, flash: flashFromCookie, ...defined({ live }) }));
    }
    const { main, status = 200 } = answer;
    const flash = [...(visit.kept === undefined ? [] : [FILLED_IN]), ...(answer.flash ?? [])];
    const title = status === 422 ? `Error: ${answer.title}` : answer.title;
    return sendPage(
      reply,
      status,
      page({
        title,
        main: html`${printedHead(visit.accountName, visit.now, await clockOf(visit))}${main}`,
        rail: frame,
        flash: [...flashFromCookie, ...flash],
        ...defined({ live }),
      }),
    );
  }

  /** On every page, so one that needs no bookings is shown also while they cannot be read. */
  async function pendingOf(account: Account): Promise<number | undefined> {
    try {
      return await queries.bookings.count(account, 'Pending');
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  /** The clock of a community; a brand has none, and reads its own. */
  async function clockOf({ account: { kind, id }, zone }: Visit): Promise<string> {
    return (kind === 'Community' ? (await queries.spaces.community(id))?.timeZone : undefined) ?? zone;
  }

  async function nameOf(account: Account): Promise<string> {
    return (await queries.accounts.name(account)) ?? `${account.kind} ${account.id}`;
  }
}

function notFound(what: string, account: Account) {
  const home = homeOf(account);
  return {
    title: 'Not found',
    main: html`<div class="empty"><h1>${what.charAt(0).toUpperCase()}${what.slice(1)} not found</h1>
<p>It does not exist, or it belongs to another account.</p>
<a class="button" href="${home.href}">${home.label}</a></div>`,
  };
}

function unavailableText(error: UnavailableError, requestId: string) {
  const told = publicMessageOf(error, 'A part of the service that this page needs does not answer');
  const advice =
    error instanceof OutcomeUnknown
      ? 'Look whether it was before you try again'
      : 'Nothing is lost. Try again in a moment';
  const text = `${told}. ${advice}; if this goes on, give the operator this request ID: ${requestId}.`;
  return { title: 'Not available right now', text };
}

/** The page keeps its menu: others may well be available. */
function unavailable(error: UnavailableError, requestId: string): Answer {
  const { title, text } = unavailableText(error, requestId);
  return { title, status: 503, main: html`<div class="empty"><h1>${title}</h1><p>${text}</p></div>` };
}

const FILLED_IN: Flash = {
  kind: 'notice',
  text: 'Your session had ended, and nothing was sent. What you had typed is in the form again: look, and send it once more.',
};

type NamedAccount = { readonly account: Account; readonly name: string };

const othersOf = ({ user, account }: Visit): readonly Account[] =>
  user.accounts.filter((other) => accountKey(other) !== accountKey(account));

/** Offers to switch to the account that the page belongs to, which leads to it. */
const switchPage = (visit: Visit, accounts: readonly NamedAccount[], to: string): Answer => ({
  title: 'Switch account',
  status: 404,
  main: html`<div class="empty"><h1>This page belongs to another of your accounts</h1>
<p>You are acting for ${named(visit.accountName)}. Switch to open the page.</p>
<form method="post" action="/console/account" class="row">${csrfField(visit)}<input type="hidden" name="to" value="${to}">${accounts.map(
    ({ account, name }) =>
      html`<button class="button${accounts.length > 1 && ' quiet'}" name="account" value="${accountKey(account)}"><span>Switch to ${named(name)}</span></button>`,
  )}</form></div>`,
});

const TO_CONSOLE = { href: '/console', label: 'Go to the console' };

/** For a form submitted again long after it took effect (docs/decisions/console.md). */
const ALREADY_SUBMITTED: Answer = {
  title: 'Already submitted',
  status: 409,
  main: html`<div class="empty"><h1>This form was already submitted</h1>
<p>It took effect the first time, and nothing was done this time. Secrets are shown only once: if you missed one, create a new one.</p>
<a class="button" href="${TO_CONSOLE.href}">${TO_CONSOLE.label}</a></div>`,
};

/** Error pages. Unexpected errors reveal no internals. */
function showError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const { statusCode = 500 } = error;
  if (statusCode >= 400 && statusCode < 500)
    return sendPage(
      reply,
      statusCode,
      problemPage('Bad request', 'Your browser sent a request that the console does not understand.', TO_CONSOLE),
    );
  if (isUnavailable(error)) {
    request.log.warn({ err: error, reqId: request.id }, 'unavailable');
    const { title, text } = unavailableText(error, request.id);
    return sendPage(reply.header('retry-after', RETRY_AFTER_SECONDS), 503, problemPage(title, text, TO_CONSOLE));
  }
  request.log.error({ err: error, reqId: request.id }, 'unexpected error');
  const text = `An unexpected error occurred (request ${request.id}). Try again. If it keeps happening, give the operator this request ID.`;
  return sendPage(reply, 500, problemPage('Something went wrong', text, TO_CONSOLE));
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
