import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Tokens } from '@fastify/csrf';
import { belongsTo, roleIn } from '../../auth/memberships.ts';
import type { User, Users } from '../../auth/users.ts';
import type { DocumentStore, Stored } from '../../document-store/document-store.ts';
import { type Account, accountKey } from '../../domain/account.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import type { Timestamp } from '../../domain/ids.ts';
import type { Role } from '../../domain/roles.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import { derivedKey } from '../../secrets/derived-key.ts';
import { purposes } from '../../secrets/purposes.ts';
import { currentKey, type SecretKey } from '../../secrets/secret-key.ts';
import type { UserSession } from '../parts/routes.ts';
import { browserName } from './browser-name.ts';
import { ofUser, SESSIONS, type Session } from './session-records.ts';

/** A valid session and its user. `hash` identifies it wherever its id, which is a credential, must not appear. */
export type CurrentSession = {
  readonly hash: string;
  readonly session: Session;
  readonly user: User;
  /** The user's role in the account of the session. */
  readonly role: Role;
};

const HOUR_MS = 3_600_000;
/**
 * A session ends 12 hours after its last use, and after a week in any case (docs/decisions/oauth.md). Use is noted, and extends it, once in
 * {@link NOTED_MS}, which saves writes.
 */
const IDLE_MS = 12 * HOUR_MS;
const MAX_AGE_MS = 7 * 24 * HOUR_MS;
const NOTED_MS = HOUR_MS;
/** Of the part of an id that shows that this service has made it. */
const PROOF_BYTES = 16;

export type Sessions = Awaited<ReturnType<typeof createSessions>>;

/** Sessions are stored under the digest of their id, so that a copy of the store cannot be used to sign in. */
export async function createSessions(deps: {
  readonly documents: DocumentStore;
  readonly users: Pick<Users, 'get'>;
  readonly clock: Clock;
  readonly secretKey: SecretKey;
}) {
  const { users, clock } = deps;
  const sessions = await deps.documents.open(SESSIONS);
  const hmacKey = createHmac('sha256', currentKey(deps.secretKey)).update(purposes.consoleForms).digest();
  const formTokens = new Tokens({ hmacKey, userInfo: true });

  const proofKey = derivedKey(deps.secretKey, purposes.consoleSessions);
  const proofOf = (random: string) => createHmac('sha256', proofKey).update(random).digest().subarray(0, PROOF_BYTES);

  const expiryOf = (startedAt: string): Timestamp =>
    toTimestamp(Math.min(clock() + IDLE_MS, Date.parse(startedAt) + MAX_AGE_MS));

  /** The session that is stored under a digest, and its user. Deletes a session that its user may no longer use. */
  async function find(hash: string) {
    const stored = await sessions.get(hash);
    if (stored === undefined || Date.parse(stored.document.expiresAt) <= clock()) return undefined;
    const user = await users.get(stored.document.userId);
    const role = user && isStillValid(user, stored.document) ? roleIn(user, stored.document.account) : undefined;
    if (user !== undefined && role !== undefined) return { stored, user, role };
    await sessions.delete(hash);
    return undefined;
  }

  const isNoted = ({ lastUsedAt }: Session): boolean => clock() - Date.parse(lastUsedAt) < NOTED_MS;

  /** Notes that a session is used, unless it was within the hour. A page does not fail because that cannot be stored. */
  async function noteUse(stored: Stored<Session>): Promise<void> {
    if (isNoted(stored.document)) return;
    const note = (session: Session | undefined): Session | undefined =>
      session === undefined || isNoted(session)
        ? undefined
        : { ...session, lastUsedAt: toTimestamp(clock()), expiresAt: expiryOf(session.startedAt) };
    await sessions.update(stored.key, note, { stored }).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
  }

  return {
    /** Starts a session with a new random id. @returns the id, for the cookie */
    async start(userId: string, account: Account, userAgent: string | undefined): Promise<string> {
      const random = randomBytes(32).toString('base64url');
      const id = `${random}.${proofOf(random).toString('base64url')}`;
      const startedAt = toTimestamp(clock());
      await sessions.insert(digest(id), {
        userId,
        account,
        startedAt,
        expiresAt: expiryOf(startedAt),
        lastUsedAt: startedAt,
        browser: browserName(userAgent),
      });
      return id;
    },

    /**
     * The session behind a cookie. Undefined if it has expired, or if the user was removed, has changed the password since, or
     * no longer belongs to the account.
     */
    async current(id: string | undefined): Promise<CurrentSession | undefined> {
      if (id === undefined) return undefined;
      const hash = digest(id);
      const current = await find(hash);
      if (current === undefined) return undefined;
      const { stored, user, role } = current;
      await noteUse(stored);
      return { hash, session: stored.document, user, role };
    },

    /** Whether an id is one that a session of this service has or had. A stranger cannot make one up. */
    isIssued(id: string): boolean {
      const [random = '', proof = ''] = id.split('.');
      const given = Buffer.from(proof, 'base64url');
      return given.length === PROOF_BYTES && timingSafeEqual(given, proofOf(random));
    },

    /** Switches to another of the user's accounts. @returns false if the user does not belong to it */
    async switchAccount({ hash, user }: CurrentSession, account: Account): Promise<boolean> {
      if (!belongsTo(user, account)) return false;
      return (await sessions.update(hash, (session) => session && { ...session, account })).isChanged;
    },

    async end(id: string): Promise<void> {
      await sessions.delete(digest(id));
    },

    /** The valid sessions of a user, the latest first. */
    async listOf(user: User): Promise<readonly UserSession[]> {
      const valid: UserSession[] = [];
      for await (const { key, document } of sessions.find(ofUser(user.id)))
        if (
          Date.parse(document.expiresAt) > clock() &&
          isStillValid(user, document) &&
          belongsTo(user, document.account)
        )
          valid.push({ ...document, hash: key });
      return valid.sort((a, b) => (a.startedAt > b.startedAt ? -1 : 1));
    },

    /** Ends one session of a user, given its digest. @returns false if the user has no such session */
    async endOf(user: User, hash: string): Promise<boolean> {
      const stored = await sessions.get(hash);
      return stored?.document.userId === user.id && sessions.delete(hash);
    },

    /** Whether a session is still valid, for the same account and in the same role. Long-lived connections ask periodically. */
    async isActive({ hash, session, role }: Pick<CurrentSession, 'hash' | 'session' | 'role'>): Promise<boolean> {
      const now = await find(hash);
      if (now === undefined || now.role !== role) return false;
      return accountKey(now.stored.document.account) === accountKey(session.account);
    },

    /**
     * The CSRF token for a session's forms. It is bound to the account as well, so that a form filled in for one account does
     * nothing after a switch to another in a second tab. It differs on every page, so that the compressed size reveals nothing
     * (BREACH; docs/decisions/console.md). The plugin @fastify/csrf-protection makes the same tokens, but needs another cookie for a
     * secret, where the session already provides one.
     */
    csrfToken: (current: CurrentSession): string =>
      formTokens.create(current.hash, ownerIn(current.session.account, current.user.id)),

    isCsrfToken: (current: CurrentSession, text: string): boolean =>
      formTokens.verify(current.hash, text, ownerIn(current.session.account, current.user.id)),

    /**
     * The owner of a CSRF token: the part that is the same for one user and account in every session. Only this service can make it, but
     * it does not prove who sends it.
     */
    ownerOf,

    /** The results of `ownerOf` for each of the user's accounts. */
    ownersOf: ({ user }: Pick<CurrentSession, 'user'>): readonly string[] =>
      user.memberships.map(({ account }) => ownerOf(formTokens.create('any', ownerIn(account, user.id)))),
  };
}

const ownerOf = (token: string): string => token.split('-', 1)[0] ?? '';

const isStillValid = (user: User, { startedAt }: Session): boolean => user.passwordChangedAt <= startedAt;

/** What the owner part of a token is made from. */
const ownerIn = (account: Account, userId: string): string => `${accountKey(account)} ${userId}`;

const digest = (id: string) => createHash('sha256').update(id).digest('base64url');
