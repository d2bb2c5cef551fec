import { generateKeyPairSync } from 'node:crypto';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { SealKeyRecord, SealRecords } from './seal-records.ts';
import { parseVerifierKey, type SignerKey, signerKey, type VerifierKey, verifierKeyText } from './signed-note.ts';

/** The key of the only record. */
const RECORD = 'log';

type KeyRecords = Pick<SealRecords, 'key'>;

/** The origin of the log in its checkpoints, which distinguishes stores. A move keeps it. */
export const originOf = (logId: string): string => `venue-booking-service/${logId}`;

/** Whether the name of a key is an origin of the log, now or before a restore. */
export const isKeyOf = ({ name }: VerifierKey, logId: string): boolean =>
  name === originOf(logId) || name.startsWith(`${originOf(logId)}/`);

/**
 * The key that signs checkpoints, created on first use. If several processes create one at the same time, the first stored one wins.
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
  const stored = await records.key.get(RECORD);
  return stored && opened(stored.document, secretKey);
}

/**
 * Replaces the stored key, which is lost.
 * @param noteOf makes the note of the fork, which is stored with the new key
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

/** Signed notes about each change of the log's origin, the latest last. */
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

/** The public key for checking checkpoints; undefined until the first seal. Needs no secret. */
export async function publishedKey(records: KeyRecords): Promise<VerifierKey | undefined> {
  const stored = await records.key.get(RECORD);
  if (stored === undefined) return undefined;
  const key = parseVerifierKey(stored.document.verifierKey);
  if (key === undefined) throw new Error('The published key of the seals is damaged');
  return key;
}
