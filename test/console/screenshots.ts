// Takes screenshots of the console: npm run screenshots
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { inDays } from '../in-days.ts';
import { find, ToolMissing } from '../tool.ts';
import { CHROMIUM, launchChromium, openWindow, signIn, signInOnce, wrongOn } from './chromium.ts';
import { startDemo } from './console.fixture.ts';
import { fillHouse } from './house-store.ts';
import { startBusyPages } from './pages.ts';

const HELP = `npm run screenshots                       takes the pictures in README and docs/guides/console.md
npm run screenshots -- --busy [FOLDER]    takes every page of a busy store (40 spaces, 2,000 bookings) at 390, 768, 1,024 and
                                          1,440 px, light and dark; axe looks at these, and at 320, 1,280 and 1,920 px;
                                          FOLDER: a temporary one unless given`;

/** In pixels: the widths of the screenshots and of the axe checks. */
const PICTURED = [390, 768, 1024, 1440];
const WIDTHS = [320, 390, 768, 1024, 1280, 1440, 1920] as const;
const SCHEMES = ['light', 'dark'] as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { busy: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
if (values.help || positionals.length > (values.busy ? 1 : 0)) {
  console.log(HELP);
  process.exit(values.help ? 0 : 2);
}
const chromium = find(CHROMIUM);
if ('missing' in chromium) {
  console.error(new ToolMissing(CHROMIUM.name, chromium).message);
  process.exit(1);
}
await (values.busy
  ? takeAll(positionals[0] ?? (await mkdtemp(join(tmpdir(), 'venue-screenshots-'))))
  : takeForReadme());

async function takeForReadme(): Promise<void> {
  const folder = fileURLToPath(new URL('../../src/console/screenshots/', import.meta.url));
  const running = await startDemo({}, fillHouse);
  const browser = await launchChromium();
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  const screenshots = [
    { name: 'requests', user: harbour.user, path: 'inbox', width: 1280, colorScheme: 'light' },
    { name: 'calendar', user: harbour.user, path: `calendar/${inDays(7)}`, width: 1280, colorScheme: 'dark' },
    { name: 'find', user: northwind.user, path: `find/1?date=${inDays(3)}`, width: 390, colorScheme: 'light' },
  ] as const;
  await mkdir(folder, { recursive: true });
  for (const { name, user, path, width, colorScheme } of screenshots) {
    const { context, page } = await openWindow(browser, running.url, { width, colorScheme, script: true });
    await signIn(page, user);
    await page.goto(`/console/${path}`);
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
    console.log(`src/console/screenshots/${name}.png`);
  }
  await browser.close();
  await running.stop();
}

/** Opens every page of a busy community and a busy brand, and prints the size and the problems of each. */
async function takeAll(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { running, pages } = await startBusyPages();
  const browser = await launchChromium();
  const signedIn = signInOnce(running.url);
  for (const { name, user, path } of pages) {
    const cookies = user === undefined ? [] : await signedIn(user);
    for (const width of WIDTHS)
      for (const colorScheme of SCHEMES) {
        const screen = { width, colorScheme, script: true };
        const { context, page } = await openWindow(browser, running.url, screen, cookies);
        const response = await page.goto(path);
        const file = `${name}-${width}-${colorScheme}.png`;
        if (PICTURED.includes(width)) await page.screenshot({ path: join(folder, file), fullPage: true });
        const size = ((await response?.body())?.length ?? 0) / 1_000;
        console.log([`${file}  ${size.toFixed(0)} kB`, ...(await wrongOn(page))].join('\n  '));
        await context.close();
      }
  }
  await browser.close();
  await running.stop();
  console.log(`The pictures are in ${folder}`);
}
