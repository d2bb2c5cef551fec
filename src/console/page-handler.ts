import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IsSuspended } from '../auth/suspension.ts';
import type { Users } from '../auth/users.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { isAtLeast, type Role } from '../domain/roles.ts';
import { isTurnUsedUp, nextSlice } from '../event-loop/slices.ts';
import { html, named } from '../html/html.ts';
import type { Flash } from '../html/layout.ts';
import { traceOf } from '../http/trace.ts';
import { createTurns } from '../http/turns.ts';
import type { Clock } from '../runtime/clock.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { sendDownload } from './download.ts';
import {
  ALREADY_SUBMITTED,
  forbiddenPage,
  notFound,
  OUTCOME_UNKNOWN,
  suspendedPage,
  unavailablePage,
} from './error-pages.ts';
import type { ConsoleLimits } from './limits.ts';
import type { LiveFeed } from './live/live.ts';
import type { Page, PageRoute } from './page-files.ts';
import type { PageRenderer } from './page-renderer.ts';
import { type Answer, type Forbidden, forbidden, type Missing, missing, type PageContent } from './parts/answer.ts';
import { listOpenedFrom } from './parts/back-link.ts';
import { hiddenField, postForm } from './parts/forms.ts';
import type { NamedAccount } from './parts/frame.ts';
import { readerZone, ZONE_COOKIE } from './parts/reader-zone.ts';
import { Form } from './parts/typed-form.ts';
import type { Settings, Visit } from './parts/visit.ts';
import type { SessionDeps } from './sessions/rejected-form.ts';
import { takeSavedForm } from './sessions/restored-form.ts';
import type { SessionCheck } from './sessions/session-check.ts';
import type { CurrentSession } from './sessions/sessions.ts';
import { startSession } from './sessions/sign-in.ts';
import type { SubmitOnce } from './sessions/submitted-forms.ts';

export type PageHandlerDeps = SessionDeps & {
  readonly signedIn: SessionCheck;
  readonly isSuspended: IsSuspended;
  readonly submitOnce: SubmitOnce;
  readonly limits: Pick<ConsoleLimits, 'addForm'>;
  readonly feed: Pick<LiveFeed, 'mark'>;
  readonly renderer: PageRenderer;
  readonly users: Pick<Users, 'markRead'>;
  readonly clock: Clock;
  readonly settings: Settings;
};

/** Concurrent pages per account, and as many files in each direction. Further ones wait, so that one account cannot slow down the others. */
const PAGES_AT_ONCE = 2;
/** Forms that are larger than others, of all accounts at once: each is in memory as a whole. */
const LARGE_FORMS_AT_ONCE = 4;
/** How long a file may take to arrive; the time for the answer begins then. */
const FILE_ARRIVES_WITHIN_MS = 30_000;
/** The time for ten photos, which are decoded one after another. */
const LARGE_FORM_IS_READ_WITHIN_MS = 30_000;

const FORM_RESTORED: Flash = { kind: 'notice', text: "Your changes weren't saved. Review and save again." };

/** Whether an open page is updating itself (`live.js`). It must not use up a message or form in a cookie, which is for the next page. */
const isRefresh = ({ headers }: FastifyRequest): boolean => headers['x-live-refresh'] !== undefined;

/** Answers requests for pages: session, visit, handler, page. */
export function createPageHandler(deps: PageHandlerDeps) {
  const {
    signedIn,
    isSuspended,
    sessions,
    cookies,
    submitOnce,
    limits,
    feed,
    renderer,
    users,
    clock,
    publicUrl,
    settings,
  } = deps;
  const uploads = createTurns(PAGES_AT_ONCE);
  const largeForms = createTurns(LARGE_FORMS_AT_ONCE);
  const turns = createTurns(PAGES_AT_ONCE);
  const downloads = createTurns(PAGES_AT_ONCE);

  /** Checks a request before its body is read: the session, the role, and the limits of the account. Answers one that is refused. */
  async function admit(request: FastifyRequest, reply: FastifyReply, page: Page): Promise<void> {
    const current = await signedIn.admit(request, reply);
    if (current === undefined || request.method !== 'POST') return;
    const { account } = current.session;
    const waitMs = await limits.addForm(account);
    if (waitMs > 0) {
      const retryAfterSeconds = Math.ceil(waitMs / 1_000);
      return signedIn.reject(request, reply, { reason: 'tooMany', retryAfterSeconds });
    }
    const refusal = (await isSuspended(account)) ? SUSPENDED : refusalOf(current.role, account, await page.route());
    if (refusal !== undefined) {
      if ((await turns.take(accountKey(account), reply.raw)) === undefined) return;
      const visit = await visitOf(request, reply, current);
      await renderer.render(request, reply, visit, pageOf(refusal, visit, true), undefined);
    } else if (page.what === 'upload') {
      request.answerBy += FILE_ARRIVES_WITHIN_MS;
      await uploads.take(accountKey(account), reply.raw);
      if (page.maxBytes === undefined) return;
      request.answerBy += LARGE_FORM_IS_READ_WITHIN_MS;
      await largeForms.take('', reply.raw);
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply, page: Page): Promise<FastifyReply> {
    const waiting = await signedIn.confirm(request, reply);
    if (waiting === undefined) return reply;
    const { account } = waiting.session;
    const isForm = request.method === 'POST';
    const endTurn = await turns.take(accountKey(account), reply.raw);
    if (endTurn === undefined) return reply;
    const current = await signedIn.confirm(request, reply);
    if (current === undefined) return reply;
    const visit = await visitOf(request, reply, current);
    // Taken before anything is read, so that the page is notified of every change that it may not show. The page that answers a form does
    // not update itself, because a GET of its URL may show something else.
    const live = isForm ? undefined : await feed.mark();
    const answering = async (): Promise<Answer | Suspended> => {
      if (await isSuspended(account)) return SUSPENDED;
      const route = await page.route();
      return isForm ? submitForm(visit, current.hash, route) : getPage(visit, route, request.url);
    };
    const answer = await answering().catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      return unavailablePage(error, request, reply);
    });
    if ('go' in answer) {
      if (answer.startsSession) await startSession(deps, request, reply, { userId: current.user.id, account });
      if (answer.flash !== undefined) cookies.setFlash(reply, answer.flash, sessions.ownerOf(visit.csrf));
      return reply.redirect(answer.go, 303);
    }
    if ('download' in answer) {
      // Pages do not wait for a slow reader of a file.
      endTurn();
      if ((await downloads.take(accountKey(account), reply.raw)) === undefined) return reply;
      return sendDownload(request, reply, answer.download);
    }
    if (isTurnUsedUp()) await nextSlice();
    const content = pageOf(answer, visit, isForm);
    const left = isRefresh(request) ? [] : cookies.takeFlash(request, reply, sessions.ownersOf(current));
    // A request that a sign-up began with comes with a message of its own.
    const restored = visit.restored !== undefined && left.length === 0 ? [FORM_RESTORED] : [];
    const flash = [...left, ...restored, ...(content.flash ?? [])];
    const shownTo = { ...visit, user: await readerOf(visit, content) };
    return renderer.render(request, reply, shownTo, { ...content, flash }, live);
  }

  /** The user, who has read what the page shows. */
  async function readerOf({ user, context }: Visit, { read }: PageContent): Promise<Visit['user']> {
    const reader = read === undefined ? user : await users.markRead(user.id, read, context);
    return isRefusal(reader) ? user : reader;
  }

  async function visitOf(request: FastifyRequest, reply: FastifyReply, current: CurrentSession): Promise<Visit> {
    const { user, session, role } = current;
    const told = readerZone(request.cookies[ZONE_COOKIE]);
    const visited = await renderer.visitedAccount({ account: session.account, role }, told);
    // Browsers that hide their time zone say UTC.
    const zone = told === 'UTC' ? visited.accountZone : told;
    const csrf = sessions.csrfToken(current);
    const [owner, owners] = [sessions.ownerOf(csrf), sessions.ownersOf(current)];
    const takesNone = request.method === 'POST' || isRefresh(request);
    const restored = takesNone ? undefined : takeSavedForm(cookies, request, reply, owner, owners);
    return {
      user,
      session: current.hash,
      clientAddress: request.ip,
      ...visited,
      context: {
        actor: { kind: 'user', id: user.id, account: session.account },
        correlationId: request.id,
        ...traceOf(request),
      },
      params: stringsOf(request.params),
      query: new Form(request.query),
      form: new Form(request.body),
      ...defined({ restored, via: listOpenedFrom(request, publicUrl, restored) }),
      csrf,
      settings,
      now: clock(),
      zone,
    };
  }

  /** A form with a token takes effect once. */
  async function submitForm(visit: Visit, session: string, route: PageRoute): Promise<Answer> {
    const { handler, repeated } = route;
    const refusal = refusalOf(visit.role, visit.account, route);
    if (refusal !== undefined) return refusal;
    const token = visit.form.text('once');
    if (token === '') return handler(visit);
    const answer = await submitOnce(session, token, () => handler(visit));
    if (!('before' in answer)) return answer;
    return answer.before === 'done' ? (repeated?.(visit) ?? ALREADY_SUBMITTED) : OUTCOME_UNKNOWN;
  }

  /** Answers with a page, or with an offer to switch if only other accounts of the user have it. */
  async function getPage(visit: Visit, { least, handler }: PageRoute, url: string): Promise<Answer> {
    const answerTo = async (one: Visit): Promise<Answer> =>
      isAtLeast(one.role, least) ? handler(one) : forbidden(least);
    const answer = await answerTo(visit);
    if (!('missing' in answer)) return answer;
    const elsewhere: NamedAccount[] = [];
    for (const other of await renderer.othersOf(visit)) {
      const visited = await renderer.visitedAccount(other, visit.zone);
      if ('main' in (await answerTo({ ...visit, ...visited }))) elsewhere.push(other);
    }
    return elsewhere.length === 0 ? answer : switchPage(visit, elsewhere, url);
  }

  return { admit, handle };
}

/** Why a form is not for the account or the role of its sender. */
function refusalOf(role: Role, account: Account, { least, kind }: PageRoute): Missing | Forbidden | undefined {
  if (!isAtLeast(role, least)) return forbidden(least);
  return kind === undefined || kind === account.kind ? undefined : missing('page');
}

/** The operator has suspended the account (403). */
type Suspended = { readonly suspended: true };
const SUSPENDED: Suspended = { suspended: true };

/** The page of an answer. */
function pageOf(answer: PageContent | Missing | Forbidden | Suspended, visit: Visit, isForm: boolean): PageContent {
  if ('missing' in answer) return notFound(answer.missing);
  if ('suspended' in answer) return suspendedPage(visit);
  return 'forbidden' in answer ? forbiddenPage(visit, answer.forbidden, isForm) : answer;
}

/** Offers to switch to an account that has the page. */
function switchPage(visit: Visit, accounts: readonly NamedAccount[], to: string): PageContent {
  const buttons = accounts.map(
    ({ account, name }) =>
      html`<button class="button${accounts.length > 1 && ' quiet'}"
name="account" value="${accountKey(account)}"><span>Switch to ${named(name)}</span></button>`,
  );
  const fields = html`${hiddenField('to', to)}${buttons}`;
  return {
    title: 'Switch account',
    heading: 'This page belongs to another of your accounts',
    status: 404,
    main: html`<p>You are acting for ${named(visit.accountName)}. Switch to open the page.</p>
${postForm(visit, '/console/account', 'row')`${fields}`}`,
  };
}

const stringsOf = (params: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(params ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
