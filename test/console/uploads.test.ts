import { randomBytes } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { registerUploads } from '../../src/console/uploads.ts';

let app: FastifyInstance;
beforeAll(async () => {
  app = Fastify();
  registerUploads(app);
  app.post('/', async ({ body }) => {
    const fields = Object.entries(Object(body)).map(([name, value]) => [name, ArrayBuffer.isView(value) || value]);
    return Object.fromEntries(fields);
  });
  app.post<{ Body: { readonly file: Uint8Array } }>('/bytes', async ({ body }) => Buffer.from(body.file));
  await app.ready();
});
afterAll(() => app.close());

const part = (name: string, value: string, headers = '') =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${headers}\r\n\r\n${value}\r\n`;
const post = async (payload: string, type = 'multipart/form-data; boundary=b') => {
  const answer = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload });
  return { status: answer.statusCode, fields: answer.json() };
};
const FILE = part('file', 'date,start', '; filename="a.csv"');

test('reads the fields and the file of a form', async () => {
  const form = `${part('csrf', 'x')}${FILE}${part('s', '1')}${part('s', '2')}--b--\r\n`;
  for (const type of ['multipart/form-data; boundary=b', 'multipart/form-data; charset=utf-8; boundary="b"'])
    expect(await post(form, type)).toEqual({ status: 200, fields: { csrf: 'x', file: true, s: ['1', '2'] } });
});

test.each([
  ['15,000 parts', `${part('a', '').repeat(15_000)}--b--\r\n`],
  ['more parts than our forms have', `${part('a', '').repeat(40)}--b--\r\n`],
  ['delimiters alone', `${'--b'.repeat(100_000)}`],
  ['a header of a megabyte', part('a', '', `; filename="${'x'.repeat(1_000_000)}"`)],
  ['many headers', part('a', '', '\r\nx: y'.repeat(10_000))],
  ['a file that is cut off', FILE],
  ['a header that is cut off', `${FILE}--b\r\nContent-Disp`],
  ['no part', 'nothing'],
  ['no body', ''],
])('refuses a form of %s', async (_, form) => {
  expect((await post(form)).status).toBe(400);
});

test.each([
  'multipart/form-data',
  'multipart/form-data; boundary=',
  `multipart/form-data; boundary=${'b'.repeat(71)}`,
  'multipart/form-data; boundary="a b"',
])('refuses a form whose type is %s', async (type) => {
  expect((await post(`${FILE}--b--\r\n`, type)).status).toBe(400);
});

test('counts the parts by the boundary that they are read by', async () => {
  const many = `${part('a', '').repeat(100)}--b--\r\n`;
  const types = ['x="; boundary=z; "; boundary=b', 'boundary=b; boundary=z', 'Boundary=b', 'x=\\"; boundary="b"'];
  for (const type of types)
    expect((await post(`--z\r\n\r\n${many}--z--\r\n`, `multipart/form-data; ${type}`)).status).toBe(400);
});

test('a file keeps its bytes, whatever they are', async () => {
  const bytes = Buffer.concat([Buffer.from('\r\n--'), randomBytes(900_000), Buffer.from('\r\n-')]);
  const head = '--longer-boundary\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n';
  const payload = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--longer-boundary--\r\n')]);
  const headers = { 'content-type': 'multipart/form-data; boundary=longer-boundary' };
  const answer = await app.inject({ method: 'POST', url: '/bytes', headers, payload });
  expect(answer.rawPayload.equals(bytes)).toBe(true);
});
