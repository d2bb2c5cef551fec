import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser, type Page } from '../browser.ts';
import { type Running, startDemo } from './console.fixture.ts';
import { crawl } from './crawl.ts';
import { endSession } from './end-session.ts';

type User = { readonly email: string; readonly password: string };

let running: Running;
let users: readonly User[];

beforeAll(async () => {
  running = await startDemo();
  users = [running.demo.communities[0].user, running.demo.brands[0].user];
});
afterAll(() => running.stop());

const signedIn = (user: User) => Browser.signedIn(running.url, user);

/** One page of each kind that links lead to. */
async function everyPage(browser: Browser): Promise<readonly Page[]> {
  const pages = [...(await crawl(browser, ['/console'])).values()];
  return pages.filter(({ status, headers }) => status === 200 && headers.get('content-type')?.startsWith('text/html'));
}

type FilledForm = {
  readonly page: Page;
  readonly action: string;
  readonly typed: Readonly<Record<string, readonly string[]>>;
  readonly hasSeen: boolean;
};

/** The forms of a page that take text, each with something typed into every field. */
function formsOf(page: Page): readonly FilledForm[] {
  return [...page.text.matchAll(/<form\b[^>]*method="post"[^>]*>.*?<\/form>/gs)].flatMap(([form]) => {
    const action = / action="([^"]*)"/.exec(form)?.[1] ?? '';
    const controls = [...form.matchAll(/<(?:input|textarea)\b[^>]*>/g)]
      .map(([tag]) => tag)
      .filter((tag) => !/type="(?:hidden|checkbox|radio|range|password|file)"/.test(tag));
    const names = controls.map((tag) => [/ name="([^"]+)"/.exec(tag)?.[1] ?? '', textFor(tag)] as const);
    const typed = Object.fromEntries(
      [...Map.groupBy(names, ([name]) => name)].map(([name, all]) => [name, all.map(([, text]) => text)]),
    );
    return names.length === 0
      ? []
      : [{ page, action: action.replaceAll('&amp;', '&'), typed, hasSeen: form.includes('name="seen"') }];
  });
}

/** Another value than the one that a control shows, of its kind. */
function textFor(tag: string): string {
  if (tag.includes('type="number"')) return String(Number(/ value="(\d+)"/.exec(tag)?.[1] ?? 4) + 1);
  return tag.includes('coordinates') ? '12.5, 13.5' : 'typed words';
}

const isNotSaved = (status: number): boolean => status === 409 || status === 422;

/** What a form has seen, as if all of it was something else: digests or numbers. */
const outdated = (seen: string): string =>
  seen.replaceAll(/"[\w-]{16}"|(?<=:)\d+/g, (value) => (value.startsWith('"') ? '"x"' : '1'));

/** One form of each kind that a user can reach. */
async function everyForm(browser: Browser): Promise<readonly FilledForm[]> {
  const forms = (await everyPage(browser)).flatMap(formsOf);
  const byKind = new Map(forms.map((form) => [form.action.replaceAll(/\d+/g, '0'), form]));
  return [...byKind.values()];
}

/** What was typed into a form and is in none of its fields on another page. */
function lostOn(page: Page, { action, typed }: FilledForm): readonly string[] {
  const { body } = page.form(action);
  return Object.entries(typed).flatMap(([name, texts]) =>
    body.getAll(name).join('\n').toLowerCase() === texts.join('\n') ? [] : `${name}: ${texts} → ${body.getAll(name)}`,
  );
}

test('every form that is not saved because others have changed the same comes back with what was typed', async () => {
  const [manager] = users;
  const browser = await signedIn(manager ?? expect.fail('There is no user'));
  const forms = (await everyForm(browser)).filter(({ hasSeen }) => hasSeen);
  expect(forms.length).toBeGreaterThan(7);
  for (const form of forms) {
    const seen = form.page.form(form.action).body.get('seen') ?? '';
    const answer = await browser.send(form.page, form.action, { ...form.typed, seen: outdated(seen) });
    expect([form.action, answer.status]).toEqual([form.action, expect.toSatisfy(isNotSaved)]);
    expect([form.action, lostOn(answer, form)]).toEqual([form.action, []]);
  }
});

test('what was typed into any form when the session had ended is shown, or filled in again after the sign-in', async () => {
  for (const user of users) {
    const browser = await signedIn(user);
    const forms = await everyForm(browser);
    expect(forms.length).toBeGreaterThan(7);
    for (const form of forms) {
      const page = await browser.open(form.page.url);
      await endSession(running, browser);
      const answer = await browser.send(page, form.action, form.typed, { referer: form.page.url.href });
      expect(answer.status).toBe(401);
      const areShown = Object.values(form.typed).every((texts) => texts.every((text) => answer.text.includes(text)));
      if (areShown) continue;
      // The page signs the user in again at once.
      expect([form.action, lostOn(await browser.open(form.page.url), form)]).toEqual([form.action, []]);
    }
  }
});
