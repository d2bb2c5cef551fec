import { beforeAll, describe, expect, test } from 'vitest';
import { photosIn } from '../../src/domain/photos.ts';
import { accepted } from '../accepted.ts';
import { lacks } from '../lacks.ts';
import { jpeg } from '../photos/pictures.ts';
import { CHROMIUM, openWindow, type Screen, violationsOn } from './chromium.ts';
import { useDemoInChromium } from './demo-in-chromium.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

describe.skipIf(lacks(CHROMIUM))('photos', { timeout: 60_000 }, () => {
  const started = useDemoInChromium();
  let hall: number;
  beforeAll(async () => {
    hall = started.running.demo.communities[0].spaces[0].id;
  });

  const open = async (screen: Partial<Screen> = {}) => {
    const { photos } = started.running.service.core.commands;
    accepted(await photos.arrange({ kind: 'space', id: hall }, { arrange: [] }, CONTEXT));
    const [harbour] = started.running.demo.communities;
    const whole = { width: 1280, colorScheme: 'light', script: true, ...screen } as const;
    const opened = await openWindow(started.browser, started.running.url, whole, await started.signedIn(harbour.user));
    await opened.page.goto(`/console/spaces/${hall}/photos`);
    return opened;
  };
  const listed = async () =>
    photosIn(await started.running.service.core.queries.photos.listOf({ kind: 'space', id: hall })).map(
      ({ photo }) => photo,
    );
  const filesOf = async (...colours: readonly string[]) =>
    Promise.all(
      colours.map(async (colour) => ({
        name: `${colour.slice(1)}.jpg`,
        mimeType: 'image/jpeg',
        buffer: await jpeg(colour),
      })),
    );

  test.each([390, 1280])(
    'several photos are uploaded, described and ordered by buttons (%i pixels wide)',
    async (width) => {
      const { context, page, complaints } = await open({ width });
      const bad = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') };
      await page.getByLabel('Add photos').setInputFiles([...(await filesOf('#b11', '#1b1')), bad]);
      await page.getByRole('button', { name: 'Upload' }).click();
      await expect
        .poll(() => page.locator('.uploads li').allTextContents())
        .toEqual(['b11.jpg: added', '1b1.jpg: added', 'notes.txt: This photo must be a JPEG, PNG, WebP or AVIF file.']);
      const [first, second] = await listed();
      await page.getByLabel('What photo 1 shows').fill('A red wall');
      await page.getByRole('button', { name: 'Later photo 1' }).click();
      await page.getByText('Saved. Brands see it now.').waitFor();
      expect(await listed()).toEqual([second, first]);
      expect(await page.getByLabel('What photo 2 shows').inputValue()).toBe('A red wall');
      expect(
        await page.evaluate('[...document.images].every((image) => image.complete && image.naturalWidth > 0)'),
      ).toBe(true);
      expect(await violationsOn(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  test('photos are ordered by dragging, and what was typed is saved with that', async () => {
    const { context, page, complaints } = await open();
    await page.getByLabel('Add photos').setInputFiles(await filesOf('#b12', '#1b2', '#21b'));
    await page.getByRole('button', { name: 'Upload' }).click();
    await expect.poll(() => page.locator('.photo-item').count()).toBe(3);
    const [first, second, third] = await listed();
    await page.getByLabel('What photo 3 shows').fill('A blue wall');
    await page.locator('.photo-item').nth(2).locator('img').dragTo(page.locator('.photo-item').nth(0).locator('img'));
    await expect.poll(listed).toEqual([third, first, second]);
    expect(await page.getByLabel('What photo 1 shows').inputValue()).toBe('A blue wall');
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('without JavaScript, photos are uploaded and ordered as well', async () => {
    const { context, page } = await open({ script: false });
    await page.getByLabel('Add photos').setInputFiles(await filesOf('#b13', '#1b3'));
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('2 photos added.').waitFor();
    const [first, second] = await listed();
    await page.getByRole('button', { name: 'Earlier photo 2' }).click();
    await page.getByText('Saved. Brands see it now.').waitFor();
    expect(await listed()).toEqual([second, first]);
    await page.getByRole('button', { name: 'Remove photo 1' }).click();
    await page.getByText('Saved. Brands see it now.').waitFor();
    expect(await listed()).toEqual([first]);
    await context.close();
  });
});
