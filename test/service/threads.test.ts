import { createServer } from 'node:http';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { temporaryDataDir } from './service-process.ts';

/** A service in this process with a writer, and a receiver of its webhooks. */
async function startThreaded(dataDir = temporaryDataDir()) {
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
  const config = readConfig({
    PORT: String(await freePort()),
    DATA_DIR: dataDir,
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'silent',
  });
  const service = await startService(config, logger, { withWriter: true });
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
  return { service, received, lines, call, spaceId: space.id };
}

/** A booking, or a list of them. */
type Body = readonly { readonly id: number }[] & { readonly id: number };

test('the writer restarts when it dies, and its work is completed', { timeout: 120_000 }, async () => {
  const { service, received, lines, call, spaceId } = await startThreaded();
  const { writer } = service.core;
  const booked: number[] = [];
  for (let i = 0; i < 3; i += 1) {
    const before = writer?.running();
    expect(before).toBeDefined();
    const booking = call('POST', '/bookings', { spaceId, startTime: inDays(200 + i), startHour: 10 });
    await before?.terminate();
    const { status, body } = await booking;
    expect(status).toBe(201);
    booked.push(body.id);
    await eventually(() => {
      expect(writer?.running()).toBeDefined();
      expect(writer?.running()).not.toBe(before);
    });
  }
  await eventually(async () => {
    const { body } = await call('GET', '/bookings');
    expect(body.map(({ id }) => id)).toEqual(expect.arrayContaining(booked));
  });
  await eventually(() => {
    const delivered = new Set(received.map((body) => JSON.parse(body).data.bookingId));
    expect([...delivered]).toEqual(expect.arrayContaining(booked));
  });
  expect(lines.filter(({ msg }) => msg === 'The thread writer has ended; starting it again')).toHaveLength(3);
});
