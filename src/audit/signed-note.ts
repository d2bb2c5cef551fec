import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

/** A public key that a note is checked with, under the name that its owner gave it. */
export type VerifierKey = { readonly name: string; readonly id: Buffer; readonly publicKey: KeyObject };

/** A key that signs notes. */
export type SignerKey = VerifierKey & { readonly privateKey: KeyObject };

/** A problem as a clause that follows the name of its subject, without a full stop. */
export type Problem = { readonly problem: string };

const ED25519 = Buffer.of(1);
const KEY_ID_BYTES = 4;
/** The limits of the implementation in Go. */
const MAX_SIGNATURES = 100;
const MAX_LENGTH = 1_000_000;

/**
 * The key that signs under a name.
 * @param privateKey an Ed25519 key as a JWK
 * @throws {TypeError} for an invalid key name
 */
export function signerKey(name: string, privateKey: JsonWebKeyInput['key']): SignerKey {
  if (!isKeyName(name)) throw new TypeError(`${JSON.stringify(name)} cannot be the name of a key`);
  const key = createPrivateKey({ key: privateKey, format: 'jwk' });
  const publicKey = createPublicKey(key);
  return { name, id: keyId(name, encoded(publicKey)), publicKey, privateKey: key };
}

/** The text in which a key is published and pinned: `name+id+key`, as in the package `note` of Go. */
export const verifierKeyText = ({ name, id, publicKey }: VerifierKey): string =>
  `${name}+${id.toString('hex')}+${encoded(publicKey).toString('base64')}`;

/** Reads what {@link verifierKeyText} writes. @returns undefined for anything else, such as a key of another kind */
export function parseVerifierKey(text: string): VerifierKey | undefined {
  const [, name = '', hex = '', base64 = ''] = /^([^+]*)\+([0-9a-f]{8})\+([^+]*(?:\+[^+]*)*)$/.exec(text.trim()) ?? [];
  const key = fromBase64(base64);
  if (key?.length !== 33 || key[0] !== ED25519[0] || !isKeyName(name)) return undefined;
  const id = keyId(name, key);
  if (id.toString('hex') !== hex) return undefined;
  const x = key.subarray(1).toString('base64url');
  return { name, id, publicKey: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }) };
}

/**
 * Signs a text (https://c2sp.org/signed-note).
 * @param text one or more lines, each with its end
 */
export function signNote(text: string, ...keys: readonly SignerKey[]): string {
  const signatures = keys.map((key) => {
    const signature = Buffer.concat([key.id, sign(null, Buffer.from(text), key.privateKey)]);
    return `— ${key.name} ${signature.toString('base64')}\n`;
  });
  return `${text}\n${signatures.join('')}`;
}

/**
 * The text of a note that is signed with the key. Signatures of other keys, such as those of witnesses, are ignored.
 * @returns a problem if it is no note, the key has not signed it, or a signature in the name of the key is invalid
 */
export function openNote(note: string, key: VerifierKey): { readonly text: string } | Problem {
  const noNote = { problem: 'is not a signed note (https://c2sp.org/signed-note)' };
  if (note.length > MAX_LENGTH || !note.isWellFormed() || CONTROLS.test(note)) return noNote;
  // The last empty line, because the text may have some, too.
  const end = note.lastIndexOf('\n\n');
  if (end === -1 || !note.endsWith('\n') || end + 2 === note.length) return noNote;
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) return noNote;
  let isSigned = false;
  for (const line of lines) {
    const [, name = '', base64 = ''] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
    const bytes = fromBase64(base64);
    if (!isKeyName(name) || bytes === undefined || bytes.length <= KEY_ID_BYTES) return noNote;
    if (name !== key.name || !bytes.subarray(0, KEY_ID_BYTES).equals(key.id)) continue;
    if (!verify(null, Buffer.from(text), key.publicKey, bytes.subarray(KEY_ID_BYTES)))
      return { problem: `has a signature in the name of ${key.name} that is not one` };
    isSigned = true;
  }
  return isSigned ? { text } : { problem: `is not signed with the key ${key.name}+${key.id.toString('hex')}` };
}

/** Decodes strict base64. @returns undefined for other letters, missing padding or leftover bits */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Whether the name is valid for a key: not empty, no white space, no plus sign. */
const isKeyName = (name: string): boolean => name !== '' && name.isWellFormed() && !/[\p{White_Space}+]/u.test(name);

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a note may not contain.
const CONTROLS = /[\u0000-\u0009\u000b-\u001f]/;

const keyId = (name: string, key: Buffer): Buffer =>
  createHash('sha256').update(`${name}\n`).update(key).digest().subarray(0, KEY_ID_BYTES);

/** The kind of the key and its 32 bytes. */
const encoded = (publicKey: KeyObject): Buffer =>
  Buffer.concat([ED25519, Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')]);
