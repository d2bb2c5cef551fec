import sharp, { type Sharp } from 'sharp';

/** A picture whose file differs with each colour. */
export const picture = (colour: string, width = 1_200, height = 900): Sharp =>
  sharp({ create: { width, height, channels: 3, background: colour }, limitInputPixels: false });

/** One with fine grain, which takes far more room than a plain one. */
export const grain = (width: number, height: number): Sharp =>
  sharp({
    create: { width, height, channels: 3, background: '#888', noise: { type: 'gaussian', mean: 128, sigma: 40 } },
  });

export const jpeg = (colour: string, width?: number, height?: number): Promise<Buffer> =>
  picture(colour, width, height).jpeg().toBuffer();

/** A PNG that says that it has so many pixels, and has none. */
export function emptyPng(width: number, height: number): Buffer {
  const header = Buffer.alloc(45);
  header.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  header.set([8, 2, 0, 0, 0], 24);
  header.writeUInt32BE(crcOf(header.subarray(12, 29)), 29);
  header.write('IDAT', 37, 'latin1');
  header.writeUInt32BE(crcOf(header.subarray(37, 41)), 41);
  return header;
}

function crcOf(bytes: Uint8Array): number {
  let crc = 0xff_ff_ff_ff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xed_b8_83_20 : 0);
  }
  return (crc ^ 0xff_ff_ff_ff) >>> 0;
}
