import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Account, accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { html, named } from '../html/html.ts';
import { type Flash, page, sendPage } from '../html/layout.ts';
import type { Clock } from '../runtime/clock.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { ALREADY_SUBMITTED, notFound, unavailablePage } from './error-pages.ts';
import type { LiveFeed } from './live/live.ts';
import { hasProblems, postForm } from './parts/forms.ts';
import { contentOf, type NamedAccount, printedHead, rail } from './parts/frame.ts';
import { readerZone, ZONE_COOKIE } from './parts/reader-zone.ts';
import { type Answer, Form, type Handler, type PageDeps, type Shown, type Visit } from './parts/visit.ts';
import type { Cookies } from './sessions/cookies.ts';
import { takeSavedForm } from './sessions/restored-form.ts';
import type { SessionCheck } from './sessions/session-check.ts';
import type { CurrentSession, Sessions } from './sessions/sessions.ts';
import type { SubmitOnce } from './sessions/submitted-forms.ts';

export type PageHandlerDeps = {
  readonly signedIn: SessionCheck;
  readonly sessions: Sessions;
  readonly cookies: Cookies;
  readonly submitOnce: SubmitOnce;
  readonly feed: Pick<LiveFeed, 'mark'>;
  readonly queries: PageDeps['queries'];
  readonly clock: Clock;
};

export type PageHandler = ReturnType<typeof createPageHandler>;

const FORM_RESTORED: Flash = {
  kind: 'notice',
  text: "Your session had ended, and your changes weren't saved. Review and send again.",
};

/** Answers requests for pages: session, visit, handler, page. */
export function createPageHandler(deps: PageHandlerDeps) {
  const { signedIn, sessions, cookies, submitOnce, feed, queries, clock } = deps;

  async function handle(
    request: FastifyRequest,
    reply: FastifyReply,
    handler: Handler,
    repeated: Handler = async () => ALREADY_SUBMITTED,
  ): Promise<FastifyReply> {
    const current = await signedIn(request, reply);
    if (current === undefined) return reply;
    const visit = await visitOf(request, reply, current);
    // Taken before anything is read, so that the page learns of every change that it may not show. The page that answers a form is
    // not kept live, because a GET of its URL may show something else.
    const live = request.method === 'POST' ? undefined : await feed.mark();
    const answered =
      request.method === 'POST'
        ? submitted(visit, current.hash, handler, repeated)
        : found(visit, handler, request.url);
    const answer = await answered.catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      return unavailablePage(error, request, reply);
    });
    if ('go' in answer) {
      if (answer.flash !== undefined) cookies.setFlash(reply, answer.flash);
      return reply.redirect(answer.go, 303);
    }
    const shown = 'missing' in answer ? notFound(answer.missing, visit.account) : answer;
    const messages = [...cookies.takeFlash(request, reply), ...(visit.restored ? [FORM_RESTORED] : [])];
    return render(request, reply, visit, { ...shown, flash: [...messages, ...(shown.flash ?? [])] }, live);
  }

  async function visitOf(request: FastifyRequest, reply: FastifyReply, current: CurrentSession): Promise<Visit> {
    const { user, session } = current;
    const { account } = session;
    const csrf = sessions.csrfToken(current);
    const isForm = request.method === 'POST';
    const restored = isForm ? undefined : takeSavedForm(cookies, request, reply, sessions.ownerOf(csrf));
    return {
      user,
      account,
      accountName: await nameOf(account),
      context: { actor: { kind: 'user', id: user.id, account }, correlationId: request.id },
      params: stringsOf(request.params),
      query: new Form(request.query),
      form: new Form(request.body),
      ...defined({ restored }),
      csrf,
      now: clock(),
      zone: readerZone(request.cookies[ZONE_COOKIE]),
    };
  }

  /** A form with a token takes effect once. */
  async function submitted(visit: Visit, session: string, handler: Handler, repeated: Handler): Promise<Answer> {
    const token = visit.form.text('once');
    if (token === '') return handler(visit);
    return (await submitOnce(session, token, () => handler(visit))) ?? repeated(visit);
  }

  /** A page. If only another of the user's accounts has it, an offer to switch. */
  async function found(visit: Visit, handler: Handler, url: string): Promise<Answer> {
    const answer = await handler(visit);
    if (!('missing' in answer)) return answer;
    const elsewhere: NamedAccount[] = [];
    for (const other of await othersOf(visit)) {
      const { account, name } = other;
      if ('main' in (await handler({ ...visit, account, accountName: name }))) elsewhere.push(other);
    }
    return elsewhere.length === 0 ? answer : switchPage(visit, elsewhere, url);
  }

  async function render(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    shown: Shown,
    live: string | undefined,
  ): Promise<FastifyReply> {
    const { account, accountName, csrf, user, now } = visit;
    const isWrong = hasProblems(shown.problems ?? {});
    const status = shown.status ?? (isWrong ? 422 : 200);
    const community = account.kind === 'Community' ? await queries.spaces.community(account.id) : undefined;
    const frame = rail({
      account,
      accountName,
      email: user.email,
      others: await othersOf(visit),
      pending: account.kind === 'Community' ? await pendingOf(account) : 0,
      path: request.url,
      csrf,
    });
    const title = status === 422 ? `Error: ${shown.title}` : shown.title;
    const main = html`${printedHead(accountName, now, community?.timeZone ?? visit.zone)}${contentOf(shown)}`;
    return sendPage(reply, status, page({ title, main, rail: frame, ...defined({ flash: shown.flash, live }) }));
  }

  /** Undefined while bookings cannot be read, because pages that need none are shown nevertheless. */
  async function pendingOf(account: Account): Promise<number | undefined> {
    try {
      return await queries.bookings.count(account, 'Pending');
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  const nameOf = async (account: Account): Promise<string> =>
    (await queries.accounts.name(account)) ?? `${account.kind} ${account.id}`;

  const othersOf = ({ user, account }: Visit): Promise<NamedAccount[]> =>
    Promise.all(
      user.accounts
        .filter((other) => accountKey(other) !== accountKey(account))
        .map(async (other) => ({ account: other, name: await nameOf(other) })),
    );

  return handle;
}

/** Offers to switch to an account that has the page. */
function switchPage(visit: Visit, accounts: readonly NamedAccount[], to: string): Shown {
  const buttons = accounts.map(
    ({ account, name }) =>
      html`<button class="button${accounts.length > 1 && ' quiet'}" name="account" value="${accountKey(account)}"><span>Switch to ${named(name)}</span></button>`,
  );
  const fields = html`<input type="hidden" name="to" value="${to}">${buttons}`;
  return {
    title: 'Switch account',
    heading: 'This page belongs to another of your accounts',
    status: 404,
    main: html`<p>You are acting for ${named(visit.accountName)}. Switch to open the page.</p>${postForm(visit, '/console/account', 'row', fields)}`,
  };
}

const stringsOf = (params: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(params ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
