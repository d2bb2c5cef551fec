import { existsSync } from 'node:fs';
import { hasChromium, launchChromium } from '../console/chromium.ts';
import { reportEngine } from '../engines.ts';
import { startFirefox } from './firefox.ts';
import { KEYS, type RunningBrowser, type Tab } from './tab.ts';
import { startWebKit } from './webkit.ts';

const FIREFOX = '/usr/bin/firefox-esr';
const WEBKIT = { driver: '/usr/bin/WebKitWebDriver', xvfb: '/usr/bin/xvfb-run' };

const hasFirefox = existsSync(FIREFOX);
const hasWebKit = Object.values(WEBKIT).every((path) => existsSync(path));

reportEngine(
  'browser',
  'Firefox',
  hasFirefox ? FIREFOX : 'NOT TESTED: Firefox not found (apt-get install firefox-esr)',
);
reportEngine(
  'browser',
  'WebKit',
  hasWebKit ? WEBKIT.driver : 'NOT TESTED: WebKit not found (apt-get install webkit2gtk-driver xvfb)',
);

/** The browsers of the users: one with each engine. */
export const BROWSERS = [
  { name: 'Chromium', isThere: hasChromium, start: startChromium },
  { name: 'Firefox', isThere: hasFirefox, start: () => startFirefox(FIREFOX) },
  { name: 'WebKit', isThere: hasWebKit, start: () => startWebKit(WEBKIT) },
] as const;

const PLAYWRIGHT_KEYS: Readonly<Record<string, string>> = {
  [KEYS.enter]: 'Enter',
  [KEYS.tab]: 'Tab',
  [KEYS.escape]: 'Escape',
  [KEYS.down]: 'ArrowDown',
};

async function startChromium(): Promise<RunningBrowser> {
  const browser = await launchChromium();
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  return {
    async newTab(): Promise<Tab> {
      const page = await context.newPage();
      return {
        async open(url) {
          await page.goto(url);
        },
        evaluate: (expression) => page.evaluate(expression),
        clickAt: (x, y) => page.mouse.click(x, y),
        async type(text) {
          for (const key of text) await page.keyboard.press(PLAYWRIGHT_KEYS[key] ?? key);
        },
        resize: (width, height) => page.setViewportSize({ width, height }),
        async back() {
          await page.goBack();
        },
        picture: () => page.screenshot(),
        print: () => page.pdf({ format: 'A4' }),
      };
    },
    close: () => browser.close(),
  };
}
