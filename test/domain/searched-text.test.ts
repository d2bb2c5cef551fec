import { expect, test } from 'vitest';
import { folded, isCalled, wordsOf } from '../../src/domain/searched-text.ts';

test.each([
  ['case', 'LOFT', 'loft'],
  ['accents', 'Éléonore', 'Eleonore'],
  ['accents that follow their letter', 'E\u0301le\u0301onore', 'éléonore'],
  ['letters that Unicode does not take apart', 'Øresund Æther Łódź', 'oresund aether lodz'],
  ['letters that meet only in upper case', 'Straße', 'STRASSE'],
  ['a final letter', 'ΟΔΟΣ', 'οδός'],
  ['a dotted capital', 'İstanbul', 'istanbul'],
  ['width', 'ＬＯＦＴ', 'loft'],
  ['Arabic vowel signs and stretching', 'قَهْوَة', 'قهـــوة'],
  ['what joins emoji and directs the layout', '👩‍👧 \u2067Loft\u2069', '👩👧 loft'],
])('two texts are the same but for %s', (_, one, other) => {
  expect(folded(one)).toBe(folded(other));
});

test('every other character matches only itself', () => {
  for (const text of ['%', '_', '.*', '\\', "'", '#', '100%', '東京', '🍕'])
    expect(folded(`a ${text} b`).includes(folded(text)), text).toBe(true);
  expect(folded('100%')).not.toBe(folded('100'));
  expect(folded('ab')).not.toContain(folded('a%b'));
});

test('words are separated by blanks; a text without comparable characters has none', () => {
  expect(wordsOf('  Grand\u00a0 Hall\t2 ')).toEqual(['grand', 'hall', '2']);
  expect(wordsOf('\u0301\u200d')).toEqual([]);
});

test('a search matches if each word is in one of the names', () => {
  const names = ['great hall', 'old mill'];
  expect(isCalled(names, ['hall'])).toBe(true);
  expect(isCalled(names, ['mill', 'gre'])).toBe(true);
  expect(isCalled(names, ['hall', 'barn'])).toBe(false);
  expect(isCalled(names, [])).toBe(false);
  expect(isCalled([], ['hall'])).toBe(false);
});
