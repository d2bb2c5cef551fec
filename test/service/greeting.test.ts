import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { startNode } from './node-process.ts';
import { temporaryDataDir } from './service-process.ts';

async function greetingOf(ROLES: string, settings = {}): Promise<string> {
  const env = { DATA_DIR: temporaryDataDir(), DEMO: 'false', LOG_LEVEL: 'silent', ROLES, ...settings };
  const service = await startNode('src/main.js', /Venue Booking Service.*\n\n/s, env);
  onTestFinished(async () => void (await service.end('SIGKILL')));
  return service.output.stdout;
}

test('a process prints its URL, and commands as they can be typed where npm did not start it', async () => {
  const greeting = await greetingOf('api,projector');
  expect(greeting).toMatch(/^\n {2}Venue Booking Service on http:\/\/localhost:\d+\n/);
  expect(greeting).toContain('\n  venue community add ');
});

test('a process without the role api prints no URL', async () => {
  expect(await greetingOf('projector,webhooks')).toBe(
    '\n  Venue Booking Service: projector, webhooks. Nothing listens here, because ROLES lacks api.\n\n',
  );
  const METRICS_PORT = String(await freePort());
  expect(await greetingOf('projector', { METRICS_PORT })).toBe(
    `\n  Venue Booking Service: projector. Only http://127.0.0.1:${METRICS_PORT}/metrics listens here, because ROLES lacks api.\n\n`,
  );
});
