import type { NamedActor } from '../../domain/shown-actor.ts';
import { namedText } from '../../html/html.ts';
import type { Visit } from './visit.ts';

/** An actor in words that follow “by”: the name for one of the own account, the account for one of the other party. */
export function actorText({ kind, name, account }: NamedActor): string {
  const called = name !== undefined && namedText(name);
  switch (kind) {
    case 'user':
      return called || 'a user who was removed';
    case 'apiKey':
      return called ? `the API key “${called}”` : 'an API key that is no longer known';
    case 'client':
      return called ? `the app “${called}”` : 'an app that was removed';
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

/** The same in a message. The reader may have done it, perhaps in another window. */
export const actorOrYou = ({ user }: Pick<Visit, 'user'>, by: NamedActor): string =>
  by.kind === 'user' && by.id === user.id ? 'you' : actorText(by);
