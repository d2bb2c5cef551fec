import type { NamedActor } from '../../domain/shown-actor.ts';
import { type Html, html } from '../../html/html.ts';
import { namedText } from '../../html/names.ts';

/** Who did something, in words that follow “by”: by name for the own account, by account for the other party. */
export const actorView = (actor: NamedActor): Html => html`${actorText(actor)}`;

/** The same for a plain text, such as a message that is shown on the next page. */
export function actorText({ kind, name, account }: NamedActor): string {
  const called = name !== undefined && namedText(name);
  switch (kind) {
    case 'user':
      return called || 'a user who was removed';
    case 'apiKey':
      return called ? `the API key “${called}”` : 'the API key that is not known any more';
    case 'client':
      return called ? `the app “${called}”` : 'the app that was removed';
    case 'account':
      return called || (account?.kind === 'Brand' ? 'the brand' : 'the community');
    case 'operator':
      return 'the operator';
    case 'system':
      return 'the service';
    default:
      return kind satisfies never;
  }
}
