/**
 * Resizes the photo on its standard input. A process of its own, because a decoder of images reads what strangers have made: it has no
 * secret, no store and no port, and ends after one photo. Only this file loads sharp.
 */
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { buffer } from 'node:stream/consumers';
import sharp, { type Sharp } from 'sharp';
import { PHOTO_SIZES } from '../domain/photos.ts';
import { MAX_PIXELS, MAX_RATIO, MIN_SIDE, type ResizeAnswer, type UnusablePhoto } from './resized.ts';

/** Of the whole process, in bytes. A photo of 50 megapixels takes 300 MB when it must be turned. */
const MAX_MEMORY = 768 * 1024 * 1024;
const CHECK_MEMORY_EVERY_MS = 20;
const QUALITY = 78;

sharp.cache(false);
sharp.concurrency(1);
// Not the loaders of SVG, PDF, TIFF, GIF and others, which sharp would choose by the bytes of the file.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadHeifBuffer',
  ],
});

function finish(answer: ResizeAnswer, sizes: readonly Buffer[] = []): void {
  process.stdout.write(Buffer.concat([Buffer.from(`${JSON.stringify(answer)}\n`), ...sizes]), () => process.exit());
}

// Requests go first.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

// Where the memory of the machine runs out, Linux ends this process before the service.
try {
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Another system.
}

// Decoding runs in other threads, so that this one can watch.
setInterval(() => {
  if (process.memoryUsage.rss() > MAX_MEMORY) finish({ unusable: 'TooMuchMemory' });
}, CHECK_MEMORY_EVERY_MS).unref();

/** Upright, without metadata, in sRGB: what sharp does unless told otherwise. */
async function sizesOf(photo: Sharp) {
  const largest = await sizeOf(photo.autoOrient(), 1_600).raw().toBuffer({ resolveWithObject: true });
  const { data, info } = largest;
  const from = () => sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } });
  const sizes = await Promise.all(
    PHOTO_SIZES.map((size) => sizeOf(from(), size).webp({ quality: QUALITY }).toBuffer()),
  );
  return { width: info.width, height: info.height, sizes };
}

const sizeOf = (photo: Sharp, size: number): Sharp =>
  photo.resize({ width: size, height: size, fit: 'inside', withoutEnlargement: true });

/** Judged by the header, before a pixel is decoded. */
function wrongShape({ width, height }: { readonly width: number; readonly height: number }): UnusablePhoto | undefined {
  const [short = 0, long = 0] = [width, height].toSorted((a, b) => a - b);
  if (width * height > MAX_PIXELS) return 'TooManyPixels';
  return short < MIN_SIDE || long > short * MAX_RATIO ? 'WrongShape' : undefined;
}

try {
  const bytes = await buffer(process.stdin);
  // Reads the header alone.
  const unusable = wrongShape(await sharp(bytes, { limitInputPixels: false }).metadata());
  if (unusable !== undefined) finish({ unusable });
  else {
    const photo = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'truncated', pages: 1 });
    const { width, height, sizes } = await sizesOf(photo);
    finish({ width, height, lengths: sizes.map(({ length }) => length) }, sizes);
  }
} catch {
  finish({ unusable: 'Unreadable' });
}
