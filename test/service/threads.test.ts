import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type Service, startService, type Threads } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { startRoleThread } from '../../src/role-threads.ts';
import type { KeptThread } from '../../src/runtime/kept-thread.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { temporaryDataDir } from './service-process.ts';

/** A service in this process whose roles run in threads, and a receiver of its webhooks. */
async function startThreaded(together: boolean) {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      received.push(body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const lines: { readonly msg: string; readonly level: number }[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const threads = new Map<string, KeptThread>();
  const config = readConfig({
    PORT: String(await freePort()),
    DATA_DIR: temporaryDataDir(),
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'silent',
  });
  const begunWithDemo: boolean[] = [];
  const start: Threads['start'] = (of, _, roles, ...shared) => {
    const thread = startRoleThread(of, logger, roles, ...shared);
    threads.set([...roles].join(), thread);
    const begin = () => {
      begunWithDemo.push(existsSync(join(config.dataDir, 'demo.json')));
      return thread.begin();
    };
    return { ...thread, begin };
  };
  const service: Service = await startService(config, logger, { start, together });
  onTestFinished(async () => {
    await service.stop();
    receiver.close();
  });
  const brand = service.demo?.brands[0];
  const space = service.demo?.communities[0]?.spaces[0];
  if (brand === undefined || space === undefined) throw new Error('There is no demo data');
  const address = receiver.address();
  if (typeof address !== 'object' || address === null) throw new Error('The receiver does not listen');
  const call = async (method: string, path: string, sent?: object) => {
    const response = await fetch(`http://127.0.0.1:${config.port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${brand.apiKey}`, 'content-type': 'application/json' },
      ...(sent && { body: JSON.stringify(sent) }),
    });
    const body: Body = JSON.parse(await response.text());
    return { status: response.status, body };
  };
  const url = `http://127.0.0.1:${address.port}/hook`;
  const registered = await call('POST', '/webhooks', { url, events: 15 });
  expect(registered.status).toBe(201);
  return { service, threads, begunWithDemo, received, lines, call, spaceId: space.id };
}

/** A booking, or a list of them. */
type Body = readonly { readonly id: number }[] & { readonly id: number };

const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

const SHARED = [
  { together: false, names: ['projector', 'scheduler,webhooks'] },
  { together: true, names: ['projector,scheduler,webhooks'] },
];

test.each(SHARED)(
  'a thread that dies is started again, and what it was doing is done: $names',
  {
    timeout: 120_000,
  },
  async ({ together, names }) => {
    const { threads, begunWithDemo, received, lines, call, spaceId } = await startThreaded(together);
    expect([...threads.keys()]).toEqual(names);
    // The scheduler would let requests of the demo data expire that are approved a moment later.
    expect(begunWithDemo).toEqual(names.map(() => true));
    const booked: number[] = [];
    for (const [i, thread] of [...threads.values(), ...threads.values()].entries()) {
      const before = thread.running();
      expect(before).toBeDefined();
      const booking = call('POST', '/bookings', { spaceId, startTime: dayIn(200 + i), startHour: 10 });
      await before?.terminate();
      const { status, body } = await booking;
      expect(status).toBe(201);
      booked.push(body.id);
      await eventually(() => expect(thread.running()).not.toBe(before));
    }
    await eventually(async () => {
      const { body } = await call('GET', '/bookings');
      expect(body.map(({ id }) => id)).toEqual(expect.arrayContaining(booked));
    });
    await eventually(() => {
      const delivered = new Set(received.map((body) => JSON.parse(body).data.bookingId));
      expect([...delivered]).toEqual(expect.arrayContaining(booked));
    });
    const named = lines.filter(({ msg }) => /^The thread .* has ended; starting it again$/.test(msg));
    expect(named).toHaveLength(2 * names.length);
  },
);
