import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { seal, unseal } from '../../src/secrets/seal.ts';

const key = randomBytes(32);

test('unsealing returns the original text', () => {
  for (const plain of ['', 'whsec_abc', 'ü€𝄞'.repeat(100)]) expect(unseal(key, 'p', seal(key, 'p', plain))).toBe(plain);
});

test('the same secret never seals to the same text', () => {
  expect(seal(key, 'p', 'secret')).not.toBe(seal(key, 'p', 'secret'));
});

test('a sealed value does not contain the secret', () => {
  const sealed = seal(key, 'p', 'secret');
  expect(Buffer.from(sealed.slice(3), 'base64url').includes('secret')).toBe(false);
});

test('another key or another purpose does not open it', () => {
  const sealed = seal(key, 'webhook:wh_1', 'secret');
  expect(() => unseal(randomBytes(32), 'webhook:wh_1', sealed)).toThrow('cannot be opened');
  expect(() => unseal(key, 'webhook:wh_2', sealed)).toThrow('cannot be opened');
});

test('any changed byte is detected, and so is truncation', () => {
  const sealed = seal(key, 'p', 'secret');
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => unseal(key, 'p', `v1.${changed.toString('base64url')}`)).toThrow('cannot be opened');
  }
  expect(() => unseal(key, 'p', `v1.${bytes.subarray(0, -1).toString('base64url')}`)).toThrow();
  for (const wrong of ['', 'v1', 'v1.', 'v2.AAAA', `${sealed}.x`, 'secret'])
    expect(() => unseal(key, 'p', wrong)).toThrow();
});
