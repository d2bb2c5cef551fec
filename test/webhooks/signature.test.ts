import { createHmac, timingSafeEqual } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newSigningSecret, type Secrets, signatureHeaders } from '../../src/webhooks/send/signature.ts';

const body = '{"event":"BookingApproved","data":{"spaceName":"Café Zürich 🏛"}}';
const headersFor = (secrets: Secrets, text = body) =>
  signatureHeaders(secrets, { id: 'e1:wh_1', at: Date.now(), body: text });

/** The check that docs/guides/webhooks.md gives to receivers. */
function isGenuine(rawBody: string, header: string | undefined, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(rawBody).digest();
  const received = Buffer.from(header ?? '', 'hex');
  return received.length === expected.length && timingSafeEqual(received, expected);
}

test('a secret is whsec_ and 32 random bytes in base64', () => {
  const secrets = Array.from({ length: 50 }, newSigningSecret);
  for (const secret of secrets) {
    expect(secret.slice(0, 6)).toBe('whsec_');
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
  expect(new Set(secrets).size).toBe(50);
});

test('X-Service-Signature is lower-case hex over the raw body, with the text of the secret as the key', () => {
  const secret = newSigningSecret();
  const header = headersFor([secret])['x-service-signature'];
  expect(header).toMatch(/^[0-9a-f]{64}$/);
  expect(isGenuine(body, header, secret)).toBe(true);
  expect(isGenuine(`${body} `, header, secret)).toBe(false);
  expect(isGenuine(body, header, newSigningSecret())).toBe(false);
});

test('any Standard Webhooks library verifies a delivery unchanged', () => {
  const secret = newSigningSecret();
  expect(new Webhook(secret).verify(body, headersFor([secret]))).toEqual(JSON.parse(body));
  expect(() => new Webhook(secret).verify(`${body} `, headersFor([secret]))).toThrow('No matching signature');
  expect(() => new Webhook(newSigningSecret()).verify(body, headersFor([secret]))).toThrow('No matching signature');
});

test('every attempt has its own timestamp, so that an old one cannot be replayed', () => {
  const secret = newSigningSecret();
  const old = signatureHeaders([secret], { id: 'e1:wh_1', at: Date.now() - 6 * 60_000, body });
  expect(() => new Webhook(secret).verify(body, old)).toThrow('too old');
});

test('during a rotation, Standard Webhooks receivers with either secret verify; the plain header has one signature', () => {
  const [current, previous] = [newSigningSecret(), newSigningSecret()];
  const headers = headersFor([current, previous]);
  new Webhook(current).verify(body, headers);
  new Webhook(previous).verify(body, headers);
  expect(isGenuine(body, headers['x-service-signature'], current)).toBe(true);
  expect(isGenuine(body, headersFor([previous, current])['x-service-signature'], previous)).toBe(true);
});
