import { belongsTo } from '../../auth/memberships.ts';
import { type AccountKey, accountKey } from '../../domain/account.ts';
import { isRefusal } from '../../domain/decision.ts';
import { moment, momentIn } from '../../html/formats.ts';
import { html, named } from '../../html/html.ts';
import { labelOf } from '../../mail/kinds.ts';
import type { MailRecord } from '../../mail/mail.ts';
import { type Answer, done, missing } from '../parts/answer.ts';
import { postForm } from '../parts/forms.ts';
import { emptyState } from '../parts/frame.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { actionColumn, column, dataTable, rowHeading } from '../parts/tables.ts';
import type { Visit } from '../parts/visit.ts';

const PATH = '/console/mail';
/** Failed mails shown, the latest first. */
const SHOWN = 100;

/** The mails to members of an account that the mail server did not take. */
export function mailPages(routes: Routes, deps: PageDeps): void {
  const { mail } = deps;
  routes.get(PATH, 'Manager', (visit) => listPage(deps, visit));

  routes.post(`${PATH}/:id/resend`, 'Manager', async ({ account, params }) => {
    const outcome = await mail.resend(params.id ?? '', accountKey(account));
    return isRefusal(outcome) ? missing('mail') : done(PATH, 'The mail is being sent again.');
  });
}

async function listPage({ mail, users, invitations }: PageDeps, visit: Visit): Promise<Answer> {
  const key: AccountKey = accountKey(visit.account);
  const failed = await mail.list('Failed', SHOWN, key);
  const readers = [...new Set(failed.map(({ userId }) => userId))];
  // The address of a person who has left is no concern of the account.
  const emailOf = async (id: string) => {
    const user = await users.get(id);
    if (user !== undefined) return belongsTo(user, visit.account) ? user.email : undefined;
    return (await invitations.get(id))?.email;
  };
  const emails = new Map(await Promise.all(readers.map(async (id) => [id, await emailOf(id)] as const)));
  return {
    title: 'Failed mail',
    back: { href: `${PATH}/settings`, label: 'Mail settings' },
    lead: html`Mails to the members of ${named(visit.accountName)} that could not be sent within the last 30 days.`,
    main: html`<div id="failed" data-live-region>${
      failed.length === 0 ? nothingFailed(mail.isConfigured) : failedTable(visit, failed, emails)
    }</div>`,
  };
}

const nothingFailed = (isConfigured: boolean) =>
  isConfigured
    ? emptyState('mail', 'Every mail was sent')`A mail that the mail server refuses is listed here.`
    : emptyState('mail', 'No mail is sent')`The operator of this service has not set up mail.`;

function failedTable(visit: Visit, failed: readonly MailRecord[], emails: ReadonlyMap<string, string | undefined>) {
  const readerOf = ({ userId }: MailRecord): string => emails.get(userId) ?? 'a removed user';
  return dataTable('Mails that were not sent', failed, [
    rowHeading('Mail', '', ({ kind }) => labelOf(kind)),
    column(
      'To',
      'small long',
      (mail) => html`${named(readerOf(mail))}<br><span class="muted">failed ${moment(visit, mail.due)}</span>`,
    ),
    column('Reason', 'long small', ({ reason = '', attempts }) => {
      const answer = attempts.at(-1)?.response;
      return html`<p>${reason}</p>${answer !== undefined && html`<p class="muted">${named(answer)}</p>`}`;
    }),
    actionColumn('Actions', (mail) => {
      const which = `${labelOf(mail.kind)}, to ${readerOf(mail)}, ${momentIn(visit.zone, mail.due)}`;
      const button = html`<button class="button small quiet" aria-label="Send again: ${which}">Send again</button>`;
      return postForm(visit, `${PATH}/${encodeURIComponent(mail.mailId)}/resend`)`${button}`;
    }),
  ]);
}
