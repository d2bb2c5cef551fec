import type { AddressConfirmation } from '../../auth/address-confirmation.ts';
import { LINK_PATHS } from '../../auth/links.ts';
import type { User } from '../../auth/users.ts';
import { isRefusal } from '../../domain/decision.ts';
import { html, named } from '../../html/html.ts';
import { type CardPage, contextOf, donePage, type LinkRoutes, linkForm, linkPage, TO_CONSOLE } from './link-page.ts';

const PATH = LINK_PATHS.address;
const CONFIRMED = `${PATH}/done`;

/** Confirming an address with the link that was sent to it. */
export function addressRoutes(routes: LinkRoutes, confirmation: AddressConfirmation): void {
  linkPage(routes, {
    path: PATH,
    ended: TO_CONSOLE,
    check: confirmation.check,
    page: confirmPage,
    async act(token, _user, _form, request, reply) {
      const confirmed = await confirmation.confirm(token, contextOf(request));
      if (isRefusal(confirmed)) return confirmed;
      request.sender = { credential: { kind: 'user', id: confirmed.id } };
      return reply.redirect(CONFIRMED, 303);
    },
  });
  const text = 'You sign in with it, and mail goes to it.';
  donePage(routes, CONFIRMED, 'Your address is confirmed', text, TO_CONSOLE);
}

const confirmPage = (token: string, { email, pendingEmail }: User, problem?: string): CardPage => ({
  title: 'Confirm your address',
  lead: html`${named(pendingEmail ?? email)}${pendingEmail !== undefined && html` replaces ${named(email)} once you confirm it`}.`,
  problem,
  main: linkForm(PATH, token)`<button class="button full" type="submit">Confirm address</button>`,
});
