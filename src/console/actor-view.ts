import type { NamedActor } from '../domain/shown-actor.ts';
import { type Html, html } from '../html/html.ts';
import { named } from '../html/names.ts';

/** Who did something, in words that follow “by”: by name for the own account, by account for the other party. */
export function actorView({ kind, name, account }: NamedActor): Html {
  const called = name !== undefined && named(name);
  switch (kind) {
    case 'user':
      return html`${called || 'a user who was removed'}`;
    case 'apiKey':
      return html`the API key ${called ? html`“${called}”` : 'that is not known any more'}`;
    case 'client':
      return html`the app ${called ? html`“${called}”` : 'that was removed'}`;
    case 'account':
      return html`${called || (account?.kind === 'Brand' ? 'the brand' : 'the community')}`;
    case 'operator':
      return html`the operator`;
    case 'system':
      return html`the service`;
    default:
      return kind satisfies never;
  }
}
