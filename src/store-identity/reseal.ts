import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { purposes } from '../secrets/purposes.ts';
import { opens, seal, unseal } from '../secrets/seal.ts';
import { currentKey, type SecretKey } from '../secrets/secret-key.ts';
import { keepFormerKeys } from './former-keys.ts';

type Document = { readonly [field: string]: unknown };
/** Reseals a value for its purpose. */
type Seal = (purpose: string, sealed: unknown) => string;

/** The record collections with sealed values, and the purpose of each sealed field. */
const SEALED: {
  readonly [collection: string]: (
    document: Document,
    key: string,
    sealAgain: Seal,
  ) => { readonly [field: string]: unknown };
} = {
  storeIdentity: ({ probe, logId }, _, sealAgain) => ({ probe: sealAgain(purposes.storeProbe(String(logId)), probe) }),
  subjectKeys: ({ sealedKey }, key, sealAgain) =>
    sealedKey === undefined ? {} : { sealedKey: sealAgain(purposes.subjectKey(key), sealedKey) },
  signingKeys: ({ keys }, _, sealAgain) => ({
    keys: (keys as readonly Document[]).map((each) => ({
      ...each,
      sealedJwk: sealAgain(purposes.signingKey(String(each.kid)), each.sealedJwk),
    })),
  }),
  oauthClients: ({ sealed }, key, sealAgain) =>
    sealed ? { sealed: sealAgain(purposes.oauthClient(key), sealed) } : {},
  sealKeys: ({ sealedKey, origin }, _, sealAgain) => ({
    sealedKey: sealAgain(purposes.sealKey(String(origin)), sealedKey),
  }),
  signUps: ({ sealed }, key, sealAgain) => (sealed ? { sealed: sealAgain(purposes.signUp(key), sealed) } : {}),
  mailInbox: ({ sealed }, key, sealAgain) => (sealed ? { sealed: sealAgain(purposes.inboxMail(key), sealed) } : {}),
  oauthArtefacts: ({ sealed }, key, sealAgain) =>
    sealed ? { sealed: sealAgain(purposes.oidcRecord(key), sealed) } : {},
};

/**
 * Reseals records and subject keys under the first secret key and stores the other keys sealed under it, because the log holds
 * values sealed with them. Afterwards the first key alone is enough. Safe beside running processes that have all keys; repeatable.
 * @returns the number of resealed records
 */
export async function resealRecords(
  documents: Pick<OperatedDocumentStore, 'open' | 'collections'>,
  secretKey: SecretKey,
  onProgress: (resealed: number) => void,
): Promise<number> {
  // Store the former keys before any value needs only the first key.
  await keepFormerKeys(documents, secretKey);
  const current = currentKey(secretKey);
  let resealed = 0;

  /** The document with all values sealed under the current key; undefined if nothing changes. */
  function withSeals(document: Document, sealedWith: (seal: Seal) => Document): Document | undefined {
    let isOther = false;
    const changed = sealedWith((purpose, sealed) => {
      const text = String(sealed);
      if (opens(current, purpose, text)) return text;
      isOther = true;
      return seal(current, purpose, unseal(secretKey, purpose, text));
    });
    return isOther ? { ...document, ...changed } : undefined;
  }

  for (const { name, kind } of await documents.collections()) {
    const sealedIn = SEALED[name];
    if (kind !== 'record' || sealedIn === undefined) continue;
    const collection = await documents.open<Document>({ name, kind, indexes: [] });
    for await (const stored of collection.find(everyDocument())) {
      const { isChanged } = await collection.update(
        stored.key,
        (document) => document && withSeals(document, (seal) => sealedIn(document, stored.key, seal)),
        { stored },
      );
      if (!isChanged) continue;
      resealed += 1;
      if (resealed % PROGRESS_EVERY === 0) onProgress(resealed);
    }
  }
  return resealed;
}

const PROGRESS_EVERY = 10_000;
