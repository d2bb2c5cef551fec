import { LINK_PATHS } from '../../auth/links.ts';
import type { Account } from '../../domain/account.ts';
import { html, named } from '../../html/html.ts';
import type { PageDeps } from '../parts/routes.ts';
import { donePage, type LinkRoutes, linkForm, linkPage, TO_CONSOLE } from './link-page.ts';

const PATH = LINK_PATHS.contact;
const CONFIRMED = `${PATH}/done`;

/** Confirming the contact address of an account with the link that was sent to it. */
export function contactRoutes(
  routes: LinkRoutes,
  confirmation: PageDeps['contactConfirmation'],
  accountName: (account: Account) => Promise<string>,
): void {
  linkPage(routes, {
    path: PATH,
    ended: TO_CONSOLE,
    check: confirmation.check,
    page: async (token, { account, address }, problem) => ({
      title: 'Confirm a contact address',
      lead: html`Replies to mail about bookings of ${named(await accountName(account))} go to ${named(address)} once you confirm it.`,
      problem,
      main: linkForm(PATH, token)`<button class="button full" type="submit">Confirm address</button>`,
    }),
    act: async (token, _checked, _form, _request, reply) =>
      (await confirmation.confirm(token)) ?? reply.redirect(CONFIRMED, 303),
  });
  donePage(routes, CONFIRMED, 'The contact address is confirmed', 'Replies to mail about bookings go to it.');
}
