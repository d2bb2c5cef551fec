import type { Browser, Page } from '../browser.ts';

/** Paths of one kind differ in ids and queries alone. */
const kindOf = (path: string): string | undefined => path.split('?', 1)[0]?.replaceAll(/\d+|wh_\w+|[\da-f-]{36}/g, '0');

/** Opens pages of the console and one of each other kind that links lead to, files included. @returns what came, by path */
export async function crawl(browser: Browser, from: readonly string[]): Promise<ReadonlyMap<string, Page>> {
  const opened = new Map<string, Page>();
  const kinds = new Set(from.map(kindOf));
  const waiting = [...from];
  for (const path of waiting) {
    const page = await browser.open(path);
    opened.set(path, page);
    for (const [, href = ''] of page.text.matchAll(/<a\b[^>]* href="(\/console[^"#]*)"/g)) {
      const to = href.replaceAll('&amp;', '&');
      if (kinds.has(kindOf(to))) continue;
      kinds.add(kindOf(to));
      waiting.push(to);
    }
  }
  return opened;
}
