import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

const PATH = '/console/people';
const password = 'correct horse battery';
let service: RunningService;
let account: Account;
let browser: Browser;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ service } = running);
  await running.listen();
  ({ account } = await service.brand());
  const add = (email: string) => service.core.users.add({ email, password, accounts: [account] }, BY_OPERATOR);
  const ada = accepted(await add('ada@example.com'));
  for (const email of ['müller@example.org', 'zoe@example.org']) {
    service.time.now += 1_000;
    await invite(email);
  }
  browser = new Browser(running.url);
  await browser.signIn({ email: ada.email, password });
});
afterAll(() => service.stop());

const invite = async (email: string) =>
  accepted(await service.core.invitations.invite({ account, role: 'Viewer', email }, undefined, BY_OPERATOR));

/** The addresses in the tables of a page, in order. */
const addressesOn = ({ text }: Page) =>
  [...text.matchAll(/<th scope="row".*?<bdi[^>]*>(.*?)<\/bdi>/gs)].map(([, address]) => address);

test('a few people are one list, without a search', async () => {
  const page = await browser.open(PATH);
  expect(addressesOn(page)).toEqual(['ada@example.com', 'müller@example.org', 'zoe@example.org']);
  expect(page.text).not.toMatch(/role="search"|class="pager"/);
});

test('many people have pages and a search', { timeout: 60_000 }, async () => {
  const names = Array.from({ length: 60 }, (_, index) => `m${String(index).padStart(2, '0')}@example.net`);
  for (const email of names)
    accepted(await service.core.users.add({ email, password, accounts: [account] }, BY_OPERATOR));
  const first = await browser.open(PATH);
  const members = ['ada@example.com', ...names];
  expect(addressesOn(first)).toEqual([...members.slice(0, 30), 'müller@example.org', 'zoe@example.org']);
  expect(first.text).toContain('Page 1 of 3');
  expect(addressesOn(await browser.open(`${PATH}?page=2`))).toEqual(members.slice(30, 60));
  for (const beyond of ['3', '99'])
    expect(addressesOn(await browser.open(`${PATH}?page=${beyond}`))).toEqual(members.slice(60));
  for (const wrong of ['0', '-1', 'x', '1.5'])
    expect(addressesOn(await browser.open(`${PATH}?page=${wrong}`))).toEqual(addressesOn(first));

  const search = async (text: string) => browser.open(`${PATH}?q=${encodeURIComponent(text)}`);
  expect(addressesOn(await search('M07'))).toEqual(['m07@example.net']);
  expect(addressesOn(await search('muller'))).toEqual(['müller@example.org']);
  expect(addressesOn(await search('example.org'))).toEqual(['müller@example.org', 'zoe@example.org']);
  const [many, none] = [await search('example.net'), await search('<b>missing')];
  expect(addressesOn(many)).toEqual(names.slice(0, 30));
  expect(many.text).toContain('href="/console/people?q=example.net&amp;page=2"');
  expect(none.text).toContain('Nothing found');
  expect(none.text).not.toContain('<b>missing');
  const long = await search('x'.repeat(1_000));
  expect(long.text).toMatch(/Search for at most \d+ characters/);
});
