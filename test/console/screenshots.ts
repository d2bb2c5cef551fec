// Takes the screenshots in README, with the demo data: npm run screenshots
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { inDays } from '../in-days.ts';
import { hasChromium, launchChromium, openWindow, signIn } from './chromium.ts';
import { startDemo } from './console.fixture.ts';

const FOLDER = fileURLToPath(new URL('../../src/console/screenshots/', import.meta.url));

if (!hasChromium) {
  console.error('Chromium not found: install it (apt-get install chromium) or set CHROMIUM to its path.');
  process.exit(1);
}

const running = await startDemo();
const browser = await launchChromium();
const [harbour] = running.demo.communities;
const [northwind] = running.demo.brands;
if (harbour === undefined || northwind === undefined) throw new Error('The demo lacks accounts');

const SCREENSHOTS = [
  { name: 'requests', user: harbour.user, path: 'inbox', width: 1280, colorScheme: 'light' },
  { name: 'calendar', user: harbour.user, path: `calendar/${inDays(3)}`, width: 1280, colorScheme: 'dark' },
  { name: 'find', user: northwind.user, path: `find/1?date=${inDays(3)}`, width: 390, colorScheme: 'light' },
] as const;

await mkdir(FOLDER, { recursive: true });
for (const { name, user, path, width, colorScheme } of SCREENSHOTS) {
  const { context, page } = await openWindow(browser, running.url, { width, colorScheme, script: true });
  await signIn(page, user);
  await page.goto(`/console/${path}`);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
  await context.close();
  console.log(`src/console/screenshots/${name}.png`);
}
await browser.close();
await running.stop();
