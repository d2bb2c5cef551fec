import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openCheckpoint, signCheckpoint } from '../../src/audit/checkpoint.ts';
import { signNote } from '../../src/audit/signed-note.ts';
import { withBitFlipped } from './altered.ts';
import vectors from './foreign/vectors.json' with { type: 'json' };
import { someHash, someKey, vectorKey } from './keys.ts';

const root = someHash('a root');
const key = someKey('example.com/log');
const made = signCheckpoint(1_234, root, key);

describe('a checkpoint', () => {
  test('is written as the package note of Go writes it, to the byte', () => {
    for (const [at, expected] of vectors.checkpoints.entries()) {
      const [, , base64 = ''] = expected.split('\n');
      expect(signCheckpoint(at + 1, Buffer.from(base64, 'base64'), vectorKey)).toBe(expected);
    }
  });

  test('has an origin, a size and a root, and no time: signed twice, it is the same', () => {
    expect(made.split('\n').slice(0, 4)).toEqual(['example.com/log', '1234', root.toString('base64'), '']);
    expect(signCheckpoint(1_234, root, key)).toBe(made);
    expect(openCheckpoint(made, key)).toEqual({ origin: 'example.com/log', size: 1_234, root });
  });

  test('is refused with any bit of it altered', () => {
    const bytes = Buffer.from(made);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const altered = withBitFlipped(bytes, bit).toString('utf8');
      expect(openCheckpoint(altered, key), `bit ${bit}: ${altered}`).toHaveProperty('problem');
    }
  });

  test('is refused with anything of it left out, doubled or added', () => {
    fc.assert(
      fc.property(fc.nat({ max: made.length - 1 }), fc.string({ unit: 'binary', minLength: 1 }), (at, more) => {
        expect(openCheckpoint(made.slice(0, at), key)).toHaveProperty('problem');
        expect(openCheckpoint(made.slice(0, at) + made.slice(at + 1), key)).toHaveProperty('problem');
        const added = made.slice(0, at) + more + made.slice(at);
        if (!isSameNote(added)) expect(openCheckpoint(added, key), JSON.stringify(added)).toHaveProperty('problem');
      }),
    );
    const lines = made.split('\n');
    for (const at of lines.slice(0, -1).keys()) {
      expect(openCheckpoint(lines.toSpliced(at, 1).join('\n'), key), `without line ${at}`).toHaveProperty('problem');
    }
  });

  /** Signatures of others may be added: those of witnesses are. */
  const isSameNote = (note: string): boolean => note.startsWith(made.slice(0, made.indexOf('\n\n') + 2));

  test('is refused with fields from two checkpoints', () => {
    const other = signCheckpoint(1_235, someHash('another root'), key);
    const fields = made.split('\n');
    for (const [at, field] of other.split('\n').entries()) {
      if (field === fields[at]) continue;
      expect(openCheckpoint(fields.with(at, field).join('\n'), key), `line ${at}`).toHaveProperty('problem');
    }
  });

  test.each([
    ['a size with a leading zero', '01234\nROOT\n'],
    ['a negative size', '-1\nROOT\n'],
    ['a size that is no integer', '1.5\nROOT\n'],
    ['a size in other digits', '١٢\nROOT\n'],
    ['a size that no computer counts to', '9007199254740993\nROOT\n'],
    ['no size', '\nROOT\n'],
    ['no root', '12\n'],
    ['a root of 31 bytes', `12\n${root.subarray(1).toString('base64')}\n`],
    ['a root of 33 bytes', `12\n${Buffer.concat([root, root.subarray(31)]).toString('base64')}\n`],
    ['a root without padding', `12\n${root.toString('base64').replace('=', '')}\n`],
    ['a root in base64url', `12\n${Buffer.alloc(32, 255).toString('base64url')}=\n`],
    ['an empty line', '12\nROOT\n\nmore\n'],
  ])('signed by its own key is refused for %s', (_, text) => {
    const note = signNote(`${key.name}\n${text.replace('ROOT', root.toString('base64'))}`, key);
    expect(openCheckpoint(note, key)).toEqual({ problem: 'is not a checkpoint (https://c2sp.org/tlog-checkpoint)' });
  });

  test('may have extension lines of other programs', () => {
    const note = signNote(`${key.name}\n12\n${root.toString('base64')}\nextension\n`, key);
    expect(openCheckpoint(note, key)).toEqual({ origin: key.name, size: 12, root });
  });

  test('of another log is named as such', () => {
    const problem = { problem: 'is of another log, example.com/log, and not of example.com/other' };
    expect(openCheckpoint(made, someKey('example.com/other'))).toEqual(problem);
    const misplaced = signNote(made.slice(0, made.indexOf('\n\n') + 1), someKey('example.com/other'));
    expect(openCheckpoint(misplaced, someKey('example.com/other'))).toEqual(problem);
  });

  test('signed with another key of the same name is named as such', () => {
    const stranger = someKey('example.com/log', 'another');
    expect(openCheckpoint(made, stranger)).toEqual({
      problem: `is not signed with the key example.com/log+${stranger.id.toString('hex')}`,
    });
  });
});
