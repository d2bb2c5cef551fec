import { randomBytes } from 'node:crypto';
import type { Collection, Find, OperatedDocumentStore } from '../../document-store/document-store.ts';
import { declareQuery } from '../../document-store/queries.ts';
import { type AccountKey, accountKey } from '../../domain/account.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { type Refusal, refuse } from '../../domain/decision.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { ERASED, type SealedText, subjectOfUser } from '../../domain/personal-text.ts';
import type { PersonalData } from '../../personal-data/personal-data.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { FileOwner } from '../parts/routes.ts';

/** A file that waits for its confirmation, by the digest of its session. */
type CheckedFile = {
  /** Differs for each file, so that a page does not confirm the file of another one. */
  readonly id: string;
  readonly account: AccountKey;
  readonly userId: string;
  readonly expiresAt: Timestamp;
  /** Sealed under the key of the user, because people wrote it. */
  readonly content: SealedText;
};

const COLLECTION: Collection<CheckedFile> = {
  name: 'consoleFiles',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['account'] }, { fields: ['userId'] }],
};

const ofAccount = declareQuery(COLLECTION, (account: AccountKey): Find<CheckedFile> => ({ where: { account } }), [
  'Community:1',
]);
const ofUser = declareQuery(COLLECTION, (userId: string): Find<CheckedFile> => ({ where: { userId } }), ['usr_1']);

const KEPT_MS = 3_600_000;
/** Sessions of an account that keep a file. */
const PER_ACCOUNT = 10;

export type CheckedFiles = Awaited<ReturnType<typeof openCheckedFiles>>;

/**
 * Keeps a file between its check and its confirmation: the last one of each session, for an hour. A form cannot carry it back, because its
 * fields are short (docs/decisions/console.md#files).
 */
export async function openCheckedFiles(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly personalData: Pick<PersonalData, 'sealText' | 'openTexts'>;
  readonly clock: Clock;
}) {
  const { documents, personalData, clock } = deps;
  const files = await documents.open(COLLECTION);

  async function opened({ id, content }: CheckedFile): Promise<string> {
    const [texts] = await personalData.openTexts([{ texts: { content }, of: ownerOf(id) }]);
    return texts?.content ?? ERASED;
  }

  async function deleteAll(query: ReturnType<typeof ofAccount>): Promise<void> {
    const stored = await Array.fromAsync(files.find(query), ({ key }) => key);
    if (stored.length === 0) return;
    await Promise.all(stored.map((key) => files.delete(key)));
    await documents.purge();
  }

  return {
    /** Keeps a file in place of the session's former one. @returns its id */
    async keep({ session, account, user }: FileOwner, text: string): Promise<string | Refusal> {
      const id = randomBytes(15).toString('base64url');
      const key = accountKey(account);
      const isFirst = (await files.get(session)) === undefined;
      if (isFirst && (await files.count(ofAccount(key), PER_ACCOUNT)) >= PER_ACCOUNT) return TOO_MANY;
      const content = await personalData.sealText(subjectOfUser(user.id), ownerOf(id), 'content', text);
      if (typeof content === 'string') return FORGOTTEN;
      const expiresAt = toTimestamp(clock() + KEPT_MS);
      await files.update(session, () => ({ id, account: key, userId: user.id, expiresAt, content }));
      return id;
    },

    /** Undefined if the session has no such file for its account. */
    async get({ session, account }: FileOwner, id: string): Promise<string | undefined> {
      const document = (await files.get(session))?.document;
      if (document?.id !== id || document.account !== accountKey(account)) return undefined;
      if (Date.parse(document.expiresAt) <= clock()) return undefined;
      const text = await opened(document);
      return text === ERASED ? undefined : text;
    },

    async delete({ session }: FileOwner): Promise<void> {
      await files.delete(session);
    },

    /** Of a user who is removed or forgotten, or leaves an account, also in the files of the store. */
    deleteAllOf: (userId: string): Promise<void> => deleteAll(ofUser(userId)),

    /** The record with its content opened, for a copy of all data of the user. */
    async readable(key: string): Promise<object | undefined> {
      const stored = await files.get(key);
      return stored && { ...stored.document, content: await opened(stored.document) };
    },
  };
}

/** The owner of the sealed text, which is authenticated with it. It can never change. */
const ownerOf = (id: string): string => `console-file:${id}`;

const TOO_MANY = refuse(
  'ValidationError',
  'Others of this account have checked files and not added them. Try again in an hour.',
);
const FORGOTTEN = refuse(
  'BookingNotAllowed',
  'Your personal data was erased for good, so no file of yours can be kept.',
);
