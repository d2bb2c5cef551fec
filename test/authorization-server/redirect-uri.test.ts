import { expect, test } from 'vitest';
import { formTarget, isLoopback } from '../../src/authorization-server/redirect-uri.ts';

test.each<[unknown, string[]]>([
  ['https://app.example/callback?x=1', ['https://app.example']],
  ['http://127.0.0.1:4711/callback', ['http://127.0.0.1:4711']],
  ['http://[::1]:4711/callback', ['http:']],
  ['com.example.app:/callback', ['com.example.app:']],
  ['nowhere', []],
  ['https://app.example; script-src *', []],
  [undefined, []],
  [['https://a.example', 'https://b.example'], []],
])('%j → %j', (redirectUri, sources) => {
  expect(formTarget(redirectUri)).toEqual(sources);
});

test.each([
  ['http://127.0.0.1:4711/callback', true],
  ['http://[::1]:4711/callback', true],
  ['http://localhost/callback', true],
  ['http://LOCALHOST/callback', true],
  ['https://localhost.evil.example/callback', false],
  ['https://127.0.0.1@evil.example/callback', false],
  ['cursor://localhost/callback', false],
])('%s leads to loopback: %s', (redirectUri, expected) => {
  expect(isLoopback(new URL(redirectUri))).toBe(expected);
});
