import type { AddressConfirmation } from '../../auth/address-confirmation.ts';
import { LINK_PATHS } from '../../auth/links.ts';
import { isRefusal } from '../../domain/decision.ts';
import { html, named } from '../../html/html.ts';
import { traceOf } from '../../http/trace.ts';
import { type LinkRoutes, linkForm, sendCard, sendDone, sendEnded, TO_CONSOLE } from './link-page.ts';

const CONFIRMED = `${LINK_PATHS.address}/done`;

/** Confirming an address with the link that was sent to it. */
export function addressRoutes(
  { get, post }: LinkRoutes,
  { confirmation }: { readonly confirmation: AddressConfirmation },
): void {
  get(LINK_PATHS.address, async (query, _request, reply) => {
    const token = query.text('link');
    const user = await confirmation.check(token);
    return user === undefined ? sendEnded(reply, TO_CONSOLE) : sendCard(reply, confirmPage(token, user));
  });

  post(LINK_PATHS.address, async (form, request, reply) => {
    const token = form.text('link');
    const user = await confirmation.check(token);
    if (user === undefined) return sendEnded(reply, TO_CONSOLE);
    const confirmed = await confirmation.confirm(token, { correlationId: request.id, ...traceOf(request) });
    if (isRefusal(confirmed))
      return confirmed.refused === 'ResourceNotFound'
        ? sendEnded(reply, TO_CONSOLE)
        : sendCard(reply, confirmPage(token, user, confirmed.details));
    request.sender = { credential: { kind: 'user', id: confirmed.id } };
    return reply.redirect(CONFIRMED, 303);
  });

  get(CONFIRMED, async (_form, _request, reply) =>
    sendDone(reply, 'Your address is confirmed', 'You sign in with it, and mail goes to it.', TO_CONSOLE),
  );
}

const confirmPage = (
  token: string,
  { email, pendingEmail }: { readonly email: string; readonly pendingEmail?: string },
  problem?: string,
) => ({
  title: 'Confirm your address',
  lead: html`${named(pendingEmail ?? email)}${pendingEmail !== undefined && html` replaces ${named(email)} once you confirm it`}.`,
  problem,
  main: linkForm(LINK_PATHS.address, token, html`<button class="button full" type="submit">Confirm address</button>`),
});
