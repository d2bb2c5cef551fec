import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { WEEKDAYS, weekdayOf } from '../../src/domain/calendar.ts';
import { communityId } from '../../src/domain/ids.ts';
import { subjectOfUser } from '../../src/domain/personal-text.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

const LIST = '/console/calendar/closures';
const FILES = { name: 'consoleFiles', kind: 'record', indexes: [] } as const;
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
  expect(day.text).toMatch(/class="shut">\s*<a class="why" href="[^"]*"><bdi[^>]*>Winter/);
  const ended = await harbour.send(added, /\/end$/);
  expect(ended.flash).toContain('Closed time ended');
  expect(textOf(ended)).not.toContain('Winter');
  expect((await harbour.send(added, /\/end$/)).flash).toContain('had ended already');
});

test('the state counts a date once, however many spaces are closed', async () => {
  const added = await add('Closure', { title: 'Stocktaking', from: inDays(310), to: inDays(311), spaces: 'all' });
  expect(textOf(added)).toContain('All 2 spaces State 2 days ');
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

test('one date of a weekly own event is left out for good, and the last one ends it', async () => {
  const [first, second] = running.demo.communities[0].spaces.map(({ id }) => String(id));
  const range = { from: inDays(600), to: inDays(614), start: '18', until: '20', spaces: [first ?? '', second ?? ''] };
  const drill = await add('OwnEvent', { ...range, title: 'Drill' });
  expect(textOf(drill)).toContain('State 3 days ');
  const leaveOut = async (date: string) => harbour.send(await harbour.open(drill.url), /\/leave-out$/, { date });
  const shownOn = async (days: number) =>
    textOf(await harbour.open(`/console/calendar/${inDays(days)}`)).includes('Drill 18:00–20:00');
  expect(await shownOn(607)).toBe(true);

  for (const [date, problem] of [
    ['soon', /Write a date such as/],
    [inDays(608), /must be one of its dates/],
    [inDays(-1), /must be today/],
  ] as const) {
    const refused = await leaveOut(date);
    expect(refused.status).toBe(422);
    expect(/id="date-error".*/s.exec(refused.text)?.[0]).toMatch(problem);
  }
  expect((await leaveOut(inDays(607))).flash).toContain('left out. Its hours can be booked again.');
  expect([await shownOn(600), await shownOn(607), await shownOn(614)]).toEqual([true, false, true]);
  const [entry = ''] =
    /<tr>.*?<\/tr>/s.exec((await harbour.open('/console/history')).text.split('<tbody>')[1] ?? '') ?? [];
  expect(entry).toMatch(/Own event has one date less.*harbour@demo.example/s);
  // Once more changes nothing.
  const again = await leaveOut(inDays(607));
  expect(textOf(again)).toContain('State 4 days of spaces, 2 left out');
  expect((await add('OwnEvent', { ...range, title: 'Fair', from: inDays(607), to: inDays(607) })).flash).toContain(
    'saved',
  );
  expect((await union.open(drill.url)).status).toBe(404);

  await leaveOut(inDays(600));
  const last = await leaveOut(inDays(614));
  expect(last.flash).toContain('It had no other date. Own event ended.');
  expect(textOf(await harbour.open(drill.url))).toContain('State Ended');
});

test('hours and title are changed on all dates or on one, and days that cannot have them stay as they were', async () => {
  const [first, second] = running.demo.communities[0].spaces.map(({ id }) => String(id));
  const range = { from: inDays(700), to: inDays(714), start: '18', until: '20', spaces: [first ?? '', second ?? ''] };
  const yoga = await add('OwnEvent', { ...range, title: 'Yoga' });
  await add('OwnEvent', { from: inDays(714), start: '16', until: '18', spaces: [first ?? ''], title: 'Fair' });
  const change = async (page: Page, fields: Readonly<Record<string, string>>) =>
    harbour.send(await harbour.open(`${page.url}/change`), /\/change$/, { start: '18', until: '20', ...fields });
  const form = await harbour.open(`${yoga.url}/change`);
  expect(form.text).toContain('value="Yoga"');
  expect(form.text).toMatch(/<option value="18" selected>/);

  for (const [fields, field, problem] of [
    [{ start: '20' }, 'until', /must end after it begins/],
    [{ date: 'soon', start: '9' }, 'date', /Write a date such as/],
    [{ date: inDays(701), start: '9' }, 'date', /must be one of its dates/],
  ] as const) {
    const refused = await change(yoga, fields);
    expect([refused.status, refused.text]).toEqual([422, expect.stringMatching(new RegExp(`id="${field}-error"`))]);
    expect(refused.text).toMatch(problem);
  }
  expect((await change(yoga, {})).flash).toBe('It is like this already. Nothing has changed.');
  const late = await change(yoga, { date: inDays(707), start: '20', until: '22', title: 'Late yoga' });
  expect(late.flash).toContain('Changed: 2 days of spaces.');
  expect(textOf(late)).toMatch(/Late yoga.*20:00–22:00.*Some days stay as they were before the change/);
  const early = await change(yoga, { start: '17' });
  expect(early.flash).toContain('Changed: 3 days of spaces. 1 day stays as before');
  expect(textOf(await harbour.open(`/console/calendar/${inDays(700)}`))).toContain('Yoga 17:00–20:00');
  expect(textOf(await harbour.open(`/console/calendar/${inDays(714)}`))).toContain('Yoga 18:00–20:00');
  // Sent again by its page, the form has the answer that it had.
  const again = await harbour.open(`${late.url}/change`);
  const evening = { title: 'Evening yoga', start: '20', until: '22' };
  const renamed = await harbour.send(again, /\/change$/, evening);
  expect((await harbour.send(again, /\/change$/, evening)).url.href).toBe(renamed.url.href);
  expect(textOf(await harbour.open(late.url))).toContain('It was changed: as it is now');
  const stale = await harbour.send(late, /\/end$/);
  expect([stale.flash, stale.url.href]).toEqual([
    expect.stringContaining('It was changed meanwhile'),
    renamed.url.href,
  ]);
  expect((await harbour.open(`${late.url}/change`)).status).toBe(404);
  expect((await union.open(`${renamed.url}/change`)).status).toBe(404);
  expect(textOf(await harbour.open('/console/history'))).toMatch(
    /Own event was changed.*Title Late yoga → Evening yoga.*Own event was changed.*Hours 18:00–20:00 → 17:00–20:00/,
  );
});

test('errors are at their fields, and what was typed is kept', async () => {
  const refused = await add('Closure', { title: 'Twice', from: 'soon', start: '9', until: '9' });
  expect(refused.status).toBe(422);
  for (const field of ['from', 'until']) expect(refused.text).toContain(`id="${field}-error"`);
  expect(refused.text).toContain('value="Twice"');
  const past = await add('Closure', { from: inDays(-3) });
  expect(past.text).toMatch(/id="from-error".*?“First day” must be today \(/s);
  const day = inDays(300);
  const weekdays = WEEKDAYS.filter((each) => each !== weekdayOf(day));
  const none = await add('Closure', { from: day, to: day, weekdays });
  expect(none.text).toMatch(/id="weekdays-error".*?None of these weekdays lies between the two dates\./s);
});

test('a form that takes long is answered before it is done', async () => {
  const add = vi.spyOn(running.service.core.commands.closures, 'add').mockReturnValue(new Promise(() => {}));
  const form = await harbour.open(`${LIST}/new`);
  const answer = await harbour.send(form, `${LIST}/new`, { title: 'Long', from: inDays(500), spaces: 'all' });
  add.mockRestore();
  expect(answer.flash).toContain('This takes a moment and goes on.');
}, 15_000);

describe('own events from a CSV file', () => {
  const IMPORT = `${LIST}/import`;
  const check = async (content: string | Buffer, by = harbour) =>
    by.upload(await by.open(IMPORT), IMPORT, { file: new Blob([new Uint8Array(Buffer.from(content))]) });
  const titles = async () =>
    [...(await harbour.open(LIST)).text.matchAll(/>(Rehearsal \d+)</g)].map(([, title]) => title);

  test('are refused with the beginning of a long cell, and with its direction kept to itself', async () => {
    const long = await check(`date,start,end,space\n${'9'.repeat(50_000)},18,20,1\n`);
    expect(long.text).toContain(`got “${'9'.repeat(99)}…”`);
    const turned = await check(`date,start,end,space\n${inDays(400)},18,20,\u202Egnp\n`);
    expect(turned.text).toMatch(/<bdi[^>]*>The community has no space “\u202Egnp”\.<\/bdi>/);
    expect((await check(`date,start,end,space,${'x'.repeat(50_000)}\n`)).text.length).toBeLessThan(20_000);
  });

  test('are listed line by line before any is added, and the same file again adds nothing', async () => {
    const [space] = running.demo.communities[0].spaces;
    const file = [
      '\uFEFFDate;Start;End;Space;Title',
      `${inDays(400)};9;11;${space.name};Rehearsal 1`,
      `${inDays(400)};10;12;${space.id};Rehearsal 2`,
      `${inDays(401)};9;11;${space.id};=cmd|' /C calc'!A0`,
      `${inDays(402)};9;11;Nowhere;"Rehearsal ""3"" & <b>"`,
      `${inDays(403)};09:00;11:00;${space.id};Rehearsal 4`,
    ].join('\r\n');
    const checked = await check(file);
    expect(textOf(checked)).toContain('5 lines read. 2 own events can be added.');
    expect(textOf(checked)).toMatch(
      /3 The hours overlap those of line 2.* 4 title begins like a formula.* 5 .*no space “Nowhere”/,
    );
    expect(await titles()).toEqual([]);
    const added = await harbour.send(checked, IMPORT);
    expect(textOf(added)).toContain('2 own events added.');
    expect(await titles()).toEqual(['Rehearsal 1', 'Rehearsal 4']);
    // The same page once more, and the same file once more.
    await harbour.send(checked, IMPORT);
    expect(textOf(await check(file))).toContain('Nothing to add. 2 lines were imported before.');
    expect(await titles()).toEqual(['Rehearsal 1', 'Rehearsal 4']);
    // Another community has other spaces.
    expect(textOf(await check(file, union))).toContain('Nothing to add.');
    expect((await brand.open(IMPORT)).status).toBe(404);
  });

  test('of a file of 1 MB that was checked are added, by the session that has checked it alone', async () => {
    const [space] = running.demo.communities[0].spaces;
    const blank = ' '.repeat(990);
    // Lines of blanks count for the size only.
    const file = `date,start,end,space,title\n${Array.from({ length: 40 }, (_, day) => `${inDays(430 + day)},9,11,${space.id},Concert ${day}`).join('\n')}\n${`${blank}\n`.repeat(1_000)}`;
    expect(file.length).toBeGreaterThan(990_000);
    const checked = await check(file);
    expect(textOf(checked)).toContain('40 own events can be added.');
    const { target, body } = checked.form(IMPORT);
    const colleague = new Browser(running.url);
    await colleague.signIn(running.demo.communities[0].user);
    const theirs = (await colleague.open(IMPORT)).form(IMPORT).body;
    theirs.set('checked', body.get('checked') ?? '');
    const refused = await colleague.request(target, { method: 'POST', body: theirs });
    expect([refused.status, textOf(refused)]).toEqual([422, expect.stringContaining('no longer kept')]);
    expect((await harbour.send(checked, IMPORT)).flash).toContain('40 own events added.');
    // It is not kept any longer than that.
    const again = await harbour.send(await harbour.open(IMPORT), IMPORT, { checked: body.get('checked') ?? '' });
    expect(again.status).toBe(422);
  });

  test('of a file that was replaced by another one are not added', async () => {
    const [space] = running.demo.communities[0].spaces;
    const first = await check(`date,start,end,space,title\n${inDays(480)},9,11,${space.id},First\n`);
    await check(`date,start,end,space,title\n${inDays(480)},12,14,${space.id},Second\n`);
    expect(textOf(await harbour.send(first, IMPORT))).toContain('no longer kept');
    expect((await harbour.open(LIST)).text).not.toMatch(/First|Second/);
  });

  test.each([
    ['Latin-1', Buffer.from('date,start,end,space\n2027-12-10,18,20,Große Halle\n', 'latin1'), 'not in UTF-8'],
    ['no header', 'x', 'has no column date, start, end, space'],
    ['2,001 lines', `date,start,end,space\n${'2027-12-10,18,20,1\n'.repeat(2_001)}`, 'has 2,001 lines'],
    ['no content', '', 'Choose a file.'],
    ['1.01 MB', Buffer.alloc(1_010_000, 'x'), 'more than 1 MB'],
  ])('a file with %s is refused at its field', async (_what, content, reason) => {
    const refused = await check(content);
    expect([refused.status, textOf(refused)]).toEqual([422, expect.stringContaining(reason)]);
    expect(refused.text).toContain('id="file-error"');
  });

  test('a form of 50 MB, one that is broken off, and one of another site change nothing', async () => {
    const large = await check(Buffer.alloc(50_000_000, 'x')).catch((error: unknown) => error);
    // The connection may be closed before the answer has arrived.
    if (!(large instanceof Error))
      expect(large).toMatchObject({ status: 413, text: expect.stringContaining('at most 1 MB') });
    const { target } = (await harbour.open(IMPORT)).form(IMPORT);
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const broken = await harbour.request(target, { method: 'POST', body: new URLSearchParams('--x'), headers });
    expect(broken.status).toBe(400);
    const foreign = new FormData();
    foreign.append('csv', `date,start,end,space\n${inDays(405)},9,11,1\n`);
    expect((await harbour.request(target, { method: 'POST', body: foreign })).status).toBe(403);
  });
});

test('once their author is forgotten, no file holds the titles that the console was given, typed or imported', async () => {
  const { core } = running.service;
  const account = { kind: 'Community', id: communityId(running.demo.communities[0].id) } as const;
  const ada = { email: 'ada@harbour.example', password: 'correct horse battery' };
  const { id } = accepted(await core.users.add({ ...ada, accounts: [account] }, CONTEXT));
  const browser = new Browser(running.url);
  await browser.signIn(ada);
  const spaces = String(running.demo.communities[0].spaces[0].id);
  const form = await browser.open(`${LIST}/new?kind=Closure`);
  await browser.send(form, `${LIST}/new`, { title: 'Zwetschgen typed', from: inDays(420), spaces });
  const csv = `date,start,end,space,title\n${inDays(421)},9,11,${spaces},Zwetschgen imported\n`;
  const file = new Blob([csv]);
  await browser.send(await browser.upload(await browser.open(`${LIST}/import`), /import$/, { file }), /import$/);
  const shown = async () => textOf(await harbour.open(LIST)).match(/Zwetschgen \w+/g);
  expect(await shown()).toEqual(['Zwetschgen typed', 'Zwetschgen imported']);

  // A file that was only checked is sealed while it is kept.
  const waiting = `date,start,end,space,title\n${inDays(422)},9,11,${spaces},Zwetschgen checked\n`;
  await browser.upload(await browser.open(`${LIST}/import`), /import$/, { file: new Blob([waiting]) });
  const kept = async () => {
    const files = await core.documents.open<{ readonly userId: string }>(FILES);
    const all = await Array.fromAsync(files.find(everyDocument()), ({ document }) => document.userId);
    return all.filter((userId) => userId === id);
  };
  expect(await kept()).toEqual([id]);
  expect(filesWith(core.config.dataDir, 'Zwetschgen checked')).toEqual([]);

  accepted(await core.commands.personalData.forget(subjectOfUser(id), CONTEXT));
  expect(await shown()).toBe(null);
  expect(await kept()).toEqual([]);
  expect(filesWith(core.config.dataDir, 'Zwetschgen')).toEqual([]);
});

/** The files of a folder that hold a text: log, records and read models, with what they have not yet written to their main files. */
function filesWith(folder: string, text: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(files.length).toBeGreaterThan(3);
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return paths.filter((path) => readFileSync(path, 'latin1').includes(text));
}
