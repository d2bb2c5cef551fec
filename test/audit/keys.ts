import { createHash, createPrivateKey } from 'node:crypto';
import type { Hash } from '../../src/audit/merkle-tree.ts';
import { type SignerKey, signerKey } from '../../src/audit/signed-note.ts';
import vectors from './foreign/vectors.json' with { type: 'json' };

export const someHash = (text: string): Hash => createHash('sha256').update(text).digest();

/** PKCS #8 of an Ed25519 key, up to its seed. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A key that is the same every time. */
export const someKey = (name: string, seed = 'seed'): SignerKey => keyOf(name, someHash(seed));

function keyOf(name: string, seed: Buffer): SignerKey {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  return signerKey(name, key.export({ format: 'jwk' }));
}

/** The key that the vectors made by Go are signed with. */
export const vectorKey = keyOf(vectors.key.split('+')[0] ?? '', Buffer.from(vectors.seed, 'base64url'));
