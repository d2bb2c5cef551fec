import { randomUUID } from 'node:crypto';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { causeAt, type LinkedDeps, type TimedLink } from './link-mail.ts';
import { LINK_ENDED, LINK_PATHS } from './links.ts';
import type { ChangeContext } from './unlogged-changes.ts';
import { signInState } from './user-record.ts';
import type { User, Users } from './users.ts';

/** How long a link works. */
const CONFIRM_MS = 24 * 60 * 60_000;

const TOO_MANY = refuse(
  'ValidationError',
  'You have asked for too many changes of your address. Try again in an hour.',
);

export type AddressConfirmation = ReturnType<typeof createAddressConfirmation>;

/** Confirms that a user reads mail at an address: the current one, or a new one, which then replaces it. */
export function createAddressConfirmation(
  deps: LinkedDeps & {
    readonly users: Pick<Users, 'get' | 'requestEmail' | 'confirmEmail'>;
    /** Counts a mail to an address that a user wants to have. @returns the wait in milliseconds if there were too many, otherwise 0 */
    readonly countChange: (userId: string) => Promise<number>;
  },
) {
  const { users, links, mails, clock, publicUrl } = deps;
  const kind = 'AddressConfirmation';

  async function check(token: string): Promise<User | undefined> {
    const link = links.read(token);
    const user = link && (await users.get(link.id));
    if (link === undefined || user === undefined) return undefined;
    return links.purposeOf(link, ['address'], signInState(user)) && user;
  }

  async function send({ id: userId }: Pick<User, 'id'>): Promise<void> {
    const now = clock();
    await mails.enqueue({ kind, cause: causeAt(now), userId, about: {}, at: toTimestamp(now) });
  }

  return {
    sendsMail: mails.isConfigured,

    /** Sends a link to the pending address, or else to the current one. Refuses too many to a pending one: it may be that of a stranger. */
    async request(user: Pick<User, 'id' | 'pendingEmail'>): Promise<Refusal | undefined> {
      if (user.pendingEmail !== undefined && (await deps.countChange(user.id)) > 0) return TOO_MANY;
      return void (await send(user));
    },

    /**
     * Sends a link to a new address, and a notice to the current one. Refuses a malformed address, and too many changes. Does not refuse a
     * taken one: only the person who confirms it is told.
     */
    async requestChange(user: User, email: string, context: ChangeContext): Promise<Refusal | undefined> {
      const userId = user.id;
      if ((await deps.countChange(userId)) > 0) return TOO_MANY;
      const outcome = await users.requestEmail(userId, email, context);
      if (isRefusal(outcome)) return outcome;
      if (outcome.pendingEmail === undefined) return void (await send(user));
      const at = toTimestamp(clock());
      const cause = randomUUID();
      await mails.enqueue({ kind, cause: `${cause}-notice`, userId, about: { notice: 'change' }, at });
      await mails.enqueue({ kind, cause, userId, about: {}, at });
      return undefined;
    },

    /** The link of a mail. The same each time until the address is confirmed or the sign-in changes. */
    mailed(user: User, at: number): TimedLink {
      const until = at + CONFIRM_MS;
      const token = links.make({ purpose: 'address', id: user.id, until, state: signInState(user) });
      return { url: `${publicUrl}${LINK_PATHS.address}?link=${token}`, until: toTimestamp(until) };
    },

    /** The user of a link; undefined if it does not work. Changes nothing. */
    check,

    /** Confirms the address that the link is about. Refuses one that another user has taken meanwhile. */
    async confirm(token: string, context: Omit<ChangeContext, 'actor'>): Promise<User | Refusal> {
      const user = await check(token);
      if (user === undefined) return LINK_ENDED;
      const confirmed = await users.confirmEmail(user, { ...context, actor: { kind: 'user', id: user.id } });
      return isRefusal(confirmed) && confirmed.refused === 'ResourceNotFound' ? LINK_ENDED : confirmed;
    },
  };
}
