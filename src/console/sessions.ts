import { createHash, createHmac, randomBytes } from 'node:crypto';
import { Tokens } from '@fastify/csrf';
import { belongsTo, type User, type Users } from '../auth/users.ts';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';

/** Somebody's stay in the console, in one browser. */
export type Session = {
  readonly userId: string;
  /** The account acted for at present; one of the user's. */
  readonly account: Account;
  readonly startedAt: Timestamp;
  readonly expiresAt: Timestamp;
};

/** A session that may go on, and whose it is. `hash` names it wherever its id must not stand. */
export type Current = { readonly hash: string; readonly session: Session; readonly user: User };

const collection: Collection<Session> = {
  name: 'consoleSessions',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [],
};

const HOUR_MS = 3_600_000;
/** A session ends when nobody used it for so long, and in any case after a week. In milliseconds. */
const IDLE_MS = 12 * HOUR_MS;
const LONGEST_MS = 7 * 24 * HOUR_MS;

export type Sessions = Awaited<ReturnType<typeof createSessions>>;

/** Sessions are kept under the digest of their id: who reads the store cannot use them. */
export async function createSessions(deps: {
  readonly documents: DocumentStore;
  readonly users: Pick<Users, 'get'>;
  readonly clock: Clock;
  readonly secretKey: Buffer;
}) {
  const { users, clock } = deps;
  const sessions = await deps.documents.open(collection);
  const hmacKey = createHmac('sha256', deps.secretKey).update(purposes.consoleForms).digest();
  const formTokens = new Tokens({ hmacKey, userInfo: true });

  const until = (startedAt: string): Timestamp =>
    toTimestamp(Math.min(clock() + IDLE_MS, Date.parse(startedAt) + LONGEST_MS));

  return {
    /** Starts a session under an id nobody has seen before. @returns the id, for the cookie */
    async start(userId: string, account: Account): Promise<string> {
      const id = randomBytes(32).toString('base64url');
      const startedAt = toTimestamp(clock());
      await sessions.insert(digest(id), { userId, account, startedAt, expiresAt: until(startedAt) });
      return id;
    },

    /**
     * The session behind a cookie. None when it has ended, the user is gone, changed the password since, or no longer belongs
     * to the account.
     */
    async current(id: string | undefined): Promise<Current | undefined> {
      if (id === undefined) return undefined;
      const hash = digest(id);
      const stored = await sessions.get(hash);
      if (stored === undefined || Date.parse(stored.document.expiresAt) <= clock()) return undefined;
      const session = stored.document;
      const user = await users.get(session.userId);
      if (user === undefined || !mayGoOn(user, session)) {
        await sessions.delete(hash);
        return undefined;
      }
      if (Date.parse(session.expiresAt) - clock() < IDLE_MS / 2) {
        const expiresAt = until(session.startedAt);
        if (expiresAt > session.expiresAt) await sessions.replace(hash, { ...session, expiresAt }, stored.version);
      }
      return { hash, session, user };
    },

    /** Goes on for another of the user's accounts. @returns false when the user does not belong to it */
    async switchAccount({ hash, user }: Current, account: Account): Promise<boolean> {
      if (!belongsTo(user, account)) return false;
      const stored = await sessions.get(hash);
      return stored !== undefined && sessions.replace(hash, { ...stored.document, account }, stored.version);
    },

    async end(id: string): Promise<void> {
      await sessions.delete(digest(id));
    },

    /** Whether the session goes on for the account, by its digest: long-lived connections ask now and then. */
    async goesOn(hash: string, account: Account): Promise<boolean> {
      const stored = await sessions.get(hash);
      if (stored === undefined || Date.parse(stored.document.expiresAt) <= clock()) return false;
      const user = await users.get(stored.document.userId);
      const same = accountKey(stored.document.account) === accountKey(account);
      return same && user !== undefined && mayGoOn(user, stored.document);
    },

    /**
     * What a session's forms carry. Bound to the account too: a form filled in for one account does nothing for another that
     * was switched to meanwhile in the next tab. It looks different on every page, so that how well a page packs says nothing
     * about it (BREACH). These are the tokens of @fastify/csrf-protection; the plugin itself would keep a secret of its own in
     * one more cookie, where ours needs none: it is the session's.
     */
    csrfToken: ({ hash, session }: Current): string => formTokens.create(hash, accountKey(session.account)),

    isCsrfToken: ({ hash, session }: Current, text: string): boolean =>
      formTokens.verify(hash, text, accountKey(session.account)),
  };
}

const mayGoOn = (user: User, { account, startedAt }: Session): boolean =>
  belongsTo(user, account) && user.passwordChangedAt <= startedAt;

const digest = (id: string) => createHash('sha256').update(id).digest('base64url');
