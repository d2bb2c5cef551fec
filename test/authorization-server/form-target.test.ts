import { expect, test } from 'vitest';
import { formTarget } from '../../src/authorization-server/form-target.ts';

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
