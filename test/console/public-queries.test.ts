import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** What people without an account ask for in the address of a public page. */

const HALL = '/h/1-harbour-lofts/1-harbour-hall';

let running: Running;
let stranger: Browser;

beforeAll(async () => {
  running = await startDemo();
  stranger = new Browser(running.url);
});
afterAll(() => running.stop());

test.each([
  ['/rooms?guests=many', 'Guests', 'value="many"'],
  [`/rooms?date=${inDays(-3)}`, 'Choose today or a later date.', 'Find a room'],
  ['/rooms?month=2020-01', 'Instead of dates', 'Find a room'],
  ['/rooms?max=cheap', 'Maximum price', 'value="cheap"'],
  ['/rooms?weekday=Saturday', 'Choose a month for this day of the week.', 'Find a room'],
  ['/rooms?sort=distance', 'To sort by distance', 'Find a room'],
  ['/rooms?amenity=Helipad', 'Choose amenities of the list.', 'Find a room'],
  ['/rooms/compare?space=1&space=2&space=3&space=4&space=5', 'Compare at most 4 spaces.', 'Compare rooms'],
  ['/rooms/compare?space=1&space=999', '1 space of this address cannot be found.', 'Nothing to compare yet'],
  [`${HALL}?month=May`, '“May” is not a month such as 2026-11.', 'Ask for this room'],
  ['/embed/1?month=May', '“May” is not a month such as 2026-11.', 'Harbour Hall'],
])('%s is answered with 422, the problem, and the page', async (path, problem, rest) => {
  const page = await stranger.open(path);
  expect([page.status, page.title.startsWith('Error: ')]).toEqual([422, true]);
  expect(page.text).toContain('role="alert"');
  expect(page.text).toContain(problem);
  expect(page.text).toContain(rest);
  // What is wrong now may be right later.
  expect(page.headers.get('cache-control')).toBe('no-store');
});

test.each(['/rooms', '/rooms?guests=40', '/rooms/compare', '/rooms/compare?space=1&space=2', HALL, '/embed/1'])(
  '%s is answered with 200',
  async (path) => {
    const page = await stranger.open(path);
    expect([page.status, page.title.startsWith('Error: ')]).toEqual([200, false]);
    expect(page.text).not.toContain('role="alert"');
  },
);
