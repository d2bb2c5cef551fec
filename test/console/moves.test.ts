import { afterAll, beforeAll, expect, test } from 'vitest';
import { termsOn } from '../../src/domain/day-terms.ts';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import type { Space } from '../../src/domain/space.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let manager: Browser;
let brand: Browser;

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;

beforeAll(async () => {
  running = await startDemo({ ROLES: 'api,projector' });
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  [manager, brand] = [new Browser(running.url), new Browser(running.url)];
  await manager.signIn(harbour.user);
  await brand.signIn(northwind.user);
});
afterAll(() => running.stop());

let days = 60;
const freshDate = (): PlainDate => {
  days += 1;
  return inDays(days);
};

async function requested(by = brandId(1)): Promise<number> {
  const details = { spaceId: spaceId(1), date: freshDate(), startHour: 10 };
  return accepted(await running.service.core.commands.bookings.request({ brandId: by, details }, CONTEXT)).bookingId;
}
const bookingOf = (id: number) => running.service.core.queries.bookings.get(HARBOUR, id);
const ask = async (browser: Browser, id: number, fields: Record<string, string>) =>
  browser.send(await browser.open(`/console/bookings/${id}/move`), `/console/bookings/${id}/move`, fields);
const answer = async (browser: Browser, id: number, path: string, word: 'accept' | 'no') =>
  browser.send(await browser.open(path), `/console/bookings/${id}/move/answer`, { answer: word });

test('a community proposes other hours for a request, and the brand accepts them with one click', async () => {
  const id = await requested();
  const date = freshDate();
  const asked = await ask(manager, id, { date, startHour: '12', reason: 'Not Saturday' });
  expect(asked.text).toContain('keeps its hours until the move is accepted');
  expect(asked.text).toContain('Withdraw');
  const list = await brand.open('/console/bookings');
  expect(list.text).toContain('Moves to answer');
  const after = await answer(brand, id, `/console/bookings/${id}`, 'accept');
  expect(after.text).toContain('12:00');
  expect(await bookingOf(id)).toMatchObject({ status: 'Approved', date, startHour: 12 });
  expect(after.text).toContain('Moved');
  expect(after.text).toContain('Not Saturday');
});

test('a move to a dearer room shows the difference, and asks for nothing before a price is chosen', async () => {
  const id = await requested();
  const booking = await bookingOf(id);
  const spaces = await running.service.core.queries.spaces.list(HARBOUR);
  const date = freshDate();
  const feeThere = (space: Space) => termsOn(space, date).eventFee;
  const other = spaces.find((space) => space.spaceId !== 1 && feeThere(space) !== booking?.eventFee) ?? expect.fail();
  const fields = { space: String(other.spaceId), date, startHour: '12', reason: 'The hall is broken' };
  const first = await ask(manager, id, fields);
  expect(first.text).toContain('It costs another price there. Choose one.');
  expect(first.text).toMatch(/The price there:.* (more|less) than now/);
  expect(first.text).toContain('The hall is broken');
  expect((await bookingOf(id))?.move).toBeUndefined();
  // What was chosen for one room is not taken for another.
  const path = `/console/bookings/${id}/move`;
  const stale = await manager.send(first, path, { ...fields, price: 'new', seenFee: '1' });
  expect(stale.text).toContain('Choose one.');
  const asked = await manager.send(stale, path, { ...fields, price: 'new' });
  expect(asked.text).toMatch(/It then costs .* than now/);
  const taken = await answer(brand, id, `/console/bookings/${id}`, 'accept');
  const after = await bookingOf(id);
  expect(after).toMatchObject({ status: 'Approved', eventFee: feeThere(other), charge: after?.totalPrice });
  expect(taken.text).toContain('Moved');
});

test('a community declines a move in its list of requests, and the booking stays', async () => {
  const id = await requested();
  const before = await bookingOf(id);
  await ask(brand, id, { date: freshDate(), startHour: '12' });
  expect((await manager.open('/console/inbox')).text).toContain('Moves to answer');
  const after = await answer(manager, id, '/console/inbox', 'no');
  expect(after.text).toContain('The booking stays where it is.');
  expect(after.text).not.toContain('Moves to answer');
  const now = await bookingOf(id);
  expect([now?.date, now?.startHour, now?.move]).toEqual([before?.date, before?.startHour, undefined]);
});

test('a form with a day, hour or space that cannot be taken keeps what was typed and says why', async () => {
  const id = await requested();
  const date = (await bookingOf(id))?.date ?? '';
  const wrong = async (fields: Record<string, string>) => (await ask(brand, id, fields)).text;
  expect(await wrong({ date, startHour: '10' })).toContain('in this space at this time already');
  expect(await wrong({ date: 'soon', startHour: '12' })).toContain('Write a date');
  expect(await wrong({ date: '2020-01-01', startHour: '12' })).toContain('in the past');
  expect(await wrong({ date, startHour: '3' })).toContain('outside the window');
  expect((await bookingOf(id))?.move).toBeUndefined();
});

test('an answer to a move that was replaced changes nothing', async () => {
  const id = await requested();
  await ask(brand, id, { date: freshDate(), startHour: '12' });
  const open = await manager.open(`/console/bookings/${id}`);
  const other = freshDate();
  await ask(brand, id, { date: other, startHour: '13' });
  const late = await manager.send(open, `/console/bookings/${id}/move/answer`, { answer: 'accept' });
  expect(late.text).toContain('does not wait for an answer any more');
  expect(await bookingOf(id)).toMatchObject({ status: 'Pending', move: { to: { date: other } } });
});

test('a booking of a customer that the community looks after moves at once', async () => {
  const { commands } = running.service.core;
  const customer = accepted(await commands.customers.add({ communityId: HARBOUR.id, name: 'Choir' }, CONTEXT));
  const details = { spaceId: spaceId(1), date: freshDate(), startHour: 10 };
  const entry = { enteredBy: HARBOUR.id, brandId: customer.brandId, details, entry: {} };
  const { bookingId } = accepted(await commands.bookings.enter(entry, CONTEXT));
  const date = freshDate();
  const moved = await ask(manager, bookingId, { date, startHour: '11' });
  expect(moved.text).toContain('now.');
  expect(await bookingOf(bookingId)).toMatchObject({ status: 'Approved', date, startHour: 11 });
});

test('a move that waits does not hide why a request could not be approved', async () => {
  const { catalogue, admissions, moves } = running.service.core.commands;
  const newcomer = { kind: 'Brand', id: await catalogue.nextBrandId() } as const;
  await catalogue.addBrandOf({ brandId: newcomer.id, name: 'Newcomer' }, CONTEXT);
  await admissions.changeNewBrands({ communityId: HARBOUR.id, newBrands: 'wait' }, CONTEXT);
  const id = await requested(newcomer.id);
  accepted(
    await moves.move(
      { bookingId: (await bookingOf(id))?.bookingId ?? expect.fail(), by: newcomer, to: { date: freshDate() } },
      CONTEXT,
    ),
  );
  const inbox = await manager.open('/console/inbox');
  const token = /name="csrf" value="([^"]+)"/.exec(inbox.text)?.[1] ?? '';
  const body = new URLSearchParams({ csrf: token, list: '', id: String(id) });
  const refused = await manager.post('/console/inbox/approve', body);
  expect(refused.flash).toContain('The brand is new to the community.');
});
