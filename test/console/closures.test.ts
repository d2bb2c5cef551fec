import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

const LIST = '/console/calendar/closures';
let running: Running;
let harbour: Browser;
let union: Browser;
let brand: Browser;

beforeAll(async () => {
  running = await startDemo();
  const [first, second] = running.demo.communities;
  [harbour, union, brand] = [new Browser(running.url), new Browser(running.url), new Browser(running.url)];
  await Promise.all([harbour.signIn(first.user), union.signIn(second.user), brand.signIn(running.demo.brands[0].user)]);
});
afterAll(() => running.stop());

const textOf = ({ text }: Page) => text.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
const add = async (kind: string, fields: Readonly<Record<string, string | readonly string[]>>) =>
  harbour.send(await harbour.open(`${LIST}/new?kind=${kind}`), `${LIST}/new`, fields);

test('a closed time is added, shown with its days, and ended, by its community only', async () => {
  const added = await add('Closure', { title: 'Winter', from: inDays(300), to: inDays(302) });
  expect(added.flash).toContain('Closed time saved');
  expect(textOf(added)).toContain('Whole day');
  expect(textOf(await harbour.open(LIST))).toContain('Winter');
  expect((await union.open(added.url)).status).toBe(404);
  expect((await brand.open(LIST)).status).toBe(404);
  const day = await harbour.open(`/console/calendar/${inDays(301)}`);
  // A phone shows a list instead of the table.
  expect(day.text).toMatch(/class="in-list">00:00–24:00\s*<a href="[^"]*"><bdi[^>]*>Winter/);
  expect(day.text).toMatch(/class="shut">\s*<a class="why" href="[^"]*"><bdi[^>]*>Winter/);
  const ended = await harbour.send(added, /\/end$/);
  expect(ended.flash).toContain('Closed time ended');
  expect(textOf(ended)).not.toContain('Winter');
  expect((await harbour.send(added, /\/end$/)).flash).toContain('had ended already');
});

test('an own event repeats weekly on the day of the first one, and leaves out days that are not free', async () => {
  const space = String(running.demo.communities[0].spaces[0].id);
  const hours = { start: '18', until: '20', spaces: space };
  await add('OwnEvent', { ...hours, title: 'Fair', from: inDays(207) });
  const choir = await add('OwnEvent', { ...hours, title: 'Choir', from: inDays(200), to: inDays(214) });
  expect(choir.flash).toContain('2 days of spaces. 1 day left out');
  expect(textOf(choir)).toContain('Days left out');
  const taken = await add('OwnEvent', { ...hours, title: 'Late', from: inDays(200) });
  expect(taken.status).toBe(422);
  expect(taken.text).toContain('value="Late"');
});

test('errors are at their fields, and what was typed is kept', async () => {
  const refused = await add('Closure', { title: 'Twice', from: 'soon', start: '9', until: '9' });
  expect(refused.status).toBe(422);
  for (const field of ['from', 'until']) expect(refused.text).toContain(`id="${field}-error"`);
  expect(refused.text).toContain('value="Twice"');
  const past = await add('Closure', { from: inDays(-3) });
  expect(past.text).toContain('id="from-error"');
});

test('a form that takes long is answered before it is done', async () => {
  const add = vi.spyOn(running.service.core.commands.closures, 'add').mockReturnValue(new Promise(() => {}));
  const form = await harbour.open(`${LIST}/new`);
  const answer = await harbour.send(form, `${LIST}/new`, { title: 'Long', from: inDays(500), spaces: 'all' });
  add.mockRestore();
  expect(answer.flash).toContain('This takes a moment and goes on.');
}, 15_000);
