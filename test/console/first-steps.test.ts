import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';

const LOGIN = { email: 'first@example.com', password: 'long enough 1' };
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

let folder: string;
let url: string;
let service: Service;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-first-steps-'));
  const port = await freePort();
  url = `http://localhost:${port}`;
  const settings = { PORT: String(port), PUBLIC_URL: url, LOG_LEVEL: 'error', DEMO: 'false', DATA_DIR: folder };
  const config = readConfig(settings);
  service = await startService(config, pino({ level: config.logLevel }));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

test('the sign-in page explains how to create the first account until a user exists', async () => {
  const browser = new Browser(url);
  const empty = await browser.open('/console');
  expect(empty.text).toContain('There is no account yet');
  expect(empty.text).toContain('venue user add --email you@example.com --community 1');
  expect((await browser.send(empty, /sign-in$/, LOGIN)).text).toContain('Wrong e-mail or password.');

  const community = accepted(
    await service.core.commands.catalogue.addCommunity({ name: 'New Yard', timeZone: 'Europe/Berlin' }, CONTEXT),
  );
  const account = { kind: 'Community', id: community.communityId } as const;
  accepted(await service.core.users.add({ ...LOGIN, accounts: [account] }, BY_OPERATOR));
  expect((await browser.open('/console')).text).not.toContain('There is no account yet');
});

test('signing in opens the form for the first space, and once there is one, the overview', async () => {
  const browser = new Browser(url);
  const first = await browser.signIn(LOGIN);
  expect(first.url.pathname).toBe('/console/spaces/new');
  expect(first.title).toContain('Add your first space');
  const typed = {
    name: 'Yard',
    windowStart: '9',
    windowEnd: '22',
    durationHours: '4',
    eventFee: '100',
    answerHours: '72',
  };
  await browser.send(first, '/console/spaces/new', typed);
  await eventually(async () => expect((await browser.open('/console')).url.pathname).toBe('/console/overview'));
  const second = await browser.open('/console/spaces/new');
  expect(second.text).toContain('<h1>Add a space</h1>');
});
