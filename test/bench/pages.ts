import { Browser } from '../browser.ts';
import { startBusyPages } from '../console/pages.ts';
import { type Bench, median, rangeOf } from './figure.ts';

const WARM_UP = 5;
const ROUNDS = 30;

type Measured = { readonly name: string; readonly ms: readonly number[]; readonly kilobytes: number };

/** The console of a community with 36 spaces and 2,000 bookings: how long its pages take, one request at a time, and how large they are. */
export const pages: Bench = async () => {
  const { running, pages: all } = await startBusyPages();
  try {
    const browsers = new Map<string, Promise<Browser>>();
    const measured: Measured[] = [];
    for (const { name, user, path } of all) {
      if (user === undefined) continue;
      const browser = await browsers.getOrInsertComputed(user.email, async () => {
        const signedIn = new Browser(running.url);
        await signedIn.signIn(user);
        return signedIn;
      });
      measured.push({ name, ...(await measure(browser, path)) });
    }
    const byTime = measured.toSorted((a, b) => median(b.ms) - median(a.ms));
    const bySize = measured.toSorted((a, b) => b.kilobytes - a.kilobytes);
    const [slowest] = byTime;
    const [largest] = bySize;
    if (slowest === undefined || largest === undefined) throw new Error('There are no pages');
    return [
      {
        name: `console, slowest page of a busy store (${slowest.name})`,
        value: median(slowest.ms),
        unit: 'ms',
        ranges: { value: rangeOf(slowest.ms) },
        aim: { below: 20 },
      },
      { name: 'console, median of its pages', value: median(measured.map(({ ms }) => median(ms))), unit: 'ms' },
      {
        name: `console, largest page of a busy store (${largest.name}), uncompressed`,
        value: largest.kilobytes,
        unit: 'kB',
        aim: { below: 60 },
      },
    ];
  } finally {
    await running.stop();
  }
};

async function measure(browser: Browser, path: string): Promise<Omit<Measured, 'name'>> {
  const ms: number[] = [];
  let kilobytes = 0;
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const begun = performance.now();
    const { text } = await browser.request(path);
    if (round >= WARM_UP) ms.push(performance.now() - begun);
    kilobytes = Buffer.byteLength(text) / 1_000;
  }
  return { ms, kilobytes };
}
