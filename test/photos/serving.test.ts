import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runServiceAt } from '../running-service.fixture.ts';

const NAME = 'ab'.repeat(32);
const LARGE = Buffer.alloc(48 * 1024 * 1024, 'photo');

let running: Awaited<ReturnType<typeof runServiceAt>>;
beforeAll(async () => {
  running = await runServiceAt();
  const sizes = new Map([
    [400, Buffer.from('small')],
    [800, Buffer.from('medium')],
    [1_600, LARGE],
  ] as const);
  await running.service.core.photos.store(NAME, { width: 1_600, height: 900, sizes });
  await running.listen();
});
afterAll(() => running.service.stop());

/** Counts the parts that are read for answers. */
function countParts() {
  const { photos } = running.service.core;
  const counted = { parts: 0 };
  const { read } = photos;
  vi.spyOn(photos, 'read').mockImplementation(async function* (size) {
    for await (const part of read(size)) {
      counted.parts += 1;
      yield part;
    }
  });
  return counted;
}

const open = (size: number) => {
  const { port } = new URL(running.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET /photos/${NAME}/${size}.webp HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
};

test('a large photo arrives whole, in many parts', async () => {
  const answer = await fetch(`${running.url}/photos/${NAME}/1600.webp`);
  expect(Buffer.from(await answer.arrayBuffer()).equals(LARGE)).toBe(true);
});

test('a client that does not read takes no more than the connection holds, and one that is gone nothing', async () => {
  const counted = countParts();
  const sockets = Array.from({ length: 4 }, () => open(1_600));
  await Promise.all(sockets.map((socket) => once(socket, 'readable')));
  await vi.waitFor(async () => {
    const before = counted.parts;
    await sleep(300);
    expect(counted.parts).toBe(before);
  }, 10_000);
  // Some megabytes each are in the buffers of the kernel.
  expect(counted.parts).toBeLessThan((4 * LARGE.length) / (64 * 1024) / 4);
  const held = counted.parts;
  for (const socket of sockets) socket.destroy();
  await sleep(300);
  expect(counted.parts - held).toBeLessThan(8);
  vi.restoreAllMocks();
});

test('photos that are not read do not hold up lists', async () => {
  const sockets = Array.from({ length: 70 }, () => open(1_600));
  await sleep(200);
  const { service } = running;
  const harbour = await service.community();
  const answer = await fetch(`${running.url}/api/v1/spaces`, { headers: { authorization: `Bearer ${harbour.key}` } });
  expect(answer.status).toBe(200);
  for (const socket of sockets) socket.destroy();
});
