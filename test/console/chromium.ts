import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { reportEngine } from '../engines.ts';

const CANDIDATES = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const executablePath = CANDIDATES.find((path) => path !== undefined && existsSync(path));

/** Whether Chromium is installed. The test report says so either way. */
export const hasChromium = executablePath !== undefined;

reportEngine(
  'browser',
  'Chromium',
  executablePath ?? 'NOT TESTED: Chromium not found (apt-get install chromium, or set CHROMIUM)',
);

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export type Screen = {
  readonly width: 390 | 1280;
  readonly colorScheme: 'light' | 'dark';
  readonly script: boolean;
};

/** The cookies of a signed-in user. */
type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Opens a new window, and collects its errors and warnings. */
export async function openWindow(
  browser: Browser,
  url: string,
  { width, colorScheme, script }: Screen,
  storageState?: StorageState,
): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    baseURL: url,
    ...(storageState && { storageState }),
    viewport: { width, height: width === 390 ? 844 : 900 },
    isMobile: width === 390,
    hasTouch: width === 390,
    colorScheme,
    javaScriptEnabled: script,
    locale: 'en-GB',
    timezoneId: 'Asia/Tokyo',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Invalid forms (422), repeated ones (409) and missing pages (404) are expected.
    const expected = /status of (?:404|409|422)/.test(message.text());
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

/** Signs each user in once, on first use; the state can be shared by any number of windows. */
export function keepSignedIn(browser: Browser, url: string): (user: Credentials) => Promise<StorageState> {
  const states = new Map<string, Promise<StorageState>>();
  const state = async (user: Credentials): Promise<StorageState> => {
    const context = await browser.newContext({ baseURL: url });
    await signIn(await context.newPage(), user);
    const kept = await context.storageState();
    await context.close();
    return kept;
  };
  return (user) => {
    const kept = states.get(user.email) ?? state(user);
    states.set(user.email, kept);
    return kept;
  };
}
