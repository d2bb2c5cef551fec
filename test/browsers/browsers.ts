import { CHROMIUM, launchChromium } from '../console/chromium.ts';
import { FIREFOX, startFirefox } from './firefox.ts';
import { KEYS, type RunningBrowser, type Tab } from './tab.ts';
import { startWebKit, WEBKIT } from './webkit.ts';

/** The browsers of the users: one with each engine. */
export const BROWSERS = [
  { tool: CHROMIUM, start: startChromium },
  { tool: FIREFOX, start: startFirefox },
  { tool: WEBKIT, start: startWebKit },
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
