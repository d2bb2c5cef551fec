import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser } from '../browser.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let community: Browser;

beforeAll(async () => {
  running = await startDemo();
  community = new Browser(running.url);
  await community.signIn(running.demo.communities[0].user);
});
afterAll(() => running.stop());

const NOTICE = 'The page that this address asks for is not there any more. This is the first page.';

test.each([
  ['bookings', ['after=2026-02-30:1', 'before=x', 'when=all&after=2026-12-01']],
  ['charges', ['after=x', 'before=2026-12-01:']],
  ['reviews', ['before=x', 'after=-1']],
  ['inbox', ['after=1', 'sort=date&after=x:1']],
  ['webhooks/deliveries', ['before=yesterday&id=x', 'after=2026-13-01T10:00:00.000Z&id=x', 'q=1&skip=x']],
  ['history', ['before=x', 'after=0000000000000000', 'topic=keys&before=9999999999999999']],
])('a list of %s reports that an altered address has no page', async (list, altered) => {
  for (const query of altered) {
    const page = await community.open(`/console/${list}?${query}`);
    expect(page.status, query).toBe(200);
    expect(page.text, query).toContain(NOTICE);
  }
  expect((await community.open(`/console/${list}`)).text).not.toContain(NOTICE);
});

test.each([
  'bookings?after=2026-12-01:1',
  'charges?before=2026-12-01:1',
  'reviews?before=1',
  'inbox?after=2026-12-01T09:00:00.000Z_1',
])('a cursor that could have been issued gets no notice: %s', async (path) => {
  expect((await community.open(`/console/${path}`)).text).not.toContain(NOTICE);
});

test('a slash at the end of the address changes nothing', async () => {
  expect((await community.open('/console/')).url).toEqual((await community.open('/console')).url);
});
