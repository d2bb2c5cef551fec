import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM, launchChromium, tooWide, wrongOn } from '../console/chromium.ts';
import { lacks } from '../lacks.ts';
import { DAY_BEFORE, type Sample, serviceWithEveryKind } from './every-kind.ts';

/** In pixels, from the smallest phone to a wide screen. */
const WIDTHS = [320, 390, 1440] as const;
/** Where to put pictures of every mail, to look at. Default: none are taken. */
const PICTURES = process.env.MAIL_PICTURES;

const WORD = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
const NAMES = {
  community: WORD,
  brand: 'مقهى الشمال 🎉\r\nBcc: eve@example.com <img src="http://evil.example/x.png">',
  space: `${'x'.repeat(79)}🎭`,
  message: `For 40 people.\n\n${WORD} <script>alert(1)</script>\nאולם גדול, בבקשה.`,
  reason: `${WORD} & "closed"`,
  title: `Très bien ${'y'.repeat(80)}`,
  content: `First.\n\n${'z'.repeat(300)}\n${'A word and another one. '.repeat(40)}`,
};

/** Runs in the page: what a mail program would load, run or send. */
const ACTIVE = `[
  ...[...document.querySelectorAll('[src], [srcset], [background], link, script, iframe, form, base, object, svg')],
  ...[...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))),
  ...[...document.querySelectorAll('style, [style]')].filter((one) =>
    /url\\(|@import/.test(one.textContent + one.getAttribute('style'))),
].map(({ outerHTML }) => outerHTML.slice(0, 100))`;

/** The mails about bookings to a party, in one. */
function digestOf(samples: readonly Sample[], to: Sample['to']) {
  const isNews = ({ kind }: Sample) => kind.startsWith('Booking') || kind === 'ReviewPublished';
  const [last, ...others] = samples.filter((sample) => sample.to === to && isNews(sample)).map(({ mail }) => mail);
  if (last === undefined) throw new Error(`No news for the ${to}`);
  return { kind: 'digest', to, mail: last, others };
}

describe.skipIf(lacks(CHROMIUM))('every mail with difficult names', { timeout: 300_000 }, () => {
  let made: Awaited<ReturnType<typeof serviceWithEveryKind>>;
  let browser: Browser;
  beforeAll(async () => {
    [made, browser] = await Promise.all([serviceWithEveryKind(NAMES), launchChromium()]);
    if (PICTURES !== undefined) await mkdir(PICTURES, { recursive: true });
  });
  afterAll(async () => {
    await browser.close();
    await made.service.stop();
  });

  test('fits every screen, is readable in both schemes, and loads nothing', async () => {
    const { service, samples, linkSamples, now } = made;
    const context = await browser.newContext({ javaScriptEnabled: true });
    const page = await context.newPage();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const found: string[] = [];
    const sent = [
      ...[...samples, ...linkSamples].map((sample) => ({ ...sample, others: [] })),
      ...[digestOf(samples, 'Community'), digestOf(samples, 'Brand')],
    ];
    for (const { kind, to, mail, others } of sent) {
      service.time.now = kind === 'EventTomorrow' ? DAY_BEFORE : now;
      const message = await service.core.mailContent.compose(mail, others);
      if ('skipped' in message) throw new Error(`${kind}: ${message.skipped}`);
      const { subject, text, html } = message;
      if (/[\r\n\p{Cc}\u2028\u2029]/u.test(subject)) found.push(`${kind} to ${to}: ${JSON.stringify(subject)}`);
      if (/^Bcc:/m.test(text)) found.push(`${kind} to ${to}: a name makes a line of the text`);
      await page.setContent(html);
      for (const active of await page.evaluate<readonly string[]>(ACTIVE)) found.push(`${kind} to ${to}: ${active}`);
      for (const width of WIDTHS)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          const wrong = await (width === 390 ? wrongOn(page) : tooWide(page));
          for (const each of wrong) found.push(`${kind} to ${to}, ${width} px, ${colorScheme}: ${each}`);
          if (PICTURES === undefined) continue;
          const path = join(PICTURES, `${kind}${mail.about.notice ?? ''}-${to}-${width}-${colorScheme}.png`);
          await page.screenshot({ path, fullPage: true });
        }
    }
    await context.close();
    expect(found).toEqual([]);
    expect(requests).toEqual([]);
  });
});
