import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse, refuseField } from '../domain/decision.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import type { Timestamp } from '../domain/ids.ts';
import { ERASED, type SealedText, subjectOf } from '../domain/personal-text.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { Clock } from '../runtime/clock.ts';

/** The address is sealed under the key of the account, so that forgetting the account erases it from copies of the store, too. */
type Contact = { readonly account: AccountKey; readonly address: SealedText };

/** An address that is not confirmed yet. */
type PendingRecord = Contact & {
  readonly requestedAt: Timestamp;
  readonly requestedBy: string;
  readonly expiresAt: Timestamp;
};

export type PendingContact = {
  readonly address: string;
  readonly requestedAt: Timestamp;
  readonly requestedBy: string;
};

/** How long an address can be confirmed. */
export const PENDING_MS = 24 * 3_600_000;

const PENDING_CONTACTS: Collection<PendingRecord> = {
  name: 'pendingContacts',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [],
};

const ACCOUNT_CONTACTS: Collection<Contact> = { name: 'accountContacts', kind: 'record', indexes: [] };

export type AccountContacts = Awaited<ReturnType<typeof createAccountContacts>>;

/** The address at which a community or a brand can be reached: `Reply-To` of mail to the other party. A record, not an event. */
export async function createAccountContacts(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly personalData: Pick<PersonalData, 'sealText' | 'openTexts'>;
  readonly clock: Clock;
}) {
  const { documents, personalData, clock } = deps;
  const records = await documents.open(ACCOUNT_CONTACTS);
  const pendingRecords = await documents.open(PENDING_CONTACTS);

  async function opened({ account, address }: Contact): Promise<string> {
    const [texts] = await personalData.openTexts([{ texts: { address }, of: ownerOf(account) }]);
    return texts?.address ?? ERASED;
  }

  const readable = async (stored: Stored<Contact> | undefined): Promise<object | undefined> =>
    stored && { ...stored.document, address: await opened(stored.document) };

  /** An address as it is stored. Refuses what is no address, and an account whose personal data was erased. */
  async function sealed(account: Account, typed: string): Promise<Contact | Refusal> {
    const text = normalisedEmail(typed);
    if (!isAddress(text)) return refuseField('contact', 'is not an e-mail address');
    const key = accountKey(account);
    const address = await personalData.sealText(subjectOf(account), ownerOf(key), 'address', text);
    if (typeof address !== 'string') return { account: key, address };
    return refuse(
      'BookingNotAllowed',
      'The personal data of this account was erased for good, so no address of it can be stored.',
    );
  }

  return {
    /** Undefined if the account has set none, or was forgotten. */
    async of(account: Account): Promise<string | undefined> {
      const stored = await records.get(accountKey(account));
      const address = stored && (await opened(stored.document));
      return address === ERASED ? undefined : address;
    },

    /**
     * Sets the address of an account, or removes it if it is empty. Refuses `ValidationError` for what is no address, and
     * `BookingNotAllowed` for an account whose personal data was erased.
     */
    async set(account: Account, typed: string): Promise<Refusal | undefined> {
      const key = accountKey(account);
      const contact = normalisedEmail(typed) === '' ? undefined : await sealed(account, typed);
      if (contact !== undefined && isRefusal(contact)) return contact;
      await (contact === undefined ? records.delete(key) : records.update(key, () => contact));
      return void (await pendingRecords.delete(key));
    },

    /** Stores an address that is to be confirmed, in place of another such. Refuses as {@link set} does. */
    async propose(account: Account, typed: string, requestedBy: string): Promise<Refusal | undefined> {
      const contact = await sealed(account, typed);
      if (isRefusal(contact)) return contact;
      const times = { requestedAt: toTimestamp(clock()), expiresAt: toTimestamp(clock() + PENDING_MS) };
      return void (await pendingRecords.update(contact.account, () => ({ ...contact, ...times, requestedBy })));
    },

    /** The address that is to be confirmed, if any. */
    async pending(account: Account): Promise<PendingContact | undefined> {
      const stored = (await pendingRecords.get(accountKey(account)))?.document;
      if (stored === undefined || stored.expiresAt <= toTimestamp(clock())) return undefined;
      const address = await opened(stored);
      return address === ERASED
        ? undefined
        : { address, requestedAt: stored.requestedAt, requestedBy: stored.requestedBy };
    },

    /** The record with its address opened, for a copy of all data of the account. */
    readable: async (key: string) => readable(await records.get(key)),
    /** The same of the address that is to be confirmed. */
    readablePending: async (key: string) => readable(await pendingRecords.get(key)),
  };
}

/** The owner of the sealed text, which is authenticated with it. It can never change. */
const ownerOf = (account: AccountKey): string => `contact:${account}`;
