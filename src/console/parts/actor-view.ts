import type { NamedActor } from '../../domain/shown-actor.ts';
import { type Html, html } from '../../html/html.ts';
import { namedText } from '../../html/names.ts';
import type { Visit } from './visit.ts';

/** Who did something, in words that follow “by”: by name for the own account, by account for the other party. */
export const actorView = (actor: NamedActor): Html => html`${actorText(actor)}`;

function actorText({ kind, name, account }: NamedActor): string {
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

/** The same in plain text, for messages. Who reads of it may be who has done it, perhaps in another window. */
export const actorOrYou = ({ user }: Pick<Visit, 'user'>, by: NamedActor): string =>
  by.kind === 'user' && by.id === user.id ? 'you' : actorText(by);
