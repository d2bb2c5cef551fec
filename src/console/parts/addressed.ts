import type { Account } from '../../domain/account.ts';
import type { Queries } from '../../queries/queries.ts';
import { type Answer, idOf, missing, type Visit } from './visit.ts';

/** Pages about one thing, whose id is in their address. It is missing where the account may not see it. */
export const addressed = ({ bookings, spaces }: Pick<Queries, 'bookings' | 'spaces'>) => ({
  withBooking: answering('booking', (account, id) => bookings.get(account, id)),
  withSpace: answering('space', (account, id) => spaces.get(account, id)),
});

function answering<T>(what: string, get: (account: Account, id: number) => Promise<T | undefined>) {
  return async ({ account, params }: Visit, then: (one: T) => Promise<Answer>): Promise<Answer> => {
    const id = idOf(params.id);
    const one = id === undefined ? undefined : await get(account, id);
    return one === undefined ? missing(what) : then(one);
  };
}

/** Said of a list or calendar whose address asks for one space that the account does not have. */
export const NO_SUCH_SPACE = 'There is no such space any more. Choose another one, or all of them.';
