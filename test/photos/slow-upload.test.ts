import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { photosIn } from '../../src/domain/photos.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { type Running, startDemo } from '../console/console.fixture.ts';
import { grain } from './pictures.ts';

let running: Running;
let harbour: Browser;
beforeAll(async () => {
  running = await startDemo();
  harbour = new Browser(running.url);
  await harbour.signIn(running.demo.communities[0].user);
});
afterAll(() => running.stop());

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

test('a photo that takes longer to arrive than a page may take is added', async () => {
  const of = { kind: 'space', id: running.demo.communities[0].spaces[0].id } as const;
  const { commands, queries } = running.service.core;
  accepted(await commands.photos.arrange(of, { arrange: [] }, CONTEXT));
  const path = `/console/spaces/${of.id}/photos`;
  const page = await harbour.open(path);
  const { target, body } = page.form(path);
  const form = new FormData();
  for (const [name, value] of body) form.append(name, value);
  form.set('photo', new Blob([new Uint8Array(await grain(800, 600).jpeg().toBuffer())]), 'hall.jpg');
  const sent = new Response(form);
  const bytes = Buffer.from(await sent.arrayBuffer());
  const slowly = async function* () {
    for (let part = 0; part < 12; part += 1) {
      yield bytes.subarray((part * bytes.length) / 12, ((part + 1) * bytes.length) / 12);
      await sleep(1_000);
    }
  };
  const answer = await fetch(target, {
    method: 'POST',
    redirect: 'manual',
    duplex: 'half',
    body: Readable.toWeb(Readable.from(slowly())) as ReadableStream,
    headers: {
      'content-type': sent.headers.get('content-type') ?? '',
      'content-length': String(bytes.length),
      origin: running.url,
      cookie: harbour.cookiesFor(target),
    },
  });
  expect(answer.status).toBe(303);
  expect(photosIn(await queries.photos.listOf(of))).toHaveLength(1);
}, 40_000);
