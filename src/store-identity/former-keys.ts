import { hash } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import { currentKey, keysIn, type SecretKey } from '../secrets/secret-key.ts';

/** A replaced secret key, sealed under its successor. Kept because the log holds values sealed with it. */
type FormerKey = { readonly sealedKey: string };

const formerKeys: Collection<FormerKey> = { name: 'formerSecretKeys', kind: 'record', indexes: [] };

/** The secret key with its predecessors (docs/decisions/credentials.md). */
export async function withFormerKeys(documents: Pick<DocumentStore, 'open'>, secretKey: SecretKey): Promise<SecretKey> {
  const given = keysIn(secretKey);
  const stored: Buffer[] = [];
  for await (const { key, document } of (await documents.open(formerKeys)).find(everyDocument()))
    stored.push(Buffer.from(unseal(secretKey, purposes.formerSecretKey(key), document.sealedKey), 'base64'));
  const [current, ...others] = given;
  const further = [...others, ...stored.filter((former) => !given.some((each) => each.equals(former)))];
  return further.length === 0 ? current : [current, ...further];
}

/**
 * Stores all former keys sealed under the current one, so that the settings can omit them. The current key itself is never stored,
 * even if it was a former key before.
 */
export async function keepFormerKeys(documents: Pick<DocumentStore, 'open'>, secretKey: SecretKey): Promise<void> {
  const current = currentKey(secretKey);
  const records = await documents.open(formerKeys);
  for (const former of keysIn(secretKey).slice(1)) {
    const id = idOf(former);
    const sealedKey = seal(current, purposes.formerSecretKey(id), former.toString('base64'));
    await records.update(id, () => ({ sealedKey }));
  }
  await records.delete(idOf(current));
}

const idOf = (secretKey: Buffer): string => hash('sha256', secretKey, 'hex').slice(0, 16);
