import { expect, test } from 'vitest';
import { purposes } from '../../src/secrets/purposes.ts';

test('purposes never change, or stored values could no longer be opened', () => {
  const written = Object.values(purposes).map((purpose) =>
    typeof purpose === 'string' ? purpose : purpose('1', '2', '3'),
  );
  expect(written).toEqual([
    'webhook:1',
    'signing-key:1',
    'oauth-client:1',
    'oauth:1',
    'cookie:1',
    'store:1',
    'subject-key:1',
    'personal-text:1:2:3',
    'sign-up:1',
    'inbox-mail:1',
    'seal-key:1',
    'former-secret-key:1',
    'oauth-cookies',
    'oauth-forms',
    'sign-in-attempts',
    'oauth-stored-tokens',
    'oauth-refresh-successors',
    'console forms',
    'console sessions',
    'links',
    'request-fingerprints',
  ]);
});
