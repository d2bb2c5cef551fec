import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { signCheckpoint } from '../../../src/audit/checkpoint.ts';
import { consistencyProof, type Hash, inclusionProof, nodeHash, rootHash } from '../../../src/audit/merkle-tree.ts';
import { canonicalForm, leafHash, type PortableEvent } from '../../../src/audit/portable-event.ts';
import { verifierKeyText } from '../../../src/audit/signed-note.ts';
import { atEnd } from '../../at-end.ts';
import { lacks } from '../../lacks.ts';
import { someKey } from '../keys.ts';
import { buildForeign, type Foreign, type ForeignClaim, GO_SUMDB } from './go.ts';

const key = someKey('venue-booking-service/5a0e');

const events = Array.from({ length: 37 }, (_, at): PortableEvent => {
  const name = JSON.parse(at === 20 ? String.raw`"half \ud83d"` : '"Zoë’s 東 😀"');
  return {
    id: `id-${at}`,
    stream: 'brand-1',
    revision: at,
    type: 'BrandRenamed',
    data: { name, fee: at / 4 },
    metadata: {},
  };
});

const read = async (level: number, at: number): Promise<Hash> => {
  const event = events[at];
  if (level > 0) return nodeHash(await read(level - 1, at * 2), await read(level - 1, at * 2 + 1));
  if (event === undefined) throw new Error(`There is no event ${at}`);
  return leafHash(event);
};
const texts = (proof: readonly Hash[]): string[] => proof.map((hash) => hash.toString('base64'));

async function claimOf(size: number, earlier: number): Promise<ForeignClaim> {
  const indexes = Array.from({ length: size }, (_, index) => index);
  return {
    key: verifierKeyText(key),
    checkpoint: signCheckpoint(size, await rootHash(size, read), key),
    records: await Promise.all(
      indexes.map(async (index) => ({
        index,
        text: canonicalForm(events[index] ?? ({} as PortableEvent)),
        proof: texts(await inclusionProof(index, size, read)),
      })),
    ),
    earlier: signCheckpoint(earlier, await rootHash(earlier, read), key),
    consistency: texts(await consistencyProof(earlier, size, read)),
  };
}

describe.skipIf(lacks(GO_SUMDB))('golang.org/x/mod/sumdb', () => {
  let foreign: Foreign;
  const whenFinished = atEnd();
  beforeAll(() => {
    foreign = buildForeign(whenFinished);
  });

  test('makes the vectors that are checked in', () => {
    expect(foreign.vectors()).toBe(readFileSync(new URL('vectors.json', import.meta.url), 'utf8'));
  });

  test('accepts checkpoints, inclusion and consistency of trees of many sizes', async () => {
    for (const [size, earlier] of [
      [1, 1],
      [2, 1],
      [7, 3],
      [8, 8],
      [21, 20],
      [37, 32],
      [37, 36],
    ] as const)
      expect(foreign.check(await claimOf(size, earlier))).toEqual({
        ok: true,
        says: `checked: ${size} events of ${size}\n`,
      });
  });

  test('refuses them with anything altered', async () => {
    const claim = await claimOf(21, 13);
    const other = await claimOf(20, 12);
    const [record] = claim.records;
    if (record === undefined) throw new Error('No record');
    const changed = (text: string, at: number): string =>
      text.slice(0, at) + (text[at] === 'x' ? 'y' : 'x') + text.slice(at + 1);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 10_000 }), async (place) => {
        const within = (text: string): string => changed(text, place % (text.length - 1));
        const altered: ForeignClaim[] = [
          { ...claim, checkpoint: within(claim.checkpoint) },
          { ...claim, earlier: within(claim.earlier ?? '') },
          { ...claim, key: within(claim.key) },
          { ...claim, records: [{ ...record, text: within(record.text) }] },
          // A repeated key, which `venue verify --export` refuses, too.
          { ...claim, records: [{ ...record, text: record.text.replace('"data":{', '"data":{"fee":1,') }] },
          { ...claim, records: [{ ...record, index: 1 }] },
          { ...claim, records: [{ ...record, proof: record.proof.toSpliced(place % record.proof.length, 1) }] },
          { ...claim, records: [{ ...record, proof: record.proof.toReversed() }] },
          { ...claim, records: [{ ...record, proof: [] }] },
          { ...claim, consistency: claim.consistency?.slice(1) ?? [] },
          { ...claim, checkpoint: other.checkpoint },
          { ...claim, earlier: other.earlier ?? '' },
        ];
        for (const each of altered) expect(foreign.check(each).ok, JSON.stringify(each)).toBe(false);
      }),
      { numRuns: 8 },
    );
  });
});
