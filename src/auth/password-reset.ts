import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { causeAt, type LinkedDeps, type TimedLink } from './link-mail.ts';
import { LINK_ENDED, LINK_PATHS, type LinkPurpose } from './links.ts';
import type { ChangeContext } from './unlogged-changes.ts';
import type { User, Users } from './users.ts';

/** How long a link works. */
const RESET_MS = 60 * 60_000;
const MOST_DELAY_MS = 1_000;

/** A user with a link that works, and whether it came by mail. */
type ResetLink = { readonly user: User; readonly isMailed: boolean };

export type PasswordReset = ReturnType<typeof createPasswordReset>;

/** Lets users who forgot their password set another one, by a link that works once. */
export function createPasswordReset(
  deps: LinkedDeps & {
    readonly users: Pick<Users, 'get' | 'byEmail' | 'resetPassword'>;
    readonly logger: Pick<Logger, 'error'>;
    /** How long to wait before an address is looked up, in milliseconds. Default: a random time of up to {@link MOST_DELAY_MS}. */
    readonly delayMs?: () => number;
  },
) {
  const { users, links, mails, clock, publicUrl, logger, delayMs = () => randomInt(MOST_DELAY_MS) } = deps;
  const waiting = new Set<Promise<void>>();

  function linkTo(user: User, purpose: LinkPurpose, at: number): TimedLink {
    const until = at + RESET_MS;
    const token = links.make({ purpose, id: user.id, until, state: stateOf(user) });
    return { url: `${publicUrl}${LINK_PATHS.newPassword}?link=${token}`, until: toTimestamp(until) };
  }

  async function check(token: string): Promise<ResetLink | undefined> {
    const link = links.read(token);
    const user = link && (await users.get(link.id));
    if (link === undefined || user === undefined) return undefined;
    const purpose = links.purposeOf(link, ['reset', 'reset by operator'], stateOf(user));
    return purpose && { user, isMailed: purpose === 'reset' };
  }

  /** At most one mail for each user within a time, however often it is asked for. */
  async function send(email: string): Promise<void> {
    const user = await users.byEmail(email);
    if (user === undefined) return;
    const now = clock();
    await mails.enqueue({
      kind: 'PasswordReset',
      cause: causeAt(now),
      userId: user.id,
      about: {},
      at: toTimestamp(now),
    });
  }

  return {
    sendsMail: mails.isConfigured,

    /**
     * Sends a link if a user has the address. Looks that up only after it has returned, and after a random time, so that neither the answer
     * nor the next one tells anything. If the process dies before, no link is sent.
     */
    request(email: string): void {
      const work = setTimeout(delayMs())
        .then(() => send(email))
        .catch((error: unknown) => logger.error({ err: error }, 'A link to a new password could not be sent'))
        .finally(() => waiting.delete(work));
      waiting.add(work);
    },

    /** Waits for the links that were asked for. */
    async settled(): Promise<void> {
      await Promise.all(waiting);
    },

    /** The link of a mail. The same each time until the password or the address changes. */
    mailed: (user: User, at: number): TimedLink => linkTo(user, 'reset', at),

    /** A link for the operator to hand over, which does not prove that the user reads mail at the address. */
    printed: (user: User): TimedLink => linkTo(user, 'reset by operator', clock()),

    /** The user of a link; undefined if it does not work. Changes nothing. */
    check,

    /** Sets the password, which ends the link and the sessions of the user. A link that came by mail confirms the address. */
    async reset(token: string, password: string, context: Omit<ChangeContext, 'actor'>): Promise<User | Refusal> {
      const link = await check(token);
      if (link === undefined) return LINK_ENDED;
      const { user, isMailed } = link;
      const actor = { kind: 'user', id: user.id } as const;
      const changed = await users.resetPassword(user, { password, confirms: isMailed }, { ...context, actor });
      // Another use of the link was faster.
      return isRefusal(changed) && changed.refused === 'ResourceNotFound' ? LINK_ENDED : changed;
    },
  };
}

/** What a use of the link changes. A link to a former address does not work. */
const stateOf = ({ passwordChangedAt, email }: User): readonly string[] => [passwordChangedAt, email];
