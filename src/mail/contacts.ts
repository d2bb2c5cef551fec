import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import { ERASED, type SealedText, subjectOf } from '../domain/personal-text.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';

/** The address is sealed under the key of the account, so that forgetting the account erases it from copies of the store, too. */
type Contact = { readonly account: AccountKey; readonly address: SealedText };

const ACCOUNT_CONTACTS: Collection<Contact> = { name: 'accountContacts', kind: 'record', indexes: [] };

export type AccountContacts = Awaited<ReturnType<typeof createAccountContacts>>;

/** The address at which a community or a brand can be reached: `Reply-To` of mail to the other party. A record, not an event. */
export async function createAccountContacts(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly personalData: Pick<PersonalData, 'sealText' | 'openTexts'>;
}) {
  const { documents, personalData } = deps;
  const records = await documents.open(ACCOUNT_CONTACTS);

  async function opened({ account, address }: Contact): Promise<string> {
    const [texts] = await personalData.openTexts([{ texts: { address }, of: ownerOf(account) }]);
    return texts?.address ?? ERASED;
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
      const text = normalisedEmail(typed);
      if (text === '') return void (await records.delete(key));
      if (!isAddress(text)) return refuse('ValidationError', 'contact is not an e-mail address.');
      const address = await personalData.sealText(subjectOf(account), ownerOf(key), 'address', text);
      if (typeof address === 'string')
        return refuse(
          'BookingNotAllowed',
          'The personal data of this account was erased for good, so no address of it can be stored.',
        );
      await records.update(key, () => ({ account: key, address }));
      return undefined;
    },

    /** The record with its address opened, for a copy of all data of the account. */
    async readable(key: string): Promise<object | undefined> {
      const stored = await records.get(key);
      return stored && { ...stored.document, address: await opened(stored.document) };
    },
  };
}

/** The owner of the sealed text, which is authenticated with it. It can never change. */
const ownerOf = (account: AccountKey): string => `contact:${account}`;
