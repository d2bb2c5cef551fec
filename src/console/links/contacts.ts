import { LINK_PATHS } from '../../auth/links.ts';
import type { Account } from '../../domain/account.ts';
import { isRefusal, type Refusal } from '../../domain/decision.ts';
import { html, named } from '../../html/html.ts';
import { type LinkRoutes, linkForm, sendCard, sendDone, sendEnded, TO_CONSOLE } from './link-page.ts';

const CONFIRMED = `${LINK_PATHS.contact}/done`;

/** Confirms contact addresses; implemented in `mail/`. */
type ContactConfirmation = {
  check(token: string): Promise<{ readonly account: Account; readonly address: string } | undefined>;
  confirm(token: string): Promise<Refusal | undefined>;
};

/** Confirming the contact address of an account with the link that was sent to it. */
export function contactRoutes(
  { get, post }: LinkRoutes,
  deps: { readonly confirmation: ContactConfirmation; readonly accountName: (account: Account) => Promise<string> },
): void {
  const { confirmation, accountName } = deps;

  get(LINK_PATHS.contact, async (query, _request, reply) => {
    const token = query.text('link');
    const checked = await confirmation.check(token);
    if (checked === undefined) return sendEnded(reply, TO_CONSOLE);
    return sendCard(reply, confirmPage(token, checked.address, await accountName(checked.account)));
  });

  post(LINK_PATHS.contact, async (form, _request, reply) =>
    isRefusal(await confirmation.confirm(form.text('link')))
      ? sendEnded(reply, TO_CONSOLE)
      : reply.redirect(CONFIRMED, 303),
  );

  get(CONFIRMED, async (_form, _request, reply) =>
    sendDone(reply, 'The contact address is confirmed', 'Replies to mail about bookings go to it.'),
  );
}

const confirmPage = (token: string, address: string, accountName: string) => ({
  title: 'Confirm a contact address',
  lead: html`Replies to mail about bookings of ${named(accountName)} go to ${named(address)} once you confirm it.`,
  main: linkForm(LINK_PATHS.contact, token, html`<button class="button full" type="submit">Confirm address</button>`),
});
