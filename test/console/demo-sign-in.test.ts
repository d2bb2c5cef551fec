import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { freePort } from '../free-port.ts';
import { type Running, startDemo } from './console.fixture.ts';

const OFFER = 'Demo data';

const running: Pick<Running, 'stop'>[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const one of running.splice(0)) await one.stop();
});

async function demoWith(env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const started = await startDemo(env);
  running.push(started);
  return started;
}

/** The sign-in page, also if its public address is another one. */
async function signInPage(url: string, headers?: Readonly<Record<string, string>>): Promise<Page> {
  const browser = new Browser(url, headers);
  let page = await browser.open('/console');
  for (let hops = 0; page.text === '' && hops < 5; hops += 1)
    page = await browser.open(`${url}${page.url.pathname}${page.url.search}`);
  expect(page.title).toContain('Sign in');
  return page;
}

/** Presses a button of the demo data. */
async function continueAs(browser: Browser, name: string): Promise<Page> {
  const page = await browser.open('/console');
  const forms = page.text.match(/<form method="post" action="[^"]*".*?<\/form>/gs) ?? [];
  const form = forms.find((each) => each.includes(`Continue as <bdi>${name}</bdi>`)) ?? '';
  const [, action = ''] = /action="([^"]*)"/.exec(form) ?? [];
  const fields = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
  const body = new URLSearchParams(fields.map(([, field = '', value = '']) => [field, value]));
  const answer = await browser.request(action, { method: 'POST', body });
  return answer.location === undefined ? answer : browser.open(answer.location);
}

test('a button signs in as a community, and one as a brand', async () => {
  const { url, demo, service } = await demoWith();
  const page = await signInPage(url);
  expect(page.text).toContain(`<code>${join(service.core.config.dataDir, 'demo.json')}</code>`);
  expect(page.url.href).not.toContain('password');
  const [harbour] = demo.communities;
  expect((await continueAs(new Browser(url), harbour.name)).text).toContain(harbour.user.email);
  const [northwind] = demo.brands;
  expect((await continueAs(new Browser(url), northwind.name)).text).toContain(northwind.user.email);

  // After a change of the password, the page says what it says of every wrong one.
  const { users } = service.core;
  const { id = '' } = (await users.byEmail(northwind.user.email)) ?? {};
  accepted(await users.changePassword(id, 'another long password', BY_OPERATOR));
  const refused = await continueAs(new Browser(url), northwind.name);
  expect([refused.status, refused.flash]).toEqual([422, 'Wrong e-mail or password.']);
});

test('the sign-ins are offered by a service for this machine alone, to its browsers, and not in production', async () => {
  const { url } = await demoWith();
  expect((await signInPage(url)).text).toContain(OFFER);
  for (const header of ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'])
    expect((await signInPage(url, { [header]: '192.0.2.1' })).text, header).not.toContain(OFFER);
  expect((await signInPage((await demoWith({ HOST: '0.0.0.0' })).url)).text).not.toContain(OFFER);
  const port = String(await freePort());
  const open = await demoWith({ PORT: port, PUBLIC_URL: `http://venue.example:${port}` });
  expect((await signInPage(`http://localhost:${port}`)).text).not.toContain(OFFER);
  expect(open.demo.communities).toHaveLength(2);
  vi.stubEnv('NODE_ENV', 'production');
  expect((await signInPage((await demoWith()).url)).text).not.toContain(OFFER);
});

test('a store without the demo data offers no sign-ins, also if a file of another store is in its folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-no-demo-'));
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const settings = { PORT: String(port), PUBLIC_URL: url, LOG_LEVEL: 'error', DATA_DIR: folder };
  const start = (DEMO: string) => startService(readConfig({ ...settings, DEMO }), pino({ level: 'error' }));
  const empty = await start('false');
  await empty.core.commands.catalogue.addCommunity({ name: 'House', timeZone: 'UTC' }, BY_OPERATOR);
  expect((await signInPage(url)).text).not.toContain(OFFER);
  await empty.stop();

  const user = { email: 'ada@example.com', password: 'a long password' };
  const brand = { id: 1, name: 'Acme', apiKey: 'vbs_live_x', user };
  await writeFile(join(folder, 'demo.json'), JSON.stringify({ communities: [], brands: [brand] }));
  const other = await start('true');
  running.push({
    async stop() {
      await other.stop();
      await rm(folder, { recursive: true, force: true });
    },
  });
  expect(other.demo).toBeUndefined();
  expect((await signInPage(url)).text).not.toContain(OFFER);
});
