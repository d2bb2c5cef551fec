/**
 * How names are searched: neither case nor accents nor invisible characters matter, and every other character stands for itself.
 */

/** Letters that Unicode does not decompose into a letter and an accent. */
const PLAIN: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ŧ: 't',
  þ: 'th',
  æ: 'ae',
  œ: 'oe',
  ς: 'σ',
};

/** Accents, vowel signs and other marks; formatting characters; the Arabic stretching stroke. */
const IGNORED = /[\p{M}\p{Cf}\u0640]/gu;

/** A text in the form in which it is compared: two that differ only in case, accents or width have the same. */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(IGNORED, '')
    // Some letters are equal only in upper case: ß and ss, ſ and s.
    .toUpperCase()
    .toLowerCase()
    .replace(/[øłđðħŧþæœς]/g, (letter) => PLAIN[letter] ?? letter);

/** A name in that form, whatever the spaces in it: two names that people take for the same have the same. */
export const foldedName = (name: string): string => folded(name).trim().replace(/\s+/g, ' ');

/** The words that are searched for, folded, each once. None if the text has nothing to compare. */
export const wordsOf = (text: string): readonly string[] => [...new Set(folded(text).split(/\s+/).filter(Boolean))];

/** Whether every word is in one of the names, all folded. False without words. */
export const isCalled = (names: readonly string[], words: readonly string[]): boolean =>
  words.length > 0 && words.every((word) => names.some((name) => name.includes(word)));
