import { expect, test } from 'vitest';
import { atPort, hostOf, inDatabase, tlsOf } from './server-url.ts';

const SET = 'mongodb://ada:s%3Acret@a.example:27018,b.example/venue?replicaSet=rs0&tls=true';

test('a URL for another database of the server keeps the credentials, their authSource and the options', () => {
  expect(inDatabase('mongodb://127.0.0.1:9', 'x')).toBe('mongodb://127.0.0.1:9/x');
  expect(inDatabase('mongodb://127.0.0.1:9/?directConnection=true', 'x')).toBe(
    'mongodb://127.0.0.1:9/x?directConnection=true',
  );
  expect(inDatabase('mongodb://ada:secret@127.0.0.1', 'x')).toBe('mongodb://ada:secret@127.0.0.1/x?authSource=admin');
  expect(inDatabase(SET, 'x')).toBe(
    'mongodb://ada:s%3Acret@a.example:27018,b.example/x?replicaSet=rs0&tls=true&authSource=venue',
  );
  expect(inDatabase('mongodb+srv://ada:secret@c.example/y?authSource=z', 'x')).toBe(
    'mongodb+srv://ada:secret@c.example/x?authSource=z',
  );
});

test('a URL for a proxy to the server keeps everything except the members of the replica set and TLS', () => {
  expect(hostOf(SET)).toEqual({ hostname: 'a.example', port: 27_018 });
  expect(hostOf('mongodb://a.example')).toEqual({ hostname: 'a.example', port: 27_017 });
  expect(atPort(inDatabase('mongodb://ada:s@a,b/?replicaSet=rs0&tls=true&tlsAllowInvalidHostnames=true', 'x'), 9)).toBe(
    'mongodb://ada:s@127.0.0.1:9/x?authSource=admin&directConnection=true',
  );
});

test('a proxy to a server with TLS trusts what the URL trusts', () => {
  expect(tlsOf('mongodb://a')).toBeUndefined();
  expect(tlsOf(SET)).toEqual({});
  expect(tlsOf(`${SET}&tlsAllowInvalidCertificates=true`)).toEqual({ rejectUnauthorized: false });
});
