import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Account, accountInWords, accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { amountFor } from '../html/amounts.ts';
import { html } from '../html/html.ts';
import { page, sendPage } from '../html/layout.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import type { PageContent } from './parts/answer.ts';
import { hasProblems } from './parts/forms.ts';
import { contentOf, MOST_PENDING, type NamedAccount, pendingText, printedHead, rail } from './parts/frame.ts';
import type { PageDeps } from './parts/routes.ts';
import type { Visit } from './parts/visit.ts';

type VisitedAccount = Pick<Visit, 'account' | 'role' | 'amount' | 'accountName' | 'accountZone'>;

export type PageRenderer = ReturnType<typeof createPageRenderer>;

/** Renders the page of a handler with the navigation rail of its account. */
export function createPageRenderer({ queries }: Pick<PageDeps, 'queries'>) {
  const nameOf = async (account: Account): Promise<string> =>
    (await queries.accounts.name(account)) ?? accountInWords(account);

  /** The account of a visit, with its name, its time zone, and what the role of its user shows. */
  async function visitedAccount(
    { account, role }: Pick<Visit, 'account' | 'role'>,
    zone: string,
  ): Promise<VisitedAccount> {
    const community = account.kind === 'Community' ? await queries.spaces.community(account.id) : undefined;
    return {
      account,
      role,
      amount: amountFor(role),
      accountName: await nameOf(account),
      accountZone: community?.timeZone ?? zone,
    };
  }

  /** The user's other accounts. */
  const othersOf = ({ user, account }: Visit): Promise<(NamedAccount & Pick<Visit, 'role'>)[]> =>
    Promise.all(
      user.memberships
        .filter((other) => accountKey(other.account) !== accountKey(account))
        .map(async (other) => ({ ...other, name: await nameOf(other.account) })),
    );

  /** A number for the menu. Undefined while it cannot be read, because pages that do not need it are shown all the same. */
  async function ifAvailable(count: Promise<number>): Promise<number | undefined> {
    try {
      return await count;
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  const pendingOf = async (account: Account): Promise<number> =>
    account.kind === 'Community' ? queries.bookings.count(account, 'Pending', MOST_PENDING + 1) : 0;

  async function unreadOf({ account, user: { read = {} } }: Visit): Promise<number> {
    const { threads, questions } = queries;
    const unread = await Promise.all([threads.unread(account, read), questions.unread(account, read)]);
    return unread.flat().length;
  }

  return {
    nameOf,
    visitedAccount,
    othersOf,

    /** @param live the page's mark in the live feed; undefined for one that does not update itself */
    async render(
      { url }: FastifyRequest,
      reply: FastifyReply,
      visit: Visit,
      content: PageContent,
      live: string | undefined,
    ): Promise<FastifyReply> {
      const { account, accountName, accountZone, role, now } = visit;
      const status = content.status ?? (hasProblems(content.problems ?? {}) ? 422 : 200);
      const [others, pending, unread] = await Promise.all([
        othersOf(visit),
        ifAvailable(pendingOf(account)),
        ifAvailable(unreadOf(visit)),
      ]);
      const navigation = rail(visit, { others, pending, unread, path: url });
      const titleWithCount =
        content.isCounted && pending ? `(${pendingText(pending)}) ${content.title}` : content.title;
      const title = status === 422 ? `Error: ${content.title}` : titleWithCount;
      const main = html`${printedHead(accountName, now, accountZone)}${contentOf(content)}`;
      return sendPage(
        reply,
        status,
        page({ title, main, rail: navigation, role, ...defined({ flash: content.flash, live }) }),
      );
    },
  };
}
