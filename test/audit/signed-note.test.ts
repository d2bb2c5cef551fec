import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openNote, parseVerifierKey, signerKey, signNote, verifierKeyText } from '../../src/audit/signed-note.ts';
import vectors from './foreign/vectors.json' with { type: 'json' };
import { someKey, vectorKey } from './keys.ts';

const key = someKey('example.com/log');

describe('a verifier key', () => {
  test('is written and read as the package note of Go does', () => {
    expect(verifierKeyText(vectorKey)).toBe(vectors.key);
    const read = parseVerifierKey(vectors.key);
    expect(read && verifierKeyText(read)).toBe(vectors.key);
    expect(read && openNote(vectors.checkpoints[0] ?? '', read)).toHaveProperty('text');
  });

  test('round-trips any name and any bytes', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (name, seed) => {
        fc.pre(/^[^\s+]+$/u.test(name));
        const made = someKey(name, seed);
        const read = parseVerifierKey(verifierKeyText(made));
        expect(read?.name).toBe(name);
        expect(read?.publicKey.equals(made.publicKey)).toBe(true);
      }),
    );
  });

  test('is refused with any letter of it altered', () => {
    const text = verifierKeyText(key);
    for (const [at, letter] of [...text].entries()) {
      for (const other of ['A', 'b', '0', '+', '/', '=', '\u00a0']) {
        if (other === letter) continue;
        const altered = text.slice(0, at) + other + text.slice(at + 1);
        expect(parseVerifierKey(altered), altered).toBeUndefined();
      }
      expect(parseVerifierKey(text.slice(0, at)), text.slice(0, at)).toBeUndefined();
    }
  });

  test.each(['', 'two words', 'a+b', 'a\u00a0b', 'a\u3000b', 'a\nb', 'a\ud800'])('has no name like %j', (name) => {
    expect(() => signerKey(name, key.privateKey.export({ format: 'jwk' }))).toThrow(TypeError);
  });
});

describe('a note', () => {
  test('holds text with empty lines, up to the last one', () => {
    const text = 'one\n\nthree\n\n\nsix\n';
    expect(openNote(signNote(text, key), key)).toEqual({ text });
  });

  test('may carry signatures of others, on either side', () => {
    const [note, other] = [signNote('text\n', key), signNote('text\n', someKey('witness.example'))];
    const theirs = other.slice(other.indexOf('— '));
    const ours = note.slice(note.indexOf('— '));
    expect(openNote(`text\n\n${ours}${theirs}`, key)).toEqual({ text: 'text\n' });
    expect(openNote(`text\n\n${theirs}${ours}`, key)).toEqual({ text: 'text\n' });
    expect(openNote(`text\n\n${theirs}`, key)).toHaveProperty('problem');
  });

  test('with a good and a false signature of the key is refused', () => {
    const [note, other] = [signNote('text\n', key), signNote('other\n', key)];
    const falseOne = other.slice(other.indexOf('— '));
    expect(openNote(note + falseOne, key)).toEqual({
      problem: 'has a signature in the name of example.com/log that is not one',
    });
  });

  test.each([
    ['nothing', ''],
    ['no signatures', 'text\n\n'],
    ['no empty line', 'text\n'],
    ['a line that is no signature', 'NOTEno signature\n'],
    ['a hyphen instead of the dash', 'text\n\n- example.com/log AAAAAAAAAA==\n'],
    ['a control character', `te\u0007xt\n\n— example.com/log AAAAAAAAAA==\n`],
    ['a carriage return', 'text\r\n\n— example.com/log AAAAAAAAAA==\n'],
    ['half of a surrogate pair', 'te\ud800xt\n\n— example.com/log AAAAAAAAAA==\n'],
    ['a signature without its id', 'text\n\n— example.com/log AAAA\n'],
    ['no end of the last line', 'NOTE'],
    ['too many signatures', `text\n\n${'— a AAAAAAAAAA==\n'.repeat(101)}`],
    ['too much text', `${'a'.repeat(1_000_001)}\n\n— a AAAAAAAAAA==\n`],
  ])('has to be one: %s', (_, note) => {
    const made = note.endsWith('NOTE')
      ? signNote('text\n', key).slice(0, -1)
      : note.replace('NOTE', signNote('t\n', key));
    expect(openNote(made, key)).toEqual({ problem: 'is not a signed note (https://c2sp.org/signed-note)' });
  });
});
