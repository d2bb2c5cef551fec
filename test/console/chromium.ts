import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { Browser as HttpBrowser } from '../browser.ts';
import { envFor, foundAt, type Tool } from '../tool.ts';

/** Debian's `/usr/bin/chromium` is a script that starts the first of these with settings for a desktop. */
const CANDIDATES = [
  process.env.CHROMIUM,
  '/usr/lib/chromium/chromium',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

export const CHROMIUM: Tool = {
  name: 'Chromium',
  look() {
    const found = CANDIDATES.find((path) => path !== undefined && existsSync(path));
    const install = 'apt-get install chromium, or set CHROMIUM to its path';
    return found === undefined ? { missing: 'not found', install } : { found };
  },
};

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: foundAt(CHROMIUM),
    env: envFor(CHROMIUM),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Each window would load two pages and a process of their own for the address bar. Chromium adds them to Playwright's list.
      '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup',
    ],
  });
}

export type Screen = {
  /** In pixels. A screen narrower than 600 counts as a phone. */
  readonly width: number;
  readonly colorScheme: 'light' | 'dark';
  readonly script: boolean;
};

/** Opens a new window, and collects its errors and warnings. */
export async function openWindow(
  browser: Browser,
  url: string,
  { width, colorScheme, script }: Screen,
  cookies: readonly Cookie[] = [],
): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const isPhone = width < 600;
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height: isPhone ? 844 : 900 },
    isMobile: isPhone,
    hasTouch: isPhone,
    colorScheme,
    javaScriptEnabled: script,
    locale: 'en-GB',
    timezoneId: 'Asia/Tokyo',
    reducedMotion: 'reduce',
  });
  await context.addCookies(cookies);
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Invalid forms (422), repeated ones (409), and missing or refused pages (404, 403) are expected.
    const expected = /status of (?:403|404|409|422)/.test(message.text());
    if (!expected && ['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => {
    const aborted = request.failure()?.errorText === 'net::ERR_ABORTED';
    if (!aborted) complaints.push(`${request.url()} ${request.failure()?.errorText}`);
  });
  return { context, page, complaints };
}

type Credentials = { readonly email: string; readonly password: string };

export async function signIn(page: Page, user: Credentials): Promise<void> {
  await page.goto('/console');
  await page.getByLabel('E-mail').fill(user.email);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/console/**');
}

type Cookie = { readonly name: string; readonly value: string; readonly url: string };

/** Signs each user in once, without a window. The cookies can be used in any number of windows. */
export function signInOnce(url: string): (user: Credentials) => Promise<readonly Cookie[]> {
  const kept = new Map<string, Promise<readonly Cookie[]>>();
  const cookies = async (user: Credentials) => {
    const browser = new HttpBrowser(url);
    await browser.signIn(user);
    return [{ name: 'console', value: browser.cookie('console') ?? '', url }];
  };
  return (user) => kept.getOrInsertComputed(user.email, () => cookies(user));
}

/** Runs in the page; reports only violations. */
const AXE = `axe.run(document, {
  resultTypes: ['violations'],
  // Only rules about sound and video need files loaded again.
  preload: false,
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0]?.html })))`;
type Violation = { readonly id: string; readonly impact: string; readonly html: string };

/** The accessibility violations on a page. */
export async function violationsOn(page: Page): Promise<readonly Violation[]> {
  // Half a megabyte, so a page that is checked again does not load it again.
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(`${axe.source}; true`);
  return page.evaluate<readonly Violation[]>(AXE);
}

/** The problems of a page at its current width, as text: axe violations and horizontal overflow. */
export async function wrongOn(page: Page): Promise<readonly string[]> {
  const found = (await violationsOn(page)).map(({ id, impact, html }) => `${impact} ${id}: ${html.slice(0, 150)}`);
  return [...found, ...(await tooWide(page))];
}

/** The names shared by several buttons of a page, except message toggles. */
export const sharedNamesOn = (page: Page): Promise<readonly string[]> =>
  page.evaluate<readonly string[]>(`(() => {
    const shown = [...document.querySelectorAll('main :is(button, summary, a.button)')];
    const names = shown
      .filter((one) => one.checkVisibility() && !one.closest('.message'))
      .map((one) => (one.ariaLabel || one.textContent).trim());
    return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  })()`);

/** Describes how a page is wider than the screen, if it is. */
export async function tooWide(page: Page): Promise<readonly string[]> {
  // A phone widens its viewport to what does not fit, so the page's own `innerWidth` would hide it.
  const wide = page.viewportSize()?.width ?? 0;
  const over = (await page.evaluate<number>('document.documentElement.scrollWidth')) - wide;
  return over > 0 ? [`${over} px wider than the screen`] : [];
}
