import type { FastifyInstance } from 'fastify';
import { LINK_PATHS } from '../../auth/links.ts';
import { type Account, type AccountKey, accountOfKey } from '../../domain/account.ts';
import { html, named } from '../../html/html.ts';
import { Form } from '../parts/typed-form.ts';
import { type LinkRoutes, sendCard, sendDone, sendEnded, TO_CONSOLE } from './link-page.ts';

/** Turns mail off; implemented in `mail/`. */
type Unsubscribing<S extends { readonly account: AccountKey }> = {
  check(fields: { readonly link: string; readonly of: string; readonly kind: string }): S | undefined;
  describe(subscription: S): string;
  turnOff(subscription: S): Promise<void>;
};

/** Mail programs may send their fixed text as multipart (RFC 8058, 3.1). Nothing reads it. */
export function ignoreMultipart(scope: FastifyInstance): void {
  scope.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, async () => undefined);
}

/** Turning mail off with the link in its headers. Mail programs post to it for the user, without a session or a page (RFC 8058). */
export function unsubscribeRoutes<S extends { readonly account: AccountKey }>(
  { get, post }: LinkRoutes,
  deps: { readonly unsubscribing: Unsubscribing<S>; readonly accountName: (account: Account) => Promise<string> },
): void {
  const { unsubscribing, accountName } = deps;
  const subscriptionIn = (query: Form): S | undefined =>
    unsubscribing.check({ link: query.text('link'), of: query.text('of'), kind: query.text('kind') });

  get(LINK_PATHS.unsubscribe, async (query, request, reply) => {
    const subscription = subscriptionIn(query);
    const account = subscription && accountOfKey(subscription.account);
    if (subscription === undefined || account === undefined) return sendEnded(reply, TO_CONSOLE);
    const what = unsubscribing.describe(subscription);
    return sendCard(reply, {
      title: 'Turn this mail off',
      lead: html`“${what}” as a member of ${named(await accountName(account))}.`,
      main: html`<form method="post" action="${request.url}"><button class="button full">Turn it off</button></form>`,
    });
  });

  // Mail programs send the link in the address, and only a fixed text in the body.
  post(LINK_PATHS.unsubscribe, async (_form, request, reply) => {
    const subscription = subscriptionIn(new Form(request.query));
    if (subscription === undefined) return sendEnded(reply, TO_CONSOLE);
    await unsubscribing.turnOff(subscription);
    return sendDone(reply, 'The mail is turned off', 'You can turn it on again in your mail settings.', TO_CONSOLE);
  });
}
