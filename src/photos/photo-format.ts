/** What a file is, by its first bytes; its name and what the browser says of it decide nothing. */
export type PhotoFormat = 'jpeg' | 'png' | 'webp' | 'avif';

export function photoFormat(bytes: Uint8Array): PhotoFormat | 'heic' | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, HEAD));
  if (head.subarray(0, 3).equals(JPEG)) return 'jpeg';
  if (head.subarray(0, 8).equals(PNG)) return 'png';
  const text = head.toString('latin1');
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'webp';
  return text.startsWith('ftyp', 4) ? formatOf(brandsIn(head, text)) : undefined;
}

const JPEG = Buffer.from([0xff, 0xd8, 0xff]);
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Enough for the brands of a file in the format of ISO 14496-12. */
const HEAD = 256;
const HEIC = ['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs', 'mif1', 'msf1'];

/** The major brand and those that the file is compatible with. */
function brandsIn(head: Buffer, text: string): readonly string[] {
  const end = head.length < 4 ? 0 : Math.min(head.readUInt32BE(0), head.length);
  const brands = [];
  for (let at = 8; at + 4 <= end; at += 4) brands.push(text.slice(at, at + 4));
  return brands;
}

function formatOf(brands: readonly string[]): PhotoFormat | 'heic' | undefined {
  if (brands.includes('avif') || brands.includes('avis')) return 'avif';
  return brands.some((brand) => HEIC.includes(brand)) ? 'heic' : undefined;
}
