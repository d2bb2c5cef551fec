/** Draws the photos of the demo into `src/demo/photos/`, each in the sizes that the service stores (`npm run draw`). */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { PHOTO_SIZES } from '../../src/domain/photos.ts';
import { SCENES } from './scenes.ts';

const FOLDER = join(import.meta.dirname, '../../src/demo/photos');
const QUALITY = 60;

await mkdir(FOLDER, { recursive: true });
for (const [name, svg] of Object.entries(SCENES)) {
  for (const size of PHOTO_SIZES) {
    const drawn = sharp(Buffer.from(svg)).flatten({ background: '#fff' }).resize({ width: size });
    const file = await drawn.webp({ quality: QUALITY, effort: 6 }).toBuffer();
    await writeFile(join(FOLDER, `${name}-${size}.webp`), file);
    console.log(`${name}-${size}.webp: ${file.length} bytes`);
  }
}
