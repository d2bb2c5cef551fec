import { generateKeyPairSync } from 'node:crypto';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { SealKeyRecord, SealRecords } from './seal-records.ts';
import { parseVerifierKey, type SignerKey, signerKey, type VerifierKey, verifierKeyText } from './signed-note.ts';

/** The key of the only record. */
const RECORD = 'log';

type KeyRecords = Pick<SealRecords, 'key'>;

/** How the log is called in its checkpoints, by which one store's are told from another's. Kept in a move. */
export const originOf = (logId: string): string => `venue-booking-service/${logId}`;

/** Whether a key signs the checkpoints of a log, or did so before it was restored, by its name. */
export const isKeyOf = ({ name }: VerifierKey, logId: string): boolean =>
  name === originOf(logId) || name.startsWith(`${originOf(logId)}/`);

/**
 * The key that signs checkpoints, made on first use. Of processes that make one at the same time, the first one decides.
 * @throws if it was sealed with another secret key
 */
export async function obtainSealKey(
  records: KeyRecords,
  deps: { readonly secretKey: SecretKey; readonly logId: () => Promise<string> },
): Promise<SignerKey> {
  const stored = await storedSealKey(records, deps.secretKey);
  if (stored !== undefined) return stored;
  const { key, record } = newKey(originOf(await deps.logId()), deps.secretKey);
  if (await records.key.insert(RECORD, record)) return key;
  return obtainSealKey(records, deps);
}

/** The same, undefined if there is none. */
export async function storedSealKey(records: KeyRecords, secretKey: SecretKey): Promise<SignerKey | undefined> {
  const found = await records.key.get(RECORD);
  return found && opened(found.document, secretKey);
}

/**
 * Puts a new key in place of the stored one, which is gone then.
 * @param noteOf makes the note of the fork, which is kept
 */
export async function replaceSealKey(
  records: KeyRecords,
  { origin, secretKey }: { readonly origin: string; readonly secretKey: SecretKey },
  noteOf: (key: SignerKey) => string,
): Promise<string> {
  const { key, record } = newKey(origin, secretKey);
  const note = noteOf(key);
  await records.key.update(RECORD, (stored) => ({ ...record, forks: [...(stored?.forks ?? []), note] }));
  return note;
}

/** Signed notes of how the log came to have its origin, the latest last. */
export const forksIn = async (records: KeyRecords): Promise<readonly string[]> =>
  (await records.key.get(RECORD))?.document.forks ?? [];

function newKey(origin: string, secretKey: SecretKey): { readonly key: SignerKey; readonly record: SealKeyRecord } {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const key = signerKey(origin, jwk);
  const sealedKey = seal(secretKey, purposes.sealKey(origin), JSON.stringify(jwk));
  return { key, record: { origin, verifierKey: verifierKeyText(key), sealedKey } };
}

const opened = ({ origin, sealedKey }: SealKeyRecord, secretKey: SecretKey): SignerKey =>
  signerKey(origin, JSON.parse(unseal(secretKey, purposes.sealKey(origin), sealedKey)));

/** The key that checkpoints are checked with; undefined as long as nothing has been sealed. Needs no secret. */
export async function publishedKey(records: KeyRecords): Promise<VerifierKey | undefined> {
  const found = await records.key.get(RECORD);
  if (found === undefined) return undefined;
  const key = parseVerifierKey(found.document.verifierKey);
  if (key === undefined) throw new Error('The published key of the seals is damaged');
  return key;
}
